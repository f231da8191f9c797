"""A connection to the engine that stays open for as long as the engine lives."""
from __future__ import annotations

import select
import threading
from typing import Callable, Protocol


class Connection(Protocol):
    """What a lifeline needs of one: the number of its open socket, and a way to let it go."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class Lifeline:
    """Counts the engine's lives as far as this process sees them.

    Where the engine answers now and the count is the one from before, it was never away in
    between: the kernel cuts the connection before another engine can answer in its place.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._lives = 0
        self._lock = threading.Lock()

    def lives(self) -> int:
        """Raises whatever connecting does where the engine is away."""
        with self._lock:
            if self._connection is not None and _is_cut(self._connection.fileno()):
                self._connection.close()
                self._connection = None
            if self._connection is None:
                self._connection = self._connect()
                self._lives += 1
            return self._lives


def _is_cut(file: int) -> bool:
    watch = select.poll()
    watch.register(file, select.POLLRDHUP)
    return bool(watch.poll(0))
