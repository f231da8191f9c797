"""One checksum over all that the catalog holds: equal catalogs have it in common, wherever made."""
from __future__ import annotations

import hashlib
import json
from typing import Any, Iterator

import sqlalchemy as sa

from registry.db import file_problems, marks, purges, sources, versions
from runner.sentence import heard

_VERSION = ("type", "name", "version", "blob", "commit", "path", "last_commit", "head_path",
            "contributor", "description", "warnings", "is_latest", "is_present", "is_moved",
            "is_tagged", "tags")
_SOURCE = ("kind", "head", "sub_paths", "tag_prefix")
_MARK = ("type", "name", "version", "kind", "reason", "successor")
_PURGE = ("type", "name", "version", "blob", "reason")


def fingerprint(connection: sa.Connection,
                which: sa.ColumnElement[bool] = sa.true()) -> str:
    """SHA-256 of the sources `which`, versions with their bytes, marks, purges and problems.

    Row ids, times of syncing, and the order in which anything was read do not count.
    """
    digest = hashlib.sha256()
    for line in _lines(connection, which):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def _lines(connection: sa.Connection, which: sa.ColumnElement[bool]) -> Iterator[str]:
    """The catalog in its canonical form: JSON, one thing a line."""
    for row in connection.execute(sa.select(sources).where(which).order_by(
            sources.c.name)).all():
        yield _line("source", row.name, _picked(row, _SOURCE))
        yield from _of_source(connection, row.id, row.name)


def _of_source(connection: sa.Connection, id: int, name: str) -> Iterator[str]:
    order = (versions.c.type, versions.c.name, versions.c.position, versions.c.version,
             versions.c.blob)
    for row in connection.execute(sa.select(versions).where(
            versions.c.source_id == id).order_by(*order)):
        yield _line("version", name, {
            **_picked(row, _VERSION), "committed_at": row.committed_at.isoformat(),
            "text": _hash(row.text), "readme": _hash(row.readme)})
    for table, kind, fields in ((marks, "mark", _MARK), (purges, "purge", _PURGE)):
        rows = connection.execute(sa.select(table).where(table.c.source_id == id))
        yield from sorted(_line(kind, name, _picked(row, fields)) for row in rows)
    rows = connection.execute(sa.select(file_problems).where(file_problems.c.source_id == id))
    yield from sorted(_line("problem", name, _picked(row, ("path", "problems"))) for row in rows)


def _picked(row: sa.Row[Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: heard(row._mapping[field]) for field in fields}


def _line(kind: str, source: str, values: dict[str, Any]) -> str:
    return json.dumps([kind, source, values], ensure_ascii=True, sort_keys=True)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
