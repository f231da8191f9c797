"""One try of a job: its containers from creation to removal, wherever a kill cut it short."""
from __future__ import annotations

import json
import logging
import queue
import time
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from runner import outcome, receipt
from runner import spec as states
from runner.artifacts import JobFolders
from runner.clock import mark, seconds
from runner.config import Settings
from runner.engine import CREATED, RUNNING, Engine, Exit, Gang, Slot
from runner.errors import EngineAwayError, RunnerError
from runner.job_store import Job, JobStore, now
from runner.kept import Kept
from runner.outcome import Decision, TaskResult, decision_from_json
from runner.scheduler import Placement
from runner.sentence import Sentence, plural, said_by
from runner.storage_return import StorageReturn

log = logging.getLogger(__name__)

LIMIT_CHECK_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """What all attempts share."""

    settings: Settings
    store: JobStore
    engine: Engine
    folders: JobFolders
    storage: StorageReturn
    kept: Kept
    on_log: Callable[[str], None]


@dataclass(kw_only=True)
class _Task:
    memory_mb: int
    has_started: bool
    is_final: bool
    is_followed: bool = False


class Attempt:
    """Runs in a thread of its own; `run` returns how it ended.

    Nothing is kept here that store and engine do not know: after a kill, a new Attempt for the
    same row creates what is missing, follows what runs and collects what has ended. It is the
    engine's Listener for its gang.
    """

    def __init__(self, shop: Workshop, job: Job, number: int, placement: Placement) -> None:
        self.shop, self.job, self.number, self.placement = shop, job, number, placement
        self.gang = Gang(key=(job.id, number), spec=job.spec, placement=placement)
        self._news: queue.SimpleQueue[tuple[Slot, Exit] | Exception | None] = queue.SimpleQueue()
        self._decision: Decision | None = None
        row = shop.store.attempt(job.id, number)
        self._limit_s = row["limit_s"]
        self._ends_s = _end_of(dict(row))
        if row["decision"]:
            self._decision = decision_from_json(json.loads(row["decision"]))
        memory = {role.name: role.resources.memory_mb for role in job.spec.task_roles}
        self._tasks: dict[Slot, _Task] = {
            (row["role"], row["idx"]): _Task(
                memory_mb=memory[row["role"]], has_started=bool(row["started_at"]),
                is_final=bool(row["finished_at"])) for row in shop.store.tasks(job.id, number)}

    def poke(self) -> None:
        """The job's stop was requested: look at the store again."""
        self._news.put(None)

    def run(self) -> Decision:
        self._check_stop()
        if self._decision is None:
            self._launch()
        else:
            self._adopt_what_exists()
        if self._decision:
            self._stop()
        while not all(task.is_final for task in self._tasks.values()):
            self._take_in()
        decision = self._decision or outcome.decide(self.job.spec, self._results())
        if decision is None:
            raise RunnerError(Sentence("All tasks have ended, but no rule says how the job did."))
        self._decide(decision)
        if self.shop.storage.has_copies(self.job):
            self.shop.kept.clear(self.gang)  # only then all files are the runner's own
            decision = self.shop.storage.send(self.job, decision)
        self._leave_receipt(decision)
        self.shop.kept.clear(self.gang)
        return decision

    # -- what the engine tells ------------------------------------------------------------------

    def started(self, slot: Slot, container: str) -> None:
        task = self._tasks[slot]
        task.is_followed = True
        if not task.has_started:
            self._update(slot, state=states.RUNNING, started_at=now(), began=mark(),
                         container=container)
            task.has_started = True

    def ended(self, slot: Slot, how: Exit) -> None:
        self._news.put((slot, how))

    def failed(self, slot: Slot, error: Exception) -> None:
        self._news.put(error)

    def log_grew(self) -> None:
        self.shop.on_log(self.job.id)

    # -- starting -------------------------------------------------------------------------------

    def _launch(self) -> None:
        """Follow what was started before, and start the rest, all of it or none."""
        live = [slot for slot, task in self._tasks.items() if not task.is_final]
        known = [slot for slot in live if self._tasks[slot].has_started]
        self.shop.engine.adopt(self.gang, known, self)
        try:
            self.shop.engine.start(self.gang, [slot for slot in live if slot not in known], self)
        except EngineAwayError:
            raise
        except RunnerError as error:
            log.warning("job %s attempt %s could not start: %s", self.job.id, self.number, error)
            self._decide(outcome.failed_start(
                said_by(error), is_platform=getattr(error, "is_platform", True)))
            self._adopt_what_exists()
            return
        self.shop.store.note(self.job.id, "run", plural(
            "The container is running.", "{count} containers are running.", len(live)))

    def _adopt_what_exists(self) -> None:
        """After a decision: follow what has started, and count the rest as stopped."""
        found, begun = self.shop.engine.look(self.gang), []
        for slot, task in self._tasks.items():
            if task.is_final or task.is_followed:
                continue
            if task.has_started or found.get(slot, CREATED) != CREATED:
                begun.append(slot)
            else:
                self._finish(slot, states.STOPPED, Sentence("never started"))
        self.shop.engine.adopt(self.gang, begun, self)

    # -- running --------------------------------------------------------------------------------

    def _take_in(self) -> None:
        """Wait for news and write all of it down, before anything is decided."""
        news = [self._next()]
        while not self._news.empty():
            news.append(self._news.get())
        for each in news:
            if isinstance(each, Exception):
                raise each
            if each is not None:
                self._record(*each)
        if self._decision is None and any(news):
            self._decide(outcome.decide(self.job.spec, self._results()))
        if None in news:
            self._check_stop()
            self._check_limit()

    def _next(self) -> tuple[Slot, Exit] | Exception | None:
        """Who ended or what failed; None where stop and time limit are to be looked at."""
        if self._ends_s is None or self._decision is not None:
            return self._news.get()
        try:
            return self._news.get(timeout=max(LIMIT_CHECK_S, self._ends_s - time.monotonic()))
        except queue.Empty:
            return None

    def _record(self, slot: Slot, how: Exit) -> None:
        task = self._tasks[slot]
        if task.is_final:
            return
        if how.code is None:
            self._finish(slot, states.FAILED, Sentence(
                "the container was removed from outside"))
        elif how.interruption and self._decision is None:
            self._finish(slot, states.FAILED, Sentence(
                "{what} (exit code {code})", what=how.interruption, code=how.code))
        else:
            ended = states.SUCCEEDED if how.code == 0 else states.FAILED
            self._finish(
                slot, ended if self._decision is None else states.STOPPED,
                outcome.describe_exit(how.code, how.oom_killed, memory_mb=task.memory_mb),
                exit_code=how.code, oom_killed=int(how.oom_killed))

    def _finish(self, slot: Slot, state: str, text: str, **values: int) -> None:
        self._update(slot, state=state, exit_text=text, finished_at=now(), ended=mark(), **values)
        self._tasks[slot].is_final = True

    def _update(self, slot: Slot, **values: Any) -> None:
        self.shop.store.update_task(*self.gang.key, *slot, **values)

    # -- ending ---------------------------------------------------------------------------------

    def _results(self) -> list[TaskResult]:
        return [TaskResult(role=row["role"], index=row["idx"], state=row["state"],
                           exit_code=row["exit_code"], exit_text=row["exit_text"],
                           oom_killed=bool(row["oom_killed"]), finished_at=row["finished_at"])
                for row in self.shop.store.tasks(*self.gang.key)]

    def _check_stop(self) -> None:
        if self.shop.store.get(self.job.id).stop_requested:
            self._decide(outcome.STOPPED_BY_REQUEST)

    def _check_limit(self) -> None:
        """Where time is up, end what still runs; what has ended by itself is heard of soon."""
        is_up = self._ends_s is not None and time.monotonic() >= self._ends_s
        if is_up and RUNNING in self.shop.engine.look(self.gang).values():
            self._decide(outcome.time_is_up(self._limit_s))

    def _decide(self, decision: Decision | None) -> None:
        """Write the decision down before anything is done about it; the first one stays."""
        if decision is None or self._decision is not None:
            return
        self._decision = decision
        self.shop.store.decide(*self.gang.key, decision.as_json())
        self._stop()

    def _stop(self) -> None:
        self.shop.engine.stop(self.gang, self.shop.settings.grace_s)

    def _leave_receipt(self, decision: Decision) -> None:
        """Once, when all has ended; a kill before it comes back here."""
        shop, where = self.shop, self.gang.key
        receipt.leave(shop.folders, *where, receipt.write_out(
            shop.folders, self.job.spec, *where, placement=self.placement,
            machines=shop.engine.capacity(), versions=shop.engine.versions(), decision=decision,
            row=dict(shop.store.attempt(*where)),
            tasks=[dict(row) for row in shop.store.tasks(*where)]))


def _end_of(row: Mapping[str, Any]) -> float | None:
    """When an attempt's time is up, by the clock that nobody sets; None: never."""
    if row["limit_s"] is None:
        return None
    past_s = seconds(row["began"], mark(), written=(row["started_at"], now()))
    return time.monotonic() + row["limit_s"] - (past_s or 0)
