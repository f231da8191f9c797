"""One server at a time on one PAISHARE_HOME, one process of each kind, one request of a user."""
from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from registry.config import Settings
from registry.errors import ConflictError

log = logging.getLogger(__name__)
ENDING_S = 20.0
POLL_S = 0.1
ALONE_POLL_S = 1.0
TURN_POLL_S = 0.01
SYNC = "sync.lock"  # in PAISHARE_HOME, held by the process that indexes sources


class BusyError(TimeoutError):
    """What is done in turn was not given up in time by another process or thread."""


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The home is ours as long as `fd` is open here or in a child that inherited it."""

    fd: int


@contextlib.contextmanager
def held(settings: Settings, url: str) -> Iterator[Lock]:
    """Keep a second server off this home.

    Children inherit the lock: what a killed server left behind holds it until it has ended,
    which is waited for. Raises ConflictError naming the server that runs.
    """
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = settings.home / "serve.lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _acquire(fd, settings.home)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)
        yield Lock(fd=fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def alone(path: Path, stop: threading.Event) -> Iterator[None]:
    """Hold the lock at `path`, waiting for another process that does until `stop`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        while not stop.is_set():
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                log.warning("Another process does this work for this home; waiting for its end.")
                stop.wait(ALONE_POLL_S)
        yield


@contextlib.contextmanager
def turn(path: Path, timeout_s: float) -> Iterator[None]:
    """Hold the lock at `path`, in turn with every process and thread that wants it.

    Raises BusyError where it does not come free in time; the system frees that of a process that
    dies.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    give_up_at = time.monotonic() + timeout_s
    with open(path, "a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up_at:
                    raise BusyError(f"{path} is held by another process.") from None
                time.sleep(TURN_POLL_S)
        yield


def is_held(path: Path) -> bool:
    """Whether a process holds the lock at `path` right now."""
    try:
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _acquire(fd: int, home: Path) -> None:
    give_up_at = time.monotonic() + ENDING_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            holder = json.loads(os.pread(fd, 4096, 0) or b"{}")
            pid, url = holder.get("pid", 0), holder.get("url", "")
            if _is_alive(pid) or time.monotonic() > give_up_at:
                raise ConflictError(
                    f"PAIShare already runs for {home}: process {pid} at {url}. Use that one, "
                    f"stop it (kill {pid}), or set PAISHARE_HOME to another folder.") from error
        time.sleep(POLL_S)


def _is_alive(pid: int) -> bool:
    """Whether a process has this number and is not a mere entry waiting for its parent."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
