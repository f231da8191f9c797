"""Two texts line by line, side by side, with the words that changed. Pure."""
from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Iterator, Sequence

CONTEXT = 3
# A comparison may cost time by the product of the lengths. What is longer than any component of
# people is shown as replaced: whole texts by lines, then lines by words.
MAX_LINES, MAX_WORDS, MAX_MARKED = 3000, 200, 200
MIN_RATIO = 0.4  # below, two lines have too little in common to mark words
Step = tuple[str, int, int, int, int]
_WORD = re.compile(r"\$\$[\w.-]+\$\$|\w+|\s+|[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a line; `is_changed`: the other side has something else there."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, kw_only=True)
class Side:
    """One line of one text; `number` counts from 1."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, kw_only=True)
class Row:
    """Two lines beside each other; None: that side has none here.

    `skipped` counts the equal lines that were left out before it.
    """

    old: Side | None
    new: Side | None
    skipped: int = 0

    @property
    def is_changed(self) -> bool:
        return self.old is None or self.new is None or self.old.text != self.new.text


@dataclass(frozen=True, kw_only=True)
class LineDiff:
    """The rows that changed, with some equal ones around; `skipped` equal lines follow the last."""

    rows: tuple[Row, ...]
    skipped: int


def line_diff(old: str, new: str, context: int = CONTEXT) -> LineDiff:
    """Compare two texts; `context` is how many equal lines stand around what changed."""
    before, after = (text.removesuffix("\n").split("\n") for text in (old, new))
    rows, skipped = [], 0
    marks = iter(range(MAX_MARKED))
    for step in _with_context(steps_between(before, after), context):
        if step[0] == "skipped":
            skipped = step[2] - step[1]
            continue
        for row in _rows(step, before, after, marks):
            rows.append(Row(old=row.old, new=row.new, skipped=skipped))
            skipped = 0
    return LineDiff(rows=tuple(rows), skipped=skipped)


def steps_between(old: Sequence[str], new: Sequence[str]) -> list[Step]:
    """How one list becomes the other: as difflib's opcodes, in bounded time."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]),
                shorter - head)
    low, high, new_high = head, len(old) - tail, len(new) - tail
    if max(high, new_high) - low > MAX_LINES:
        middle: Sequence[Step] = [("replace", 0, high - low, 0, new_high - low)]
    else:
        middle = difflib.SequenceMatcher(None, old[low:high], new[low:new_high]).get_opcodes()
    found = [("equal", 0, head, 0, head),
             *((kind, old_from + head, old_to + head, new_from + head, new_to + head)
               for kind, old_from, old_to, new_from, new_to in middle),
             ("equal", high, len(old), new_high, len(new))]
    return [step for step in found if step[2] > step[1] or step[4] > step[3]]


def _with_context(steps: list[Step], context: int) -> Iterator[Step]:
    """Equal lines far from any change become one step `skipped`."""
    for place, (kind, low, high, new_low, new_high) in enumerate(steps):
        first = low if place == 0 else low + context
        last = high if place == len(steps) - 1 else high - context
        if kind != "equal" or last <= first:
            yield kind, low, high, new_low, new_high
            continue
        shift = new_low - low
        yield "equal", low, first, new_low, first + shift
        yield "skipped", first, last, first + shift, last + shift
        yield "equal", last, high, last + shift, new_high


def _rows(step: Step, before: list[str], after: list[str],
          marks: Iterator[int]) -> Iterator[Row]:
    kind, low, high, new_low, new_high = step
    for place in range(max(high - low, new_high - new_low)):
        old, new = low + place, new_low + place
        is_pair = old < high and new < new_high and kind != "equal"
        if is_pair and next(marks, None) is not None:
            left, right = _marked(before[old], after[new])
        else:
            is_changed = kind != "equal"
            left = (Piece(text=before[old], is_changed=is_changed),) if old < high else ()
            right = (Piece(text=after[new], is_changed=is_changed),) if new < new_high else ()
        yield Row(old=Side(number=old + 1, pieces=left) if old < high else None,
                  new=Side(number=new + 1, pieces=right) if new < new_high else None)


def _marked(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both lines in pieces; those that have little in common are marked as a whole."""
    left, right = _WORD.findall(old), _WORD.findall(new)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    if max(len(left), len(right)) > MAX_WORDS or matcher.ratio() < MIN_RATIO:
        return (Piece(text=old, is_changed=True),), (Piece(text=new, is_changed=True),)
    steps = matcher.get_opcodes()
    return (tuple(Piece(text="".join(left[low:high]), is_changed=kind != "equal")
                  for kind, low, high, _, _ in steps if high > low),
            tuple(Piece(text="".join(right[low:high]), is_changed=kind != "equal")
                  for kind, _, _, low, high in steps if high > low))
