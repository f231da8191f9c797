"""What search is measured beside: the same words of the same components in other engines."""
from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Collection, Iterable

import sqlalchemy as sa

from registry.db import sources, versions
from registry.tokens import Asked, index_words, query_words

WEIGHTS = {"name": 5.0, "contributor": 2.0, "description": 2.0, "rest": 1.0}


@dataclass(frozen=True, kw_only=True)
class Text:
    """One component as a reference takes it, each field as words with a space between."""

    key: str
    type: str
    audience: str
    fields: tuple[str, ...]


def texts(engine: sa.Engine, keys: Collection[str] = ()) -> Iterable[Text]:
    """The newest version of every component, or of those with these `keys` (`type/name`)."""
    with engine.connect() as connection:
        for row in connection.execute(sa.select(versions, sources.c.name.label("source")).join(
                sources).where(versions.c.is_latest, versions.c.is_present)):
            key = f"{row.type}/{row.name}"
            if not keys or key in keys:
                yield Text(key=key, type=row.type, audience=row.source, fields=tuple(
                    " ".join(index_words(text)) for text in (
                        row.name, row.contributor, row.description, f"{row.text} {row.readme}")))


class Sqlite:
    """SQLite FTS5, ranked by its bm25."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute(
            f"CREATE VIRTUAL TABLE found USING fts5({', '.join(WEIGHTS)}, key UNINDEXED, type "
            "UNINDEXED, audience UNINDEXED, tokenize='unicode61', prefix='1 2 3')")
        self.rank = f"bm25(found, {', '.join(map(str, WEIGHTS.values()))})"

    def add(self, items: Iterable[Text]) -> None:
        with self.connection:
            self.connection.executemany("INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?)", (
                (*item.fields, item.key, item.type, item.audience) for item in items))

    def search(self, text: str, *, types: tuple[str, ...] = ()) -> list[str]:
        """The first ten, as `type/name`, that have every word."""
        asked = query_words(text)
        if not asked:
            return []
        chosen = " AND type = ?" if types else ""
        return [key for key, in self.connection.execute(
            f"SELECT key FROM found WHERE found MATCH ?{chosen} ORDER BY {self.rank} LIMIT 10",
            [match(asked), *types])]


def match(asked: list[Asked]) -> str:
    """Every word, in parts or written together; the last one may be unfinished."""
    clauses = []
    for word in asked:
        end = "*" if word is asked[-1] else ""
        parts = " AND ".join(f'"{part}"' for part in word.parts)
        clauses.append(f'(({parts}{end}) OR "{word.joined}"{end})')
    return " AND ".join(clauses)
