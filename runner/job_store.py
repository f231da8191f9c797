"""Every job, attempt, task and event, kept in SQLite; the only truth about what should run."""
from __future__ import annotations

import errno
import json
import secrets
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Collection, Iterator, Mapping

from runner import spec as states
from runner.clock import mark
from runner.errors import NotFoundError, RunnerError
from runner.job_query import ORDERS, JobQuery
from runner.job_tables import MIGRATIONS, SCHEMA, SCHEMA_VERSION
from runner.sentence import Sentence, kind_of, restored, stored
from runner.spec import JobSpec, known_job_spec

ARRIVED = Sentence("The job has arrived.")


def now() -> str:
    """The time in UTC as every answer and row has it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One row of `jobs`."""

    id: str
    seq: int
    user: str
    name: str
    virtual_cluster: str
    state: str
    stage: str
    reason: str
    spec_text: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    stop_requested: bool
    retries: int
    platform_faults: int
    not_before: float
    template: str
    gpus: int

    @cached_property
    def spec(self) -> JobSpec:
        """The job spec, as far as it is pinned."""
        return known_job_spec(json.loads(self.spec_text))

    def as_json(self) -> dict[str, Any]:
        """What a list of jobs shows: everything but the spec."""
        names = ("id", "user", "name", "virtual_cluster", "state", "stage", "reason",
                 "created_at", "started_at", "finished_at", "stop_requested", "retries",
                 "template", "gpus")
        return {name: getattr(self, name) for name in names}


