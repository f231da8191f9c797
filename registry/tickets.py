"""Tickets: what somebody may do once, within seconds, without showing who they are again."""
from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Callable

LIFETIME_S = 30.0
MAX_KEPT = 1000


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """A terminal in one task, for one user; `epoch` is that of the user's sessions."""

    user_id: int
    epoch: int
    job_id: str
    attempt: int
    role: str
    index: int


class Tickets:
    """Kept in memory by the process that gives them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, Ticket]] = {}

    def give(self, ticket: Ticket) -> str:
        """The text that stands for it, for LIFETIME_S seconds and one use."""
        text = secrets.token_urlsafe(32)
        with self._lock:
            self._drop_old()
            self._kept[text] = self._clock() + LIFETIME_S, ticket
        return text

    def take(self, text: str) -> Ticket | None:
        """What a text stands for, once; None where it never did, was used or is too old."""
        with self._lock:
            until_s, ticket = self._kept.pop(text, (0.0, None))
        return ticket if self._clock() < until_s else None

    def _drop_old(self) -> None:
        old = [text for text, (until_s, _) in self._kept.items() if until_s <= self._clock()]
        for text in [*old, *list(self._kept)[:max(0, len(self._kept) - MAX_KEPT)]]:
            self._kept.pop(text, None)
