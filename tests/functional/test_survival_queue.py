"""A thousand waiting jobs through kills of the runner: each is kept once, in its place."""
import pytest

from tests.functional.runner_process import RunnerProcess, spec, wait_for

JOBS = 1000
RUN = 5  # of them; the others would only take longer


@pytest.fixture
def runner(tmp_path, busybox_image):
    process = RunnerProcess(tmp_path / "runner", RUNNER_CPUS="1")
    process.start()
    yield process
    process.close()


def waiting(runner):
    """Ids of all jobs that wait, the oldest first."""
    found, page = [], {"next": ""}
    while page["next"] is not None:
        page = runner.get("/jobs", state="WAITING", limit=200, before=page["next"] or None)
        found += [job["id"] for job in page["jobs"]]
    return found[::-1]


def test_a_thousand_waiting_jobs_survive_kills_and_keep_their_order(runner):
    runner.post("/queue/pause", {"reason": "a test fills it"})
    job = spec("echo ran >> $PAI_OUTPUT_DIR/starts")
    ids = [runner.submit(job, key=f"key {number}") for number in range(JOBS // 2)]
    runner.kill()
    runner.start()
    ids += [runner.submit(job, key=f"key {number}") for number in range(JOBS // 2, JOBS)]
    runner.kill()
    runner.start()
    assert waiting(runner) == ids
    assert runner.submit(job, key="key 7") == ids[7]
    runner.post("/queue/resume")
    runner.wait(ids[RUN])
    runner.post("/queue/pause", {"reason": "the test has seen enough"})
    wait_for(lambda: runner.get("/queue")["running"] == 0, "no job runs", 60)
    rest = waiting(runner)
    ended = [runner.job(job_id) for job_id in ids[:JOBS - len(rest)]]
    assert ids[len(ended):] == rest
    assert {(job["state"], len(job["attempts"])) for job in ended} == {("SUCCEEDED", 1)}
    assert sorted(ended, key=lambda job: job["started_at"]) == ended
    starts = [path.read_text() for path in runner.home.glob("jobs/*/*/main-0/output/starts")]
    assert starts == ["ran\n"] * len(ended)
    assert runner.containers() == []
