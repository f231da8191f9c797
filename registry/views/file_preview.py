"""The begin of a file that a job left, as a page can show it: text, a table, or neither. Pure."""
from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from itertools import zip_longest
from math import isfinite
from pathlib import PurePosixPath
from typing import Sequence

HEAD_BYTES = 1 << 16
PLOT_BYTES = 1 << 22
MAX_ROWS, MAX_COLUMNS, MAX_CELL, MAX_POINTS = 100, 50, 500, 20_000
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t"}
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"),
         (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
         (codecs.BOM_UTF16_BE, "utf-16"))
GUESSES = ("utf-8", "gb18030")
PLAIN_CONTROLS = "\t\n\r\x0c\x1b"


@dataclass(frozen=True, kw_only=True)
class Preview:
    """`kind` is text, table, image or binary; a table's first row is in `rows` too.

    `text` and `rows` hold only the begin where `is_cut`.
    """

    kind: str
    encoding: str = ""
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The columns of a table that hold numbers, by name; None where a cell holds none.

    Only the begin where `is_cut`.
    """

    columns: tuple[tuple[str, tuple[float | None, ...]], ...]
    is_cut: bool


def preview_of(path: str, head: bytes, size: int) -> Preview:
    """What the first HEAD_BYTES of a file of `size` bytes show of it."""
    is_cut = size > len(head)
    encoding, text = _decoded(head, is_cut=is_cut)
    if not encoding:
        return Preview(kind="binary", is_cut=is_cut)
    rows = _rows(path, text, MAX_ROWS, is_cut=is_cut)
    return Preview(kind="table" if rows else "text", encoding=encoding, text=text, rows=rows,
                   is_cut=is_cut)


def numbers_of(path: str, head: bytes, size: int) -> Numbers:
    """What can be plotted of a table, from the first bytes of a file of `size` bytes."""
    is_cut = size > len(head)
    _encoding, text = _decoded(head, is_cut=is_cut)
    rows = _rows(path, text, MAX_POINTS, is_cut=is_cut)
    columns = ((name, tuple(map(_number, column)))
               for name, *column in zip_longest(*rows, fillvalue=""))
    return Numbers(columns=tuple((name, values) for name, values in columns if _is_numeric(values)),
                   is_cut=is_cut or len(rows) > MAX_POINTS)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _is_numeric(values: Sequence[float | None]) -> bool:
    """Whether at least half of a column are numbers."""
    return 2 * sum(value is not None for value in values) >= max(1, len(values))


def _decoded(head: bytes, *, is_cut: bool) -> tuple[str, str]:
    """The encoding and the text, both empty where it is none."""
    marked = next((encoding for mark, encoding in MARKS if head.startswith(mark)), None)
    if b"\0" in head and marked is None:
        return "", ""
    for encoding in (marked,) if marked else GUESSES:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(head, final=not is_cut)  # the last character may be cut in two
        except UnicodeDecodeError:
            continue
        if not any(character < " " and character not in PLAIN_CONTROLS for character in text):
            return encoding, text
    return "", ""


def _rows(path: str, text: str, most: int, *, is_cut: bool) -> tuple[tuple[str, ...], ...]:
    """The header and the first `most` rows; none where it is no table."""
    delimiters = DELIMITERS.get(PurePosixPath(path).suffix.lower(), "")
    if not delimiters or not text:
        return ()
    whole = text[:text.rfind("\n") + 1] if is_cut else text
    try:
        dialect = csv.Sniffer().sniff(whole[:4096], delimiters)
    except csv.Error:
        dialect = csv.excel
    rows = []
    try:
        for row in csv.reader(io.StringIO(whole, newline=""), dialect):
            rows.append(tuple(cell[:MAX_CELL] for cell in row[:MAX_COLUMNS]))
            if len(rows) > most:
                break
    except csv.Error:
        return ()
    return tuple(rows)
