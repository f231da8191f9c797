"""Whose turn it is: priority, fair share, age; who may go first without delaying others. Pure."""
from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import groupby
from typing import Iterable, Mapping, Sequence

from runner.devices import Gpu
from runner.room import MACHINE, Needs, Room

START, BEHIND, FULL, LIMITED, OUTSIDE = "start", "behind", "full", "limited", "outside"
PATIENCE_S = 7 * 86400.0
ASSUMED_S = 3600.0
ROUNDED_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A job that could start; `seq` is its place by age, `arrived_s` seconds since 1970.

    `limit_s` is the longest that it may hold what it gets, None where nobody knows; `share` the
    part of the machine that this is.
    """

    id: str
    seq: int
    user: str
    needs: Needs
    arrived_s: float
    priority: int = 0
    limit_s: float | None = None
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a running job holds, and until when at the latest; None where nobody knows."""

    needs: Needs
    gpus: frozenset[Gpu] = frozenset()
    ends_s: float | None = None


def in_order(waiting: Iterable[Waiting], had: Mapping[str, float], now_s: float) -> list[Waiting]:
    """The jobs as they come to their turn; `had` is what each user had lately, in FairShare's unit.

    A job that has waited for PATIENCE_S goes before all others: whatever the others' priority and
    share, no job waits for ever. Of equal priority, the user who had least is next, each of the
    jobs before counted as if it ran; then age. Differences below ROUNDED_S are none.
    """
    jobs = sorted(waiting, key=lambda job: job.seq)
    patient = [job for job in jobs if now_s - job.arrived_s < PATIENCE_S]
    ordered = [job for job in jobs if now_s - job.arrived_s >= PATIENCE_S]
    counted = dict(had)
    for job in ordered:
        _count(counted, job)
    patient.sort(key=lambda job: -job.priority)  # stable: age stays within
    for _, equals in groupby(patient, key=lambda job: job.priority):
        ordered += _in_turns(equals, counted)
    return ordered


def _in_turns(jobs: Iterable[Waiting], counted: dict[str, float]) -> list[Waiting]:
    """Jobs of one priority: always the oldest one of the user who has had least."""
    queues: dict[str, list[Waiting]] = {}
    for job in jobs:
        queues.setdefault(job.user, []).append(job)
    for queue in queues.values():
        queue.reverse()
    turns = [(_rounded(counted.get(user, 0.0)), queue[-1].seq, user)
             for user, queue in queues.items()]
    heapq.heapify(turns)
    ordered = []
    while turns:
        user = heapq.heappop(turns)[-1]
        job = queues[user].pop()
        ordered.append(job)
        _count(counted, job)
        if queues[user]:
            heapq.heappush(turns, (_rounded(counted[user]), queues[user][-1].seq, user))
    return ordered


def _count(counted: dict[str, float], job: Waiting) -> None:
    counted[job.user] = counted.get(job.user, 0.0) + job.share * (job.limit_s or ASSUMED_S)


