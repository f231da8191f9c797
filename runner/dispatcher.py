"""The queue: which of the waiting jobs start now, why the others do not, and when they may."""
from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from statistics import median
from typing import Callable, Iterable, Mapping, Protocol, Sequence

from runner import lineup
from runner.devices import Gpu, Machine
from runner.engine import Engine
from runner.fair_share import HALF_LIFE_S, FairShare
from runner.job_store import Job, JobStore
from runner.lineup import Held, Round, Waiting, forecast, in_order
from runner.quotas import Rules, RulesFile, cluster_name, quotas_of
from runner.room import Bounds, Needs, Room, needs_of, share_of, whole_of
from runner.scheduler import LATER, NEVER, NOW, Fit, Placement, both, explain_quotas
from runner.sentence import Sentence, joined, plural
from runner.spec import JobSpec

FORECAST_JOBS = 100
PAST_RUNS = 9
COUNTED_HALF_LIVES = 10
PAUSE = "pause"  # the name of the setting; its value is the reason that people are told


class Running(Protocol):
    """An attempt, which holds what it was promised."""

    job: Job
    number: int
    placement: Placement


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a waiting job stands; `position` counts from 1."""

    position: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What the queue asks about a job, which does not change while it waits or runs."""

    spec: JobSpec
    needs: Needs
    share: float
    arrived_s: float


