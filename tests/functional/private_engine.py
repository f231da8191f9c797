"""A Docker engine of a test's own, whose parts may be killed, started again, and filled up."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import docker
import pytest

from tests.functional.conftest import packed_busybox
from tests.functional.runner_process import IMAGE, wait_for

DOCKERD = """ip link set lo up
exec dockerd --config-file {0}/daemon.json --host unix://{0}/docker.sock --data-root {0}/data \\
  --exec-root {0}/exec --containerd {0}/containerd.sock --pidfile {0}/pid \\
  --cgroup-parent paishare-test-{1}"""
CONTAINERD = 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'


class PrivateEngine:
    """dockerd in a network of its own, so that it touches no other's containers or rules.

    containerd runs apart, so that each outlives the other. Docker's folder is a disk of `disk_mb`.
    """

    def __init__(self, folder: Path, disk_mb: int) -> None:
        self.folder, self.data = folder, folder / "data"
        self.dockerd: subprocess.Popen | None = None
        self.containerd: subprocess.Popen | None = None
        (folder / "containerd.toml").write_text(CONTAINERD)
        self.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_mb}m", "tmpfs", self.data],
                       check=True)
        self.address = f"unix://{folder}/docker.sock"
        self.client = docker.DockerClient(self.address, version="1.41")

    def start(self, *, live_restore: bool = False) -> None:
        """Start whatever does not run, and wait until it answers."""
        (self.folder / "daemon.json").write_text(json.dumps({"live-restore": live_restore}))
        with open(self.folder / "log", "ab") as log:
            if not _runs(self.containerd):
                self.containerd = subprocess.Popen(
                    ["containerd", "--config", self.folder / "containerd.toml", "--root",
                     self.folder / "root", "--state", self.folder / "state", "--address",
                     self.folder / "containerd.sock"], stdout=log, stderr=log)
            if not _runs(self.dockerd):
                self.dockerd = subprocess.Popen(
                    ["unshare", "--net", "sh", "-c", DOCKERD.format(self.folder, os.getpid())],
                    stdout=log, stderr=log)
        wait_for(self.is_up, f"the engine answers; it says: {self.last_words()}", timeout_s=60)

    def is_up(self) -> bool:
        assert self.dockerd.poll() is None, f"dockerd has ended; it says: {self.last_words()}"
        try:
            return self.client.ping()
        except (docker.errors.DockerException, OSError):
            return False

    def last_words(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-1000:]

    def import_image(self) -> None:
        repository, _, tag = IMAGE.rpartition(":")
        self.client.api.import_image_from_data(packed_busybox(), repository=repository, tag=tag)

    def end(self, how: signal.Signals) -> None:
        """End dockerd alone."""
        _end(self.dockerd, how)

    def kill_containerd(self) -> None:
        _end(self.containerd, signal.SIGKILL)

    def shims(self, container: str = "") -> list[int]:
        """The processes that hold this engine's containers, or one of them."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes().decode(errors="replace").split("\0")
                if "containerd-shim" in words[0] and f"{self.folder}/containerd.sock" in words \
                        and (not container or container in words):
                    found.append(int(path.parent.name))
        return found

    def kill_shims(self, container: str = "") -> None:
        for pid in self.shims(container):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def lose_power(self) -> None:
        """End every process of the engine and of its containers at once; only disks stay."""
        shims = self.shims()
        inside = [pid for shim in shims for pid in _descendants(shim)]
        _end(self.dockerd, signal.SIGKILL)
        _end(self.containerd, signal.SIGKILL)
        for pid in (*shims, *inside):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(map(_is_alive, inside)), "all processes have ended", 60)
        self._unmount(keep=self.data)
        for name in ("exec", "state"):  # which lie in memory on a real machine
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def close(self) -> None:
        if _runs(self.dockerd):
            self.end(signal.SIGTERM)
        self.kill_shims()
        if _runs(self.containerd):
            _end(self.containerd, signal.SIGTERM)
        self.client.close()
        self._unmount(keep=None)

    def _unmount(self, keep: Path | None) -> None:
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            place = Path(line.split()[1])
            if place.is_relative_to(self.folder) and place != keep:
                subprocess.run(["umount", "--lazy", place], check=True)


def private_engine(folder: Path, disk_mb: int = 512) -> PrivateEngine:
    """Made and started with the tests' image; skips where that cannot be."""
    if os.getuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("NO ENGINE OF ITS OWN WAS STARTED: that takes root and dockerd")
    made = PrivateEngine(folder, disk_mb)
    try:
        made.start()
        made.import_image()
    except BaseException:
        made.close()
        raise
    return made


def _runs(process: subprocess.Popen | None) -> bool:
    return process is not None and process.poll() is None


def _end(process: subprocess.Popen, how: signal.Signals) -> None:
    process.send_signal(how)
    process.wait(60)


def _is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, children) for found in (child, *_descendants(child))]
