"""What search is measured beside: the same words of the same components in other engines."""
from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, Protocol

import sqlalchemy as sa

from registry import visibility
from registry.db import sources, versions
from registry.tokens import Asked, index_words, query_words

try:
    import tantivy
except ImportError:  # it comes with the extra `bench`
    tantivy = None

WEIGHTS = {"name": 5.0, "contributor": 2.0, "description": 2.0, "rest": 1.0}
FIELDS = tuple(WEIGHTS)
PAGE, NEAR = 20, 50


@dataclass(frozen=True, kw_only=True)
class Text:
    """One component as a reference takes it, each of FIELDS as words with a space between."""

    key: str
    type: str
    by: str
    audience: str
    fields: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One query, and what is wanted with it: the first page and the total always come."""

    text: str
    is_unfinished: bool = False
    is_phrase: bool = False
    is_misspelled: bool = False
    is_public: bool = False
    has_facets: bool = False


class Reference(Protocol):
    """A search engine with an index in one folder or file."""

    name: str

    def add(self, items: Iterable[Text]) -> None: ...

    def replace(self, items: Iterable[Text]) -> None: ...

    def search(self, ask: Ask) -> tuple[list[str], int]: ...

    def complete(self, start: str) -> list[str]: ...


def texts(engine: sa.Engine, keys: Collection[tuple[str, str]] = ()) -> Iterator[Text]:
    """The newest version of every component, or of those with these types and names."""
    chosen = [sa.tuple_(versions.c.type, versions.c.name).in_(sorted(keys))] if keys else []
    with engine.connect() as connection:
        for row in connection.execute(sa.select(
                versions, sources.c.kind, sources.c.name.label("source")).join(sources).where(
                    versions.c.is_latest, versions.c.is_present, *chosen)):
            yield Text(
                key=f"{row.type}/{row.name}", type=row.type, by=row.contributor,
                audience=visibility.audience(row.kind, row.source_id), fields=tuple(
                    " ".join(index_words(text)) for text in (
                        row.name, row.contributor, row.description, f"{row.text} {row.readme}")))


class Sqlite:
    """SQLite FTS5, ranked by its bm25; the words of names also by their trigrams, for typos."""

    name = "SQLite FTS5"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(folder / "fts5.db")
        self.connection.executescript(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5({', '.join(FIELDS)}, key "
            "UNINDEXED, type UNINDEXED, by UNINDEXED, audience UNINDEXED, tokenize='unicode61', "
            "prefix='1 2 3'); CREATE TABLE IF NOT EXISTS place (key PRIMARY KEY, number); "
            "CREATE TABLE IF NOT EXISTS known (word PRIMARY KEY); CREATE VIRTUAL TABLE IF NOT "
            "EXISTS near USING fts5(word, tokenize='trigram')")
        self.rank = f"bm25(found, {', '.join(map(str, WEIGHTS.values()))})"

    def add(self, items: Iterable[Text]) -> None:
        with self.connection:
            for item in items:
                number = self.connection.execute(
                    "INSERT INTO found VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*item.fields, item.key, item.type, item.by, item.audience)).lastrowid
                self.connection.execute("INSERT INTO place VALUES (?, ?)", (item.key, number))
                for word in item.fields[0].split():
                    if self.connection.execute(
                            "INSERT OR IGNORE INTO known VALUES (?)", (word,)).rowcount:
                        self.connection.execute("INSERT INTO near VALUES (?)", (word,))

    def replace(self, items: Iterable[Text]) -> None:
        items = list(items)
        with self.connection:
            for item in items:
                self.connection.execute("DELETE FROM found WHERE rowid = (SELECT number FROM place "
                                        "WHERE key = ?)", (item.key,))
                self.connection.execute("DELETE FROM place WHERE key = ?", (item.key,))
        self.add(items)

    def search(self, ask: Ask) -> tuple[list[str], int]:
        where, values = "WHERE found MATCH ?", [self._match(ask)]
        if not values[0]:
            return [], 0
        if ask.is_public:
            where, values = f"{where} AND audience = ?", [*values, visibility.PUBLIC]
        execute = self.connection.execute
        for field in ("type", "by") if ask.has_facets else ():
            execute(f"SELECT {field}, count(*) FROM found {where} GROUP BY {field}",
                    values).fetchall()
        total = execute(f"SELECT count(*) FROM found {where}", values).fetchone()[0]
        rows = execute(f"SELECT key, type, by FROM found {where} ORDER BY {self.rank} LIMIT "
                       f"{PAGE}", values)
        return [row[0] for row in rows], total

    def complete(self, start: str) -> list[str]:
        return [key for key, in self.connection.execute(
            "SELECT key FROM found WHERE found MATCH ? LIMIT 8", (f'name : "{start}"*',))]

    def _match(self, ask: Ask) -> str:
        if ask.is_phrase:
            return f'"{ask.text}"'
        words = [Asked((self._nearest(ask.text),))] if ask.is_misspelled else query_words(ask.text)
        clauses = []
        for word in words:
            end = "*" if ask.is_unfinished and word is words[-1] else ""
            parts = " AND ".join(f'"{part}"' for part in word.parts)
            clauses.append(f'(({parts}{end}) OR "{word.joined}"{end})')
        return " AND ".join(clauses)

    def _nearest(self, word: str) -> str:
        """Of the words that share most trigrams the first that is one edit away, or the best."""
        trigrams = " OR ".join(f'"{word[place:place + 3]}"' for place in range(len(word) - 2))
        near = [found for found, in self.connection.execute(
            f"SELECT word FROM near WHERE near MATCH ? ORDER BY rank LIMIT {NEAR}", (trigrams,))]
        return next((each for each in near if is_one_edit(word, each)), word)


class Tantivy:
    """tantivy with one thread, as its Python package gives it."""

    name = "tantivy"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        builder = tantivy.SchemaBuilder()
        for field in FIELDS:
            builder.add_text_field(field, tokenizer_name="whitespace")
        for field in ("key", "type", "by", "audience"):
            builder.add_text_field(field, stored=True, fast=True, tokenizer_name="raw")
        self.schema = builder.build()
        self.index = tantivy.Index(self.schema, path=str(folder))

    def add(self, items: Iterable[Text]) -> None:
        self._write(items, is_new=True)

    def replace(self, items: Iterable[Text]) -> None:
        self._write(items, is_new=False)

    def _write(self, items: Iterable[Text], *, is_new: bool) -> None:
        writer = self.index.writer(heap_size=256_000_000, num_threads=1)
        for item in items:
            if not is_new:
                writer.delete_documents("key", item.key)
            writer.add_document(tantivy.Document(
                key=item.key, type=item.type, by=item.by, audience=item.audience,
                **dict(zip(FIELDS, item.fields))))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()

    def search(self, ask: Ask) -> tuple[list[str], int]:
        query = self._query(ask)
        if ask.is_public:
            query = self._all([query, tantivy.Query.const_score_query(tantivy.Query.term_query(
                self.schema, "audience", visibility.PUBLIC), 0.0)])
        searcher = self.index.searcher()
        if ask.has_facets:
            searcher.aggregate(query, {field: {"terms": {"field": field, "size": PAGE}}
                                       for field in ("type", "by")})
        found = searcher.search(query, limit=PAGE, count=True)
        cards = [searcher.doc(address) for _, address in found.hits]
        return [card.get_first("key") for card in cards], found.count

    def complete(self, start: str) -> list[str]:
        searcher = self.index.searcher()
        query = tantivy.Query.regex_query(self.schema, "name", f"{re.escape(start)}.*")
        return [searcher.doc(address).get_first("key")
                for _, address in searcher.search(query, limit=8, count=False).hits]

    def _query(self, ask: Ask) -> Any:
        make = tantivy.Query
        if ask.is_phrase:
            return self._any(lambda field: make.phrase_query(self.schema, field, ask.text.split()))
        if ask.is_misspelled:
            return self._any(lambda field: make.fuzzy_term_query(self.schema, field, ask.text))
        words = query_words(ask.text)
        return self._all([
            self._word(word, is_unfinished=ask.is_unfinished and word is words[-1])
            for word in words]) if words else make.empty_query()

    def _word(self, word: Asked, *, is_unfinished: bool) -> Any:
        def terms(text: str) -> Any:
            if is_unfinished:
                return self._any(lambda field: tantivy.Query.regex_query(
                    self.schema, field, f"{re.escape(text)}.*"))
            return self._any(lambda field: tantivy.Query.term_query(self.schema, field, text))
        found = self._all([terms(part) for part in word.parts])
        if len(word.parts) == 1:
            return found
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, each)
                                            for each in (found, terms(word.joined))])

    def _any(self, query_of: Any) -> Any:
        return tantivy.Query.boolean_query([
            (tantivy.Occur.Should, tantivy.Query.boost_query(query_of(field), weight))
            for field, weight in WEIGHTS.items()])

    def _all(self, queries: list[Any]) -> Any:
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in queries])


REFERENCES: tuple[Any, ...] = (Sqlite, Tantivy) if tantivy else (Sqlite,)


def is_one_edit(first: str, second: str) -> bool:
    """One letter wrong, missing, too many, or two neighbours swapped."""
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1 or short == long:
        return False
    start = next((place for place, (one, other) in enumerate(zip(short, long)) if one != other),
                 len(short))
    rest_short, rest_long = short[start:], long[start:]
    if len(short) < len(long):
        return rest_short == rest_long[1:]
    return rest_short[1:] == rest_long[1:] or (
        rest_short[:2] == rest_long[1::-1] and rest_short[2:] == rest_long[2:])
