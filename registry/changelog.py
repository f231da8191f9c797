"""The versions of one component in their order, and what each changed."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Collection, Sequence

import sqlalchemy as sa

from registry.component import parse
from registry.db import versions
from registry.difference import Difference, compare
from registry.entry import Entry, entry_of, select_entries
from registry.reference import version_order
from registry.relations import select_light


@dataclass(frozen=True, kw_only=True)
class Step:
    """One version and what it changed; `before` and `difference` are None for the first one."""

    entry: Entry
    before: Entry | None
    difference: Difference | None


@dataclass(frozen=True, kw_only=True)
class Versions:
    """A slice of a component's versions, newest first; entries are without their texts.

    `landmarks` are those beside the slice that a reader is led to: the one that lists show, and
    the first of the same number where that moved. `has_before`: another came before the entry.
    """

    entries: tuple[Entry, ...]
    total: int
    landmarks: tuple[Entry, ...]
    has_before: bool


class Changelog:
    """Reads the versions of an entry's component in its source. `user_id` None: a visitor."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def versions(self, entry: Entry, *, limit: int, offset: int = 0, user_id: int | None
                 ) -> Versions:
        """A slice of the versions, those in it without their texts."""
        with self._engine.connect() as connection:
            order = _order(connection, entry)
            wanted = [row.id for row in order[offset:offset + limit]]
            beside = [row.id for row in order if row.id not in wanted and (
                row.is_latest or entry.is_moved and _is_first(row, entry))]
            found = _entries(connection, select_light(user_id), {*wanted, *beside})
        return Versions(entries=tuple(found[id] for id in wanted if id in found),
                        total=len(order), has_before=entry.id in _before(order),
                        landmarks=tuple(found[id] for id in beside if id in found))

    def before(self, entry: Entry, *, user_id: int | None) -> Entry | None:
        """The version that this one is best compared with; None: it is the first."""
        with self._engine.connect() as connection:
            id = _before(_order(connection, entry)).get(entry.id)
            found = _entries(connection, select_entries(user_id), [id] if id else [])
        return found.get(id) if id else None

    def steps(self, entry: Entry, *, limit: int, offset: int = 0, user_id: int | None
              ) -> tuple[Step, ...]:
        """What each version changed against the one before, newest first."""
        with self._engine.connect() as connection:
            order = _order(connection, entry)
            before = _before(order)
            wanted = [row.id for row in order[offset:offset + limit]]
            found = _entries(connection, select_entries(user_id),
                             {*wanted, *(before[id] for id in wanted if id in before)})
        pairs = [(found[id], found.get(before.get(id, 0))) for id in wanted if id in found]
        return tuple(Step(entry=after, before=before,
                          difference=difference_of(before, after) if before else None)
                     for after, before in pairs)


def _order(connection: sa.Connection, entry: Entry) -> list[Any]:
    """Every version of the component, newest first, with what orders them."""
    rows = connection.execute(sa.select(
        versions.c.id, versions.c.version, versions.c.position, versions.c.is_moved,
        versions.c.is_latest).where(
            versions.c.source_id == entry.source_id, versions.c.type == entry.type,
            versions.c.name == entry.name))
    return sorted(rows, reverse=True,
                  key=lambda row: version_order(row.version, row.position))


def _is_first(row: Any, entry: Entry) -> bool:
    return row.version == entry.version and not row.is_moved


def _before(order: Sequence[Any]) -> dict[int, int]:
    """What each version follows: one that moved the first of its number, no other follows it."""
    found: dict[int, int] = {}
    younger: list[Any] = []
    for row in order:
        if row.is_moved:
            younger.append(row)
            continue
        found |= {each.id: row.id for each in younger
                  if not each.is_moved or each.version == row.version}
        younger = [row, *(each for each in younger if each.is_moved and each.id not in found)]
    return found


def _entries(connection: sa.Connection, query: sa.Select[Any], ids: Collection[int]
             ) -> dict[int, Entry]:
    if not ids:
        return {}
    rows = connection.execute(query.where(versions.c.id.in_(sorted(ids))))
    return {row.id: entry_of(row) for row in rows}


def difference_of(before: Entry, after: Entry) -> Difference:
    """What changed between two versions, which were valid when they were recorded."""
    return compare(parse(before.text), parse(after.text),
                   is_one_source=before.source_id == after.source_id)
