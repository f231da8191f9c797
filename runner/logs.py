"""The logs of all jobs, for those who read them: as they grow, and all tasks of a job as one."""
from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Iterator, Sequence

from runner.artifacts import JobFolders
from runner.errors import InvalidSpecError
from runner.job_store import JobStore
from runner.log_lines import Line, Place, merged
from runner.sentence import Sentence
from runner.spec import FINAL_STATES
from runner.task_log import LogRecord, read_log

MAX_PAGE_BYTES = 1 << 20
MAX_READ_BYTES = 1 << 23  # for one page, of which little may be wanted
LOOK_AGAIN_S = 1.0
PAUSE_S = 0.01  # between looks while other logs grow
PART_LINES = 1000
_CURSOR = re.compile(r"[0-9a-f]{1,15}(\.[0-9a-f]{1,15}){0,4000}")


@dataclass(frozen=True, kw_only=True)
class TaskLine:
    """A line and which task wrote it."""

    attempt: int
    role: str
    index: int
    line: Line


@dataclass(frozen=True, kw_only=True)
class MergedPage:
    """Lines of a job's tasks; `cursor` is where the next page begins."""

    lines: list[TaskLine]
    cursor: str
    is_complete: bool


@dataclass(frozen=True, kw_only=True)
class MergedQuery:
    """`attempt` 0: all, one after the other; `role` and `stream` empty: all; `limit` in lines."""

    job_id: str
    attempt: int = 0
    role: str = ""
    stream: str = ""
    cursor: str = ""
    limit: int = 1000


@dataclass(frozen=True, kw_only=True)
class _Position:
    """Where a merged view is: in which attempt, and where in each of its logs; None: at 0."""

    attempt: int
    places: tuple[Place, ...] | None = None

    def __str__(self) -> str:
        numbers = [self.attempt]
        for place in self.places or ():
            numbers += [place.offset, place.skip]
        return ".".join(f"{number:x}" for number in numbers)


