"""One version of a component as the catalog knows it, with what its owner says about it."""
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Iterable, Mapping, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.db import marks, sources, versions
from registry.errors import Problem
from registry.reference import DEPRECATED, YANKED, is_referable, version_order
from runner.sentence import Sentence, heard, joined

_MARK = ("reason", "successor", "created_at", "version")
_KINDS = {YANKED: Sentence("yanked"), DEPRECATED: Sentence("deprecated")}
_MARKED = (f"{YANKED}_", f"{DEPRECATED}_")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Why a version was yanked or deprecated, and since when.

    `successor` is a reference to use instead; empty where there is none. `version` is empty
    where the mark is about every version.
    """

    reason: str
    successor: str
    at: datetime
    version: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One version of a component.

    `commit` is the first that had these bytes; `files_commit` the last, from which the files
    beside it are best read. `position` orders the history of its source. `version` is empty
    where the file says none. `is_moved`: the same version stood there before with other bytes.
    `is_latest`: lists show this one. `yanked` and `deprecated` are None where it is neither.
    """

    id: int
    source_id: int
    source: str
    type: str
    name: str
    version: str
    contributor: str
    description: str
    commit: str
    committed_at: datetime
    path: str
    blob: str
    files_commit: str
    position: int
    text: str
    warnings: tuple[Problem, ...]
    is_latest: bool
    is_present: bool
    is_moved: bool
    tags: tuple[str, ...]
    readme: str
    yanked: Mark | None
    deprecated: Mark | None

    @property
    def reference(self) -> str:
        return f"{self.type}/{self.name}" + (f"@{self.version}" if self.version else "")

    @property
    def advice(self) -> tuple[str, ...]:
        """What someone who is about to use it should know, a sentence or two each."""
        return tuple(joined(
            Sentence("`{reference}` is {kind}: {reason}.", reference=self.reference,
                     kind=_KINDS[kind], reason=mark.reason.rstrip(".")),
            Sentence("Use `{successor}` instead.", successor=mark.successor)
            if mark.successor else "")
            for kind, mark in ((YANKED, self.yanked), (DEPRECATED, self.deprecated)) if mark)

    @property
    def selector(self) -> str:
        """What names these bytes and no others of the component: the version, else the commit."""
        is_named = is_referable(self.version) and not self.is_moved
        return self.version if is_named else self.commit

    @property
    def exact_reference(self) -> str:
        """What names these bytes and no others, whatever else there is."""
        return f"{self.source}:{self.type}/{self.name}@{self.selector}"


def select_entries(user_id: int | None) -> sa.Select[Any]:
    """Every version that the user may see, with its marks; None is a visitor."""
    yanked, own, whole = (marks.alias(name) for name in ("yanked", "own", "whole"))
    is_own = own.c.id.is_not(None)
    deprecated = [sa.case((is_own, own.c[name]), else_=whole.c[name]).label(f"{DEPRECATED}_{name}")
                  for name in _MARK]
    tables = versions.join(sources).outerjoin(
        yanked, _is_about(yanked, YANKED, versions.c.version)).outerjoin(
            own, _is_about(own, DEPRECATED, versions.c.version)).outerjoin(
                whole, _is_about(whole, DEPRECATED, ""))
    return sa.select(
        versions, sources.c.name.label("source"),
        sa.func.coalesce(versions.c.last_commit, sources.c.head).label("files_commit"),
        *[yanked.c[name].label(f"{YANKED}_{name}") for name in _MARK], *deprecated,
    ).select_from(tables).where(visibility.is_visible(user_id))


def entry_of(row: sa.Row[Any]) -> Entry:
    """A row of `select_entries`."""
    values = dict(row._mapping)
    for name in ("last_commit", "head_path", "is_tagged"):
        del values[name]
    return Entry(**{
        **{key: value for key, value in values.items() if not key.startswith(_MARKED)},
        "warnings": problems_of(values["warnings"]), "tags": tuple(values["tags"]),
        YANKED: _mark(values, YANKED), DEPRECATED: _mark(values, DEPRECATED)})


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, reverse=True,
                  key=lambda entry: version_order(entry.version, entry.position))


def problems_of(items: Sequence[dict[str, Any]]) -> tuple[Problem, ...]:
    return tuple(Problem(**item) for item in heard(items))


def _is_about(mark: sa.FromClause, kind: str, version: Any) -> sa.ColumnElement[bool]:
    return sa.and_(
        mark.c.source_id == versions.c.source_id, mark.c.type == versions.c.type,
        mark.c.name == versions.c.name, mark.c.kind == kind, mark.c.version == version)


def _mark(values: Mapping[str, Any], kind: str) -> Mark | None:
    reason, successor, at, version = (values[f"{kind}_{name}"] for name in _MARK)
    return None if at is None else Mark(
        reason=reason, successor=successor, at=at, version=version)
