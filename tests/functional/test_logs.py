"""What real tasks write, read as one log and as one archive, while they run and afterwards."""
import io
import zipfile

import pytest

from tests.functional.runner_process import RunnerProcess, spec, task_role, wait_for


@pytest.fixture(scope="module")
def runner(tmp_path_factory, busybox_image):
    process = RunnerProcess(tmp_path_factory.mktemp("logs") / "runner")
    process.start()
    yield process
    process.close()


def lines_of(runner, job_id, cursor="", **query):
    """Every line that comes, until the log says that it is complete."""
    found, is_complete = [], False
    while not is_complete:
        page = runner.get(f"/jobs/{job_id}/log", cursor=cursor, wait_s=10, **query)
        found += page["lines"]
        cursor, is_complete = page["cursor"], page["is_complete"]
    return found


def two_tasks(first, second):
    return {"name": "two", "user": "ann", "task_roles": [
        task_role("a", first), task_role("b", second)]}


def test_the_lines_of_two_tasks_come_in_the_order_of_time_and_again_the_same(runner):
    job = runner.submit(two_tasks(
        "echo one; sleep 0.3; echo two >&2; sleep 0.3; printf end",
        "sleep 0.15; echo between; sleep 0.3; echo after"))
    found = lines_of(runner, job, limit=1)
    assert sorted(line["text"] for line in found) == ["after", "between", "end", "one", "two"]
    assert [line["time"] for line in found] == sorted(line["time"] for line in found)
    assert {(line["role"], line["stream"]) for line in found} == {
        ("a", "stdout"), ("a", "stderr"), ("b", "stdout")}
    assert lines_of(runner, job) == found


def test_lines_come_while_their_task_still_runs(runner):
    job = runner.submit(spec("echo begun; sleep 600"))
    wait_for(lambda: [line["text"] for line in runner.get(
        f"/jobs/{job}/log", wait_s=10)["lines"]] == ["begun"], "the first line", 60)
    assert runner.job(job)["state"] == "RUNNING"
    runner.post(f"/jobs/{job}/stop")
    assert [line["text"] for line in lines_of(runner, job)] == ["begun"]


def test_what_was_written_while_the_runner_was_away_keeps_its_time(tmp_path, busybox_image):
    process = RunnerProcess(tmp_path / "runner")
    process.start()
    try:
        job = process.submit(spec("echo first; while [ ! -e /paishare/output/go ]; do "
                                  "sleep 0.1; done; echo second; touch /paishare/output/done; "
                                  "sleep 600"))
        wait_for(lambda: "first\n" in process.log(job) if process.job(job)["attempts"] else False,
                 "the first line", 60)
        output = process.home / "jobs" / job / "1" / "main-0" / "output"
        process.kill()
        (output / "go").touch()
        wait_for((output / "done").exists, "the second line is written", 60)
        process.start()
        wait_for(lambda: "second\n" in process.log(job), "the second line is kept", 60)
        path = f"/jobs/{job}/attempts/1/tasks/main/0/log"
        record = process.get(f"{path}/search", text="second")["lines"][0]
        from_docker = process.docker.containers.list(
            filters={"label": f"paishare.job={job}"})[0].logs(timestamps=True).decode()
        noted = from_docker.splitlines()[1].split()[0]
        assert record["time"][:22] == noted[:22]
    finally:
        process.stop_all()
        process.close()


def test_all_files_of_a_job_come_as_one_archive_or_page_by_page(runner):
    job = runner.run(spec("cd $PAI_OUTPUT_DIR; mkdir d; for n in 1 2 3; do echo $n > d/$n.txt; "
                          "done; ln -s /etc/passwd link"))
    first = runner.get(f"/jobs/{job['id']}/artifacts", limit=2, checksums=1)
    assert [item["path"] for item in first["artifacts"]] == ["d/1.txt", "d/2.txt"]
    assert (first["count"], first["size"]) == (3, 6)
    rest = runner.get(f"/jobs/{job['id']}/artifacts", after=first["next"])
    assert [item["path"] for item in rest["artifacts"]] == ["d/3.txt"] and rest["next"] is None
    answer = runner.http.get(runner.url(f"/jobs/{job['id']}/archive"), params={"folder": "d"})
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.read("1/main-0/d/2.txt") == b"2\n"
        assert first["artifacts"][1]["sha256"] in archive.read("SHA256SUMS").decode()
        assert len(archive.namelist()) == 4
