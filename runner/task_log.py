"""The log of one task: both streams in one file as bytes, each piece with its time."""
from __future__ import annotations

import os
import re
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

STREAMS = ("stdout", "stderr")
NOTICE = "notice"  # what the runner itself says in a log
_HEADER = struct.Struct(">BqI")
_NOTICE, _END = 254, 255
_NAMES = {0: "stdout", 1: "stderr", _NOTICE: NOTICE, _END: ""}
_LIKE_HEADER = re.compile(rb"[\x00\x01\xfe\xff]\x00[\x05-\x0e]", re.DOTALL)  # 2014 to 2100
_BLOCK_BYTES = 1 << 16
_MAX_RECORD_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class LogRecord:
    """What one read of one stream brought; `time` in seconds since 1970, UTC.

    `stream` is one of STREAMS, or NOTICE where the runner says something about the log itself.
    """

    stream: str
    time: float
    data: bytes


class LogQuota:
    """How many bytes on disk the logs of a job may still take, of all its tasks and attempts."""

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


class TaskLog:
    """Both streams of one task in one file, in the order of arrival, as bytes.

    Each record is a header (stream, microseconds, length) and its data. A record that a kill cut
    short or a disk has damaged is dropped at the next opening with all that follows: `sizes` then
    says how far each stream is kept, so that the rest can be asked of the container again. The last
    bytes of an unfinished UTF-8 character wait for the next append, so every record is whole text
    where the task wrote text. Times never go back, whatever the clock does.

    Where `quota` is met, a notice says so once, and nothing more is kept.
    """

    def __init__(self, path: Path, quota: LogQuota) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._quota = quota
        self.is_full = False
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o640)
        self.sizes = dict.fromkeys(STREAMS, 0)
        self._held = dict.fromkeys(STREAMS, b"")
        self._last_us = end = 0
        for record in records(self._file, 0, needs_data=False, over_damage=False):
            end, self._last_us = record.following, record.time_us
            self.is_full |= record.stream == NOTICE
            if record.stream in STREAMS:
                self.sizes[record.stream] += record.length
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)

    def append(self, stream: str, data: bytes, time_s: float | None = None) -> None:
        """Keep what a stream brought, as far as the quota goes; `time_s` None: it came just now."""
        for at in range(0, len(data), _MAX_RECORD_BYTES // 2):
            self._append(stream, data[at:at + _MAX_RECORD_BYTES // 2], time_s)

    def _append(self, stream: str, data: bytes, time_s: float | None) -> None:
        if self.is_full:
            self.sizes[stream] += len(data)
            return
        data = self._held[stream] + data
        whole = _whole_characters(data)
        self._held[stream] = data[whole:]
        if not whole:
            return
        kept = self._quota.take(_HEADER.size + whole) - _HEADER.size
        if kept < whole:
            self._fill(stream, data, _whole_characters(data[:max(0, kept)]), time_s)
        else:
            self._write(STREAMS.index(stream), data[:whole], time_s)

    def resume_at(self) -> dict[str, int]:
        """From which byte on each stream is to be asked for again, if it broke off.

        That is after what is kept, and after what came when the quota was met.
        """
        self._held = dict.fromkeys(STREAMS, b"")
        return dict(self.sizes)

    def _fill(self, stream: str, data: bytes, kept: int, time_s: float | None) -> None:
        """Keep the last bytes that fit, and say that nothing follows."""
        self._write(STREAMS.index(stream), data[:kept], time_s)
        self.sizes[stream] += len(data) - kept
        self._write(_NOTICE, (
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
            self._write(_END, b"", is_forced=True)
        os.close(self._file)

    def _write(self, stream: int, data: bytes, time_s: float | None = None, *,
               is_forced: bool = False) -> None:
        if data or is_forced:
            now_us = time.time_ns() // 1000 if time_s is None else int(time_s * 1e6)
            self._last_us = max(self._last_us, now_us)
            record = memoryview(_HEADER.pack(stream, self._last_us, len(data)) + data)
            while record:
                record = record[os.write(self._file, record):]
            if stream < len(STREAMS):
                self.sizes[STREAMS[stream]] += len(data)


class StoredRecord(NamedTuple):
    """One record as the file has it; `stream` empty: the end mark. The next one is `following`."""

    stream: str
    time_us: int
    length: int
    data: bytes
    offset: int
    following: int


def records(file: int, offset: int, *, needs_data: bool = True, over_damage: bool = True,
            ) -> Iterator[StoredRecord]:
    """Each whole record from `offset` on, without its data where that is not needed.

    What is no record is told by a notice in its place, and ends the log unless `over_damage`.
    """
    size, block, base, last_us = os.fstat(file).st_size, b"", offset, 0
    while (begin := offset + _HEADER.size) <= size:
        if begin > base + len(block):
            block, base = os.pread(file, _BLOCK_BYTES, offset), offset
        number, time_us, length = _HEADER.unpack_from(block, offset - base)
        following = begin + length
        if number not in _NAMES or length > _MAX_RECORD_BYTES:
            if not over_damage:
                return
            following = _next_record(file, offset + 1, size)
            said = f"\n{following - offset} bytes of this log are damaged and left out.\n".encode()
            yield StoredRecord(NOTICE, last_us, len(said), said, offset, following)
            offset = following
            continue
        if following > size:  # it is still being written
            return
        if needs_data and following > base + len(block):
            block = os.pread(file, max(_BLOCK_BYTES, following - offset), offset)
            base = offset
        data = block[begin - base:following - base] if needs_data else b""
        yield StoredRecord(_NAMES[number], time_us, length, data, offset, following)
        offset, last_us = following, time_us


def _next_record(file: int, offset: int, size: int) -> int:
    """Where the first record begins that another one or the log's end follows; else `size`."""
    while offset < size:
        block = os.pread(file, _BLOCK_BYTES + _HEADER.size, offset)
        for found in _LIKE_HEADER.finditer(block, 0, _BLOCK_BYTES):
            following = _end_of(file, offset + found.start(), size)
            if following == size or following and _end_of(file, following, size):
                return offset + found.start()
        offset += _BLOCK_BYTES
    return size


def _end_of(file: int, offset: int, size: int) -> int | None:
    """Where the record ends that seems to begin at `offset`; None where none does."""
    header = os.pread(file, _HEADER.size, offset)
    if not _LIKE_HEADER.match(header) or len(header) < _HEADER.size:
        return None
    end = offset + _HEADER.size + _HEADER.unpack(header)[2]
    return end if end <= min(size, offset + _HEADER.size + _MAX_RECORD_BYTES) else None


def read_log(path: Path, offset: int, limit: int) -> tuple[list[LogRecord], int, bool]:
    """Records from `offset` (0, or what an earlier call returned) of about `limit` bytes.

    Returns them with the offset to go on from and whether the log is complete. A log that does
    not exist yet is empty.
    """
    found: list[LogRecord] = []
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return found, offset, False
    try:
        for record in records(file, offset):
            offset = record.following
            if not record.stream:
                return found, offset, True
            found.append(LogRecord(stream=record.stream, time=record.time_us / 1e6,
                                   data=record.data))
            limit -= record.length
            if limit <= 0:
                break
    finally:
        os.close(file)
    return found, offset, False


def iter_log(path: Path, stream: str | None = None) -> Iterator[bytes]:
    """The whole log as bytes, of both streams or of one, for a download."""
    offset, found = 0, [None]
    while found:
        found, offset, _ = read_log(path, offset, 1 << 20)  # type: ignore[assignment]
        for record in found:
            if record and stream in (None, record.stream):
                yield record.data


def write_notice(path: Path, text: str) -> None:
    """Put a log in place of what was there that says `text`, and nothing else."""
    aside, now_us = path.with_suffix(".new"), time.time_ns() // 1000
    data = text.encode()
    aside.write_bytes(_HEADER.pack(_NOTICE, now_us, len(data)) + data
                      + _HEADER.pack(_END, now_us, 0))
    os.replace(aside, path)


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
