"""Files of components, read by a process beside while this one is busy with Git."""
from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Iterable, Iterator

from registry.commits import Reading, Seen, component_files
from registry.errors import RegistryError
from registry.git_store import GitStore

LEAST = 500  # files; fewer are read before a process is there
FOLDER = Path(__file__).parent.parent
KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")  # of the environment, which has secrets too
CHUNK = 20
PATIENCE_S = 60
_Place = tuple[str, str]  # path and blob


class ReadAhead:
    """Reads files of one store in the order in which they are asked for.

    It may end at any time, killed or not: what it did not deliver its user reads without it.
    """

    def __init__(self, store: Path, seen: Seen) -> None:
        self._paths: dict[str, list[str]] = {}
        for changed in seen.values():
            for path, blob in component_files(changed):
                self._paths.setdefault(blob, []).append(path)
        self._asked: set[_Place] = set()
        self._found: dict[_Place, Reading] = {}
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "registry.read_ahead", str(store.absolute())], cwd=FOLDER,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={name: os.environ[name] for name in KEPT if name in os.environ})
        threading.Thread(target=self._collect, daemon=True).start()

    def ask(self, blobs: Iterable[str]) -> None:
        """These are in the store now."""
        places = {(path, blob): None for blob in blobs for path in self._paths.get(blob, ())}
        with self._news:
            self._asked |= places.keys()
        assert self._process.stdin
        with contextlib.suppress(OSError):
            pickle.dump([*places], self._process.stdin)
            self._process.stdin.flush()

    def close(self) -> None:
        """Nothing more is asked for; the process ends when all is delivered."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def take(self, path: str, blob: str) -> Reading | None:
        """What the file holds, waited for; None: it was not asked for, or does not come."""
        place = path, blob
        with self._news:
            self._news.wait_for(
                lambda: place in self._found or place not in self._asked, PATIENCE_S)
            return self._found.pop(place, None)

    def _collect(self) -> None:
        assert self._process.stdout
        for found in _received(self._process.stdout):
            with self._news:
                self._found |= found
                self._asked -= found.keys()
                self._news.notify_all()
        self._process.stdout.close()
        self._process.wait()
        with self._news:
            self._asked.clear()
            self._news.notify_all()


def _received(stream: IO[bytes]) -> Iterator[Any]:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            yield pickle.load(stream)


def main(store: GitStore) -> None:
    """Read what is asked for on stdin, write it on stdout; end with either."""
    todo: SimpleQueue[list[_Place] | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(todo,), daemon=True).start()
    with contextlib.suppress(RegistryError, OSError):
        for places in iter(todo.get, None):
            with store.reading() as files:
                for start in range(0, len(places), CHUNK):
                    pickle.dump({place: files.reading(*place)
                                 for place in places[start:start + CHUNK]}, sys.stdout.buffer)
                    sys.stdout.buffer.flush()


def _receive(todo: SimpleQueue[list[_Place] | None]) -> None:
    for places in _received(sys.stdin.buffer):
        todo.put(places)
    todo.put(None)


if __name__ == "__main__":
    main(GitStore(Path(sys.argv[1])))
