"""The runner's cache of inputs on disk: one entry, one lock; nothing half-finished is ever seen."""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Callable, Collection, Iterator

Report = Callable[[str, int, "int | None"], None]
FRESH_S = 600.0
PART_LIFETIME_S = 7 * 24 * 3600
_LOOK_AGAIN_S = 0.1
_REPORT_EVERY_S = 0.5
_RATE_OVER_S = 10.0
_CHECK_EVERY_S = 0.2


class FetchCancelled(Exception):
    """Whoever asked for an input does not want it any more."""


@dataclass(kw_only=True)
class Watch:
    """How a fetch speaks with whoever waits for it, a few times a second at most."""

    report: Report
    is_cancelled: Callable[[], bool]
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    _reported_at: float = float("-inf")
    _checked_at: float = float("-inf")

    def check(self) -> None:
        """Raises FetchCancelled once the fetch is not wanted any more."""
        now = time.monotonic()
        if now - self._checked_at >= _CHECK_EVERY_S:
            self._checked_at = now
            if self.is_cancelled():
                raise FetchCancelled

    def progress(self, text: str, current: int, total: int | None, *,
                 is_bytes: bool = True) -> None:
        """Say how much is here; of bytes also, as soon as it is known, how many come a second."""
        now = time.monotonic()
        if now - self._reported_at >= _REPORT_EVERY_S or current == total:
            self._reported_at = now
            rate = self._rate(now, current) if is_bytes else 0
            self.report(f"{text}, {rate / 1e6:.1f} MB/s" if rate else text, current, total)

    def _rate(self, now: float, current: int) -> float:
        """Bytes a second, over the last ten; 0 at the beginning of a transfer."""
        if self._samples and current < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now, current))
        while len(self._samples) > 2 and now - self._samples[0][0] > _RATE_OVER_S:
            self._samples.popleft()
        begun, first = self._samples[0]
        return (current - first) / (now - begun) if now - begun >= _REPORT_EVERY_S else 0.0

    def within(self, done: int, whole: int) -> Watch:
        """For one of several transfers that are `whole` bytes together, `done` before it."""
        return Watch(is_cancelled=self.is_cancelled, report=lambda text, current, _: self.report(
            text, done + current, whole))

    def wait(self, seconds: float) -> None:
        """Sleep, but not past a cancellation."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(_LOOK_AGAIN_S, left))


class Cache:
    """Files and folders by the SHA-256 of their content, repositories by that of their address."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data, self.git = root / "data", root / "git"
        self.parts, self.new = root / "parts", root / "new"
        self._notes, self._locks, self._used = root / "notes", root / "locks", root / "used"
        for folder in (self.data, self.git, self.parts, self.new, self._notes, self._locks,
                       self._used):
            folder.mkdir(parents=True, exist_ok=True)
        self._clean()

    @staticmethod
    def key(address: str) -> str:
        """The name of the entry for an address."""
        return hashlib.sha256(address.encode()).hexdigest()[:40]

    def file(self, sha256: str) -> Path:
        return self.data / sha256

    def has_file(self, sha256: str | None) -> bool:
        return sha256 is not None and self.file(sha256).is_file()

    def adopt(self, path: Path, sha256: str) -> None:
        """Move a finished file to its place, read-only and safe from a loss of power."""
        if self.has_file(sha256):
            return path.unlink()
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        path.chmod(0o444)
        os.replace(path, self.file(sha256))

    def has_folder(self, sha256: str | None) -> bool:
        return sha256 is not None and self.file(sha256).is_dir()

    def adopt_folder(self, path: Path, sha256: str) -> None:
        """Move a finished folder, of links to files that are here, to its place."""
        if self.has_folder(sha256):
            return remove(path)
        os.replace(path, self.file(sha256))

    # -- how much there is, and what may go -----------------------------------------------------

    def touch(self, name: str) -> None:
        """Note that an entry is used now: a file's SHA-256, or the key of a repository."""
        (self._used / name).touch()

    def shrink(self, size: int, keep: Collection[str], now_s: float) -> int:
        """Remove entries, those used longest ago first, until all together have `size` bytes.

        `keep` are names as `touch` takes them; these stay, and so does what was used in the last
        minutes. Returns how many bytes are gone.
        """
        entries = self._entries()
        too_much = sum(entry.size for entry in entries) - size
        freed = 0
        for entry in sorted(entries, key=lambda entry: entry.used_s):
            if freed >= too_much or entry.used_s > now_s - FRESH_S:
                break
            if entry.path.name not in keep and self._drop(entry.path):
                freed += entry.size
        return freed

    def size(self) -> int:
        """Bytes of all entries together."""
        return sum(entry.size for entry in self._entries())

    def _entries(self) -> list[_Entry]:
        return [_Entry(path=path, size=_size(path), used_s=self._used_s(path))
                for folder in (self.data, self.git) for path in folder.iterdir()]

    def _used_s(self, path: Path) -> float:
        marker = self._used / path.name
        return (marker if marker.exists() else path).stat().st_mtime

    def _drop(self, path: Path) -> bool:
        """Move it aside and remove it there, unless somebody works on it."""
        with open(self._locks / path.name[:40], "a") as file:
            if not _try_lock(file):
                return False
            aside = self.new / f"{path.name[:40]}.gone"
            remove(aside)
            os.replace(path, aside)
            remove(aside)
            (self._used / path.name).unlink(missing_ok=True)
        return True

    # -- what is known of an address --------------------------------------------------------------

    def note(self, key: str) -> dict[str, Any]:
        """What `take_note` kept, or nothing."""
        try:
            return json.loads((self._notes / key).read_text())
        except (FileNotFoundError, ValueError):
            return {}

    def take_note(self, key: str, values: dict[str, Any]) -> None:
        aside = self._notes / f"{key}.new"
        aside.write_text(json.dumps(values))
        os.replace(aside, self._notes / key)

    @contextmanager
    def lock(self, key: str, watch: Watch) -> Iterator[int]:
        """Be the only one, of all threads and processes, to work on an entry.

        Gives the file descriptor of the lock: a child that inherits it holds the lock on when
        this process is killed. Raises FetchCancelled while waiting.
        """
        with open(self._locks / key, "a") as file:
            while not _try_lock(file):
                watch.check()
                watch.progress("Waiting for another job that fetches the same", 0, None)
                time.sleep(_LOOK_AGAIN_S)
            yield file.fileno()

    def _clean(self) -> None:
        """Remove what killed processes left: unfinished folders at once, parts after a week."""
        old = time.time() - PART_LIFETIME_S
        left = [*self.new.iterdir(),
                *(part for part in self.parts.iterdir() if part.stat().st_mtime < old)]
        for path in left:
            with open(self._locks / path.name.partition(".")[0], "a") as file:
                if _try_lock(file):
                    remove(path)


@dataclass(frozen=True, kw_only=True)
class _Entry:
    path: Path
    size: int
    used_s: float


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        facts = path.stat()
        return facts.st_size if facts.st_nlink == 1 else 0  # a folder has it too, which counts
    size = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):  # git tidies up in between
                size += os.stat(os.path.join(folder, name), follow_symlinks=False).st_size
    return size


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all in it; nothing there is no error."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
