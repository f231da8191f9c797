"""What was read of one source and in which order, so that it can all be read the same way again."""
from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Collection, Iterable, Mapping

_ID_BYTES = 20


@dataclass(frozen=True, kw_only=True)
class Read:
    """One state of a source: its head, where components stood in it, and the tags new in it."""

    head: str
    prefix: str
    tags: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """How far the catalog is: the head it shows, the history of it, and where that begins."""

    read: Read
    known: frozenset[str]
    shallow: tuple[str, ...]


class Journal:
    """Two files in a source's store. A kill between the catalog's write and theirs costs time only:
    all is read anew then.

    `journal.json` holds the reads that the next one does not simply go on from, and the cursor;
    `commits` the ids of all commits that were read, as far as the cursor says.
    """

    def __init__(self, store: Path) -> None:
        self._path = store / "journal.json"
        self._commits = store / "commits"

    def reads(self) -> list[Read]:
        """The states that came before the one at the cursor."""
        return [Read(**each) for each in self._content().get("reads", ())]

    def cursor(self, head: str | None, shallow: Collection[str]) -> Cursor | None:
        """Where to go on; None where the catalog is not at that head, or older commits came in."""
        found = self._content().get("cursor")
        if not found or head is None or found["read"]["head"] != head or \
                not set(found["shallow"]) <= set(shallow):
            return None
        data = self._commits.read_bytes() if self._commits.exists() else b""
        if len(data) < found["known"] * _ID_BYTES:
            return None
        ids = (data[start:start + _ID_BYTES].hex()
               for start in range(0, found["known"] * _ID_BYTES, _ID_BYTES))
        return Cursor(read=Read(**found["read"]), known=frozenset(ids),
                      shallow=tuple(found["shallow"]))

    def keep(self, read: Read) -> None:
        """Note a state that the next one does not go on from."""
        content = self._content()
        reads = content.get("reads", [])
        if asdict(read) not in reads[-1:]:
            self._write({**content, "reads": [*reads, asdict(read)]})

    def move(self, read: Read, new: Iterable[str], known: int, shallow: Collection[str]) -> None:
        """Put the cursor where the catalog is now: `new` commits after the first `known`."""
        ids = b"".join(map(bytes.fromhex, new))
        with open(self._commits, "r+b" if self._commits.exists() else "xb") as file:
            file.truncate(known * _ID_BYTES)
            file.seek(0, os.SEEK_END)
            file.write(ids)
        self._write({"reads": [], **self._content(), "cursor": {
            "read": asdict(read), "known": known + len(ids) // _ID_BYTES,
            "shallow": sorted(shallow)}})

    def restart(self) -> None:
        """Have everything read anew at the next sync."""
        self._write({**self._content(), "cursor": None})

    def _content(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, content: Mapping[str, Any]) -> None:
        aside = self._path.with_suffix(".tmp")
        aside.write_text(json.dumps(content), "utf-8")
        os.replace(aside, self._path)
