"""What each task used while it ran: sampled, and kept with the job in a file that stays small."""
from __future__ import annotations

import json
import logging
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Callable, Mapping

from runner.devices import GpuUsage
from runner.errors import RunnerError
from runner.usage import Usage, usage_of

log = logging.getLogger(__name__)

EVERY_S = 2.0
TELLING_S = 1.0  # after the task's start
MAX_SAMPLES = 600
TAIL_BYTES = 8192


class TaskMetrics:
    """The samples of one task in a file, a JSON object a line.

    When there are MAX_SAMPLES, every second one goes and the next come half as often, so that the
    file stays small however long the task runs. Nothing is lost of `peak_memory`, which counts
    every look, kept or not.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._samples = read(path)
        self._peak = max((each["peak_memory"] for each in self._samples), default=0)
        times = [each["time"] for each in self._samples[-10:]]
        gaps = [after - before for before, after in zip(times, times[1:])]
        self._every_s = max(EVERY_S, median(gaps)) if gaps else EVERY_S
        if self._samples:
            self._write()  # without the line that a kill may have cut short

    def add(self, at: float, usage: Usage, gpus: tuple[GpuUsage, ...]) -> None:
        """Keep a sample of `at` (seconds since 1970), or only its peak if one came just before."""
        self._peak = max(self._peak, usage.memory)
        past_s = at - self._samples[-1]["time"] if self._samples else self._every_s
        if 0 <= past_s < self._every_s - EVERY_S / 2:  # a clock may have been set back
            return
        sample = {"time": round(at, 3), **vars(usage), "peak_memory": self._peak,
                  "gpus": [vars(gpu) for gpu in gpus]}
        self._samples.append(sample)
        if len(self._samples) < MAX_SAMPLES:
            with open(self._path, "a") as file:
                file.write(json.dumps(sample) + "\n")
            return
        self._samples = self._samples[::2]
        self._every_s *= 2
        self._write()

    def _write(self) -> None:
        aside = self._path.with_suffix(".new")
        aside.write_text("".join(json.dumps(each) + "\n" for each in self._samples))
        os.replace(aside, self._path)


def read(path: Path) -> list[dict[str, Any]]:
    """Every kept sample, oldest first; a line that a kill cut short is passed over."""
    return _parsed(path, 0)


def last(path: Path) -> dict[str, Any] | None:
    """The newest sample; None where there is none."""
    found = _parsed(path, TAIL_BYTES)
    return found[-1] if found else None


def is_telling(sample: Mapping[str, Any], started_at: str | None) -> bool:
    """Whether figures of a task can be read from its newest sample.

    One that was taken as the task began says nothing of what it did after that.
    """
    began_s = datetime.fromisoformat(started_at).timestamp() if started_at else sample["time"]
    return sample["time"] - began_s >= TELLING_S


def _parsed(path: Path, tail: int) -> list[dict[str, Any]]:
    """The samples in the last `tail` bytes; 0: all of them."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - tail) if tail else 0)
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    samples = []
    for line in lines:
        with suppress(ValueError):
            samples.append(json.loads(line))
    return samples


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A container and the GPUs (by UUID) that it was given."""

    container: str
    has_own_network: bool
    gpus: tuple[str, ...]


@dataclass(kw_only=True)
class Sampler:
    """Looks at every watched container every EVERY_S seconds, in a thread of its own.

    `pid_of` gives a container's first process; None where it does not run.
    """

    pid_of: Callable[[str], int | None]
    gpu_usage: Callable[[tuple[str, ...]], tuple[GpuUsage, ...]]
    _watched: dict[Path, Watched] = field(default_factory=dict)
    _kept: dict[Path, TaskMetrics] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _wake: threading.Event = field(default_factory=threading.Event)
    _is_closed: bool = False

    def start(self) -> None:
        threading.Thread(target=self._loop, name="sampler", daemon=True).start()

    def close(self) -> None:
        self._is_closed = True
        self._wake.set()

    def watch(self, path: Path, watched: Watched) -> None:
        """Sample into the file at `path` from now on, the first time at once."""
        with self._lock:
            self._watched[path] = watched
        self._wake.set()

    def forget(self, path: Path) -> None:
        with self._lock:
            self._watched.pop(path, None)
            self._kept.pop(path, None)

    def _loop(self) -> None:
        while not self._is_closed:
            self._wake.clear()
            with self._lock:
                watched = list(self._watched.items())
            for path, each in watched:
                try:
                    self._sample(path, each)
                except (OSError, RunnerError) as error:
                    log.warning("no sample of %s: %s", each.container[:12], error)
            self._wake.wait(EVERY_S)

    def _sample(self, path: Path, watched: Watched) -> None:
        pid = self.pid_of(watched.container)
        usage = pid and usage_of(pid, watched.container, has_own_network=watched.has_own_network)
        if not usage:
            return
        gpus = self.gpu_usage(watched.gpus) if watched.gpus else ()
        with self._lock:
            if path in self._watched:
                self._kept.setdefault(path, TaskMetrics(path)).add(time.time(), usage, gpus)
