"""The open terminals: how many there may be, and that none outlives whoever looked at it."""
from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Callable

from runner.engine import Console, Engine, Gang, Slot
from runner.errors import BusyError, EngineError, NotFoundError
from runner.job_store import JobStore
from runner.scheduler import placement_from_json
from runner.sentence import Sentence
from runner.spec import RUNNING

log = logging.getLogger(__name__)

MAX_OPEN, MAX_OF_USER = 40, 8
LEASE_S = 60.0  # whoever looks asks again well before
LOOK_S = 2.0
CLOSE_S = 5.0


@dataclass(kw_only=True)
class _Open:
    """`used_s` is when somebody last asked for it."""

    console: Console
    user: str
    used_s: float


class Terminals:
    """Kept in memory alone: a runner that starts again has none, and says so."""

    def __init__(self, store: JobStore, engine: Engine,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._engine, self._clock = store, engine, clock
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._is_closed = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="terminals", daemon=True).start()

    def open(self, job_id: str, attempt: int, slot: Slot, columns: int, rows: int) -> str:
        """A new shell in a running task: the id of its terminal.

        Raises NotFoundError where the task does not run, NoShellError, BusyError, EngineError.
        """
        gang = self._gang(job_id, attempt, slot)
        self._check_room(gang.spec.user)
        console = self._engine.open_console(gang, slot, columns, rows)
        id_ = secrets.token_hex(16)
        with self._lock:
            self._open[id_] = _Open(console=console, user=gang.spec.user, used_s=self._clock())
        return id_

    def console(self, id_: str) -> Console:
        """The shell of a terminal, which counts as used now; raises NotFoundError."""
        with self._lock:
            found = self._open.get(id_)
            if found is None:
                raise NotFoundError(Sentence("This terminal is closed."))
            found.used_s = self._clock()
        return found.console

    def close(self, id_: str) -> None:
        """Hang up; again is no error."""
        with self._lock:
            found = self._open.pop(id_, None)
        if found:
            _hang_up(found.console)

    def expire(self) -> None:
        """Close what nobody has asked for in a while: whoever did is gone."""
        with self._lock:
            left = [id_ for id_, each in self._open.items()
                    if self._clock() - each.used_s > LEASE_S]
        for id_ in left:
            self.close(id_)

    def close_all(self) -> None:
        """Hang up everywhere at once; returns after a few seconds at the latest."""
        self._is_closed.set()
        with self._lock:
            found = list(self._open)
        threads = [threading.Thread(target=self.close, args=(id_,), daemon=True) for id_ in found]
        for each in threads:
            each.start()
        give_up_s = self._clock() + CLOSE_S
        for each in threads:
            each.join(max(0.0, give_up_s - self._clock()))

    def _watch(self) -> None:
        while not self._is_closed.wait(LOOK_S):
            self.expire()

    def _gang(self, job_id: str, attempt: int, slot: Slot) -> Gang:
        job = self._store.get(job_id)
        rows = {(row["role"], row["idx"]): row for row in self._store.tasks(job.id, attempt)}
        if slot not in rows:
            raise NotFoundError(Sentence(
                "Attempt {attempt} of job {job_id} has no task {role}-{index}.", attempt=attempt,
                job_id=job_id, role=slot[0], index=slot[1]))
        if rows[slot]["state"] != RUNNING:
            raise NotFoundError(Sentence(
                "Task {role}-{index} does not run, and a terminal needs a running one. Its log and "
                "its files stay.", role=slot[0], index=slot[1]))
        placement = placement_from_json(self._store.attempt(job.id, attempt)["placement"])
        return Gang(key=(job.id, attempt), spec=job.spec, placement=placement)

    def _check_room(self, user: str) -> None:
        with self._lock:
            users = Counter(each.user for each in self._open.values())
        if users[user] >= MAX_OF_USER:
            raise BusyError(Sentence(
                "{user} has {most} terminals open, as many as one may have. Close one, then "
                "try again.", user=user, most=MAX_OF_USER))
        if users.total() >= MAX_OPEN:
            raise BusyError(Sentence(
                "{most} terminals are open, as many as there may be. Try again when somebody "
                "has closed one.", most=MAX_OPEN))


def _hang_up(console: Console) -> None:
    try:
        console.close()
    except EngineError as error:
        log.warning("a shell may be left in its container: %s", error)
