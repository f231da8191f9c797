"""Full disks: of the runner's folder, of its database, of Docker. Jobs wait, say so, and go on."""
import os
import subprocess
import sys

import pytest

from tests.functional.private_engine import private_engine
from tests.functional.runner_process import ROOT, RunnerProcess, spec, wait_for
from tests.functional.small_disk import SmallDisk

KEPT = {"storage": [{"kind": "storage", "uri": "kept", "target": "out"}]}
SMALL = {"resources": {"cpu": 1, "memory_mb": 200}}
OPEN = ("until test -e out/open; do sleep 0.01; done",)
# Writes on and on, until the gate is open.
WRITE = ("i=0; until test -e out/open; do seq $((i + 1)) $((i += 500)); sleep 0.01; done",
         "echo $i > out/count")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    made = private_engine(tmp_path_factory.mktemp("engine"), disk_mb=64)
    yield made
    made.close()


@pytest.fixture
def disk(tmp_path):
    """Where the runner keeps everything but the storage that its jobs share."""
    made = SmallDisk(tmp_path / "runner", size_mb=16)
    (tmp_path / "storage").mkdir()
    (tmp_path / "runner/storage").symlink_to(tmp_path / "storage")
    yield made
    made.close()


@pytest.fixture
def runner(engine, tmp_path, disk, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    process = RunnerProcess(tmp_path / "runner", RUNNER_MIN_FREE_MB="1", RUNNER_CPUS="8",
                            RUNNER_MEMORY_MB="4000")
    process.start()
    yield process
    disk.empty()
    process.close()


def has_said(runner, text):
    return text in (runner.home.parent / "runner.log").read_text(errors="replace")


def test_a_full_disk_is_waited_for_and_no_line_is_lost(runner, disk, tmp_path):
    job_id = runner.submit(spec(*WRITE, **KEPT, **SMALL))
    wait_for(lambda: "500" in runner.log(job_id), "the job writes", 60)
    wait_for(lambda: disk.fill() or has_said(runner, "No space left on device"), "it is full", 60)
    assert runner.job(job_id)["state"] == "RUNNING"
    disk.empty()
    (tmp_path / "storage/ann/kept/open").touch()
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("SUCCEEDED", 1)
    count = int((tmp_path / "storage/ann/kept/count").read_text())
    assert runner.log(job_id) == "".join(f"{number}\n" for number in range(1, count + 1))


def test_a_full_disk_below_the_database_holds_up_the_ends_of_jobs_and_refuses_new_ones(
        tmp_path, disk, runner):
    (tmp_path / "jobs").mkdir()  # the logs lie on another disk
    (tmp_path / "runner/jobs").symlink_to(tmp_path / "jobs")
    job_id = runner.submit(spec(*OPEN, "echo end", "exit 3", **KEPT, **SMALL))
    wait_for(lambda: runner.job(job_id)["reason"] == "The container is running.", "it runs", 60)
    disk.fill()
    (tmp_path / "storage/ann/kept/open").touch()
    wait_for(lambda: disk.fill() or has_said(runner, "The disk of the runner is full"),
             "the end of the job cannot be written down", 60)
    refused = runner.http.post(runner.url("/jobs"), json={"spec": spec("true")})
    assert (refused.status_code, refused.json()["code"]) == (507, "DiskFull")
    disk.empty()
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("FAILED", 1)
    assert job["attempts"][0]["tasks"][0]["exit_code"] == 3
    assert runner.log(job_id) == "end\n"
    assert runner.containers() == []


def test_a_runner_that_is_killed_on_a_full_disk_says_so_and_goes_on_when_there_is_room(
        runner, disk, tmp_path):
    job_id = runner.submit(spec(*WRITE, **KEPT, **SMALL))
    wait_for(lambda: "500" in runner.log(job_id), "the job writes", 60)
    wait_for(lambda: disk.fill() or has_said(runner, "No space left on device"), "it is full", 60)
    runner.kill()
    disk.fill()
    ended = subprocess.run([sys.executable, "-m", "runner"], cwd=ROOT, capture_output=True,
                           text=True, env={**os.environ, "RUNNER_HOME": str(runner.home)})
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("runner: The disk of the runner is full (")
    disk.empty()
    runner.start()
    (tmp_path / "storage/ann/kept/open").touch()
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"])) == ("SUCCEEDED", 1)
    count = int((tmp_path / "storage/ann/kept/count").read_text())
    assert runner.log(job_id) == "".join(f"{number}\n" for number in range(1, count + 1))


def test_jobs_wait_while_dockers_disk_is_full_and_say_where_to_make_room(runner, engine):
    data = SmallDisk(engine.data)
    data.fill()
    try:
        job_id = runner.submit(spec("echo ran", **SMALL))
        wait_for(lambda: "too full for jobs" in runner.job(job_id)["reason"], "it says why", 60)
        assert f"The disk of Docker is too full for jobs: at {engine.data}, 0 MB are free" \
            in runner.job(job_id)["reason"]
    finally:
        data.empty()
    job = runner.wait(job_id)
    assert (job["state"], len(job["attempts"]), runner.log(job_id)) == ("SUCCEEDED", 1, "ran\n")
