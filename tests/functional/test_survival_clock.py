"""The machine's clock is set while jobs run: to tomorrow, and back to yesterday."""
import shutil
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.functional.runner_process import RunnerProcess, spec, wait_for

DAY_S = 24 * 3600
OPEN = "until test -e out/open; do sleep 0.01; done"
KEPT = {"storage": [{"kind": "storage", "uri": "kept", "target": "out"}]}
LIMITED = {**KEPT, "resources": {"cpu": 1, "memory_mb": 100}}


class Clock:
    """What time the runner believes that it is; it looks every second."""

    def __init__(self, folder):
        self.file, self.runner = folder / "clock", None
        self.file.write_text("+0\n")

    def set(self, days):
        self.file.write_text(f"{days * DAY_S:+d}\n")

    def wait(self, days):
        """Until the runner knows."""
        wait_for(lambda: self.is_seen(days), "the runner's clock is set", 60)

    def is_seen(self, days):
        date = self.runner.http.get(self.runner.url("/health")).headers["Date"]
        return abs(parsedate_to_datetime(date).timestamp() - time.time() - days * DAY_S) < DAY_S / 2


@pytest.fixture(scope="module")
def clock(tmp_path_factory, busybox_image):
    libraries = list(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        pytest.skip("NO CLOCK WAS SET: libfaketime is missing (tools/setup.sh image-tools)")
    folder = tmp_path_factory.mktemp("clock")
    made = Clock(folder)
    made.runner = RunnerProcess(
        folder / "runner", LD_PRELOAD=str(libraries[0]), FAKETIME_DONT_FAKE_MONOTONIC="1",
        FAKETIME_TIMESTAMP_FILE=str(made.file), FAKETIME_CACHE_DURATION="1")
    made.runner.start()
    yield made
    made.runner.close()


@pytest.fixture
def runner(clock):
    """One for all tests, by the right time and without anything in its storage."""
    clock.set(0)
    clock.wait(0)
    yield clock.runner
    clock.runner.stop_all()
    shutil.rmtree(clock.runner.home / "storage", ignore_errors=True)


@pytest.mark.parametrize("days", [1, -1])
def test_a_job_runs_on_when_the_clock_is_set_and_lasts_no_longer_for_it(runner, clock, days):
    limited = {**spec("echo begin", OPEN, "echo end", **LIMITED), "time_limit_s": 600}
    job_id = runner.submit(limited)
    wait_for(lambda: "begin" in runner.log(job_id), "the job runs", 60)
    clock.set(days)
    clock.wait(days)
    runner.submit(spec("touch out/open", **KEPT))
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("SUCCEEDED", 1)
    assert runner.log(job_id) == "begin\nend\n"
    wall_s = runner.get(f"/jobs/{job_id}/attempts/1/receipt")["wall_s"]
    assert 0 <= wall_s < 600


@pytest.mark.parametrize("days", [1, pytest.param(-1, marks=pytest.mark.exhaustive)])
def test_a_clock_that_is_set_while_the_runner_is_down_uses_up_no_time_limit(runner, clock, days):
    limited = {**spec("echo begin", OPEN, **LIMITED), "time_limit_s": 600}
    job_id = runner.submit(limited)
    wait_for(lambda: "begin" in runner.log(job_id), "the job runs", 60)
    runner.kill()
    clock.set(days)
    runner.start()
    clock.wait(days)
    runner.submit(spec("touch out/open", **KEPT))
    assert runner.wait(job_id)["state"] == "SUCCEEDED"
    assert 0 <= runner.get(f"/jobs/{job_id}/attempts/1/receipt")["wall_s"] < 600


def test_a_job_that_waits_to_be_tried_again_waits_no_longer_when_the_clock_goes_back(
        runner, clock):
    job_id = runner.submit(spec("exit 1", retry_count=2))
    wait_for(lambda: len(runner.job(job_id)["attempts"]) > 1, "the job is tried again", 60)
    clock.set(-1)
    clock.wait(-1)
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("FAILED", 3)


def test_an_end_from_outside_is_told_although_the_clock_went_back(runner, clock):
    job_id = runner.submit(spec("test -e out/open || { touch out/open; sleep 600; }", **KEPT))
    runner.wait(job_id, "RUNNING")
    wait_for(lambda: (runner.home / "storage/ann/kept/open").exists(), "the job has begun", 60)
    clock.set(-1)
    clock.wait(-1)
    for container in runner.containers():
        container.stop(timeout=1)
    job = runner.wait(job_id)
    assert (job["state"], job["retries"], len(job["attempts"])) == ("SUCCEEDED", 0, 2)
