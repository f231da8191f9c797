"""What the commands print: results on stdout, everything said beside them on stderr."""
from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any, Iterable, Sequence

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from registry.error_text import printable

STATE_STYLES = {"WAITING": "yellow", "RUNNING": "cyan", "SUCCEEDED": "green", "FAILED": "red",
                "STOPPED": "magenta"}


class Terminal:
    """Prints for a person or, with `is_json`, for a program.

    Colours, bars and tables with rules appear on a terminal only; piped tables are lines of
    tab-separated cells.
    """

    def __init__(self, *, is_json: bool = False) -> None:
        self.is_json = is_json
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(highlight=False, soft_wrap=True, stderr=True)

    def json(self, value: Any) -> None:
        print(json.dumps(value, indent=2, ensure_ascii=False))

    def say(self, text: str, style: str = "") -> None:
        """One line beside the result."""
        self.err.print(printable(text), style=style, markup=False)

    def result(self, text: str) -> None:
        """One line of the result."""
        click.echo(printable(text))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Rows under a heading; a cell that names a job's state is coloured."""
        cells = [[_cell(value) for value in row] for row in rows]
        if not self.out.is_terminal:
            for row in [[column.upper() for column in columns], *cells]:
                self.result("\t".join(row))
            return
        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for row in cells:
            table.add_row(*(_styled(cell) for cell in row))
        self.out.print(table)

    def fields(self, pairs: Iterable[tuple[str, object]]) -> None:
        """`name: value` lines; pairs without a value are left out."""
        shown = [(name, _cell(value)) for name, value in pairs if value not in (None, "", ())]
        width = max((len(name) for name, _ in shown), default=0) + 1
        for name, value in shown:
            self.out.print(f"[bold]{name + ':':<{width}}[/bold] {_styled(value)}")

    def markdown(self, text: str) -> None:
        """A longer text: set on a terminal, as it was written elsewhere."""
        if self.out.is_terminal:
            self.out.print(Markdown(printable(text)), soft_wrap=False)
        else:
            self.result(text.rstrip())

    def progress(self, *, is_bytes: bool = False) -> Progress:
        """A bar on stderr; nothing at all where stderr is no terminal."""
        size = DownloadColumn() if is_bytes else TimeElapsedColumn()
        return Progress(SpinnerColumn(), TextColumn("{task.description}", markup=False),
                        BarColumn(), size, console=self.err, transient=True,
                        redirect_stdout=False, redirect_stderr=False,
                        disable=not self.err.is_terminal)


class ProgressBar:
    """One bar that comes and goes between other lines."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._shown: Progress | None = None

    def show(self, text: str, current: int, total: int | None) -> None:
        if self._shown is None:
            self._shown = self._terminal.progress()
            self._shown.add_task("", total=None)
        self._shown.update(self._shown.task_ids[0], description=printable(text), completed=current,
                           total=total)
        self._shown.start()

    def hide(self) -> None:
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


def local_time(text: str | None) -> str:
    """An ISO time as the reader's clock shows it; empty for None."""
    if not text:
        return ""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def first_sentence(text: str) -> str:
    """What a text says first, on one line."""
    return " ".join(re.split(r"(?<=[.!?])\s|\n\s*\n", text.strip(), maxsplit=1)[0].split())


def size(count: int) -> str:
    """Bytes as a person reads them: 1.5 MB."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _cell(value: object) -> str:
    return printable("" if value is None else str(value)).replace("\n", " ").replace("\t", " ")


def _styled(cell: str) -> str:
    style = STATE_STYLES.get(cell)
    return f"[{style}]{escape(cell)}[/{style}]" if style else escape(cell)
