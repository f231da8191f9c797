"""How a process holds memory: what it looks at for circles, and how its threads share a heap."""
from __future__ import annotations

import ctypes
import gc

OBJECTS, ROUNDS, LARGE_ROUNDS = 100_000, 20, 100  # a sync makes some million, and keeps many
M_ARENA_MAX = -8


def settle() -> None:
    """For a process that has what it will keep, and no threads yet.

    What is there is never looked at again for objects that name one another in a circle: among a
    million that takes a tenth of a second, in which no reader is answered. Threads share one heap,
    so that one takes what another gave back.
    """
    gc.collect()
    gc.freeze()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # which glibc alone has
    if mallopt:
        mallopt(M_ARENA_MAX, 1)


def prepare() -> None:
    """As `settle`, for one that makes and drops a great many objects, hardly any in circles."""
    settle()
    gc.set_threshold(OBJECTS, ROUNDS, LARGE_ROUNDS)
