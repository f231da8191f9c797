"""Which jobs a list asks for, and in which order, as SQL over the table of jobs. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NEWEST = "newest"
_LASTED = "julianday(coalesce(finished_at, 'now')) - julianday(started_at)"
ORDERS = {NEWEST: "seq desc", "oldest": "seq", "name": "name collate nocase, seq desc",
          "longest": f"{_LASTED} desc, seq desc", "gpus": "gpus desc, seq desc"}


@dataclass(frozen=True, kw_only=True)
class JobQuery:
    """`user` None: everybody's; `name` None: any; no `states`: all of them.

    `text` is part of a name or begins a number. `template` is `[source:][type/]name[@version]`.
    `reader` empty: whoever asks may know all names; else what others run of private sources is not
    found by its name or its template. `before` is the `seq` of the last job of the page before.
    """

    user: str | None = None
    name: str | None = None
    states: tuple[str, ...] = ()
    text: str = ""
    template: str = ""
    reader: str = ""
    sort: str = NEWEST
    before: int | None = None

    def where(self, *, is_any_state: bool = False) -> tuple[str, list[Any]]:
        """The condition and its values; `is_any_state`: as if no state was asked for."""
        parts: list[str] = ["1"]
        values: list[Any] = []

        def add(part: str, *given: Any) -> None:
            parts.append(part)
            values.extend(given)
        if self.user is not None:
            add("user = ?", self.user)
        if self.name is not None:
            add("name = ?", self.name)
        if self.states and not is_any_state:
            add(f"state in ({','.join('?' * len(self.states))})", *self.states)
        if self.before is not None:
            add("seq < ?", self.before)
        if self.text:
            add("(name like ? escape '\\' or id like ? escape '\\')",
                f"%{_escaped(self.text)}%", f"{_escaped(self.text)}%")
        if ":" in self.template and "@" in self.template:
            add("template = ?", self.template)
        elif ":" in self.template:  # what links ask for: its versions stand together in the index
            add("template >= ? and template < ?", f"{self.template}@", f"{self.template}A")
        elif self.template:
            at = "" if "@" in self.template else "@%"
            add("'/' || replace(template, ':', '/') like ? escape '\\'",
                f"%/{_escaped(self.template)}{at}")
        if self.reader and (self.text or self.template):
            add("(user = ? or json_extract(spec, '$.origin.private') is null)", self.reader)
        return " and ".join(parts), values


def _escaped(text: str) -> str:
    """The text as LIKE takes it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
