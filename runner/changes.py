"""What changes, for those who follow all jobs at once: which job, and whose log has grown."""
from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Collection

KEPT = 5000  # then those of longest ago are forgotten, and who asks for them is told so
GATHER_S = 0.05  # much of what changes does so at once


@dataclass(frozen=True, kw_only=True)
class News:
    """What changed since a mark: jobs as such, and jobs whose logs grew; `mark` is the next one.

    `is_all`: it is not known any more since when, so anything may have changed.
    """

    mark: str
    jobs: Collection[str] = ()
    logs: Collection[str] = ()
    is_all: bool = False


class Changes:
    """Numbers every change; kept in memory, so another runner begins again and its marks say so."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(8)
        self._news = threading.Condition()
        self._number = self._forgotten = 0
        self._jobs: dict[str, int] = {}
        self._logs: dict[str, int] = {}
        self._is_closed = False

    def changed(self, job_id: str) -> None:
        """Something that is told of the job is another thing now."""
        self._note(self._jobs, job_id)

    def grew(self, job_id: str) -> None:
        """Something new is in a log of the job."""
        self._note(self._logs, job_id)

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._news:
            self._is_closed = True
            self._news.notify_all()

    def since(self, mark: str, wait_s: float) -> News:
        """What changed after `mark`, waiting up to `wait_s` for something; empty: a first mark."""
        run, _, text = mark.partition("-")
        number = int(text) if run == self._run and text.isdecimal() else -1
        with self._news:
            if number < self._forgotten:
                return News(mark=self._mark(), is_all=True)
            self._news.wait_for(lambda: self._number > number or self._is_closed, wait_s)
            has_news = self._number > number
        if has_news:
            time.sleep(GATHER_S)
        with self._news:
            return News(mark=self._mark(), jobs=_after(self._jobs, number),
                        logs=_after(self._logs, number))

    def _mark(self) -> str:
        return f"{self._run}-{self._number}"

    def _note(self, kept: dict[str, int], job_id: str) -> None:
        with self._news:
            self._number += 1
            kept.pop(job_id, None)
            kept[job_id] = self._number
            if len(kept) > KEPT:
                self._forgotten = max(self._forgotten, kept.pop(next(iter(kept))))
            self._news.notify_all()


def _after(kept: dict[str, int], number: int) -> list[str]:
    """Those that came last, the newest first."""
    found = []
    for job_id, at in reversed(kept.items()):
        if at <= number:
            break
        found.append(job_id)
    return found
