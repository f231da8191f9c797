"""A folder as Git writes it down: what stands in it, and in what two of them differ. Pure."""
from __future__ import annotations

import re
from functools import cached_property
from typing import Iterable, Mapping

Side = tuple[int, bytes]  # mode and id
NOTHING: Side = (0, b"")
_NO_FILE_NAMES = (b"", b".", b"..", b".git")  # git checks none of them out: they lead elsewhere
_ENTRY = re.compile(rb"[^\0]++\0.{20}", re.DOTALL)  # `mode name`, then the id's bytes
_ENTRIES = re.compile(rb"(?:[^\0]++\0.{20})*+", re.DOTALL)


class Tree:
    """The entries of one folder. What is not asked for is not read: a history names large folders
    again and again, each a little otherwise.

    Raises ValueError where its bytes are no folder.
    """

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
        return _read(_ENTRY.findall(self.checked()))

    def differing(self, other: Tree) -> dict[bytes, tuple[Side, Side]]:
        """The names that stand for something else in the other one, each with here and there."""
        here, there = _read(self._raw - other._raw), _read(other._raw - self._raw)
        return {name: (here.get(name, NOTHING), there.get(name, NOTHING))
                for name in here.keys() | there.keys()}

    def checked(self) -> bytes:
        """Its bytes, which are entries from the first to the last."""
        if _end(self._data, len(self._data)) != len(self._data):
            raise ValueError("a folder is damaged")
        return self._data

    @cached_property
    def _raw(self) -> frozenset[bytes]:
        return frozenset(_ENTRY.findall(self.checked()))


def _end(data: bytes, most: int) -> int:
    """Where the last entry ends that lies before `most`."""
    found = _ENTRIES.match(data, 0, most)
    return found.end() if found else 0


def _read(entries: Iterable[bytes]) -> dict[bytes, Side]:
    found = {}
    for entry in entries:
        mode, _, name = entry[:-21].partition(b" ")
        if name.lower() not in _NO_FILE_NAMES and b"/" not in name:
            found[name] = int(mode, 8), entry[-20:].hex().encode()
    return found
