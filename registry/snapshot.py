"""One state of the index as arrays over all its documents; segments are read once and kept."""
from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from typing import Any, Callable, Hashable, Iterable, Sequence, TypeVar

import numpy as np

from registry.document import FACTS, fold_value
from registry.segments import Postings, Segment

SINGLE, LISTED = ("type", "source", "by"), ("tag", "image")
NUMBERS = {"gpu": np.int32, "updated": np.int64, "used": np.int32, "length": np.float32,
           "identity": np.int64}
UNKEPT = (*NUMBERS, "audience", "reference")  # once they are arrays or keys
CACHED_VIEWS = 8
MIN_KEPT, KEPT_DOCUMENTS = 8, 2_000_000  # five bytes each: ten megabytes a view
LAST = "\U0010ffff"
T = TypeVar("T")


@dataclass(frozen=True)
class Values:
    """A column of texts: document `owners[n]` has the value `names[codes[n]]`, which is folded."""

    names: Sequence[str]
    owners: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class View:
    """What one circle of users may see: a mask over the documents, how many, their mean length."""

    mask: np.ndarray
    count: int
    mean_length: float
    _kept: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gave for this key, a while ago or now; nobody may change it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > max(MIN_KEPT, KEPT_DOCUMENTS // max(1, len(self.mask))):
                self._kept.popitem(last=False)
        return made


class Loaded:
    """A segment with what is kept of it in memory."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        facts = segment.facts()
        self.columns: dict[str, Sequence[Any]] = dict(
            zip(FACTS, zip(*facts) if facts else [()] * len(FACTS)))
        self.numbers = {name: np.array(self.columns[name], kind) for name, kind in NUMBERS.items()}
        self.values = {name: _values([(value,) for value in self.columns[name]])
                       for name in (*SINGLE, "audience")}
        self.values |= {name: _values(self.columns[name]) for name in LISTED}
        self.keys = ["\0".join((name.casefold(), *rest)) for name, *rest in zip(
            *(self.columns[key] for key in ("name", "type", "source", "reference")))]
        self.by_key = sorted(range(segment.count), key=self.keys.__getitem__)
        for name in UNKEPT:
            del self.columns[name]

    @cached_property
    def starts(self) -> tuple[list[str], np.ndarray]:
        """Every beginning of a name or of a part of it, sorted, and the document it belongs to."""
        pairs = sorted((start, number) for number, starts in enumerate(self.columns["starts"])
                       for start in starts)
        return [start for start, _ in pairs], np.array([number for _, number in pairs], np.int32)

    @cached_property
    def versions(self) -> list[str]:
        """The version that each document is of."""
        return [self.segment.card(number)["version"] for number in range(self.segment.count)]

    def is_whole(self, numbers: np.ndarray, start: str) -> np.ndarray:
        """Of which of these documents the whole name begins so."""
        names = self.columns["squashed"]
        return np.array([names[number].startswith(start) for number in numbers.tolist()], bool)

    @cached_property
    def name_words_by_length(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for word in self.name_words:
            found.setdefault(len(word), []).append(word)
        return found

    @cached_property
    def name_words(self) -> list[str]:
        """Every word of a name."""
        words, _ = self.segment.lexicon("keys")
        begin, middle = bisect_left(words, "name:"), bisect_left(words, "name:=")
        after, end = bisect_left(words, "name:=" + LAST), bisect_left(words, "name:" + LAST)
        return [word[5:] for word in (*words[begin:middle], *words[after:end])]


Part = tuple[Loaded, np.ndarray]  # a segment, and the numbers of its documents that are gone


def without_twins(newest: Sequence[Part], older: Sequence[Part]) -> list[Part]:
    """The older versions but those that are among the newest as well, or came once more later.

    That is so while an update is being written, which goes in three steps.
    """
    seen = [_live(part)[1] for part in newest]
    found = []
    for part in reversed(older):
        numbers, identities = _live(part)
        twins = numbers[np.isin(identities, np.concatenate([*seen, np.empty(0, np.int64)]))]
        seen.append(identities)
        found.append((part[0], np.union1d(part[1], twins).astype(np.int32)))
    return found[::-1]


def _live(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """The documents of a segment that are not gone, and who they are."""
    loaded, gone = part
    numbers = np.setdiff1d(np.arange(loaded.segment.count), gone)
    return numbers, loaded.numbers["identity"][numbers]


class Snapshot:
    """All documents of one generation, numbered through; what is gone has no place in a view."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = [part for part, _ in parts]
        self.gone = [gone for _, gone in parts]
        counts = [part.segment.count for part in self.parts]
        self.bases = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self._bases: list[int] = self.bases.tolist()
        self.count = self._bases[-1]
        self.is_live = np.ones(self.count, bool)
        for base, (_, gone) in zip(self.bases, parts):
            self.is_live[base + gone] = False
        self.numbers = {name: _joined([part.numbers[name] for part in self.parts], kind)
                        for name, kind in NUMBERS.items()}
        self.values = {name: self._values(name) for name in (*SINGLE, *LISTED, "audience")}
        self._views: dict[frozenset[str], View] = {}
        self._lock = threading.Lock()

    def view(self, audiences: frozenset[str]) -> View:
        """What these audiences may see together; nothing at all where there is none."""
        with self._lock:
            if audiences not in self._views:
                if len(self._views) >= CACHED_VIEWS:
                    self._views.clear()
                self._views[audiences] = self._view(audiences)
            return self._views[audiences]

    def postings(self, field: str, word: str) -> Postings:
        """The numbers of the documents that have a word, and its weight in each."""
        found = [part.segment.postings(field, word) for part in self.parts]
        return (_joined([numbers + base for base, (numbers, _) in zip(self.bases, found)
                         if len(numbers)], np.int64),
                _joined([weights for numbers, weights in found if len(numbers)], np.float32))

    def beginning(self, field: str, start: str, limit: int, without: str = "") -> dict[str, int]:
        """The most frequent words of a field that begin so, but none that begins with `without`.

        Each with how many documents have it, seen or not, the most frequent first.
        """
        found: Counter[str] = Counter()
        for part in self.parts:
            words, counts = part.segment.lexicon(field)
            begin, end = bisect_left(words, start), bisect_left(words, start + LAST)
            begun = counts[begin:end].copy()
            if without:
                begun[max(0, bisect_left(words, without) - begin):
                      max(0, bisect_left(words, without + LAST) - begin)] = 0
            best = np.argpartition(-begun, limit)[:limit] if limit < len(begun) \
                else np.arange(len(begun))
            for place in best.tolist():
                found[words[begin + place]] += int(begun[place])
        first = nsmallest(limit, found, key=lambda word: (-found[word], word))
        return {word: found[word] for word in first if found[word]}

    def place(self, number: int) -> tuple[Loaded, int]:
        """The segment of a document and its number there."""
        which = bisect_right(self._bases, number) - 1
        return self.parts[which], number - self._bases[which]

    def fact(self, name: str, number: int) -> Any:
        part, inside = self.place(number)
        return part.columns[name][inside]

    def names(self, view: View, type: str) -> list[tuple[str, str]]:
        """The names that are seen, each with its squashed form; `type` empty: of every type."""
        return view.kept(("names", type), lambda: self._names(view, type))

    def _names(self, view: View, type: str) -> list[tuple[str, str]]:
        seen = np.flatnonzero(view.mask).tolist()
        names, squashed, types = (self._column(key) for key in ("name", "squashed", "type"))
        return [(names[number], squashed[number]) for number in seen
                if type in ("", types[number])]

    def _column(self, name: str) -> list[Any]:
        return [value for part in self.parts for value in part.columns[name]]

    @cached_property
    def names_order(self) -> np.ndarray:
        """The documents in the order of their names."""
        keys = [key for part in self.parts for key in part.keys]
        order = [number + base for base, part in zip(self.bases.tolist(), self.parts)
                 for number in part.by_key]
        order.sort(key=keys.__getitem__)  # quick: it is sorted segment by segment
        return np.array(order, np.int64)

    @cached_property
    def by_name(self) -> np.ndarray:
        """Each document's place in the order of names; no two have the same."""
        return _places(self.names_order, self.count)

    @cached_property
    def by_updated(self) -> np.ndarray:
        """Each document's place in the order of dates, newest first, then by name."""
        return _places(np.lexsort((self.by_name, -self.numbers["updated"])), self.count)

    @cached_property
    def by_used(self) -> np.ndarray:
        """Each document's place when the most used comes first, then the newest."""
        return _places(np.lexsort((self.by_updated, -self.numbers["used"])), self.count)

    def _view(self, audiences: frozenset[str]) -> View:
        column = self.values["audience"]
        allowed = np.array([name in audiences for name in column.names], bool)
        mask = np.zeros(self.count, bool)
        if len(column.codes):
            mask[column.owners] = allowed[column.codes]
        mask &= self.is_live
        count = int(np.count_nonzero(mask))
        mean = float(self.numbers["length"][mask].mean()) if count else 1.0
        return View(mask, count, mean or 1.0)

    def _values(self, name: str) -> Values:
        """The columns of all segments as one, with one code for each value."""
        columns = [part.values[name] for part in self.parts]
        names = list(dict.fromkeys(value for column in columns for value in column.names))
        code_of = {value: code for code, value in enumerate(names)}
        codes = [np.array([code_of[value] for value in column.names], np.int32)[column.codes]
                 for column in columns if len(column.codes)]
        owners = [column.owners + base for base, column in zip(self.bases, columns)]
        return Values(names, _joined(owners, np.int64), _joined(codes, np.int32))


def _values(rows: Sequence[Sequence[str]]) -> Values:
    """One code for each value; values that fold alike are one."""
    owners: list[int] = []
    codes: list[int] = []
    code_of: dict[str, int] = {}
    folded: dict[str, int] = {}
    for number, row in enumerate(rows):
        for value in row:
            code = code_of.get(value)
            if code is None:
                code = code_of[value] = folded.setdefault(fold_value(value), len(folded))
            owners.append(number)
            codes.append(code)
    pairs = dict.fromkeys(zip(owners, codes))
    return Values(list(folded), np.array([owner for owner, _ in pairs], np.int64),
                  np.array([code for _, code in pairs], np.int32))


def _joined(arrays: Iterable[np.ndarray], kind: Any) -> np.ndarray:
    found = list(arrays)
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, kind), *found])


def _places(order: np.ndarray, count: int) -> np.ndarray:
    places = np.empty(count, np.int64)
    places[order] = np.arange(count)
    return places
