"""A job on the terminal: its log on stdout, its events and progress beside it."""
from __future__ import annotations

import contextlib
import io
import json
import select
import sys
from dataclasses import replace
from datetime import datetime
from typing import Any, Callable, TextIO

from registry.job_stream import Event, JobStream, Progress, Record, Task
from registry.terminal import ProgressBar, Terminal


class LogPrinter:
    """Puts log records on stdout, with the task before each line where there are several."""

    def __init__(self, *, is_json: bool, is_prefixed: bool, has_times: bool = False,
                 out: TextIO | None = None) -> None:
        self._is_json = is_json
        self._is_prefixed = is_prefixed
        self._has_times = has_times
        self._out = out or sys.stdout
        self._partial: dict[Task, Record] = {}  # the begin of a line

    def print(self, record: Record) -> None:
        if self._is_json:
            self._write(json.dumps({"attempt": record.task.attempt, "role": record.task.role,
                                    "index": record.task.index, "stream": record.stream,
                                    "time": record.time, "text": record.text}) + "\n")
        elif self._is_prefixed or self._has_times:
            self._print_lines(record)
        else:
            self._write(record.text)

    def check(self) -> None:
        """Raises BrokenPipeError where the reader of stdout has gone, as the next line would.

        That line may be hours away: `paishare logs -f ID | grep -m 1 serving` ends at once.
        """
        with contextlib.suppress(io.UnsupportedOperation):
            poll = select.poll()
            poll.register(self._out.fileno(), 0)
            if any(found & select.POLLERR for _, found in poll.poll(0)):
                raise BrokenPipeError

    def finish(self) -> None:
        """Print the last lines that no newline ended."""
        for record in self._partial.values():
            self._write(f"{self._before(record)}{record.text}\n" if record.text else "")

    def _print_lines(self, record: Record) -> None:
        begun = self._partial.get(record.task)
        *lines, rest = ((begun.text if begun else "") + record.text).split("\n")
        self._partial[record.task] = replace(record, text=rest)
        before = self._before(record)
        self._write("".join(f"{before}{line}\n" for line in lines))

    def _before(self, record: Record) -> str:
        """What stands before a line: its time, and its task where there are several."""
        return (f"{_clock(record.time)} " if self._has_times else "") + (
            f"{record.task} | " if self._is_prefixed else "")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def follow(stream: JobStream, terminal: Terminal, say: Callable[[Event], None], *,
           has_times: bool = False) -> dict[str, Any]:
    """Print the job until it has ended; `say` gets its events. Returns the job at its end."""
    printer = LogPrinter(is_json=terminal.is_json, is_prefixed=len(stream.chosen) > 1,
                         has_times=has_times)
    bar = ProgressBar(terminal)
    try:
        for change in stream.follow(printer.check):
            if isinstance(change, Progress):
                bar.show(change.text, change.current, change.total)
                continue
            bar.hide()
            if isinstance(change, Event):
                say(change)
            else:
                printer.print(change)
    finally:
        bar.hide()
        printer.finish()
    return stream.job


def _clock(text: str) -> str:
    """An ISO time as the reader's clock shows it, to the millisecond."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
