"""Who is told what changes on the runner: one connection to it, however many pages are open."""
from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Iterator

from registry.errors import RegistryError
from registry.runner_client import RunnerClient

log = logging.getLogger(__name__)

WAIT_S = 20.0
RETRY_S = 1.0


@dataclass(kw_only=True)
class News:
    """What changed since somebody last looked.

    `jobs` has, by id, those that are other than before, as the runner lists them; `has_log`: what
    is followed has written something. `is_all`: anything may have changed, so look at everything.
    `is_away`: the runner does not answer just now.
    """

    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    has_log: bool = False
    is_all: bool = False
    is_away: bool = False


class Follower:
    """One reader's view; of one job, or of all where `job_id` is empty."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self._told = threading.Condition()
        self._news, self._is_new = News(is_all=True), True

    def wait(self, wait_s: float) -> News:
        """What is new, at once where something is; nothing new after `wait_s`."""
        with self._told:
            self._told.wait_for(lambda: self._is_new, wait_s)
            found, self._is_new = self._news, False
            self._news = News(is_away=found.is_away)
        return found

    def tell(self, answer: dict[str, Any] | None) -> None:
        """An answer of the runner; None: there was none."""
        with self._told:
            news = self._news
            was_away, news.is_away = news.is_away, answer is None
            jobs = {each["id"]: each for each in (answer or {}).get("jobs", ())
                    if self.job_id in ("", each["id"])}
            news.jobs |= jobs
            has_log = self.job_id in (answer or {}).get("logs", ())
            news.has_log |= has_log
            is_all = bool(answer and answer["is_all"])
            news.is_all |= is_all
            if jobs or has_log or is_all or was_away != news.is_away:
                self._is_new = True
                self._told.notify_all()


class Watch:
    """Asks the runner for as long as anybody follows; a thread of its own does."""

    def __init__(self, runner: RunnerClient) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._followers: set[Follower] = set()
        self._thread: threading.Thread | None = None

    @contextmanager
    def follow(self, job_id: str = "") -> Iterator[Follower]:
        """News of one job, or of all; the first ones say that everything is to be looked at."""
        made = Follower(job_id)
        with self._lock:
            self._followers.add(made)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
                self._thread.start()
        try:
            yield made
        finally:
            with self._lock:
                self._followers.discard(made)

    def _watch(self) -> None:
        """Until nobody follows any more."""
        mark, pause = "", threading.Event()
        while not self._is_over():
            try:
                answer = self._runner.changes(mark, WAIT_S if mark else 0)
                mark = answer["mark"]
            except RegistryError as error:
                log.info("what changes on the runner is not known: %s", error)
                answer, mark = None, ""
            for each in self._here():  # also who has come meanwhile
                each.tell(answer)
            if answer is None:
                pause.wait(RETRY_S)

    def _is_over(self) -> bool:
        with self._lock:
            if not self._followers:
                self._thread = None
            return self._thread is None

    def _here(self) -> list[Follower]:
        with self._lock:
            return list(self._followers)
