"""A runner that halts where a test tells it to, so that something can break just there.

`python -m tests.functional.halting_runner FOLDER`: while FOLDER/place holds `Class.method before`
or `Class.method after`, the next thread that comes by takes the file away, leaves FOLDER/halted
in its stead, and goes on when FOLDER/go is there.
"""
from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable

from runner.__main__ import main
from runner.docker_driver import DockerDriver
from runner.job_store import JobStore
from runner.staging import Stager

HALTING = (DockerDriver, JobStore, Stager)


class Halts:
    def __init__(self, folder: Path) -> None:
        self._place, self._halted, self._go = (folder / name for name in ("place", "halted", "go"))

    def come_by(self, place: str) -> None:
        try:
            if self._place.read_text() != place:
                return
            os.rename(self._place, self._halted)
        except FileNotFoundError:  # nothing is asked for, or another thread was quicker
            return
        while not self._go.exists():
            time.sleep(0.01)

    def around(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def halting(*args: Any, **named: Any) -> Any:
            self.come_by(f"{name} before")
            result = method(*args, **named)
            self.come_by(f"{name} after")
            return result
        return halting


if __name__ == "__main__":
    halts = Halts(Path(sys.argv[1]))
    for kind in HALTING:
        for name, method in list(vars(kind).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(kind, name, halts.around(f"{kind.__name__}.{name}", method))
    sys.exit(main([]))
