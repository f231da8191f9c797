"""How much of the machine each user had lately, so that who had little comes first. Pure."""
from __future__ import annotations

import math
from typing import Iterable

HALF_LIFE_S = 24 * 3600.0


class FairShare:
    """Seconds of the whole machine by user; what is a half-life ago counts half.

    A share is the part of the machine that a job holds, from 0 to 1: of its cores, memory or
    GPUs, whichever part is largest. Times are seconds since 1970; one that lies before another
    which it should follow, as after a step of the clock, counts as the same moment.
    """

    def __init__(self, half_life_s: float = HALF_LIFE_S) -> None:
        self._rate = math.log(2) / half_life_s
        self._had: dict[str, tuple[float, float]] = {}

    def add(self, user: str, share: float, begin_s: float, end_s: float) -> None:
        """Count a job that held its share from one time to another."""
        amount, at_s = self._had.get(user, (0.0, end_s))
        newest_s = max(at_s, end_s)
        self._had[user] = (self._faded(amount, newest_s - at_s) + self._faded(
            self._held(share, end_s - begin_s), newest_s - end_s), newest_s)

    def of(self, user: str, now_s: float, held: Iterable[tuple[float, float]] = ()) -> float:
        """What a user had up to now; `held` are share and begin of the jobs that still run."""
        amount, at_s = self._had.get(user, (0.0, now_s))
        return self._faded(amount, now_s - at_s) + sum(
            self._held(share, now_s - begin_s) for share, begin_s in held)

    def _held(self, share: float, seconds: float) -> float:
        """What a share that was held for so long counts at its end."""
        return share * (1 - math.exp(-self._rate * max(0.0, seconds))) / self._rate

    def _faded(self, amount: float, seconds: float) -> float:
        return amount * math.exp(-self._rate * max(0.0, seconds))
