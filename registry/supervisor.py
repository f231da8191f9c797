"""Starts the registry's processes, starts them again when they die, and stops them gently."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Mapping, Sequence

from registry import child

POLL_S = 0.2
GRACE_S = 15.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
CALM_S = 60.0
MAX_LOG_BYTES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Program:
    """What one child runs; `argv[0]` is an absolute path, `fds` are handed on to it."""

    name: str
    argv: Sequence[str]
    environ: Mapping[str, str]
    folder: Path
    log: Path
    fds: tuple[int, ...] = ()


@dataclass(kw_only=True)
class Child:
    """One program and its process, which is None before the first start."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failures: int = 0
    start_at: float = field(default_factory=time.monotonic)

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """In a process group of its own: Ctrl-C in the terminal reaches the supervisor alone."""
        with self.program.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", child.__file__, str(os.getpid()), *self.program.argv],
                env=self.program.environ, cwd=self.program.folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                pass_fds=self.program.fds)
        self.started_at = time.monotonic()

    def plan_restart(self, now: float) -> float:
        """Seconds until the next start: more after each death, few again after a calm minute."""
        self.failures = 1 if now - self.started_at > CALM_S else self.failures + 1
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (self.failures - 1))
        self.start_at, self.process = now + pause, None
        return pause

    def signal(self, number: int) -> None:
        """To the child and to whatever it started; a child that is gone already is no error."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended by then."""
        try:
            return self.process is None or self.process.wait(max(0.0, timeout_s)) is not None
        except subprocess.TimeoutExpired:
            return False


class Supervisor:
    """Runs programs from `start` to `stop`; `say` gets one line for each that had to be restarted.

    One thread starts and watches them all, because a child ends with the thread that started it.
    """

    def __init__(self, programs: Sequence[Program], *, say: Callable[[str], None]) -> None:
        self._children = [Child(program=program) for program in programs]
        self._say = say
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def failures(self, name: str) -> int:
        """How often a program died in a row; 0 for one that is not among them."""
        return next((each.failures for each in self._children if each.program.name == name), 0)

    def __enter__(self) -> Supervisor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_stopping.is_set():
            for each in self._children:
                self._tend(each, time.monotonic())
            self._is_stopping.wait(POLL_S)
        self._stop()

    def _tend(self, each: Child, now: float) -> None:
        if each.process is not None and not each.is_alive:
            code = each.process.returncode
            each.signal(signal.SIGTERM)  # what the dead child had started itself
            pause = each.plan_restart(now)
            self._say(f"{each.program.name} {_ending(code, each.program.log)}. Starting it again "
                      f"in {pause:.1f} s; its log is {each.program.log}.")
        if each.process is None and now >= each.start_at:
            each.start()
        rotate(each.program.log)

    def _stop(self) -> None:
        give_up_at = time.monotonic() + GRACE_S
        for each in self._children:
            each.signal(signal.SIGTERM)
        for each in self._children:
            if not each.wait(give_up_at - time.monotonic()):
                self._say(f"{each.program.name} did not end within {GRACE_S:.0f} s and is killed.")
                each.signal(signal.SIGKILL)
                each.wait(GRACE_S)


def rotate(log: Path) -> None:
    """Keep one older log beside a log that has grown too long.

    Copied and cut rather than renamed: the child goes on writing, at the end, into the same file.
    """
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def last_words(log: Path) -> str:
    """What a program said last before it gave up; empty where it said nothing or has no log here.

    Lines that begin with a bracket are gunicorn's own, about its worker's end and not its cause.
    """
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return next((line for line in reversed(lines) if not line.startswith(("[", " "))), "").strip()


def _ending(code: int, log: Path) -> str:
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    words = last_words(log).removesuffix(".")
    return f"ended with code {code}" + (f": {words}" if words else " and said nothing")
