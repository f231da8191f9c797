import io
import shutil
import tarfile

import docker
import pytest

from tests.functional.runner_process import IMAGE, RunnerProcess


@pytest.fixture(scope="session")
def busybox_image():
    """An image of nothing but Debian's static busybox, made where it is missing."""
    client = docker.from_env()
    if not client.images.list(IMAGE):
        client.api.import_image_from_data(
            packed_busybox(), repository=IMAGE.rpartition(":")[0], tag=IMAGE.rpartition(":")[2])
    client.close()
    return IMAGE


def packed_busybox():
    busybox = shutil.which("busybox")
    assert busybox, "busybox is missing: tools/setup.sh image-tools installs busybox-static"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(busybox, "bin/busybox")
        temporary = tarfile.TarInfo("tmp")
        temporary.type, temporary.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(temporary)
        for name in ("sh", "sleep", "cat", "echo", "env", "id", "ls", "mkdir", "printf", "head",
                     "nc", "wc", "seq", "df", "grep", "tail", "kill", "touch", "nproc", "ulimit",
                     "dd", "yes", "tr", "chown", "true", "false", "wget", "pwd", "date"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return packed.getvalue()


@pytest.fixture
def runner(tmp_path, busybox_image):
    process = RunnerProcess(tmp_path / "runner", RUNNER_ALLOWED_FOLDERS=str(tmp_path / "shared"))
    process.start()
    yield process
    process.close()


@pytest.fixture(scope="module")
def running_runner(tmp_path_factory, busybox_image):
    process = RunnerProcess(tmp_path_factory.mktemp("home") / "runner")
    process.start()
    yield process
    process.close()


@pytest.fixture
def shared_runner(running_runner):
    """One runner for the tests that leave it running; what a test left in it is stopped."""
    yield running_runner
    running_runner.stop_all()
