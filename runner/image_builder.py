"""Make the image of the bundled jobs on this machine, where no registry has it.

A build tool: beside docker_driver, which runs containers, this is the only importer of docker.
"""
from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Callable, Iterator

import docker
import requests
import urllib3
from docker import errors as docker_errors
from docker.utils import kwargs_from_env

from runner.apt_sources import debian_mirror
from runner.errors import EngineError

IMAGE = "localhost/paishare/digits:1.0.0"
BASE = "debian:bookworm-slim"
RELEASE = "bookworm"
SCRATCH, PREFIX = Path("/var/tmp"), "paishare-image-"
KEYRINGS = Path("/usr/share/keyrings")
PULL_SILENCE_S = 30.0  # a registry that says nothing for so long is taken for unreachable
BUILD_SILENCE_S = 300
MIRROR_TIMEOUT_S = 20
PACKAGES_A_LINE = 40  # how many packages pass between two lines of progress
SYSTEM_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"  # su leaves sbin out

Report = Callable[[str], None]


def ensure_image(report: Report) -> str:
    """Return the id of the image; make it first where it is missing, which takes about a minute.

    Needs no network when the image is there. `report` gets a line for each step.
    Raises EngineError, which names what is missing, when it cannot be made.
    """
    with _docker() as api:
        found = _image_id(api, IMAGE)
        if found:
            return found
        with _only_builder(report):
            return _image_id(api, IMAGE) or _build(api, report)


def build_files() -> Path:
    """The folder of Dockerfile and package list, in a checkout or beside the installed package."""
    top = Path(__file__).resolve().parents[1]
    for folder in (top / "marketplace", top / "registry" / "marketplace"):
        if (folder / "images" / "digits" / "Dockerfile").is_file():
            return folder / "images" / "digits"
    raise EngineError(f"There is no marketplace/images/digits below {top}; install PAIShare again.",
                      is_platform=False)


@contextmanager
def _docker() -> Iterator[docker.APIClient]:
    api = None
    try:
        api = docker.APIClient(version="auto", timeout=60, **kwargs_from_env())
        yield api
    except docker_errors.APIError as error:
        raise EngineError(f"Docker refused to build image {IMAGE}: {error.explanation}") from error
    except (docker_errors.DockerException, requests.RequestException,
            urllib3.exceptions.HTTPError) as error:
        raise EngineError(f"Docker does not answer ({type(error).__name__}). Start the Docker "
                          "engine, then try again.") from error
    finally:
        if api is not None:
            api.close()


@contextmanager
def _only_builder(report: Report) -> Iterator[None]:
    """Wait until no other process of this machine builds the image."""
    lock = os.open(SCRATCH, os.O_RDONLY)
    # Children hold the lock too: after a kill of this process, debootstrap goes on for a moment.
    os.set_inheritable(lock, True)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"Waiting for another build of image {IMAGE} to end.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _image_id(api: docker.APIClient, name: str) -> str | None:
    try:
        return str(api.inspect_image(name)["Id"])
    except docker_errors.ImageNotFound:
        return None


def _build(api: docker.APIClient, report: Report) -> str:
    report(f"Building image {IMAGE}: only this once, in about a minute.")
    started = time.monotonic()
    mirror = debian_mirror()
    problem = _from_base(api, mirror, report)
    if problem:
        report(f"{problem} Building from Debian's packages instead.")
        _from_packages(api, mirror, problem, report)
    made = api.inspect_image(IMAGE)
    report(f"Image {IMAGE} is ready: {made['Size'] / 1e6:.0f} MB "
           f"in {time.monotonic() - started:.0f} s.")
    return str(made["Id"])


# -- from a base image ----------------------------------------------------------------------------

