"""Docker is killed and started again below a running job: an engine of the test's own."""
import signal

import pytest

from tests.functional.private_engine import private_engine
from tests.functional.runner_process import RunnerProcess, spec, wait_for

ONCE_LONG = "test -e out/kept/again || { touch out/kept/again; sleep 600; }"
KEPT = {"storage": [{"kind": "storage", "uri": "kept", "target": "out/kept"}]}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    made = private_engine(tmp_path_factory.mktemp("engine"))
    yield made
    made.close()


@pytest.fixture
def runner(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    process = RunnerProcess(tmp_path / "runner")
    process.start()
    yield process
    process.close()


def has_begun(runner, job_id):
    """Whether the container runs, and the runner knows it."""
    tasks = [task for attempt in runner.job(job_id)["attempts"] for task in attempt["tasks"]]
    return (runner.home / "storage/ann/kept/again").exists() and any(
        task["state"] == "RUNNING" for task in tasks)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_that_a_restart_of_docker_ended_is_tried_again_without_counting(
        engine, runner, how):
    job_id = runner.submit(spec(ONCE_LONG, **KEPT))
    wait_for(lambda: has_begun(runner, job_id), "the job has begun")
    engine.end(how)
    engine.start()
    job = runner.wait(job_id, timeout_s=60)
    assert (job["state"], job["retries"]) == ("SUCCEEDED", 0)
    assert [attempt["cause"] for attempt in job["attempts"]] == ["platform", ""]
    assert "Docker was restarted" in job["attempts"][0]["reason"]
    assert runner.containers() == []


def test_a_container_that_somebody_stopped_is_no_failure_of_the_job(runner):
    job_id = runner.submit(spec(ONCE_LONG, **KEPT))
    wait_for(lambda: has_begun(runner, job_id), "the job has begun")
    for container in runner.containers():
        container.stop(timeout=1)
    job = runner.wait(job_id)
    assert (job["state"], job["retries"], len(job["attempts"])) == ("SUCCEEDED", 0, 2)
    assert "somebody stopped the container" in job["attempts"][0]["reason"]


def test_a_job_that_ends_itself_by_a_signal_has_failed_by_itself(runner):
    job = runner.run(spec("kill -TERM $$; sleep 60"))
    assert (job["state"], job["attempts"][0]["cause"]) == ("FAILED", "user")
    assert job["attempts"][0]["tasks"][0]["exit_code"] == 143


def test_the_operator_is_told_that_a_restart_of_docker_would_end_jobs(runner):
    assert "live-restore is off" in (runner.home.parent / "runner.log").read_text()
