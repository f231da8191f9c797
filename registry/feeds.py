"""What happened to components, newest first: the events that a feed shows."""
from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Collection, Iterable

import sqlalchemy as sa

from registry import visibility
from registry.db import events, sources, versions

LIMIT = 50
Place = tuple[str, str, str]  # source, type and name
Row = Any  # of the tables named where it is used
_COMMIT = re.compile(r"\b[0-9a-f]{12,40}\b")


@dataclass(frozen=True, kw_only=True)
class News:
    """One event of one version, or of a whole component where `version` is empty.

    `commit` names the version exactly; empty where none is known any more. `contributor` and
    `description` are those of that version, else of the component's latest.
    """

    id: int
    at: datetime
    source: str
    kind: str
    type: str
    name: str
    version: str
    detail: str
    commit: str
    contributor: str
    description: str


class Feeds:
    """Reads events for everyone; `user_id` is who reads, None a visitor."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def newest(self, *, user_id: int | None) -> list[News]:
        """Of every component."""
        return self._news(user_id)

    def of_component(self, type: str, name: str, source: str | None = None, *,
                     user_id: int | None) -> list[News]:
        """Of one component; `source` None: of every source that has it."""
        chosen = [sources.c.name == source] if source else []
        return self._news(user_id, events.c.type == type, events.c.name == name, *chosen)

    def of_contributor(self, contributor: str, *, user_id: int | None) -> list[News]:
        """Of the versions that one contributor signed."""
        signed = sa.exists().where(
            versions.c.source_id == events.c.source_id, versions.c.type == events.c.type,
            versions.c.name == events.c.name, versions.c.contributor == contributor,
            sa.or_(events.c.version == "", versions.c.version == events.c.version))
        return self._news(user_id, signed)

    def of_components(self, places: Collection[Place], *, user_id: int | None) -> list[News]:
        """Of each of these components."""
        key = sa.tuple_(sources.c.name, events.c.type, events.c.name)
        return self._news(user_id, key.in_(sorted(places)), *_among(
            events, {place[1:] for place in places})) if places else []

    def _news(self, user_id: int | None, *conditions: sa.ColumnElement[bool]) -> list[News]:
        query = sa.select(events, sources.c.name.label("source")).join(
            sources, sources.c.id == events.c.source_id).where(
                visibility.is_visible(user_id), *conditions)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(events.c.id.desc()).limit(LIMIT)).all()
            known = _versions_of(connection, rows)
        return [_news(row, known.get((row.source_id, row.type, row.name), [])) for row in rows]


def _versions_of(connection: sa.Connection,
                 rows: Iterable[Row]) -> dict[tuple[int, str, str], list[Row]]:
    """The versions of the components that events name, the latest first."""
    keys = sorted({(row.source_id, row.type, row.name) for row in rows})
    found: dict[tuple[int, str, str], list[Row]] = {key: [] for key in keys}
    if keys:
        for row in connection.execute(sa.select(
                versions.c.source_id, versions.c.type, versions.c.name, versions.c.version,
                versions.c.commit, versions.c.contributor, versions.c.description,
                versions.c.is_moved).where(
                    sa.tuple_(versions.c.source_id, versions.c.type, versions.c.name).in_(keys),
                    *_among(versions, {key[1:] for key in keys}))
                .order_by(versions.c.is_latest.desc(), versions.c.position.desc())):
            found[row.source_id, row.type, row.name].append(row)
    return found


def _among(table: sa.Table,
           components: Collection[tuple[str, str]]) -> list[sa.ColumnElement[bool]]:
    """What lets SQLite use the index of types and names, which it does not for whole tuples."""
    return [table.c.type.in_({type for type, _ in components}),
            table.c.name.in_({name for _, name in components})]


def _news(event: Row, known: list[Row]) -> News:
    exact = _exact(event, known)
    shown = exact or (known[0] if known else None)
    return News(
        id=event.id, at=event.at, source=event.source, kind=event.kind, type=event.type,
        name=event.name, version=event.version, detail=event.detail,
        commit=exact.commit if exact else "", contributor=shown.contributor if shown else "",
        description=shown.description if shown else "")


def _exact(event: Row, known: list[Row]) -> Row | None:
    """The version that is meant: by the commit that the event's sentence names, else by number."""
    named = _COMMIT.findall(event.detail)
    same = [row for row in known if row.version == event.version]
    found = [row for row in same if any(row.commit.startswith(commit) for commit in named)]
    found = found or [row for row in same if event.version and not row.is_moved]
    return found[0] if found else None