class JobStore:
    """One connection, one lock; each method is one transaction.

    `on_change` is told each job of which something is changed, after it is kept.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock, self._path = threading.RLock(), path
        self.on_change: Callable[[str], None] = lambda job_id: None
        with _full_disk_told(path):
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            for pragma in ("journal_mode=wal", "synchronous=full", "foreign_keys=on"):
                self._db.execute(f"pragma {pragma}")
        self._migrate(path)

    def _migrate(self, path: Path) -> None:
        version = self._db.execute("pragma user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise RunnerError(f"{path} was written by another release (schema {version}, "
                              f"this one reads {SCHEMA_VERSION}). Start the release that wrote it.")
        if version == SCHEMA_VERSION:  # it is opened on a full disk too
            return
        with self._transaction() as db:
            for script in (SCHEMA, *MIGRATIONS)[version:]:
                for statement in script.split(";\n"):
                    db.execute(statement)
            db.execute(f"pragma user_version = {SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self, job_id: str = "") -> Iterator[sqlite3.Connection]:
        """What it changes is told of the job; raises OSError where the disk is full (ENOSPC).

        Nothing has changed then.
        """
        with self._lock, _full_disk_told(self._path):
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:  # SQLite may have undone it already
                    self._db.execute("rollback")
                raise
        if job_id:
            self.on_change(job_id)

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # -- jobs ---------------------------------------------------------------------------------

    def enqueue(self, spec: JobSpec, key: str | None = None, *,
                before: Callable[[str], None] | None = None) -> tuple[Job, bool]:
        """Keep a new job; with a `key` seen before, return that job and False.

        `before` is called with the id of a new job before anybody can see it.
        """
        with self._transaction() as db:
            if key:
                known = db.execute("select * from jobs where key = ?", (key,)).fetchone()
                if known:
                    return _job(known), False
            job_id = secrets.token_hex(6)
            if before:
                before(job_id)
            db.execute(
                "insert into jobs (id, key, user, name, virtual_cluster, state, stage, reason,"
                " spec, created_at, template, gpus)"
                " values (?, ?, ?, ?, ?, ?, 'setup', ?, ?, ?, ?, ?)",
                (job_id, key, spec.user, spec.name, spec.virtual_cluster, states.WAITING,
                 stored(ARRIVED), json.dumps(spec.as_json()), now(), spec.template, spec.gpu_count))
            _add_event(db, job_id, 0, "setup", ARRIVED)
        self.on_change(job_id)
        return self.get(job_id), True

    def get(self, job_id: str) -> Job:
        """The job; raises NotFoundError."""
        rows = self._rows("select * from jobs where id = ?", job_id)
        if not rows:
            raise NotFoundError(Sentence("There is no job {job_id!r}.", job_id=job_id))
        return _job(rows[0])

    def some(self, ids: Collection[str]) -> list[Job]:
        """Those of the jobs that are there, in no order."""
        return [_job(row) for row in self._rows(
            "select * from jobs where id in (select value from json_each(?))",
            json.dumps(list(ids)))]

    def find(self, wanted: JobQuery, *, offset: int = 0, limit: int = -1) -> list[Job]:
        """The jobs that are asked for, at most `limit` of them after the first `offset`."""
        where, values = wanted.where()
        order = ORDERS[wanted.sort]  # sorted without the long columns
        return [_job(row) for row in self._rows(
            f"select jobs.* from (select seq as place from jobs where {where} order by {order}"
            f" limit ? offset ?) join jobs on seq = place order by {order}",
            *values, limit, offset)]

    def counts(self, wanted: JobQuery) -> dict[str, int]:
        """How many of them are in each state, whichever states are asked for."""
        where, values = wanted.where(is_any_state=True)
        rows = self._rows(f"select state, count(*) as jobs from jobs where {where} group by state",
                          *values)
        return dict.fromkeys(states.JOB_STATES, 0) | {row["state"]: row["jobs"] for row in rows}

    def waiting(self) -> list[Job]:
        """Jobs without a running attempt, in order of arrival."""
        return [_job(row) for row in self._rows(
            "select * from jobs where state = ? order by seq", states.WAITING)]

    def note(self, job_id: str, stage: str, text: str, *, is_event: bool = True,
             is_once: bool = False) -> None:
        """Say how far a job has come; `is_event` False changes only the current reason.

        `is_once`: it is no event where one of this kind was told of the attempt before.
        """
        with self._transaction(job_id) as db:
            changed = db.execute(
                "update jobs set stage = ?, reason = ? where id = ? and (stage, reason) != (?, ?)"
                " and state in ('WAITING', 'RUNNING')",
                (stage, stored(text), job_id, stage, stored(text))).rowcount
            if not changed or not is_event:
                return
            attempt = _coming_attempt(db, job_id)
            told = db.execute("select text from events where job_id = ? and attempt = ?"
                              " and stage = ?", (job_id, attempt, stage)) if is_once else ()
            if kind_of(text) not in {kind_of(restored(row["text"])) for row in told}:
                _add_event(db, job_id, attempt, stage, text)

    def pin(self, job_id: str, spec: JobSpec) -> None:
        with self._transaction(job_id) as db:
            db.execute("update jobs set spec = ? where id = ?",
                       (json.dumps(spec.as_json()), job_id))

    def request_stop(self, job_id: str) -> Job:
        """Write down that the job is to stop; acting on it is the worker's part."""
        with self._transaction(job_id) as db:
            changed = db.execute(
                "update jobs set stop_requested = 1 where id = ? and not stop_requested"
                " and state in ('WAITING', 'RUNNING')", (job_id,)).rowcount
            if changed:
                _add_event(db, job_id, _newest_attempt(db, job_id), "end",
                           Sentence("A stop was requested."))
        return self.get(job_id)

    def transition(self, job_id: str, state: str, stage: str, reason: str, *,
                   retries: int = 0, platform_faults: int | None = None,
                   not_before: float = 0) -> None:
        """Move a job and end its running attempt in one step.

        `retries` is added to the count; `platform_faults` replaces it. Raises RunnerError for a
        step that TRANSITIONS does not know.
        """
        with self._transaction(job_id) as db:
            before = db.execute("select * from jobs where id = ?", (job_id,)).fetchone()
            if state not in states.TRANSITIONS[before["state"]]:
                raise RunnerError(f"Job {job_id} cannot go from {before['state']} to {state}.")
            number = _newest_attempt(db, job_id)
            if state != states.RUNNING:
                db.execute("update attempts set state = coalesce(json_extract(decision, '$.state'),"
                           " ?), finished_at = ? where job_id = ? and state = 'RUNNING'",
                           (state, now(), job_id))
            faults = before["platform_faults"] if platform_faults is None else platform_faults
            db.execute(
                "update jobs set state = ?, stage = ?, reason = ?, finished_at = ?,"
                " retries = retries + ?, platform_faults = ?, not_before = ? where id = ?",
                (state, stage, stored(reason), now() if state in states.FINAL_STATES else None,
                 retries, faults, not_before, job_id))
            # That it is tried again is the end of what ran, not the begin of what comes.
            again = "run" if number else before["stage"]
            told = again if state == states.WAITING else stage
            _add_event(db, job_id, number, told, reason)

    # -- attempts -----------------------------------------------------------------------------

    def next_attempt(self, job_id: str) -> int:
        """The number that a claim would give now."""
        return self._rows("select coalesce(max(number), 0) + 1 from attempts where job_id = ?",
                          job_id)[0][0]

    def claim(self, job_id: str, placement: Mapping[str, Any], *, share: float = 0,
              limit_s: float | None = None) -> int | None:
        """Give a waiting job its next attempt and all tasks of its placement; returns the number.

        `share` is the part of the machine that it holds, `limit_s` how long it may run. Returns
        None where the job is not waiting any more, or its stop was requested in the meantime.
        """
        with self._transaction(job_id) as db:
            job = db.execute("select * from jobs where id = ? and state = 'WAITING'"
                             " and not stop_requested", (job_id,)).fetchone()
            if job is None:
                return None
            number = _newest_attempt(db, job_id) + 1
            db.execute("insert into attempts (job_id, number, state, placement, started_at, share,"
                       " limit_s, began) values (?, ?, 'RUNNING', ?, ?, ?, ?, ?)",
                       (job_id, number, json.dumps(placement), now(), share, limit_s, mark()))
            db.executemany("insert into tasks (job_id, attempt, role, idx, state, ip)"
                           " values (?, ?, ?, ?, 'WAITING', ?)",
                           [(job_id, number, task["role"], task["index"], task["ip"])
                            for task in placement["tasks"]])
            text = Sentence("The containers are starting.")
            db.execute("update jobs set state = 'RUNNING', stage = 'run', reason = ?,"
                       " started_at = coalesce(started_at, ?) where id = ?",
                       (stored(text), now(), job_id))
            _add_event(db, job_id, number, "run", text)
        return number

    def ended_jobs(self) -> list[tuple[str, str]]:
        """Every finished job and when it ended, those first that ended first."""
        return [(row["id"], row["finished_at"]) for row in self._rows(
            "select id, finished_at from jobs where state not in ('WAITING', 'RUNNING')"
            " order by finished_at, seq")]

    def remark(self, job_id: str, text: str) -> None:
        """Add an event to a job that has ended; once, however often it is said."""
        with self._transaction(job_id) as db:
            if not db.execute("select 1 from events where job_id = ? and text = ?",
                              (job_id, stored(text))).fetchone():
                _add_event(db, job_id, _newest_attempt(db, job_id), "end", text)

    def live(self) -> list[Job]:
        """Every job that has not ended."""
        return [_job(row) for row in self._rows(
            "select * from jobs where state in ('WAITING', 'RUNNING')")]

    def count_by_state(self) -> dict[str, int]:
        """How many jobs there are in each state, those in none of them too."""
        return self.counts(JobQuery())

    def running_attempts(self) -> list[sqlite3.Row]:
        return self._rows("select * from attempts where state = 'RUNNING'")

    def ended_since(self, time: str) -> list[sqlite3.Row]:
        """User, share, begin and end of every attempt that has ended since a time."""
        return self._rows(
            "select jobs.user, share, attempts.started_at, attempts.finished_at from attempts"
            " join jobs on jobs.id = job_id where attempts.finished_at >= ?", time)

    def last_runs(self, user: str, name: str, limit: int) -> list[sqlite3.Row]:
        """Begin and end of the newest attempts of a user's jobs of one name that succeeded."""
        return self._rows(
            "select attempts.started_at, attempts.finished_at from jobs join attempts"
            " on jobs.id = job_id where jobs.user = ? and jobs.name = ?"
            " and attempts.state = 'SUCCEEDED' order by jobs.seq desc limit ?", user, name, limit)

    def attempt(self, job_id: str, number: int) -> sqlite3.Row:
        return self._rows("select * from attempts where job_id = ? and number = ?",
                          job_id, number)[0]

    def attempts(self, job_id: str) -> list[sqlite3.Row]:
        return self._rows("select * from attempts where job_id = ? order by number", job_id)

    def decide(self, job_id: str, number: int, decision: Mapping[str, Any]) -> None:
        """Write down how an attempt ends; the first decision stays."""
        with self._transaction(job_id) as db:
            text = json.dumps({name: stored(value) for name, value in decision.items()})
            db.execute("update attempts set decision = ? where job_id = ? and number = ?"
                       " and decision is null", (text, job_id, number))

    # -- tasks and events ---------------------------------------------------------------------

    def tasks(self, job_id: str, attempt: int) -> list[dict[str, Any]]:
        return [{**row, "exit_text": restored(row["exit_text"])} for row in self._rows(
            "select * from tasks where job_id = ? and attempt = ? order by rowid",
            job_id, attempt)]

    def update_task(self, job_id: str, attempt: int, role: str, index: int,
                    **values: Any) -> None:
        """Set columns of one task."""
        with self._transaction(job_id) as db:
            columns = ", ".join(f"{name} = ?" for name in values)
            kept = [stored(each) if isinstance(each, str) else each for each in values.values()]
            db.execute(f"update tasks set {columns} where job_id = ? and attempt = ? and role = ?"
                       " and idx = ?", (*kept, job_id, attempt, role, index))

    def events(self, job_id: str) -> list[dict[str, Any]]:
        return [{**row, "text": restored(row["text"])} for row in self._rows(
            "select time, stage, text, attempt from events where job_id = ? order by id", job_id)]

    # -- settings that operators change while the runner works ----------------------------------

    def setting(self, name: str) -> str | None:
        rows = self._rows("select value from settings where name = ?", name)
        return restored(rows[0]["value"]) if rows else None

    def change_setting(self, name: str, value: str | None) -> None:
        """Keep a value under a name; None forgets it."""
        with self._transaction() as db:
            db.execute("delete from settings where name = ?", (name,))
            if value is not None:
                db.execute("insert into settings (name, value) values (?, ?)",
                           (name, stored(value)))


