"""Something is killed while a job is at each step of its life: each has one truthful end."""
import signal

import pytest

from tests.functional.halting_stage import PAIR, Stage
from tests.functional.private_engine import private_engine
from tests.functional.runner_process import RunnerProcess, wait_for


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    made = private_engine(tmp_path_factory.mktemp("engine"))
    yield made
    made.close()


@pytest.fixture
def live_stage(engine, stage):
    engine.end(signal.SIGTERM)
    engine.start(live_restore=True)
    yield stage
    engine.end(signal.SIGTERM)
    engine.start()


@pytest.fixture
def stage(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    folder = tmp_path / "halts"
    folder.mkdir()
    runner = RunnerProcess(tmp_path / "runner", RUNNER_CPUS="32", RUNNER_MEMORY_MB="8000")
    runner.words = ["-m", "tests.functional.halting_runner", str(folder)]
    runner.start()
    made = Stage(engine, runner, folder)
    yield made
    made.go()
    made.foreign.remove()
    runner.close()


def test_the_runner_is_killed(stage):
    stage.set_up()
    stage.runner.kill()
    stage.go()
    stage.runner.start()
    ended = stage.check()
    assert {step: len(job["attempts"]) for step, job in ended.items()} == dict.fromkeys(ended, 1)


def test_docker_is_killed(stage):
    stage.set_up()
    stage.engine.end(signal.SIGKILL)
    stage.engine.start()
    stage.go()
    ended = stage.check()
    assert len(ended["runs"]["attempts"]) == 2
    for step, job in ended.items():
        for attempt in job["attempts"][:-1]:
            assert attempt["cause"] == "platform", (step, attempt)


def test_docker_is_away_while_jobs_come_and_start(stage):
    stage.halt("to be created", "DockerDriver.create before", lambda: stage.submit("to be created"))
    stage.engine.end(signal.SIGKILL)
    stage.go()
    stage.submit("new")
    for job_id in stage.jobs.values():
        wait_for(lambda: "Docker does not answer" in stage.runner.job(job_id)["reason"],
                 "the job says what it waits for", 60)
    stage.engine.start()
    for job in stage.check().values():
        assert len(job["attempts"]) == 1
        assert not any("Trying again" in event["text"] for event in job["events"])


def test_docker_is_killed_where_it_keeps_containers_alive(live_stage):
    live_stage.set_up()
    live_stage.engine.end(signal.SIGKILL)
    live_stage.engine.start(live_restore=True)
    live_stage.go()
    ended = live_stage.check()
    assert {step: len(job["attempts"]) for step, job in ended.items()} == dict.fromkeys(ended, 1)


def test_containerd_is_killed(stage):
    stage.set_up()
    stage.engine.kill_containerd()
    stage.engine.start()
    stage.go()
    ended = stage.check()
    assert [len(ended[step]["attempts"]) for step in ("runs", "writes")] == [1, 1]


def test_the_shims_are_killed(stage):
    stage.set_up()
    stage.engine.kill_shims()
    stage.go()
    ended = stage.check(killed={"runs", "writes", "started", PAIR})
    for step in ("runs", "writes"):
        assert "(SIGKILL: by itself or from outside" in ended[step]["reason"]


@pytest.mark.exhaustive
def test_containerd_and_the_shims_are_killed(stage):
    stage.set_up()
    stage.engine.kill_containerd()
    stage.engine.kill_shims()
    stage.engine.start()
    stage.go()
    stage.check()


@pytest.mark.parametrize("live_restore", [
    True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_the_machine_loses_power(stage, live_restore):
    stage.engine.end(signal.SIGTERM)
    stage.engine.start(live_restore=live_restore)
    stage.set_up()
    stage.runner.kill()
    stage.engine.lose_power()
    stage.engine.start(live_restore=live_restore)
    stage.go()
    stage.runner.start()
    ended = stage.check()
    for step in ("runs", "writes"):
        assert "Docker was restarted" in ended[step]["attempts"][0]["reason"]
