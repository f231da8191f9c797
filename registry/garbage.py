"""Python's search for objects that name one another in a circle, where hardly any ever do."""
from __future__ import annotations

import gc

OBJECTS, ROUNDS, LARGE_ROUNDS = 100_000, 20, 100  # a sync makes some million, and keeps many


def search_seldom() -> None:
    """For a process that has all its modules: these are never searched again, others seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS, ROUNDS, LARGE_ROUNDS)
