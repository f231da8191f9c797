"""A job's folder: the log of each task as it was written, and the files that it left."""
from __future__ import annotations

import os
import stat
import struct
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import IO, Iterator

from runner.errors import NotFoundError

STREAMS = ("stdout", "stderr")
NOTICE = "notice"  # what the runner itself says in a log
MAX_ARTIFACTS = 10_000
NO_CHARACTER = "\ufffd"
_HEADER = struct.Struct(">BqI")
_LOG_FULL, _LOG_END = 254, 255
_SEARCH_LINE_BYTES = 1000


@dataclass(frozen=True, kw_only=True)
class LogRecord:
    """What one read of one stream brought; `time` in seconds since 1970, UTC.

    `stream` is one of STREAMS, or NOTICE where the runner says something about the log itself.
    """

    stream: str
    time: float
    data: bytes


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line that a search found: `number` counts from 1 in the whole log as text."""

    number: int
    stream: str
    time: float
    text: bytes


class LogQuota:
    """How many bytes of log a job may still keep, shared by all its tasks and attempts."""

    def __init__(self, limit: int, used: int) -> None:
        self.limit = limit
        self._left = max(0, limit - used)
        self._lock = threading.Lock()

    def take(self, wanted: int) -> int:
        """How many of the `wanted` bytes may be kept."""
        with self._lock:
            given = min(wanted, self._left)
            self._left -= given
            return given


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One file below the output folder of a task; `path` relative to it, `size` in bytes."""

    attempt: int
    role: str
    index: int
    path: str
    size: int
    modified: datetime


