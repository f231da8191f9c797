"""Runs git, deaf to every configuration of the machine, its users and the repositories."""
from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import IO, Mapping, Sequence

from runner.cache import Watch
from runner.errors import StagingError
from runner.sentence import Sentence

CONFIG = """\
[safe]
    directory = *
[core]
    hooksPath = /dev/null
    fsmonitor = false
[init]
    defaultBranch = main
[gc]
    auto = 0
[maintenance]
    auto = false
[fetch]
    unpackLimit = 1
[uploadpack]
    allowAnySHA1InWant = true
[http]
    followRedirects = false
    lowSpeedLimit = 1000
    lowSpeedTime = 60
"""
# Pinning the address of a host (http.curloptResolve) came with this release.
OLDEST_FOR_WEB = (2, 37)
_TERMINATE_S = 5
_LOOK_AGAIN_S = 0.2
_TAIL_BYTES = 8192
_PROGRESS = re.compile(rb"Receiving objects: +\d+% \((\d+)/(\d+)\)")


class GitError(Exception):
    """git ended with an error; the text is what it wrote to stderr."""


class Git:
    """`config`: where to keep the only configuration file that git is to read."""

    def __init__(self, config: Path) -> None:
        aside = config.with_suffix(f".{os.getpid()}")
        aside.write_text(CONFIG)
        os.replace(aside, config)
        self._environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_ALLOW_PROTOCOL": "http:https:file",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }

    def run(self, arguments: Sequence[str | Path], watch: Watch | None = None, *, text: str = "",
            environ: Mapping[str, str] = MappingProxyType({}), keep_fd: int | None = None,
            output: IO[bytes] | None = None, umask: int = -1) -> str:
        """Run git to its end and return its standard output, or write that to `output`.

        `text` says what is done when git reports progress; `keep_fd` stays open in git and its
        children; `umask` -1 is that of this process. Raises GitError, StagingError where there is
        no git, and FetchCancelled after having ended git.
        """
        with tempfile.TemporaryFile() as own_output:
            try:
                process = subprocess.Popen(
                    ["git", *map(str, arguments)], stdin=subprocess.DEVNULL,
                    stdout=output or own_output, stderr=subprocess.PIPE,
                    env={**self._environ, **environ}, start_new_session=True, umask=umask,
                    pass_fds=() if keep_fd is None else (keep_fd,))
            except FileNotFoundError as error:
                raise StagingError(Sentence(
                    "git is not installed on this machine. Install it; the job goes on then."),
                    is_platform=True) from error
            with process:
                try:
                    errors = _follow(process, watch, text)
                    process.wait()
                except BaseException:
                    _end(process)
                    raise
            if process.returncode:
                raise GitError(errors.decode("utf-8", "replace"))
            own_output.seek(0)
            return own_output.read().decode("utf-8", "surrogateescape")

    def check_for_web(self) -> None:
        """Raises StagingError when this git cannot be held to a checked address."""
        found = re.search(r"(\d+)\.(\d+)", self.run(["version"]))
        if not found or (int(found[1]), int(found[2])) < OLDEST_FOR_WEB:
            raise StagingError(Sentence(
                "Fetching a repository from the web needs git 2.37 or newer. Upgrade git on this "
                "machine."))


def _follow(process: subprocess.Popen[bytes], watch: Watch | None, text: str) -> bytes:
    """Read what git writes to stderr until it closes it; returns the end of it."""
    assert process.stderr is not None
    tail = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        while True:
            is_ready = selector.select(_LOOK_AGAIN_S)
            if watch:
                watch.check()
            if not is_ready:
                continue
            chunk = os.read(process.stderr.fileno(), 65536)
            if not chunk:
                return tail
            tail = (tail + chunk)[-_TAIL_BYTES:]
            if watch and (found := _PROGRESS.findall(chunk)):
                watch.progress(f"{text} (objects)", int(found[-1][0]), int(found[-1][1]),
                               is_bytes=False)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and its children, kindly first, so that it removes its temporary files."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_TERMINATE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
