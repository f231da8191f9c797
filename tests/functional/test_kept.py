"""isDebug: containers of tasks that failed are kept for a while, and nothing else is."""

import docker
import pytest

from tests.functional.product import free_port
from tests.functional.runner_process import spec, task_role, wait_for


def debug(*commands, **changes):
    return {**spec(*commands, **changes), "is_debug": True}


def kept_of(runner, job_id):
    return runner.job(job_id)["attempts"][-1]["kept"]


def names(runner):
    return {container.name for container in runner.containers()}


def test_a_failed_container_is_kept_until_it_is_released(shared_runner):
    job = shared_runner.run(debug("echo clue > /tmp/clue; exit 3"))
    kept, = job["attempts"][0]["kept"]["tasks"]
    container = shared_runner.docker.containers.get(kept["container"])
    assert container.status == "exited" and (kept["role"], kept["index"]) == ("main", 0)
    assert b"clue" in b"".join(container.get_archive("/tmp/clue")[0])
    after = shared_runner.post(f"/jobs/{job['id']}/release")
    assert after["attempts"][0]["kept"] is None
    with pytest.raises(docker.errors.NotFound):
        container.reload()


def test_only_what_failed_of_a_job_that_asks_is_kept(shared_runner):
    good = shared_runner.run(debug("true"))
    plain = shared_runner.run(spec("exit 3"))
    two = debug("exit 3", min_failed_task_count=None)
    two["task_roles"].append(task_role("other", "true"))
    both = shared_runner.run(two)
    assert good["attempts"][0]["kept"] is None and plain["attempts"][0]["kept"] is None
    kept, = both["attempts"][0]["kept"]["tasks"]
    assert kept["role"] == "main"
    assert {name for name in names(shared_runner) if both["id"] in name} == {kept["container"]}
    shared_runner.post(f"/jobs/{both['id']}/release")


def test_of_several_attempts_the_newest_is_kept(shared_runner):
    job = shared_runner.run(debug("exit 3", retry_count=1))
    kept = [attempt["kept"] for attempt in job["attempts"]]
    assert kept[0] is None and kept[1]["tasks"][0]["container"].startswith(
        f"paishare-{job['id']}-2-")
    shared_runner.post(f"/jobs/{job['id']}/release")


def test_what_is_kept_holds_no_ports_and_outlives_a_kill_until_its_time_is_over(runner):
    port = {"label": "http", "begin_at": free_port(), "count": 1}
    first = runner.run(debug("exit 3", ports=[port]))
    kept = first["attempts"][0]["kept"]["tasks"][0]["container"]
    assert runner.run(spec("true", ports=[port]))["state"] == "SUCCEEDED"
    runner.kill()
    runner.start()
    assert kept_of(runner, first["id"])["tasks"][0]["container"] == kept
    assert names(runner) == {kept}
    runner.kill()
    file = runner.home / "kept" / f"{first['id']}-1.json"
    file.write_text(file.read_text().replace('"until": ', '"until": -'))
    runner.start()
    wait_for(lambda: not names(runner), "its time is over", 60)
    wait_for(lambda: kept_of(runner, first["id"]) is None, "the job's page knows", 60)
    assert not list(runner.home.glob(f"jobs/{first['id']}/*/*/work"))
