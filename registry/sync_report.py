"""What the sync of one source did, as the log and the command line tell it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

MAX_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class SyncReport:
    """What the sync of one source did.

    `head` None: the source has no commit yet. `new` and `removed` name versions and components;
    `problems` counts the invalid files at the head. `error` None: it went well.
    """

    source: str
    head: str | None
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: int = 0
    error: str | None = None

    def __str__(self) -> str:
        if self.error:
            return f"{self.source}: {self.error}"
        parts = [f"{self.source}: at {self.head[:12] if self.head else 'no commit yet'}"]
        parts += [f"{len(names)} {what} ({_few(names)})"
                  for what, names in (("new", self.new), ("gone", self.removed)) if names]
        return ", ".join([*parts, f"invalid files: {self.problems}"])


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:MAX_NAMED], *(["…"] if len(names) > MAX_NAMED else [])])