class Logs:
    """Any number of threads may read; whoever writes says so by `grew`."""

    def __init__(self, folders: JobFolders, store: JobStore) -> None:
        self._folders, self._store = folders, store
        self._changed = threading.Condition()
        self._growth = 0
        self._is_closed = False

    def grew(self) -> None:
        """Something new is in some log."""
        with self._changed:
            self._growth += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._is_closed = True
        self.grew()

    def read(self, job_id: str, attempt: int, role: str, index: int, *, offset: int, limit: int,
             wait_s: float) -> tuple[list[LogRecord], int, bool]:
        """`task_log.read_log`, waiting up to `wait_s` seconds for something new."""
        path, deadline = self._folders.log(job_id, attempt, role, index), time.monotonic() + wait_s
        while True:
            growth = self._growth
            found, following, is_complete = read_log(path, offset, limit)
            if found or is_complete or not self._waited(growth, deadline):
                return found, following, is_complete

    def read_merged(self, query: MergedQuery, wait_s: float) -> MergedPage:
        """The next lines of all tasks of a job, waiting up to `wait_s` seconds for one.

        Raises NotFoundError for the job, InvalidSpecError for a cursor that no page gave.
        """
        deadline, cursor = time.monotonic() + wait_s, query.cursor
        while True:
            growth = self._growth
            page = self._page(query, cursor)
            if page.lines or page.is_complete or time.monotonic() >= deadline:
                return page
            has_moved, cursor = page.cursor != cursor, page.cursor
            if not has_moved and not self._waited(growth, deadline):
                return page

    def text(self, query: MergedQuery, *, has_times: bool) -> Iterator[bytes]:
        """All that a merged view holds by now, each line with its task before it."""
        cursor, is_new = query.cursor, True
        while is_new:
            page = self._page(query, cursor)
            yield b"".join(
                b"%s%d/%s-%d | %s\n" % (stamp(each.line.time) if has_times else b"", each.attempt,
                                        each.role.encode(), each.index, each.line.text)
                for each in page.lines)
            is_new, cursor = page.cursor != cursor, page.cursor

    def _waited(self, growth: int, deadline: float) -> bool:
        """Wait for something new; whether another look is worth it before the deadline."""
        left_s = deadline - time.monotonic()
        if left_s <= 0 or self._is_closed:
            return False
        time.sleep(PAUSE_S)
        with self._changed:
            # The end of a job is no growth, so it is looked for now and then.
            self._changed.wait_for(lambda: self._growth != growth, min(left_s, LOOK_AGAIN_S))
        return True

    def _page(self, query: MergedQuery, cursor: str) -> MergedPage:
        # Whether something ended is asked first: what it wrote before is then in the logs.
        job = self._store.get(query.job_id)
        ended = {row["number"]: row["finished_at"] is not None
                 for row in self._store.attempts(job.id)}
        is_over = job.state in FINAL_STATES
        position = _position(cursor) or _Position(attempt=query.attempt or 1)
        while position.attempt in ended:
            is_ended = is_over or ended[position.attempt]
            lines, following = self._lines(query, position, is_ended=is_ended)
            is_read = is_ended and not lines and str(following) == str(position)
            if not is_read:
                return MergedPage(lines=lines, cursor=str(following), is_complete=False)
            position = following
            if query.attempt or position.attempt + 1 not in ended:
                break
            position = _Position(attempt=position.attempt + 1)
        is_last = bool(query.attempt) and ended.get(query.attempt, False)
        return MergedPage(lines=[], cursor=str(position), is_complete=is_over or is_last)

    def _lines(self, query: MergedQuery, position: _Position, *, is_ended: bool,
               ) -> tuple[list[TaskLine], _Position]:
        number = position.attempt
        tasks = [(row["role"], row["idx"]) for row in self._store.tasks(query.job_id, number)
                 if query.role in ("", row["role"])]
        places = list(position.places or [Place()] * len(tasks))
        if len(places) != len(tasks):
            raise _no_cursor(str(position))
        paths = [self._folders.log(query.job_id, number, *task) for task in tasks]
        lines: list[TaskLine] = []
        wanted, read = 0, 0
        for line in merged(paths, places, is_ended=is_ended):
            places[line.log] = line.after
            read += len(line.text) + 1
            if query.stream in ("", line.stream):
                role, index = tasks[line.log]
                lines.append(TaskLine(attempt=number, role=role, index=index, line=line))
                wanted += len(line.text)
            if len(lines) >= query.limit or wanted >= MAX_PAGE_BYTES or read >= MAX_READ_BYTES:
                break
        return lines, _Position(attempt=number, places=tuple(places))


def timed_text(path: Path, stream: str = "") -> Iterator[bytes]:
    """The log of one task as text, each line with its time before it; `stream` empty: both."""
    lines = (line for line in merged([path], [Place()], is_ended=True)
             if stream in ("", line.stream))
    while part := list(islice(lines, PART_LINES)):
        yield b"".join(b"%s%s\n" % (stamp(line.time), line.text) for line in part)


def stamp(moment_s: float) -> bytes:
    """The time before a line, to the millisecond."""
    return f"{iso(moment_s)} ".encode()


def iso(moment_s: float) -> str:
    when = datetime.fromtimestamp(moment_s, timezone.utc)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _position(cursor: str) -> _Position | None:
    if not cursor:
        return None
    numbers = [int(text, 16) for text in cursor.split(".")] if _CURSOR.fullmatch(cursor) else []
    if not numbers or len(numbers) % 2 == 0:
        raise _no_cursor(cursor)
    return _Position(attempt=numbers[0], places=_places(numbers[1:]) or None)


def _places(numbers: Sequence[int]) -> tuple[Place, ...]:
    return tuple(Place(offset=offset, skip=skip)
                 for offset, skip in zip(numbers[::2], numbers[1::2], strict=True))


def _no_cursor(cursor: str) -> InvalidSpecError:
    return InvalidSpecError(Sentence(
        "There is no cursor {cursor!r}: give the one that the answer before had, or none to begin "
        "at the start.", cursor=cursor[:80]))