@dataclass(frozen=True, kw_only=True)
class _Promise:
    """What a running attempt holds, since when and how long at most; None: without end."""

    known: _Known
    gpus: frozenset[Gpu]
    begin_s: float
    limit_s: float | None
    share: float

    def held(self, lasts_s: float | None) -> Held:
        return Held(needs=self.known.needs, gpus=self.gpus,
                    ends_s=None if lasts_s is None else self.begin_s + lasts_s)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the queue looks at: the rules, who runs, the machines, all they have and what is free.

    `foreign` are GPUs that other programs use, `pause` why no job may start.
    """

    rules: Rules
    promises: Mapping[tuple[str, int], _Promise]
    machines: tuple[Machine, ...]
    whole: Room
    free: Room
    now_s: float
    pause: str | None

    @property
    def foreign(self) -> frozenset[Gpu]:
        return frozenset(gpu for each in self.machines for gpu in each.foreign)

    def round(self) -> Round:
        return Round(self.free, [each.held(each.limit_s) for each in self.promises.values()],
                     self.now_s)


@dataclass(frozen=True, kw_only=True)
class _Pass:
    """What a pass left: the jobs that wait, in their order, and the verdict on each."""

    scene: Scene
    round: Round
    known: Mapping[str, _Known]
    ordered: list[Waiting]
    verdicts: Mapping[str, tuple[int, str]]


class Dispatcher:
    """Decides for the worker; knows nothing that store, engine, attempts and files do not say.

    `attempts` tells those that run; `clock` the time in seconds since 1970, as all times here are.
    """

    def __init__(self, store: JobStore, engine: Engine, rules: RulesFile, *,
                 attempts: Callable[[], Iterable[Running]] = tuple,
                 clock: Callable[[], float] = time.time) -> None:
        self._store, self._engine, self.rules = store, engine, rules
        self._attempts, self._clock = attempts, clock
        self._lock = threading.RLock()
        self._known: dict[str, _Known] = {}
        self._coming: dict[str, _Known] = {}  # of jobs that are not prepared yet
        self._promises: dict[tuple[str, int], _Promise] = {}
        self._ordered: list[Waiting] = []
        self._last: _Pass | None = None
        self._starts: dict[str, float] | None = {}
        self._shares = FairShare()
        for row in store.ended_since(_iso(clock() - COUNTED_HALF_LIVES * HALF_LIFE_S)):
            self._shares.add(row["user"], row["share"], _seconds(row["started_at"]),
                             _seconds(row["finished_at"]))

    # -- one pass -----------------------------------------------------------------------------

    def run(self, ready: Iterable[Job], start: Callable[[Job, int, Placement], None]) -> None:
        """Give what is free to the jobs in their order, each in one transaction, and start them."""
        with self._lock:
            jobs = {job.id: job for job in ready}
            machines = self._engine.capacity()
            whole = whole_of(machines, {})
            self._known = {id_: self._known.get(id_) or self._look_at(jobs[id_], whole)
                           for id_ in jobs}
            scene = self._scene(machines)
            this, verdicts = scene.round(), dict[str, tuple[int, str]]()
            ordered = self._in_order(scene, [
                _waiting(id_, self._known[id_], job.seq, scene.rules) for id_, job in jobs.items()])
            self._ordered, first_full = [], ""
            for waiting in ordered:
                verdict = self._verdict(waiting, this, scene)
                if verdict == lineup.START:
                    if self._start(jobs[waiting.id], waiting, this, scene.whole, start):
                        continue
                    verdict = lineup.OUTSIDE
                if verdict == lineup.FULL and first_full:
                    verdict = lineup.BEHIND
                first_full = first_full or (waiting.id if verdict == lineup.FULL else "")
                this.hold(waiting)
                self._ordered.append(waiting)
                verdicts[waiting.id] = len(self._ordered), verdict
            self._last = _Pass(scene=scene, round=this, known=self._known,
                               ordered=self._ordered, verdicts=verdicts)
            self._starts = None
            for id_ in filter(None, {next(iter(verdicts), ""), first_full}):
                self._store.note(id_, "queue", self._reason(id_, self._last), is_once=True)

    def _verdict(self, waiting: Waiting, this: Round, scene: Scene) -> str:
        is_held = scene.pause is not None or scene.rules.objections(self._known[waiting.id].spec)
        return lineup.OUTSIDE if is_held else this.verdict(waiting)

    def _start(self, job: Job, waiting: Waiting, this: Round, whole: Room,
               start: Callable[[Job, int, Placement], None]) -> bool:
        """False where the engine has no place after all, or the job was stopped meanwhile."""
        gpus = this.gpus_for(waiting) or frozenset()
        key = job.id, self._store.next_attempt(job.id)
        placement = self._engine.reserve(key, self._known[job.id].spec, gpus)
        if placement is None:
            return False
        number = None
        try:
            number = self._store.claim(job.id, placement.as_json(), share=waiting.share,
                                       limit_s=waiting.limit_s)
        finally:
            if number is None:
                self._engine.release(key)
        if number is None:
            return False
        this.start(waiting, gpus)
        start(job, number, placement)
        self._promises[key] = self._promise(job, number, placement, whole)
        return True

    def _reason(self, job_id: str, last: _Pass) -> str:
        """What a job waits for, as that pass left it."""
        (position, verdict), spec = last.verdicts[job_id], last.known[job_id].spec
        if last.scene.pause is not None:
            return last.scene.pause
        if verdict == lineup.BEHIND:
            return self._turn(last.ordered[position - 1], last.round, position - 1)
        objections = last.scene.rules.objections(spec)
        if objections:
            return joined(*objections)
        fit = self._fit(spec, last.scene.whole, last.round.free)
        return fit.reason if fit.fit != NOW else Sentence(
            "Its turn comes with the next look, in seconds.")

    def _turn(self, waiting: Waiting, this: Round, ahead: int) -> str:
        """The sentence for a job that must not pass others, with what would let it."""
        said = plural("Waits for its turn: {count} job is ahead.",
                      "Waits for its turn: {count} jobs are ahead.", ahead)
        due_s = this.reserved_s()
        minutes = 0 if due_s is None else int((due_s - this.now_s) // 60)
        if minutes and waiting.limit_s is None and this.verdict(
                replace(waiting, limit_s=60.0 * minutes)) == lineup.START:
            return joined(said, Sentence(
                "With a time limit of at most {minutes} minutes (timeLimitMinutes) it could run "
                "before them.", minutes=minutes))
        return said

    def _fit(self, spec: JobSpec, whole: Room, free: Room) -> Fit:
        return both(self._engine.explain(spec),
                    explain_quotas(spec, quotas_of(spec), whole, free))

    # -- what people ask ----------------------------------------------------------------------

    def explain(self, spec: JobSpec) -> Fit:
        """Whether a job that came now could start now, later or never, and why."""
        with self._lock:
            scene = self._scene(self._engine.capacity())
            objections = scene.rules.objections(spec)
            fit = self._fit(spec, scene.whole, scene.free)
            if fit.fit == NEVER or objections:
                reasons = objections + [fit.reason] * (fit.fit == NEVER)
                return Fit(fit=NEVER, reason=joined(*reasons))
            if scene.pause is not None:
                return Fit(fit=LATER, reason=scene.pause)
            known = self._known_of(spec, scene.now_s, scene.whole)
            new = _waiting("", known, sys.maxsize, scene.rules)
            ordered, this = self._in_order(scene, [*self._ordered, new]), scene.round()
            ahead = ordered.index(new)
            for waiting in ordered[:ahead]:
                this.hold(waiting)
            if fit.fit == NOW and this.verdict(new) != lineup.START:
                return Fit(fit=LATER, reason=self._turn(new, this, ahead))
            return fit

    def in_turn(self, jobs: Iterable[Job]) -> list[Job]:
        """Jobs that may not start yet, those first whose turn will come first."""
        with self._lock:
            scene = self._scene(self._engine.capacity())
            by_id = {job.id: job for job in jobs}
            self._coming = {id_: self._coming.get(id_) or self._look_at(job, scene.whole)
                            for id_, job in by_id.items()}
            ordered = self._in_order(scene, [
                _waiting(id_, known, by_id[id_].seq, scene.rules)
                for id_, known in self._coming.items()])
        return [by_id[waiting.id] for waiting in ordered]

    def standing(self, job_id: str) -> Standing | None:
        """Where a job stood in the last pass; None where it took no part, or started."""
        with self._lock:
            last = self._last
            if last is None or job_id not in last.verdicts:
                return None
            return Standing(position=last.verdicts[job_id][0], reason=self._reason(job_id, last))

    def expected_start(self, job_id: str) -> str | None:
        """When a waiting job may be expected to start, in UTC; None where nobody knows.

        Time limits say so, and how long earlier jobs of the same user and name took.
        """
        with self._lock:
            if self._starts is None:
                self._starts = self._forecast(self._ordered, self._known)
            found = self._starts.get(job_id)
        return None if found is None else _iso(found)

    def expected_start_of(self, spec: JobSpec) -> str | None:
        """When a job that came now may be expected to start, in UTC; None where nobody knows."""
        with self._lock:
            scene = self._scene(self._engine.capacity())
            new = self._known_of(spec, scene.now_s, scene.whole)
            ordered = self._in_order(scene, [
                *self._ordered, _waiting("", new, sys.maxsize, scene.rules)])
            found = self._forecast(ordered, {**self._known, "": new}).get("")
        return None if found is None else _iso(found)

    def _forecast(self, ordered: Sequence[Waiting], known: Mapping[str, _Known]
                  ) -> dict[str, float]:
        rules, now_s = self.rules.rules(), self._clock()
        if self.pause_reason() is not None:
            return {}
        jobs = [replace(each, limit_s=self._lasts_s(known[each.id].spec, each.limit_s))
                for each in ordered[:FORECAST_JOBS] if each.id in known
                and not rules.objections(known[each.id].spec)]
        promises = list(self._promises.values())
        held = [each.held(self._lasts_s(each.known.spec, each.limit_s, now_s - each.begin_s))
                for each in promises]
        machines = [replace(each, foreign=frozenset()) for each in self._engine.capacity()]
        return forecast(jobs, self._free(promises, rules, machines)[1], held, now_s)

    def _lasts_s(self, spec: JobSpec, limit_s: float | None, past_s: float = 0) -> float | None:
        """How long a job may be expected to run in all, when it has run for `past_s`."""
        rows = self._store.last_runs(spec.user, spec.name, PAST_RUNS)
        lasted = [_seconds(row["finished_at"]) - _seconds(row["started_at"]) for row in rows]
        usual_s = median(lasted) if lasted else None
        if usual_s is None or usual_s < past_s:
            return limit_s
        return usual_s if limit_s is None else min(usual_s, limit_s)

    def look(self) -> Scene:
        """The machines at this moment."""
        with self._lock:
            return self._scene(self._engine.capacity())

    # -- pause --------------------------------------------------------------------------------

    def pause(self, reason: str | None) -> None:
        """Start no more jobs and tell people why; None: go on."""
        self._store.change_setting(PAUSE, reason)

    def pause_reason(self) -> str | None:
        """Why the queue is paused; None while it is not."""
        return self._store.setting(PAUSE)

    # -- what the store and the attempts say --------------------------------------------------

    def _look_at(self, job: Job, whole: Room) -> _Known:
        return self._known_of(job.spec, _seconds(job.created_at), whole)

    def _known_of(self, spec: JobSpec, arrived_s: float, whole: Room) -> _Known:
        needs = needs_of(spec, quotas_of(spec))
        return _Known(spec=spec, needs=needs, share=share_of(needs, whole), arrived_s=arrived_s)

    def _scene(self, machines: tuple[Machine, ...]) -> Scene:
        rules = self.rules.rules()
        self._count(whole_of(machines, {}))
        promises = list(self._promises.values())
        whole, free = self._free(promises, rules, machines)
        return Scene(rules=rules, promises=dict(self._promises), machines=machines, whole=whole,
                     free=free, now_s=self._clock(), pause=self.pause_reason())

    def _count(self, whole: Room) -> None:
        """Bring what is promised up to the attempts that run; those that ended become past."""
        running = {(each.job.id, each.number): each for each in self._attempts()}
        for key in self._promises.keys() - running.keys():
            gone = self._promises.pop(key)
            self._shares.add(gone.known.spec.user, gone.share, gone.begin_s, self._clock())
        for key in self._engine.promised() - running.keys():
            self._engine.release(key)
        for key in running.keys() - self._promises.keys():
            self._promises[key] = self._promise(
                running[key].job, running[key].number, running[key].placement, whole)

    def _promise(self, job: Job, number: int, placement: Placement, whole: Room) -> _Promise:
        row = self._store.attempt(job.id, number)
        uuids = {uuid for task in placement.tasks for uuid in task.gpus}
        return _Promise(
            known=self._look_at(job, whole), begin_s=_seconds(row["started_at"]),
            gpus=frozenset(gpu for gpu in whole.gpus if gpu.uuid in uuids),
            limit_s=row["limit_s"], share=row["share"])

    def _free(self, promises: Iterable[_Promise], rules: Rules, machines: Sequence[Machine],
              ) -> tuple[Room, Room]:
        """All that the machines have, and what of it is free."""
        names = {name for known in (*self._known.values(), *(each.known for each in promises))
                 for name in known.needs.quotas} | set(map(cluster_name, rules.clusters))
        quotas = {name: quota for name in names if (quota := rules.quota(name)) != Bounds()}
        whole = whole_of(machines, quotas)
        free = replace(whole, gpus=whole.gpus.difference(*(each.foreign for each in machines)))
        for each in promises:
            free = free.less(each.known.needs, each.gpus)
        return whole, free

    def _in_order(self, scene: Scene, jobs: list[Waiting]) -> list[Waiting]:
        held: dict[str, list[tuple[float, float]]] = {}
        for each in scene.promises.values():
            held.setdefault(each.known.spec.user, []).append((each.share, each.begin_s))
        had = {user: self._shares.of(user, scene.now_s, held.get(user, ()))
               for user in {job.user for job in jobs}}
        return in_order(jobs, had, scene.now_s)


def _waiting(id_: str, known: _Known, seq: int, rules: Rules) -> Waiting:
    return Waiting(id=id_, seq=seq, user=known.spec.user, needs=known.needs,
                   arrived_s=known.arrived_s, priority=known.spec.priority,
                   limit_s=rules.limit_s(known.spec), share=known.share)


def _seconds(time_text: str) -> float:
    return datetime.fromisoformat(time_text).timestamp()


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(
        timespec="milliseconds").replace("+00:00", "Z")
