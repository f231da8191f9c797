"""tools/setup.sh where everything is there, and where nothing can be installed."""
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.runner_process import ROOT

NEEDED = ("basename", "bash", "cat", "dirname", "git", "grep", "id", "readlink", "sha256sum",
          "tail")
READ = ("setup.cfg", "pyproject.toml")


class Checkout:
    """A copy of what the script reads, and a PATH without apt-get and all that it would install."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        for name in ("bin", "tools", ".venv/bin"):
            (folder / name).mkdir(parents=True)
        for name in (*READ, "tools/setup.sh"):
            shutil.copy(ROOT / name, folder / name)
        for name in NEEDED:
            (self.bin / name).symlink_to(shutil.which(name))
        python = folder / ".venv/bin/python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        read = b"".join((folder / name).read_bytes() for name in READ)
        (folder / ".venv/.stamp").write_text(f"{hashlib.sha256(read).hexdigest()}  - {folder}\n")
        self._script = folder / "tools/setup.sh"

    def set_up(self, *words: str, **environ: str) -> tuple[int, str]:
        done = subprocess.run(["/bin/bash", self._script, *words], text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": str(self.bin), **environ})
        return done.returncode, done.stdout


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path / "a folder")


def test_what_is_there_is_left_alone_without_a_word(checkout):
    (checkout.bin / "initdb").touch(0o755)
    assert checkout.set_up("venv", "engine", "postgres") == (0, "")


def test_where_nothing_can_be_installed_one_line_names_the_packages(checkout):
    code, said = checkout.set_up("image-tools")
    assert (code, said.count("\n")) == (1, 1)
    assert "is missing. Install it first, on Debian or Ubuntu as root: apt-get install" in said


def test_no_engine_is_started_where_docker_host_names_one(checkout):
    host = "unix:///nowhere/docker.sock"
    assert checkout.set_up("engine", DOCKER_HOST=host) == (
        1, f"[set-up] No Docker engine answers at DOCKER_HOST={host}. Start that one, or unset "
           "DOCKER_HOST.\n")


@pytest.mark.skipif("ID=ubuntu" in Path("/etc/os-release").read_text(), reason="it downloads one")
def test_a_browser_in_a_snap_is_none(checkout):
    (checkout.bin / "snap").touch(0o755)
    (checkout.bin / "chromium").symlink_to("snap")
    code, said = checkout.set_up("browser", HOME=str(checkout.bin))
    assert (code, said.count("\n")) == (1, 1) and "apt-get install chromium" in said


def test_an_unknown_word_is_answered_with_those_that_there_are(checkout):
    code, said = checkout.set_up("engin")
    assert code == 1 and "knows venv, engine" in said
