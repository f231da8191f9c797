"""The process that speaks to GitHub for people who connected it: each user in turn, one at a time.

What there is to do stands in tables, so that a restart loses nothing. Each task is a plain list
of users and a step for one of them; no two steps of one user run at once, so that there is one
request in flight for each, and who waits for GitHub holds up nobody else.
"""
from __future__ import annotations

import logging
import signal
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Collection, Protocol, Sequence

import sqlalchemy as sa

from registry import db, lock, quiet_logs
from registry.access import AccessTask
from registry.config import Settings
from registry.errors import DatabaseUnavailableError
from registry.github_accounts import GitHubAccounts
from registry.github_errors import GitHubError
from registry.publications import Publications
from registry.publish import Publisher

log = logging.getLogger(__name__)
LOCK = "github.lock"
POLL_S = 0.3
AWAY_S = 2.0  # between two looks for a database that is away
ENDING_S = 5.0
PAUSE_S = 60.0  # after a step that failed in a way nobody foresaw
MAX_AT_ONCE = 16


class Task(Protocol):
    """One kind of work; its steps expect to be cut off at any moment."""

    def due(self, now: datetime) -> Collection[int]:
        """The users for whom there is something to do now; `now` is in UTC, without a zone."""

    def step(self, user_id: int, stop: threading.Event) -> None:
        """Do it for one user, soon after `stop` no more of it."""


@dataclass(kw_only=True)
class GitHubWorker:
    """Runs what is due, for at most `at_once` users at a time, who waited longest first."""

    tasks: Sequence[Task]
    at_once: int = MAX_AT_ONCE
    stop: threading.Event = field(default_factory=threading.Event)
    _busy: set[int] = field(default_factory=set)
    _served: dict[int, float] = field(default_factory=dict)
    _paused: dict[tuple[int, int], float] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def begin(self) -> int:
        """Start a step for each user who is free and has work due; returns how many."""
        now, begun = datetime.now(UTC).replace(tzinfo=None), 0
        due = [(self._served.get(user_id, 0.0), place, user_id)
               for place, task in enumerate(self.tasks) for user_id in task.due(now)]
        for _, place, user_id in sorted(due):
            if self._is_full():
                break  # else one who comes later would have the place that gets free just now
            begun += self._begin(place, user_id)
        return begun

    def wait(self, timeout_s: float) -> bool:
        """Until no step runs; whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout_s)

    def _is_full(self) -> bool:
        with self._changed:
            return len(self._busy) >= self.at_once

    def _begin(self, place: int, user_id: int) -> bool:
        with self._changed:
            is_paused = time.monotonic() < self._paused.get((place, user_id), 0.0)
            if self.stop.is_set() or user_id in self._busy or is_paused:
                return False
            self._busy.add(user_id)
            self._served[user_id] = time.monotonic()
        threading.Thread(target=self._run, args=(place, user_id), name=f"user {user_id}",
                         daemon=True).start()
        return True

    def _run(self, place: int, user_id: int) -> None:
        try:
            self.tasks[place].step(user_id, self.stop)
        except DatabaseUnavailableError as error:
            log.error("%s (%s)", error, error.__cause__)
            self._pause(place, user_id, AWAY_S)
        except GitHubError as error:
            log.warning("GitHub for the user %d: %s", user_id, error.code)
            self._pause(place, user_id, PAUSE_S)
        except Exception:
            log.exception("Work for the user %d failed; it is tried again in a minute.", user_id)
            self._pause(place, user_id, PAUSE_S)
        finally:
            with self._changed:
                self._busy.discard(user_id)
                self._changed.notify_all()

    def _pause(self, place: int, user_id: int, seconds: float) -> None:
        with self._changed:
            self._paused[place, user_id] = time.monotonic() + seconds


def main(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; a step that is under way then has a few seconds to end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    quiet_logs.keep_tokens_out()
    worker = GitHubWorker(tasks=[])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop.set())
    engine = db.create_engine(settings.database_url)
    worker.tasks = tasks(engine, settings)
    with lock.alone(settings.home / LOCK, worker.stop):
        log.info("Ready to speak to %s for those who connect it.", settings.github_url)
        while not worker.stop.is_set():
            _round(worker)
            worker.stop.wait(POLL_S)
    worker.wait(ENDING_S)
    engine.dispose()


def tasks(engine: sa.Engine, settings: Settings) -> list[Task]:
    """Everything that is done for users in the background."""
    accounts = GitHubAccounts(engine, settings)
    publisher = Publisher(Publications(engine), accounts, settings.github_url)
    return [publisher, AccessTask(engine, accounts)]  # what someone waits for comes first


def _round(worker: GitHubWorker) -> None:
    try:
        worker.begin()
    except DatabaseUnavailableError as error:
        log.error("%s (%s)", error, error.__cause__)
        worker.stop.wait(AWAY_S)
    except Exception:
        log.exception("Nothing could be begun; the next look is in a moment.")
