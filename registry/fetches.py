"""Looks at repositories on GitHub, several at once: a slow one holds up no other."""
from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from typing import Callable

import requests

from registry.look import Sight
from registry.source import Source

AT_ONCE = 8
Look = Callable[[requests.Session, Source], Sight | None]


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A look that is over: what it saw, or what went wrong; neither: it only fetched files."""

    source: Source
    sight: Sight | None = None
    error: Exception | None = None


class Fetches:
    """Hands sources to threads that end with the process; one thread may call it."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._todo: queue.SimpleQueue[tuple[Source, Look]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Looked] = queue.SimpleQueue()
        self._threads = 0
        self.running: set[int] = set()

    def start(self, source: Source, look: Look) -> None:
        """Look at a source, unless a look at it is under way."""
        if source.id in self.running:
            return
        self.running.add(source.id)
        if self._threads < min(self._at_once, len(self.running)):
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()
        self._todo.put((source, look))

    def finished(self, wait_s: float | None) -> list[Looked]:
        """Looks that are over; waits for the first, None: as long as that takes."""
        found: list[Looked] = []
        while self.running:
            try:
                looked = self._done.get(timeout=wait_s) if not found else self._done.get_nowait()
            except queue.Empty:
                break
            self.running.discard(looked.source.id)
            found.append(looked)
        return found

    def _work(self) -> None:
        with requests.Session() as session:
            while True:
                source, look = self._todo.get()
                self._done.put(self._once(session, source, look))

    def _once(self, session: requests.Session, source: Source, look: Look) -> Looked:
        try:
            return Looked(source=source, sight=look(session, source))
        except Exception as error:
            return Looked(source=source, error=error)
