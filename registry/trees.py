"""A folder as Git writes it down: what stands in it, and in what two of them differ. Pure."""
from __future__ import annotations

import re
from typing import Iterable, Mapping

Side = tuple[int, bytes]  # mode and id
NOTHING: Side = (0, b"")
SHORT = 512  # bytes
FEW = 64  # entries; where more differ, all that follow are read
_NO_FILE_NAMES = (b"", b".", b"..", b".git")  # git checks none of them out: they lead elsewhere
_ENTRY = re.compile(rb"[^\0]++\0.{20}", re.DOTALL)  # `mode name`, then the id's bytes
_ENTRIES = re.compile(rb"(?:[^\0]++\0.{20})*+", re.DOTALL)


class Tree:
    """The entries of one folder. What is not asked for is not read: a history names large folders
    again and again, each a little otherwise.

    Raises ValueError where its bytes are no folder.
    """

    __slots__ = ("_data",)

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def get(self, name: bytes) -> Side:
        """What stands there under that name; NOTHING where nothing does."""
        mark, at = b" " + name + b"\0", len(self._data)
        while (at := self._data.rfind(mark, 0, at + len(mark) - 1)) >= 0:
            start = _end(self._data, at)
            if self._data[start:at].isdigit():  # else it stands within a name or an id
                return _read([self._data[start:at + len(mark) + 20]]).get(name, NOTHING)
        return NOTHING

    def items(self) -> Mapping[bytes, Side]:
        """Mode and id of everything that stands there, by its name."""
        return _read(_entries(self._data, 0))

    def differing(self, other: Tree) -> dict[bytes, tuple[Side, Side]]:
        """The names that stand for something else in the other one, each with here and there."""
        here, there = map(_read, _unlike(self._data, other._data))
        return {name: (here.get(name, NOTHING), there.get(name, NOTHING))
                for name in here.keys() | there.keys() if here.get(name) != there.get(name)}

    def check(self) -> None:
        """Whether its bytes are entries from the first to the last."""
        _check(self._data, 0)


def _unlike(ours: bytes, theirs: bytes) -> tuple[list[bytes], list[bytes]]:
    """The entries of both; of long ones not those that both have between the first that differ."""
    if len(ours) + len(theirs) < SHORT:
        return _entries(ours, 0), _entries(theirs, 0)
    here: list[bytes] = []
    there: list[bytes] = []
    at, place = _behind_alike(ours, 0, theirs, 0)
    while at < len(ours) and place < len(theirs) and len(here) + len(there) < FEW:
        mine, other = _entry(ours, at), _entry(theirs, place)
        if _name(mine) <= _name(other):
            here.append(mine)
            at += len(mine)
        if _name(other) <= _name(mine):
            there.append(other)
            place += len(other)
        at, place = _behind_alike(ours, at, theirs, place)
    return here + _entries(ours, at), there + _entries(theirs, place)


def _behind_alike(ours: bytes, at: int, theirs: bytes, place: int) -> tuple[int, int]:
    """The places in both behind the entries that follow in both."""
    if ours[at:] == theirs[place:]:
        return len(ours), len(theirs)
    same, step = 0, 64
    while (piece := ours[at + same:at + same + step]) and \
            piece == theirs[place + same:place + same + step]:
        same += len(piece)
        step *= 2
    while step > 1:
        step //= 2
        if ours[at + same:at + same + step] == theirs[place + same:place + same + step]:
            same += step
    end = _end(ours, at + same, at)
    return end, place + end - at


def _name(entry: bytes) -> bytes:
    return entry[entry.find(b" ") + 1:-21]


def _entry(data: bytes, at: int) -> bytes:
    found = _ENTRY.match(data, at)
    if found is None:
        raise ValueError("a folder is damaged")
    return found[0]


def _check(data: bytes, at: int) -> None:
    if _end(data, len(data), at) != len(data):
        raise ValueError("a folder is damaged")


def _entries(data: bytes, at: int) -> list[bytes]:
    _check(data, at)
    return _ENTRY.findall(data, at)


def _end(data: bytes, most: int, at: int = 0) -> int:
    """Where the last of the entries from `at` on ends that lie before `most`."""
    found = _ENTRIES.match(data, at, most)
    return found.end() if found else at


def _read(entries: Iterable[bytes]) -> dict[bytes, Side]:
    found = {}
    for entry in entries:
        mode, _, name = entry[:-21].partition(b" ")
        if name.lower() not in _NO_FILE_NAMES and b"/" not in name:
            found[name] = int(mode, 8), entry[-20:].hex().encode()
    return found
