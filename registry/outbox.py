"""Brings the index up to the catalog: what the outbox lists, or all of it."""
from __future__ import annotations

from collections import Counter
from typing import Any, Iterator, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.db import search_outbox, sources, versions
from registry.hits import Hit
from registry.search import Document, SearchIndex, document_id

BATCH = 1000


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
                versions.c.is_latest, versions.c.is_present))
        return self._index.count() == wanted

    def _delete(self, ids: Sequence[int]) -> None:
        with self._engine.begin() as connection:
            for start in range(0, len(ids), BATCH):
                connection.execute(search_outbox.delete().where(
                    search_outbox.c.id.in_(ids[start:start + BATCH])))


def documents(connection: sa.Connection,
              keys: set[tuple[str, str]] | None) -> Iterator[Document]:
    """The present components of these types and names in every source; None: all there are."""
    chosen = [] if keys is None else [sa.tuple_(versions.c.type, versions.c.name).in_(sorted(keys))]
    older: dict[tuple[int, str, str], list[str]] = {}
    for source_id, type, name, version in connection.execute(sa.select(
            versions.c.source_id, versions.c.type, versions.c.name, versions.c.version).where(
                versions.c.is_present, ~versions.c.is_latest, *chosen)):
        older.setdefault((source_id, type, name), []).append(version)
    rows = connection.execute(sa.select(
        versions, sources.c.name.label("source"), sources.c.kind).join(sources).where(
            versions.c.is_latest, versions.c.is_present, *chosen)).all()
    homes = Counter((row.type, row.name) for row in rows)
    for row in rows:
        yield Document(
            source_id=row.source_id, audience=visibility.audience(row.kind, row.source_id),
            hit=_hit(row, is_clashing=homes[row.type, row.name] > 1), text=row.text,
            older_versions=tuple(older.get((row.source_id, row.type, row.name), ())))


def _hit(row: sa.Row[Any], *, is_clashing: bool) -> Hit:
    reference = f"{row.type}/{row.name}" + (f"@{row.version}" if row.version else "")
    return Hit(
        source=row.source, type=row.type, name=row.name, version=row.version,
        contributor=row.contributor, description=row.description,
        reference=f"{row.source}:{reference}" if is_clashing else reference,
        updated=f"{row.committed_at.isoformat(timespec='seconds')}Z")
