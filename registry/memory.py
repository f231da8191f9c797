"""How a process holds memory that makes and drops a great many objects, hardly any in circles."""
from __future__ import annotations

import ctypes
import gc

OBJECTS, ROUNDS, LARGE_ROUNDS = 100_000, 20, 100  # a sync makes some million, and keeps many
M_ARENA_MAX = -8


def prepare() -> None:
    """For a process that has its modules and no threads yet.

    It seldom looks for objects that name one another in a circle, never among those that are
    there. Its threads share one heap, so that one takes what another gave back.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS, ROUNDS, LARGE_ROUNDS)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # which glibc alone has
    if mallopt:
        mallopt(M_ARENA_MAX, 1)