def _rounded(seconds: float) -> int:
    return int(seconds // ROUNDED_S)


@dataclass(kw_only=True)
class _Reservation:
    """What a job that cannot start is promised: no job after it may be in its way.

    `scopes` names what it lacks and others must leave to it, the machine or quotas of its own.
    `at_s` is the moment from which it fits by what is known, `then` the room at that moment; None
    where nobody knows when others end.
    """

    job: Waiting
    scopes: frozenset[str]
    at_s: float | None
    then: Room | None


@dataclass
class Round:
    """One pass over the jobs in their order: each is judged, then started or held.

    The first job that lacks room has the machine reserved for it, and the first that lacks room
    in a quota that quota: a later job starts only where it will have ended by then, or takes
    nothing that the first will need. Where nobody knows when a quota will have room, the job that
    waits for it reserves nothing of the machine; nor does one that waits for what no running job
    holds, such as a GPU that other programs use.
    """

    free: Room
    running: list[Held]
    now_s: float
    _reservations: list[_Reservation] = field(default_factory=list)
    _reserved: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._empty = self.free  # which no start of this round changes
        for held in self.running:
            self._empty = self._empty.plus(held.needs, held.gpus)

    def verdict(self, job: Waiting) -> str:
        """START, or why not: FULL, LIMITED by its quotas, OUTSIDE of what the runner knows, or
        BEHIND jobs which it would delay.
        """
        lacks = self.free.lacks(job.needs)
        if not lacks:
            return START if self.gpus_for(job) is not None else BEHIND
        if lacks != {MACHINE}:
            return LIMITED
        return OUTSIDE if MACHINE in self._empty.lacks(job.needs) else FULL

    def gpus_for(self, job: Waiting) -> frozenset[Gpu] | None:
        """The free GPUs that the job may have, where it fits; None where it must wait its turn."""
        fitting = self.free.fitting(job.needs.gpu_type)
        wanted = [each.job.needs.gpu_type for each in self._reservations if each.job.needs.gpus]
        if wanted:  # those that nobody ahead waits for, first
            leave = {gpu for gpu_type in wanted for gpu in self.free.fitting(gpu_type)}
            fitting.sort(key=lambda gpu: gpu in leave)
        gpus = frozenset(fitting[:job.needs.gpus])
        is_allowed = all(self._leaves(each, job, gpus) for each in self._reservations)
        return gpus if is_allowed else None

    def start(self, job: Waiting, gpus: frozenset[Gpu]) -> None:
        """The job holds its share from now on."""
        ends_s = None if job.limit_s is None else self.now_s + job.limit_s
        self.free = self.free.less(job.needs, gpus)
        self.running.append(Held(needs=job.needs, gpus=gpus, ends_s=ends_s))
        for each in self._reservations:
            if each.then is not None and not _ends_by(each.at_s, ends_s):
                each.then = each.then.less(job.needs, gpus)

    def hold(self, job: Waiting) -> None:
        """The job must wait: reserve what it lacks, unless that is reserved for another."""
        lacks = self.free.lacks(job.needs)
        if not lacks or lacks & self._reserved or MACHINE in self._empty.lacks(job.needs):
            return
        if not all(self._leaves(each, job, frozenset()) for each in self._reservations):
            return
        scopes = frozenset({MACHINE, *job.needs.quotas})
        at_s, then = self._earliest(job.needs, scopes)
        if MACHINE in self._reserved or (at_s is None and lacks != {MACHINE}):
            scopes = lacks - {MACHINE}
            at_s, then = self._earliest(job.needs, scopes)
        self._reserved |= scopes & (lacks | {MACHINE})
        self._reservations.append(_Reservation(
            job=job, scopes=scopes, at_s=at_s, then=then))

    @property
    def first(self) -> Waiting | None:
        """The job that the machine is reserved for."""
        return next((each.job for each in self._reservations if MACHINE in each.scopes), None)

    def reserved_s(self) -> float | None:
        """When the machine's reservation falls due; None where there is none or nobody knows."""
        return next((each.at_s for each in self._reservations if MACHINE in each.scopes), None)

    def _earliest(self, needs: Needs, scopes: frozenset[str]) -> tuple[float | None, Room | None]:
        """From when on the job fits if every other one runs as long as it may."""
        room = self.free
        for held in sorted(self.running, key=lambda held: (held.ends_s is None, held.ends_s)):
            if held.ends_s is None:
                break
            room = room.plus(held.needs, held.gpus)
            if not room.lacks(needs) & scopes:
                return max(self.now_s, held.ends_s), room
        return None, None

    def _leaves(self, reserved: _Reservation, job: Waiting, gpus: frozenset[Gpu]) -> bool:
        """Whether the job on these GPUs takes nothing that is reserved."""
        needs = job.needs
        if not reserved.scopes & {MACHINE, *needs.quotas}:
            return True
        ends_s = None if job.limit_s is None else self.now_s + job.limit_s
        if _ends_by(reserved.at_s, ends_s):
            return True
        if reserved.then is not None:
            room = reserved.then.less(needs, gpus)
            return not room.lacks(reserved.job.needs) & reserved.scopes
        return self._is_apart(reserved, needs, gpus)

    def _is_apart(self, reserved: _Reservation, needs: Needs, gpus: frozenset[Gpu]) -> bool:
        """Whether all that the job takes is left over now, whenever others end."""
        ahead, left = reserved.job.needs, self.free.less(needs, gpus)
        for name in reserved.scopes - {MACHINE}:
            if name in needs.quotas and name in left.quotas:
                compared = zip(left.quotas[name].compared(ahead),
                               left.quotas[name].compared(needs))
                if any(has is not None and taken and has < need
                       for (has, need), (_, taken) in compared):
                    return False
        if MACHINE not in reserved.scopes:
            return True
        fitting = {gpu for gpu in self.free.fitting(ahead.gpu_type)}
        return not (left.cpus < ahead.cpus or left.memory_mb < ahead.memory_mb
                    or needs.ports & ahead.ports
                    or (gpus & fitting and len(fitting - gpus) < ahead.gpus))


def _ends_by(at_s: float | None, ends_s: float | None) -> bool:
    return at_s is not None and ends_s is not None and ends_s <= at_s


def forecast(jobs: Sequence[Waiting], free: Room, running: Iterable[Held], now_s: float,
             ) -> dict[str, float]:
    """When each job will start if all end as said; without those of which nobody knows.

    `jobs` in their order. Here `limit_s` and `ends_s` are what is expected, not what is allowed.
    """
    starts: dict[str, float] = {}
    left, held = list(jobs), list(running)
    while left:
        this = Round(free, held, now_s)
        waiting = []
        for job in left:
            gpus = this.gpus_for(job) if this.verdict(job) == START else None
            if gpus is None:
                this.hold(job)
                waiting.append(job)
            else:
                this.start(job, gpus)
                starts[job.id] = now_s
        left, free, held = waiting, this.free, this.running
        ends = [each.ends_s for each in held if each.ends_s is not None]
        if not ends:
            break
        now_s = max(now_s, min(ends))
        for each in [each for each in held if each.ends_s is not None and each.ends_s <= now_s]:
            held.remove(each)
            free = free.plus(each.needs, each.gpus)
    return starts
