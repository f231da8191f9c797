"""The begin of a file that a job left, as a page can show it: text, a table, or neither. Pure."""
from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import PurePosixPath

HEAD_BYTES = 1 << 16
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 100, 50, 500
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t"}
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"),
         (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
         (codecs.BOM_UTF16_BE, "utf-16"))
GUESSES = ("utf-8", "gb18030")
PLAIN_CONTROLS = "\t\n\r\x0c\x1b"


@dataclass(frozen=True, kw_only=True)
class Preview:
    """`kind` is text, table or binary; a table's first row is in `rows` too.

    `text` and `rows` hold only the begin where `is_cut`.
    """

    kind: str
    encoding: str = ""
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    is_cut: bool = False


def preview_of(path: str, head: bytes, size: int) -> Preview:
    """What the first HEAD_BYTES of a file of `size` bytes show of it."""
    is_cut = size > len(head)
    encoding, text = _decoded(head, is_cut=is_cut)
    if not encoding:
        return Preview(kind="binary", is_cut=is_cut)
    delimiters = DELIMITERS.get(PurePosixPath(path).suffix.lower(), "")
    rows = _rows(text, delimiters, is_cut=is_cut) if delimiters and text else ()
    return Preview(kind="table" if rows else "text", encoding=encoding, text=text, rows=rows,
                   is_cut=is_cut)


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


def _rows(text: str, delimiters: str, *, is_cut: bool) -> tuple[tuple[str, ...], ...]:
    """The first rows, each as wide as the first one; none where it is no table."""
    whole = text[:text.rfind("\n") + 1] if is_cut else text
    try:
        dialect = csv.Sniffer().sniff(whole[:4096], delimiters)
    except csv.Error:
        dialect = csv.excel
    rows = []
    try:
        for row in csv.reader(io.StringIO(whole, newline=""), dialect):
            rows.append(tuple(cell[:MAX_CELL] for cell in row[:MAX_COLUMNS]))
            if len(rows) > MAX_ROWS:
                break
    except csv.Error:
        return ()
    return tuple(rows)
