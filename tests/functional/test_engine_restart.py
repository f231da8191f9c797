"""Docker is killed and started again below a running job: an engine of the test's own."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import docker
import pytest

from tests.functional.conftest import packed_busybox
from tests.functional.runner_process import IMAGE, RunnerProcess, spec, wait_for

SCRIPT = """ip link set lo up
exec dockerd --host unix://{0}/docker.sock --data-root {0}/data --exec-root {0}/exec \\
  --containerd {0}/containerd.sock --pidfile {0}/pid --cgroup-parent paishare-test-{1}"""
CONFIG = 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
ONCE_LONG = "test -e out/kept/again || { touch out/kept/again; sleep 600; }"
KEPT = {"storage": [{"kind": "storage", "uri": "kept", "target": "out/kept"}]}


class Engine:
    """A dockerd in a network of its own, so that it touches no other's containers or rules."""

    def __init__(self, folder):
        self.folder, self.process = folder, None
        (folder / "containerd.toml").write_text(CONFIG)
        with open(folder / "log", "ab") as log:  # apart, so that it outlives dockerd
            self.containerd = subprocess.Popen(
                ["containerd", "--config", folder / "containerd.toml", "--root", folder / "root",
                 "--state", folder / "state", "--address", folder / "containerd.sock"],
                stdout=log, stderr=log)
        self.client = docker.DockerClient(f"unix://{folder}/docker.sock", version="1.41")

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", SCRIPT.format(self.folder, os.getpid())],
                stdout=log, stderr=log)
        wait_for(self.is_up, "the engine answers", timeout_s=60)

    def is_up(self):
        try:
            return self.client.ping()
        except (docker.errors.DockerException, OSError):
            return False

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(60)

    def close(self):
        if self.process.poll() is None:
            self.end(signal.SIGTERM)
        self.containerd.terminate()
        self.containerd.wait(60)
        self.client.close()
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            if line.split()[1].startswith(f"{self.folder}/"):  # which a killed dockerd leaves
                subprocess.run(["umount", "--lazy", line.split()[1]], check=True)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    if os.getuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("NO ENGINE WAS RESTARTED: that takes root and dockerd")
    made = Engine(tmp_path_factory.mktemp("engine"))
    try:
        made.start()
        made.client.api.import_image_from_data(
            packed_busybox(), repository=IMAGE.rpartition(":")[0], tag=IMAGE.rpartition(":")[2])
        yield made
    finally:
        made.close()


@pytest.fixture
def runner(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.folder}/docker.sock")
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