def _from_base(api: docker.APIClient, mirror: str, report: Report) -> str:
    """Build with the Dockerfile; return "" or, in a sentence, why that is not possible here."""
    if not _image_id(api, BASE):
        report(f"Pulling {BASE}.")
        problem = pull(api, BASE)
        if problem:
            return f"{BASE} cannot be pulled ({problem})."
    arguments = {name: os.environ[name] for name in ("http_proxy", "https_proxy", "no_proxy")
                 if name in os.environ}
    lines = api.build(path=str(build_files()), tag=IMAGE, rm=True, forcerm=True, decode=True,
                      network_mode="host", timeout=BUILD_SILENCE_S,
                      buildargs={**arguments, "MIRROR": mirror})
    for line in lines:
        if "error" in line:
            return f"The Dockerfile cannot be built ({line['error']})."
        if line.get("stream", "").startswith("Step "):
            report(line["stream"].strip())
    return ""


def pull(api: docker.APIClient, image: str, silence_s: float = PULL_SILENCE_S) -> str:
    """Pull an image; return "" or, in a few words, why it did not come."""
    repository, tag = docker.utils.parse_repository_tag(image)
    url = f"{api.base_url}/v{api.api_version}/images/create"
    try:
        # Not api.pull, which would wait forever for a registry that does not answer.
        with api.post(url, params={"fromImage": repository, "tag": tag}, stream=True,
                      timeout=silence_s) as response:
            if not response.ok:
                return str(response.json().get("message", response.reason))
            lines = [json.loads(line) for line in response.iter_lines() if line]
    except requests.RequestException as error:
        return f"{type(error).__name__}, no answer within {silence_s:g} s"
    return next((str(line["error"]) for line in lines if "error" in line), "")


# -- from Debian's packages -----------------------------------------------------------------------

def _from_packages(api: docker.APIClient, mirror: str, problem: str, report: Report) -> None:
    """Install a small Debian into a folder and make an image of it; raises EngineError."""
    _check_mirror(problem, mirror)
    debootstrap = _debootstrap(problem, report)
    packages = ",".join((build_files() / "packages.txt").read_text().split())
    with _scratch_folder() as folder:
        root = folder / "root"
        report(f"Installing Debian {RELEASE} with {packages} from {mirror}.")
        _run([debootstrap, "--variant=minbase", f"--include={packages}", RELEASE, str(root),
              mirror], _package_progress(report))
        # The machine's own name and name servers do not belong into an image.
        for name in ("hostname", "resolv.conf"):
            (root / "etc" / name).unlink(missing_ok=True)
        _run(["sh", str(build_files() / "trim.sh"), str(root)])
        report("Importing the folder into Docker.")
        _import(api, root)


def _check_mirror(problem: str, mirror: str) -> None:
    """Raise EngineError at once where debootstrap would try for many minutes."""
    try:
        url = f"{mirror}/dists/{RELEASE}/InRelease"
        requests.head(url, timeout=MIRROR_TIMEOUT_S, allow_redirects=True).raise_for_status()
    except requests.RequestException as error:
        raise EngineError(
            f"{problem} Image {IMAGE} cannot be built from packages either: {mirror} does not "
            f"answer ({type(error).__name__}). Connect this machine to the network, then try "
            "again.") from error


def _debootstrap(problem: str, report: Report) -> str:
    """Where debootstrap is, installed first if need be."""
    if os.geteuid() != 0:
        raise EngineError(
            f"{problem} Building image {IMAGE} from packages needs root: run "
            f"`sudo {sys.executable} -m runner build-image` once, or connect Docker to a registry "
            f"so that `docker pull {BASE}` works.", is_platform=False)
    if not shutil.which("debootstrap", path=SYSTEM_PATH) or not any(
            KEYRINGS.glob("debian-archive-keyring.*")):
        _install_debootstrap(report)
    found = shutil.which("debootstrap", path=SYSTEM_PATH)
    if not found:
        raise EngineError(f"{problem} Building image {IMAGE} from packages needs debootstrap: "
                          "install it, then try again.", is_platform=False)
    return found


