"""The runner's loop: claim, prepare, place, run, retry; and everything found again after a kill."""
from __future__ import annotations

import errno
import logging
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Iterable, Sequence, TypeVar

from runner import outcome
from runner import spec as states
from runner.artifacts import JobFolders
from runner.attempt import Attempt, Workshop
from runner.changes import Changes
from runner.config import Settings
from runner.dispatcher import Dispatcher
from runner.engine import Engine, Errand
from runner.errors import Cancelled, EngineAwayError, EngineError, RunnerError, StagingError
from runner.job_store import Job, JobStore
from runner.kept import Kept
from runner.logins import Logins
from runner.logs import Logs
from runner.outcome import Decision
from runner.quotas import RulesFile
from runner.scheduler import NEVER, Fit, Placement, placement_from_json
from runner.sentence import Sentence
from runner.spec import JobSpec, Login
from runner.staging import Stager
from runner.storage_return import StorageReturn
from runner.supplies import Supply
from runner.terminals import Terminals

log = logging.getLogger(__name__)

T = TypeVar("T")
PREPARE_AT_ONCE = 16  # most of them wait for what others bring, or find all here
PREPARE_OF_USER = 8
PASS_EVERY_S = 5.0
SWEEP_EVERY_S = 300.0
RETRY_ENGINE_S = 2.0
OWN_FAULTS_ALLOWED = 3


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a pull or download is, in bytes; `total` None while it is not known."""

    text: str
    current: int
    total: int | None


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What would become of a job; `expected_start` in UTC, None: nobody knows."""

    fit: Fit
    supplies: Sequence[Supply]
    expected_start: str | None


