"""Brings the index up to the catalog: what the outbox lists, or all of it."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Collection, Iterator, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.component import TYPES
from registry.db import marks, runs, search_outbox, sources, uses, versions
from registry.document import Document, card_of, document_id, hit_of
from registry.entry import DEPRECATED, YANKED
from registry.hits import Hit
from registry.reference import is_referable
from registry.search import SearchIndex
from registry.uses import REFERENCE_USE

BATCH = 500
COMMIT_LENGTH = 12
PUBLIC_USE = 0  # no source has this number
Names = Collection[tuple[str, str]]  # type and name


class Outbox:
    """The one way into the index. A batch that was cut off is done once more, to the same end."""

    def __init__(self, engine: sa.Engine, index: SearchIndex) -> None:
        self._engine = engine
        self._index = index

    def drain(self) -> int:
        """Index everything that is listed; returns how many components that was."""
        done = 0
        while True:
            with self._engine.connect() as connection:
                rows = connection.execute(sa.select(search_outbox).order_by(search_outbox.c.id)
                                          .limit(BATCH)).all()
                keys = {(row.type, row.name) for row in rows}
                keys |= _used_by(connection, keys)
                found = list(documents(connection, keys)) if keys else []
            if not rows:
                return done
            gone = {document_id(row.source_id, row.type, row.name) for row in rows}
            self._index.update(found, gone | {document.id for document in found})
            self._delete([row.id for row in rows])
            done += len(keys)

    def rebuild(self) -> int:
        """Write the whole index anew; returns how many components it holds."""
        with self._engine.connect() as connection:
            listed = list(connection.scalars(sa.select(search_outbox.c.id)))
            count = self._index.rebuild(documents(connection, None))
        self._delete(listed)
        return count

    def is_empty(self) -> bool:
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(search_outbox.c.id).limit(1)) is None

    def is_index_whole(self) -> bool:
        """Whether the index holds as many components as the catalog, the outbox being empty."""
        with self._engine.connect() as connection:
            wanted = connection.scalar(sa.select(sa.func.count()).select_from(versions).where(
                versions.c.is_latest, versions.c.is_present, ~IS_YANKED))
        return self._index.count() == wanted

    def _delete(self, ids: Sequence[int]) -> None:
        with self._engine.begin() as connection:
            for start in range(0, len(ids), BATCH):
                connection.execute(search_outbox.delete().where(
                    search_outbox.c.id.in_(ids[start:start + BATCH])))


def documents(connection: sa.Connection, keys: Names | None) -> Iterator[Document]:
    """The present versions of these types and names in every source; None: all there are.

    The newest of each component is what a search finds; the others come where all versions are
    asked for.
    """
    known = _Known.read(connection, keys)
    rows = connection.execution_options(yield_per=BATCH).execute(sa.select(
        versions, sources.c.name.label("source"), sources.c.kind, IS_YANKED.label("is_yanked"))
        .join(sources).where(versions.c.is_present, *_among(keys, versions)))
    for row in rows:
        yield known.document(row, is_newest=row.is_latest and not row.is_yanked)


def hits_of(connection: sa.Connection, rows: Sequence[sa.Row[Any]],
            audiences: frozenset[str]) -> tuple[Hit, ...]:
    """What lists show of these versions, read together with `source` and `kind`."""
    known = _Known.read(connection, {(row.type, row.name) for row in rows})
    found = (known.document(row, is_newest=row.is_latest) for row in rows)
    return tuple(hit_of(card_of(document), audiences) for document in found)


@dataclass(frozen=True)
class _Known:
    """What a document tells beside its own row; keys are source, type and name.

    `having` are the sources that have a type and name, where these are several. Of uses the last
    of the key is whose they are: of a private source, else PUBLIC_USE.
    """

    older: dict[tuple[int, str, str], list[str]]
    having: dict[tuple[str, str], dict[int, str]]
    runs: Counter[tuple[int, str, str]]
    uses: Counter[tuple[str, str, str, int]]
    deprecated: frozenset[tuple[int, str, str, str]]

    @classmethod
    def read(cls, connection: sa.Connection, keys: Names | None) -> _Known:
        chosen = _among(keys, versions)
        component = (versions.c.source_id, versions.c.type, versions.c.name)
        older: dict[tuple[int, str, str], list[str]] = {}
        for *key, version in connection.execute(sa.select(*component, versions.c.version).where(
                versions.c.is_present, ~versions.c.is_latest, *chosen)):
            older.setdefault(tuple(key), []).append(version)
        counted = connection.execute(sa.select(
            runs.c.source_id, runs.c.type, runs.c.name, sa.func.count())
            .where(*_among(keys, runs)).group_by(runs.c.source_id, runs.c.type, runs.c.name))
        deprecated = connection.execute(sa.select(
            marks.c.source_id, marks.c.type, marks.c.name, marks.c.version).where(
                marks.c.kind == DEPRECATED, *_among(keys, marks)))
        return cls(older, _having(connection, chosen),
                   Counter({tuple(key): count for *key, count in counted}),
                   _count_uses(connection, keys), frozenset(map(tuple, deprecated)))

    def document(self, row: sa.Row[Any], *, is_newest: bool) -> Document:
        older = self.older.get((row.source_id, row.type, row.name), ()) if is_newest else ()
        others = self.having.get((row.type, row.name), {})
        return Document(
            source_id=row.source_id, audience=visibility.audience(row.kind, row.source_id),
            hit=self._hit(row), text=row.text, readme=row.readme, is_newest=is_newest,
            commit=row.commit,
            older_versions=tuple(sorted(set(older) - {row.version})),
            clashes=tuple(sorted({audience for source_id, audience in others.items()
                                  if source_id != row.source_id})))

    def _hit(self, row: sa.Row[Any]) -> Hit:
        key = row.source_id, row.type, row.name
        used = sum(self.uses[type, row.name, source, whose] for type in (row.type, "")
                   for source in (row.source, "") for whose in (PUBLIC_USE, row.source_id))
        return Hit(
            source=row.source, type=row.type, name=row.name, version=row.version,
            contributor=row.contributor, description=row.description,
            reference=_reference(row),
            updated=f"{row.committed_at.isoformat(timespec='seconds')}Z",
            used=self.runs[key] + used,
            is_deprecated=not self.deprecated.isdisjoint({(*key, ""), (*key, row.version)}))


def _reference(row: sa.Row[Any]) -> str:
    """What means this version: by its commit where its version means another one, or nothing."""
    name = f"{row.type}/{row.name}"
    if row.is_latest:
        return f"{name}@{row.version}" if row.version else name
    if row.version and is_referable(row.version) and not row.is_moved:
        return f"{name}@{row.version}"
    return f"{name}@{row.commit[:COMMIT_LENGTH]}"


def _among(keys: Names | None, table: sa.Table) -> list[sa.ColumnElement[bool]]:
    return [] if keys is None else [sa.tuple_(table.c.type, table.c.name).in_(sorted(keys))]


def _having(connection: sa.Connection, chosen: Sequence[sa.ColumnElement[bool]]
            ) -> dict[tuple[str, str], dict[int, str]]:
    """The sources and their audiences of each type and name that several of them have."""
    names = (versions.c.type, versions.c.name)
    counted = sa.select(*names, versions.c.source_id, sa.func.count().over(
        partition_by=names).label("sources")).where(
            versions.c.is_latest, versions.c.is_present, *chosen).subquery()
    found: dict[tuple[str, str], dict[int, str]] = {}
    for row in connection.execute(sa.select(counted, sources.c.kind).join(
            sources, sources.c.id == counted.c.source_id).where(counted.c.sources > 1)):
        found.setdefault((row.type, row.name), {})[row.source_id] = visibility.audience(
            row.kind, row.source_id)
    return found


def _count_uses(connection: sa.Connection,
                keys: Names | None) -> Counter[tuple[str, str, str, int]]:
    """How many components refer to a type, a name and a source, today; each may be empty.

    Those of a private source count for that source alone: a number that all see tells nothing
    about it.
    """
    whose = sa.case((visibility.IS_PUBLIC, PUBLIC_USE), else_=sources.c.id)
    target = (uses.c.target_type, uses.c.target, uses.c.target_source, whose)
    chosen = [] if keys is None else [uses.c.target.in_(sorted({name for _, name in keys}))]
    return Counter({tuple(key): count for *key, count in connection.execute(
        sa.select(*target, sa.func.count(sa.distinct(versions.c.id))).select_from(
            uses.join(versions).join(sources, sources.c.id == versions.c.source_id)).where(
                uses.c.kind == REFERENCE_USE, versions.c.is_latest, versions.c.is_present, *chosen)
        .group_by(*target))})


def _used_by(connection: sa.Connection, keys: Names) -> set[tuple[str, str]]:
    """What any version of these refers to: its count of uses may have changed with them."""
    rows = connection.execute(sa.select(uses.c.target_type, uses.c.target).distinct().join(
        versions).where(uses.c.kind == REFERENCE_USE, sa.tuple_(
            versions.c.type, versions.c.name).in_(sorted(keys)))) if keys else ()
    return {(type, row.target) for row in rows
            for type in ([row.target_type] if row.target_type else TYPES)}


def _is_marked(kind: str, *which: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    return sa.exists().where(
        marks.c.source_id == versions.c.source_id, marks.c.type == versions.c.type,
        marks.c.name == versions.c.name, marks.c.kind == kind,
        sa.or_(marks.c.version == versions.c.version, *which))


IS_YANKED = _is_marked(YANKED)
IS_DEPRECATED = _is_marked(DEPRECATED, marks.c.version == "")