def _install_debootstrap(report: Report) -> None:
    apt = shutil.which("apt-get", path=SYSTEM_PATH)
    if not apt:
        return
    report("Installing debootstrap with apt-get.")
    _run([apt, "update"])
    _run([apt, "install", "--yes", "--no-install-recommends", "debootstrap",
          "debian-archive-keyring"])


def _package_progress(report: Report) -> Callable[[str], None]:
    """Report every 40th package of debootstrap's several hundred lines."""
    counts: dict[str, int] = {}

    def see(line: str) -> None:
        match = re.match(r"I: (Retrieving|Unpacking|Configuring) ", line)
        if match:
            step = match[1]
            counts[step] = counts.get(step, 0) + 1
            if counts[step] % PACKAGES_A_LINE == 0:
                report(f"{step} packages: {counts[step]}")

    return see


def _run(command: list[str], see: Callable[[str], None] = lambda line: None) -> None:
    """Run to the end, each line of output to `see`; raises EngineError with the last lines."""
    environment = {**os.environ, "PATH": SYSTEM_PATH, "LC_ALL": "C",
                   "DEBIAN_FRONTEND": "noninteractive"}
    last: deque[str] = deque(maxlen=3)
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True, close_fds=False) as process:
        try:
            for line in process.stdout or ():
                last.append(line.strip())
                see(line)
        except BaseException:  # Ctrl-C and the like: its children must not go on in the folder
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise EngineError(f"Building image {IMAGE}: {Path(command[0]).name} failed with exit code "
                          f"{process.returncode}: {' / '.join(last)}", is_platform=False)


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, however this ends; what a kill left is removed first.

    Only the one builder of this machine gets here, so whatever is there is a leftover.
    """
    for leftover in SCRATCH.glob(f"{PREFIX}*"):
        if leftover.lstat().st_uid == os.geteuid():
            _remove(leftover)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=SCRATCH))
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, but never through a mount: debootstrap mounts /proc and /sys in it."""
    for point in reversed(_mounts_below(folder)):
        subprocess.run(["umount", "--lazy", point], check=False, env={"PATH": SYSTEM_PATH})
    left = _mounts_below(folder)
    if left:
        raise EngineError(f"{left[0]} is still mounted: unmount it, then remove {folder}.")
    shutil.rmtree(folder)


def _mounts_below(folder: Path) -> list[str]:
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point.startswith(f"{folder}/")]


def _import(api: docker.APIClient, root: Path) -> None:
    """Make an image of a folder; it gets its name only when it is complete."""
    command = ["tar", "--numeric-owner", "--sort=name", "--exclude=./dev/*", "--exclude=./proc/*",
               "--exclude=./sys/*", "-C", str(root), "-c", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
        answer = api.import_image_from_data(_chunks(tar.stdout), changes=['CMD ["python3"]'])
    last = json.loads(answer.strip().splitlines()[-1])
    if tar.returncode or "error" in last:
        raise EngineError(f"Building image {IMAGE}: Docker could not import it "
                          f"({last.get('error', f'tar ended with {tar.returncode}')}).")
    repository, tag = docker.utils.parse_repository_tag(IMAGE)
    api.tag(last["status"], repository, tag)


def _chunks(stream: IO[bytes] | None) -> Iterator[bytes]:
    while stream and (chunk := stream.read(2**20)):
        yield chunk


def main(argv: list[str]) -> int:
    """`python -m runner build-image`: 0 with a line that names the image, 1 with why there is none.
    """
    argparse.ArgumentParser(
        prog="python -m runner build-image",
        description=f"Make the image {IMAGE} where it is missing.").parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: clean up, then end
    try:
        found = ensure_image(lambda text: print(text, flush=True))
        print(f"Image {IMAGE} is here: {found[:19]}.")
        return 0
    except EngineError as error:
        print(f"build-image: {error.message}", file=sys.stderr)
        return 1