@contextmanager
def _full_disk_told(path: Path) -> Iterator[None]:
    """A full disk below the database is an OSError as everywhere else, and says where."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
            raise
        raise OSError(errno.ENOSPC, f"The disk of the runner is full: {path.parent}") from error


def _newest_attempt(db: sqlite3.Connection, job_id: str) -> int:
    return db.execute("select coalesce(max(number), 0) from attempts where job_id = ?",
                      (job_id,)).fetchone()[0]


def _coming_attempt(db: sqlite3.Connection, job_id: str) -> int:
    """The attempt that runs, or the one that is prepared after another has ended; 0: the first."""
    number = _newest_attempt(db, job_id)
    is_waiting = db.execute("select state from jobs where id = ?",
                            (job_id,)).fetchone()[0] == states.WAITING
    return number + 1 if number and is_waiting else number


def _add_event(db: sqlite3.Connection, job_id: str, attempt: int, stage: str, text: str) -> None:
    db.execute("insert into events (job_id, attempt, time, stage, text) values (?, ?, ?, ?, ?)",
               (job_id, attempt, now(), stage, stored(text)))


def _job(row: sqlite3.Row) -> Job:
    values = {item.name: row[item.name] for item in fields(Job) if item.name != "spec_text"}
    values["stop_requested"] = bool(values["stop_requested"])
    values["reason"] = restored(values["reason"])
    return Job(spec_text=row["spec"], **values)
