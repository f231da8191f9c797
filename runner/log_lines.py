"""Logs as lines: found by their text, with their times, and those of several tasks as one."""
from __future__ import annotations

import heapq
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from runner.task_log import NOTICE, StoredRecord, read_log, records

MAX_LINE_BYTES = 1 << 16  # a longer line comes in pieces
CLOCK_STEP_S = 1.0
_SEARCH_LINE_BYTES = 1000
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line that a search found: `number` counts from 1 in the whole log as text."""

    number: int
    stream: str
    time: float
    text: bytes


class Place(NamedTuple):
    """Where in a log to go on: in the record at `offset`, after `skip` bytes of its data."""

    offset: int = 0
    skip: int = 0


class Line(NamedTuple):
    """What one stream wrote up to a newline, or up to where the other stream goes on.

    `log` is the number of the log in a merged view, `after` where its next line begins.
    """

    log: int
    stream: str
    time: float
    text: bytes
    after: Place


def search_log(path: Path, wanted: str, limit: int) -> tuple[list[LogLine], bool]:
    """The first lines with this text in them, whatever its case; and whether there are more.

    A line belongs to the stream and time that its end came with.
    """
    wanted, found = wanted.casefold(), list[LogLine]()
    for line in _candidates(path, wanted):
        if wanted in _folded(line.text):
            if len(found) == limit:
                return found, True
            found.append(replace(line, text=line.text[:_SEARCH_LINE_BYTES]))
    return found, False


def _candidates(path: Path, wanted: str) -> Iterator[LogLine]:
    """The lines of every block of the log that has the text somewhere; others are only counted."""
    offset, number, begun = 0, 1, b""
    while True:
        block, following, _ = read_log(path, offset, _BLOCK_BYTES)
        if not block:
            break
        offset, last = following, block[-1]
        data = b"".join(record.data for record in block)
        if wanted not in _folded(begun + data):
            number += data.count(b"\n")
            begun = (begun + data)[-MAX_LINE_BYTES:].rpartition(b"\n")[2]
            continue
        for record in block:
            *whole, begun = (begun + record.data).split(b"\n")
            for text in whole:
                yield LogLine(number=number, stream=record.stream, time=record.time, text=text)
                number += 1
    if begun:
        yield LogLine(number=number, stream=last.stream, time=last.time, text=begun)


def _folded(data: bytes) -> str:
    return data.decode("utf-8", "replace").casefold()


def merged(paths: Sequence[Path], places: Sequence[Place], *, is_ended: bool) -> Iterator[Line]:
    """The lines of several logs, each from its place on, in the order of their times.

    A line that is still being written is left for later, unless `is_ended`: nothing more comes.
    So is one that came after this call began, for an earlier one of another task may follow.
    """
    until = time.time()
    logs = [_lines(number, path, place, is_ended=is_ended)
            for number, (path, place) in enumerate(zip(paths, places, strict=True))]
    for line in heapq.merge(*logs, key=lambda line: line.time):
        # A time far ahead is of a clock that was set back since: waiting for it helps nobody.
        if not is_ended and until < line.time < until + CLOCK_STEP_S:
            return
        yield line


def _lines(log: int, path: Path, place: Place, *, is_ended: bool) -> Iterator[Line]:
    skip, begun, end = place.skip, b"", place
    last: StoredRecord | None = None
    with _opened(path) as file:
        for record in records(file, place.offset) if file is not None else ():
            if begun and last and record.stream != last.stream:
                yield Line(log, last.stream, last.time_us / 1e6, begun, Place(record.offset))
                begun = b""
            data, at, last = record.data[skip:], 0, record
            while (newline := data.find(b"\n", at)) >= 0:
                text, begun = begun + data[at:newline], b""
                at = newline + 1
                if text or record.stream != NOTICE:
                    yield Line(log, record.stream, record.time_us / 1e6, text,
                               Place(record.offset, skip + at))
            begun += data[at:]
            skip, end = 0, Place(record.following)
            if len(begun) >= MAX_LINE_BYTES:
                yield Line(log, record.stream, record.time_us / 1e6, begun, end)
                begun = b""
    if begun and last and is_ended:
        yield Line(log, last.stream, last.time_us / 1e6, begun, end)


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """The open file, None where there is none yet."""
    file = None
    with suppress(FileNotFoundError):
        file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        if file is not None:
            os.close(file)