class TaskLog:
    """Both streams of one task in one file, in the order of arrival, as bytes.

    Each record is a header (stream, microseconds, length) and its data. A record that a kill cut
    short is dropped at the next opening: `sizes` then says how far each stream is kept, so that
    the rest can be asked of the container again. The last bytes of an unfinished UTF-8 character
    wait for the next append, so every record is whole text where the task wrote text.

    Where `quota` is met, a notice says so once, and nothing more is kept.
    """

    def __init__(self, path: Path, quota: LogQuota) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._quota = quota
        self.is_full = False
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o640)
        self.sizes = dict.fromkeys(STREAMS, 0)
        self._held = dict.fromkeys(STREAMS, b"")
        end = 0
        for stream, _, length, position in _headers(self._file, 0):
            end = position + length
            self.is_full |= stream == _LOG_FULL
            if stream < len(STREAMS):
                self.sizes[STREAMS[stream]] += length
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)

    def append(self, stream: str, data: bytes) -> None:
        """Keep what a stream brought, as far as the quota goes."""
        if self.is_full:
            self.sizes[stream] += len(data)
            return
        data = self._held[stream] + data
        whole = _whole_characters(data)
        self._held[stream] = data[whole:]
        kept = self._quota.take(whole)
        if kept < whole:
            self._fill(stream, data, _whole_characters(data[:kept]))
        else:
            self._write(STREAMS.index(stream), data[:whole])

    def resume_at(self) -> dict[str, int]:
        """From which byte on each stream is to be asked for again, if it broke off.

        That is after what is kept, and after what came when the quota was met.
        """
        self._held = dict.fromkeys(STREAMS, b"")
        return dict(self.sizes)

    def _fill(self, stream: str, data: bytes, kept: int) -> None:
        """Keep the last bytes that fit, and say that nothing follows."""
        self._write(STREAMS.index(stream), data[:kept])
        self.sizes[stream] += len(data) - kept
        self._write(_LOG_FULL, (
            f"\nThe log of this job has reached its quota of {self._quota.limit >> 20} MiB. What "
            "its tasks write from here on is not kept; files in the output folder are.\n"
        ).encode())
        self._held = dict.fromkeys(STREAMS, b"")
        self.is_full = True

    def close(self, *, is_complete: bool) -> None:
        """Write what was held back; `is_complete` marks that nothing more will ever come."""
        if is_complete:
            for stream, data in self._held.items():
                self._write(STREAMS.index(stream), data)
            self._write(_LOG_END, b"", is_forced=True)
        os.close(self._file)

    def _write(self, stream: int, data: bytes, *, is_forced: bool = False) -> None:
        if data or is_forced:
            record = memoryview(_HEADER.pack(stream, time.time_ns() // 1000, len(data)) + data)
            while record:
                record = record[os.write(self._file, record):]
            if stream < len(STREAMS):
                self.sizes[STREAMS[stream]] += len(data)


def _whole_characters(data: bytes) -> int:
    """How many leading bytes of `data` end with a whole UTF-8 character (or no UTF-8 at all)."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if back < needed else len(data)
        if byte < 0x80:
            break
    return len(data)


def _headers(file: int, offset: int) -> Iterator[tuple[int, float, int, int]]:
    """Stream, time, length and position of the data of each whole record from `offset` on.

    Ends where there is none: after the last one, or at an offset that was made up.
    """
    size = os.fstat(file).st_size
    while offset + _HEADER.size <= size:
        stream, micros, length = _HEADER.unpack(os.pread(file, _HEADER.size, offset))
        position = offset + _HEADER.size
        if position + length > size or not (stream < len(STREAMS)
                                            or stream in (_LOG_FULL, _LOG_END)):
            return
        yield stream, micros / 1e6, length, position
        offset = position + length


def read_log(path: Path, offset: int, limit: int) -> tuple[list[LogRecord], int, bool]:
    """Records from `offset` (0, or what an earlier call returned) of about `limit` bytes.

    Returns them with the offset to go on from and whether the log is complete. A log that does
    not exist yet is empty.
    """
    records: list[LogRecord] = []
    is_complete = False
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return records, offset, False
    try:
        for stream, when, length, position in _headers(file, offset):
            offset = position + length
            if stream == _LOG_END:
                is_complete = True
                break
            data = os.pread(file, length, position)
            name = NOTICE if stream == _LOG_FULL else STREAMS[stream]
            records.append(LogRecord(stream=name, time=when, data=data))
            limit -= length
            if limit <= 0:
                break
    finally:
        os.close(file)
    return records, offset, is_complete


def iter_log(path: Path, stream: str | None = None) -> Iterator[bytes]:
    """The whole log as bytes, of both streams or of one, for a download."""
    offset, records = 0, [None]
    while records:
        records, offset, _ = read_log(path, offset, 1 << 20)  # type: ignore[assignment]
        for record in records:
            if record and stream in (None, record.stream):
                yield record.data


def search_log(path: Path, wanted: str, limit: int) -> tuple[list[LogLine], bool]:
    """The first lines with this text in them, whatever its case; and whether there are more.

    A line belongs to the stream and time that its end came with.
    """
    found: list[LogLine] = []
    for line in _lines(path):
        if wanted.casefold() in line.text.decode("utf-8", "replace").casefold():
            if len(found) == limit:
                return found, True
            found.append(replace(line, text=line.text[:_SEARCH_LINE_BYTES]))
    return found, False


def _lines(path: Path) -> Iterator[LogLine]:
    offset, number, begun = 0, 1, b""
    while True:
        records, following, _ = read_log(path, offset, 1 << 20)
        if not records:
            break
        offset = following
        for record in records:
            *whole, begun = (begun + record.data).split(b"\n")
            for text in whole:
                yield LogLine(number=number, stream=record.stream, time=record.time, text=text)
                number += 1
            last = record
    if begun:
        yield LogLine(number=number, stream=last.stream, time=last.time, text=begun)


def remove_tree(folder: Path) -> None:
    """Remove a folder that a task has written to, as far as that is possible.

    Folders may be nested deeper than recursion or a path can reach; rm copes with them.
    """
    subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)


class JobFolders:
    """Where the files of each task lie, below the runner's `jobs` folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def task(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.root / job_id / str(attempt) / f"{role}-{index}"

    def log(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "log"

    def metrics(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "metrics"

    def output(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "output"

    def work(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "work"

    def storage(self, job_id: str) -> Path:
        """Copies of storage that lies elsewhere, which all tasks and attempts of a job share."""
        return self.root / job_id / "storage"

    def log_bytes(self, job_id: str) -> int:
        """How much the logs of a job hold on disk, of all its tasks and attempts."""
        return sum(log.stat().st_size for log in self.root.glob(f"{job_id}/*/*/log"))

    def drop_work(self, job_id: str, attempt: int, role: str, index: int) -> None:
        """Remove what was staged for the task; its log and output stay."""
        remove_tree(self.work(job_id, attempt, role, index))

    def artifacts(self, job_id: str) -> list[Artifact]:
        """The regular files in the output folders of the job, at most MAX_ARTIFACTS of them.

        Links are left out. What is no UTF-8 in a path stands there as U+FFFD.
        """
        found: list[Artifact] = []
        for output in sorted(self.root.glob(f"{job_id}/*/*/output")):
            role, _, index = output.parent.name.rpartition("-")
            for path, status in islice(_regular_files(output), MAX_ARTIFACTS - len(found)):
                found.append(Artifact(
                    attempt=int(output.parent.parent.name), role=role, index=int(index),
                    path=_shown(path), size=status.st_size,
                    modified=datetime.fromtimestamp(status.st_mtime, timezone.utc)))
        return sorted(found, key=lambda item: (item.attempt, item.role, item.index, item.path))

    def artifact(self, job_id: str, attempt: int, role: str, index: int, path: str) -> IO[bytes]:
        """The file itself, open; raises NotFoundError for anything that is not an artifact."""
        output = self.output(job_id, attempt, role, index)
        if NO_CHARACTER in path:
            same = (known for known, _ in _regular_files(output) if _shown(known) == path)
            path = next(same, path)
        try:
            return open(_open_below(output, path), "rb")
        except (OSError, ValueError) as error:
            raise NotFoundError(
                f"There is no artifact {path!r} of task {role}-{index}.") from error


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _regular_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Path below `root` and facts of each file, while its task may change and exchange them."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with suppress(OSError), _closing(_open_below(root, folder, os.O_DIRECTORY)) as opened:
            with os.scandir(opened) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(f"{folder}{entry.name}/")
                    elif stat.S_ISREG(status.st_mode):
                        yield f"{folder}{entry.name}", status


@contextmanager
def _closing(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)


def _open_below(root: Path, path: str, flags: int = 0) -> int:
    """Open what stands at `path` and only then look what and where it is, for links may come.

    Raises OSError for anything but a regular file or, with O_DIRECTORY, a folder inside `root`.
    """
    file = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags)
    is_inside = Path(os.readlink(f"/proc/self/fd/{file}")).is_relative_to(os.path.realpath(root))
    if not is_inside or not (flags or stat.S_ISREG(os.fstat(file).st_mode)):
        os.close(file)
        raise FileNotFoundError(path)
    return file
