"""Files of components, read by a process beside while this one is busy with Git."""
from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Iterable, Iterator

from registry import memory
from registry.commits import README_END, Fetched, Read, Reading, Small
from registry.errors import RegistryError
from registry.git_store import GitStore

LEAST = 500  # files; fewer are read before a process is there
FOLDER = Path(__file__).parent.parent
KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")  # of the environment, which has secrets too
CHUNK, BEGUN = 20, 60  # files that go to the process at once, and that it has in all
PATIENCE_S = 60
_Place = tuple[str, str]  # path and blob


class ReadAhead:
    """Reads files of one store, those first that were asked for first.

    The process may end at any time, killed or not: what it did not deliver is read without it.
    """

    def __init__(self, store: Path, small: Small) -> None:
        """`small` has some of the files already."""
        self._small = small
        self._todo: deque[_Place] = deque()
        self._begun: set[_Place] = set()
        self._found: dict[_Place, Reading] = {}
        self._is_closed = self._is_over = False
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "registry.read_ahead", str(store.absolute())], cwd=FOLDER,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={name: os.environ[name] for name in KEPT if name in os.environ})
        threading.Thread(target=self._collect, daemon=True).start()

    def ask(self, places: Iterable[_Place]) -> None:
        """The component files among these are wanted; all are in the store now."""
        with self._news:
            self._todo += (place for place in places if not place[0].endswith(README_END))
            self._hand_out()

    def close(self) -> None:
        """Nothing more is asked for; the process ends when all is delivered."""
        with self._news:
            self._is_closed = True
            self._hand_out()

    def take(self, path: str, blob: str, read: Read) -> Reading:
        """What the file holds. Until it comes, `read` reads others that nobody has begun."""
        place = path, blob
        while other := self._other(place):
            found = read(*other)
            with self._news:
                self._found[other] = found
        with self._news:
            known = self._found.pop(place, None)
        return known or read(path, blob)

    def _other(self, place: _Place) -> _Place | None:
        """A file to read until the process has read the one at `place`; None: that is over."""
        with self._news:
            if not self._todo:
                self._news.wait_for(lambda: place not in self._begun, PATIENCE_S)
            return self._todo.pop() if self._todo and place in self._begun else None

    def _hand_out(self) -> None:
        """Have the process busy, but never by much: what it has not begun may be read here."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            while self._todo and not self._is_over and len(self._begun) < BEGUN:
                places = [self._todo.popleft() for _ in range(min(CHUNK, len(self._todo)))]
                self._begun |= {*places}
                ids = {blob.encode() for _, blob in places} & self._small.keys()
                pickle.dump((places, {id: self._small[id] for id in ids}), self._process.stdin)
                self._process.stdin.flush()
            if self._is_closed and not self._todo:
                self._process.stdin.close()

    def _collect(self) -> None:
        assert self._process.stdout
        for found in _received(self._process.stdout):
            with self._news:
                self._found |= found
                self._begun -= found.keys()
                self._hand_out()
                self._news.notify_all()
        self._process.stdout.close()
        self._process.wait()
        with self._news:
            self._is_over = True
            self._begun.clear()
            self._news.notify_all()


def _received(stream: IO[bytes]) -> Iterator[Any]:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            yield pickle.load(stream)


def main(store: GitStore) -> None:
    """Read what is asked for on stdin, write it on stdout; end with either."""
    todo: SimpleQueue[tuple[list[_Place], Small] | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(todo,), daemon=True).start()
    known = Fetched(head=None)
    with contextlib.suppress(RegistryError, OSError), store.reading(known) as files:
        for places, small in iter(todo.get, None):
            known.small.update(small)
            pickle.dump({place: files.reading(*place) for place in places}, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            known.small.clear()


def _receive(todo: SimpleQueue[tuple[list[_Place], Small] | None]) -> None:
    for asked in _received(sys.stdin.buffer):
        todo.put(asked)
    todo.put(None)


if __name__ == "__main__":
    memory.prepare()
    main(GitStore(Path(sys.argv[1])))
