"""Who may still look at what is open: users as they are now, read once for all connections."""
from __future__ import annotations

import threading
import time
from typing import Callable

from registry.accounts import Accounts, User

FRESH_S = 2.0


class Presence:
    """Any number of threads may ask; while nobody is missed the table is read every FRESH_S."""

    def __init__(self, accounts: Accounts, clock: Callable[[], float] = time.monotonic) -> None:
        self._accounts, self._clock = accounts, clock
        self._lock = threading.Lock()
        self._due_s, self._users = clock(), dict[int, User]()

    def of(self, user_id: int, epoch: int) -> User | None:
        """The user as they are now; None: they are locked out, or their sessions have ended."""
        with self._lock:
            found = self._users.get(user_id)
            # Who came, or logged in again, since the table was read is no stranger.
            if self._clock() >= self._due_s or found is None or found.session_epoch != epoch:
                self._users = {each.id: each for each in self._accounts.users()}
                self._due_s = self._clock() + FRESH_S
                found = self._users.get(user_id)
        return found if found and found.session_epoch == epoch and not found.locked_at else None