class Worker:
    """Owns every job of this machine, from arrival to the end."""

    def __init__(self, settings: Settings, store: JobStore, engine: Engine,
                 stager: Stager) -> None:
        self.store, self.engine = store, engine
        self.folders = JobFolders(settings.home / "jobs")
        self.progress: dict[str, Progress] = {}
        self.logs = Logs(self.folders, store)
        self.changes = Changes()
        store.on_change = self.changes.changed
        self.queue = Dispatcher(store, engine, RulesFile(settings.clusters),
                                attempts=self._attempts)
        self.kept = Kept(settings, store, engine)
        self._workshop = Workshop(
            settings=settings, store=store, engine=engine, folders=self.folders, kept=self.kept,
            on_log=self._log_grew, storage=StorageReturn(
                stager=stager, store=store, folders=self.folders, report=self._reporter,
                is_closed=lambda: self._is_closed.is_set()))
        self.logins = Logins(settings.home / "logins")
        self.terminals = Terminals(store, engine)
        self._lock = threading.RLock()
        self._running: dict[str, Attempt] = {}
        self._preparing: dict[str, str] = {}  # job and user
        self._preparers = ThreadPoolExecutor(PREPARE_AT_ONCE, thread_name_prefix="prepare")
        self._wake = threading.Event()
        self._is_closed = threading.Event()
        self._swept_s = time.monotonic()
        self._is_in_doubt = False  # whether a pass broke off between a claim and its start

    def start(self) -> None:
        """Take up what an earlier run left, then work until `close`."""
        self._recover()
        self.terminals.start()
        threading.Thread(target=self._loop, name="worker", daemon=True).start()

    def close(self) -> None:
        """Let go of everything; containers run on and are adopted at the next start."""
        self._is_closed.set()
        self._wake.set()
        self.logs.close()
        self.changes.close()
        self.terminals.close_all()
        self.engine.close()
        self._preparers.shutdown(wait=False, cancel_futures=True)

    # -- what the API calls -------------------------------------------------------------------

    def submit(self, spec: JobSpec, key: str | None, logins: Iterable[Login] = ()
               ) -> tuple[Job, bool]:
        """Keep a job; one that can never run here fails at once and says why.

        `logins` are kept until its images are here.
        """
        job, is_new = self.store.enqueue(
            spec, key, before=lambda job_id: self.logins.keep(job_id, logins))
        if is_new:
            fit = self.explain(spec)
            if fit.fit == NEVER:
                self.store.transition(job.id, states.FAILED, "end", fit.reason)
                self.logins.drop(job.id)
            self._wake.set()
        return self.store.get(job.id), is_new

    def stop(self, job_id: str) -> Job:
        job = self.store.request_stop(job_id)
        with self._lock:
            attempt = self._running.get(job_id)
        if attempt:
            attempt.poke()
        self._wake.set()
        return job

    def explain(self, spec: JobSpec) -> Fit:
        return self.queue.explain(spec)

    def outlook(self, spec: JobSpec, logins: Sequence[Login] = ()) -> Outlook:
        """What would become of a job that came now; nothing of it is begun or kept."""
        return Outlook(fit=self.explain(spec), supplies=self.engine.supplies(spec, logins),
                       expected_start=self.queue.expected_start_of(spec))

    def pause(self, reason: str) -> None:
        """Start no more jobs, also after a restart; running ones go on."""
        self.queue.pause(Sentence(
            "The queue is paused: {reason}. Running jobs go on.", reason=reason.rstrip("."))
            if reason else Sentence("The queue is paused. Running jobs go on."))
        self._wake.set()

    def resume(self) -> None:
        self.queue.pause(None)
        self._wake.set()

    # -- the loop -----------------------------------------------------------------------------

    def _loop(self) -> None:
        while not self._is_closed.is_set():
            self._wake.clear()
            began_s = time.monotonic()
            try:
                next_pass_s = self._pass()
            except Exception:
                log.exception("a pass over the waiting jobs failed; the next one follows")
                next_pass_s = PASS_EVERY_S
                self._is_in_doubt = True
            # However long the queue and however often it changes, half of the time is others'.
            self._is_closed.wait(min(PASS_EVERY_S, time.monotonic() - began_s))
            self._wake.wait(next_pass_s)

    def _pass(self) -> float:
        """Look at every waiting job once; returns seconds until the next look is due."""
        ready, unprepared, due_s = [], [], PASS_EVERY_S
        if self._is_in_doubt:
            self._adopt()
            self._is_in_doubt = False
        for job in self.store.waiting():
            with self._lock:
                if job.id in self._preparing:
                    continue
            delay_s = job.not_before - time.time()
            if job.stop_requested:
                self.store.transition(job.id, states.STOPPED, "end", Sentence(
                    "The job was stopped before it ran."))
                self.logins.drop(job.id)
            elif 0 < delay_s <= outcome.MAX_BACKOFF_S:  # more: the clock was set back
                due_s = min(due_s, delay_s)
            elif job.stage == "queue":
                ready.append(job)
            else:
                unprepared.append(job)
        self._begin_preparing(unprepared)
        self.queue.run(ready, self._claimed)
        self.kept.expire()
        if time.monotonic() > self._swept_s + SWEEP_EVERY_S:
            with suppress(EngineError):
                self._sweep()
        return due_s

    def _claimed(self, job: Job, number: int, placement: Placement) -> None:
        self._run(Attempt(self._workshop, self.store.get(job.id), number, placement))

    # -- preparing ----------------------------------------------------------------------------

    def _begin_preparing(self, jobs: list[Job]) -> None:
        """In the order of the queue, as many as may be at once; no user takes all places."""
        with self._lock:
            room, users = PREPARE_AT_ONCE - len(self._preparing), Counter(self._preparing.values())
        if not jobs or room < 1:
            return
        for job in self.queue.in_turn(jobs):
            if room and users[job.user] < PREPARE_OF_USER:
                room, users[job.user] = room - 1, users[job.user] + 1
                with self._lock:
                    self._preparing[job.id] = job.user
                self._preparers.submit(self._prepare, job)

    def _prepare(self, job: Job) -> None:
        try:
            self.store.pin(job.id, self.engine.prepare(self._errand(job)))
            self.store.note(job.id, "queue", Sentence("Waits for free resources."), is_event=False)
        except Cancelled:
            log.info("job %s was stopped while it was prepared", job.id)
        except RunnerError as error:
            if not self._waits_out(job, "setup", error):  # else the next pass prepares it again
                self._prepare_failed(job, error)
        except Exception as error:
            log.exception("preparing job %s failed", job.id)
            if not self._waits_out(job, "setup", error):
                self._prepare_failed(job, RunnerError(Sentence(
                    "Preparing the job failed: {error}", error=error)))
        finally:
            self.progress.pop(job.id, None)
            if self.store.get(job.id).stage in ("queue", "end"):
                self.logins.drop(job.id)
            with self._lock:
                del self._preparing[job.id]
            self._wake.set()

    def _prepare_failed(self, job: Job, error: RunnerError) -> None:
        is_platform = getattr(error, "is_platform", False)
        cause = outcome.STAGING if isinstance(error, StagingError) else outcome.IMAGE
        self._end(job.id, Decision(state=states.FAILED, reason=error.message,
                                   cause=outcome.PLATFORM if is_platform else cause))

    def _errand(self, job: Job) -> Errand:
        return Errand(
            job=job.id, spec=job.spec, login=lambda server: self.logins.of(job.id, server),
            say=lambda stage, text: self.store.note(job.id, stage, text),
            report=self._reporter(job), is_cancelled=lambda: (
                self._is_closed.is_set() or self.store.get(job.id).stop_requested))

    def _reporter(self, job: Job) -> Any:
        def report(text: str, current: int, total: int | None) -> None:
            self.progress[job.id] = Progress(text=text, current=current, total=total)
            self.changes.changed(job.id)
        return report

    # -- running ------------------------------------------------------------------------------

    def _run(self, attempt: Attempt) -> None:
        with self._lock:
            self._running[attempt.job.id] = attempt
        threading.Thread(target=self._run_to_end, args=(attempt,), daemon=True,
                         name=f"job-{attempt.job.id}").start()

    def _run_to_end(self, attempt: Attempt) -> None:
        """Run an attempt; where Docker fails in the middle, take it up again from the store.

        A fault of the runner itself is taken up a few times too, and then ends the attempt.
        """
        faults, decision = 0, None
        while decision is None and not self._is_closed.is_set():
            try:
                decision = attempt.run()
            except Exception as error:
                log.exception("job %s attempt %s was interrupted; it is taken up again",
                              attempt.job.id, attempt.number)
                if not self._waits_out(attempt.job, "run", error):
                    self._is_closed.wait(RETRY_ENGINE_S)
                faults += not _is_passing(error)
                if faults > OWN_FAULTS_ALLOWED:
                    decision = self._insist(partial(self._give_up, attempt, error))
                attempt = Attempt(self._workshop, attempt.job, attempt.number, attempt.placement)
                with self._lock:
                    self._running[attempt.job.id] = attempt
        if decision is not None:
            self.progress.pop(attempt.job.id, None)
            self._insist(partial(self._end, attempt.job.id, decision))
            with self._lock:
                self._running.pop(attempt.job.id, None)
            self._wake.set()

    def _give_up(self, attempt: Attempt, error: Exception) -> Decision:
        """End an attempt that the runner cannot follow; its containers go first."""
        decision = Decision(state=states.FAILED, cause=outcome.PLATFORM,
                            reason=Sentence("The runner failed ({kind}); its log says why.",
                                            kind=type(error).__name__))
        self.store.decide(*attempt.gang.key, decision.as_json())
        self.engine.fence(attempt.gang.key)
        return decision

    def _insist(self, act: Callable[[], T]) -> T:
        """Do what must be done once a job is over, also when the disk or Docker lets one wait."""
        while True:
            try:
                return act()
            except Exception as error:
                if not _is_passing(error) or self._is_closed.is_set():
                    raise
                log.warning("%s; it is tried again", error)
                self._is_closed.wait(RETRY_ENGINE_S)

    def _waits_out(self, job: Job, stage: str, error: Exception) -> bool:
        """Where Docker is away or the disk full, say so and give it a moment; else False."""
        if isinstance(error, EngineAwayError):
            text = error.message
        elif _is_disk_full(error):
            text = Sentence(
                "The disk of the runner is full: {root}. Make room there; the job goes on then.",
                root=self.folders.root)
        else:
            return False
        with suppress(OSError):  # the database may be on that disk
            self.store.note(job.id, stage, text)
        self._is_closed.wait(RETRY_ENGINE_S)
        return True

    def _end(self, job_id: str, decision: Decision) -> None:
        """Final state, or back to the queue for another attempt."""
        job = self.store.get(job_id)
        is_platform = decision.cause in outcome.PLATFORM_CAUSES
        faults = job.platform_faults + 1 if is_platform else 0
        is_wanted = outcome.should_retry(job.spec.retry_count, job.retries, decision, faults)
        if decision.cause == outcome.STOPPED or (is_wanted and job.stop_requested):
            self.store.transition(job.id, states.STOPPED, "end", outcome.STOPPED_BY_REQUEST.reason)
        elif is_wanted:
            delay_s = outcome.backoff_s(faults or job.retries)
            self.store.transition(
                job.id, states.WAITING, "setup", Sentence(
                    "{reason} Trying again.", reason=decision.reason),
                retries=0 if is_platform else 1, platform_faults=faults,
                not_before=time.time() + delay_s)
        else:
            self.store.transition(job.id, decision.state, "end", decision.reason)
        self._wake.set()

    # -- after a kill -------------------------------------------------------------------------

    def _recover(self) -> None:
        """Adopt what ran, and remove what no live attempt owns."""
        self.logins.keep_only({job.id for job in self.store.waiting() if job.stage != "queue"})
        self._adopt()
        self._sweep()

    def _sweep(self) -> None:
        """Remove what no live attempt owns: a kill left it, or Docker made it long after a call.

        What is found is looked for first: what comes later is not taken for what nobody owns.
        """
        self._swept_s = time.monotonic()
        left = self.engine.found()
        live = {(row["job_id"], row["number"]) for row in self.store.running_attempts()}
        for key in left - live - self.kept.keys():
            self.engine.fence(key)

    def _adopt(self) -> None:
        """Follow every attempt that the store says runs and nobody follows."""
        followed = {attempt.job.id for attempt in self._attempts()}
        for row in self.store.running_attempts():
            if row["job_id"] not in followed:
                attempt = Attempt(self._workshop, self.store.get(row["job_id"]), row["number"],
                                  placement_from_json(row["placement"]))
                self._run(attempt)  # first: what is promised to nobody who runs is given back
                self.engine.hold(attempt.gang)

    def _log_grew(self, job_id: str) -> None:
        self.logs.grew()
        self.changes.grew(job_id)

    # -- small things --------------------------------------------------------------------------

    def _attempts(self) -> list[Attempt]:
        with self._lock:
            return list(self._running.values())


def _is_disk_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _is_passing(error: Exception) -> bool:
    """Docker away or a full disk: worth waiting for, however long it takes."""
    return _is_disk_full(error) or isinstance(error, EngineError)
