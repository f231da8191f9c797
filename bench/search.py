"""Search over 10,000 versions: how long a page takes, against SQLite FTS5 over the same words."""
from __future__ import annotations

import random
import resource
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterable

from bench.components import CHINESE, DATASETS, FRAMEWORKS, MODELS, PEOPLE, TASKS, Generator
from bench.table import print_table, save
from registry import db
from registry.catalog import Catalog
from registry.component import TYPES
from registry.outbox import documents
from registry.search import Document, SearchIndex, words_of
from registry.sync import Sync
from registry.tokens import query_words

VERSIONS, EACH, TARGET_MS = 10_000, 30, 25.0
MARKETPLACE = Path(__file__).parents[1] / "marketplace"
Query = tuple[str, str, dict[str, Any]]  # kind, text, further arguments of a search


class Reference:
    """The same documents in SQLite FTS5: the page, its facets and the exact total."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("CREATE VIRTUAL TABLE found USING fts5(words, type UNINDEXED, card "
                                "UNINDEXED, tokenize='unicode61', prefix='1 2 3')")
        self.connection.executemany(
            "INSERT INTO found VALUES (?, ?, ?)",
            ((" ".join(words_of(document)), document.hit.type, repr(document.hit))
             for document in documents))

    def search(self, text: str, *, types: tuple[str, ...] = (), page: int = 1) -> list[Any]:
        asked = query_words(text)
        where, values = ("WHERE found MATCH ?", [self._match(asked)]) if asked else ("", [])
        self.connection.execute(f"SELECT type, count(*) FROM found {where} GROUP BY type",
                                values).fetchall()
        chosen = " AND ".join([where or "WHERE 1", *(["type = ?"] if types else [])])
        order = "rank" if asked else "rowid"
        return self.connection.execute(
            f"SELECT card FROM found {chosen} ORDER BY {order} LIMIT 20 OFFSET {20 * (page - 1)}",
            [*values, *types]).fetchall()

    def _match(self, asked: Any) -> str:
        clauses = []
        for word in asked:
            end = "*" if word is asked[-1] else ""
            parts = " AND ".join(f'"{part}"' for part in word.parts)
            clauses.append(f'(({parts}{end}) OR "{word.joined}"{end})')
        return " AND ".join(clauses)


def queries(generator: Generator) -> list[Query]:
    choose = random.Random(2).choice
    topics = [*FRAMEWORKS, *DATASETS, *MODELS, *TASKS]
    names = [made.name for made in generator.made]

    def typo(word: str) -> str:
        place = choose(range(1, len(word) - 1))
        return word[:place] + choose("qxzjw") + word[place + 1:]
    makers: dict[str, Callable[[], Any]] = {
        "one word": lambda: choose(topics),
        "two words": lambda: f"{choose(FRAMEWORKS)} {choose(TASKS)}",
        "unfinished": lambda: choose(topics)[:choose((1, 2, 3, 4))],
        "exact name": lambda: choose(names),
        "many words": lambda: f"{choose(TASKS)} of {choose(MODELS)} on {choose(DATASETS)} with "
                              f"{choose(FRAMEWORKS)}",
        "Chinese": lambda: f"{choose(CHINESE)}{choose(CHINESE)}",
        "contributor": lambda: choose(PEOPLE),
        "of one type": lambda: (choose(topics), {"types": (choose(TYPES),)}),
        "third page": lambda: (choose(topics[:16]), {"page": 3}),
        "all": lambda: ("", {"page": choose(range(1, 100))}),
        "typo, no result": lambda: typo(choose(names)),
    }
    made = [(kind, maker()) for kind, maker in makers.items() for _ in range(EACH)]
    return [(kind, *(found if isinstance(found, tuple) else (found, {}))) for kind, found in made]


def timed_ms(search: Callable[..., Any], asked: list[Query]) -> list[tuple[str, float]]:
    found = []
    for kind, text, how in asked:
        begin = time.perf_counter()
        search(text, **how)
        found.append((kind, (time.perf_counter() - begin) * 1000))
    return found


def percentiles(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def fill(home: Path, generator: Generator) -> tuple[SearchIndex, Reference, float]:
    """Sync the marketplaces for real; the index, its reference and how long it took."""
    generator.write_repository(home / "generated.git")
    engine = db.create_engine(f"sqlite:///{home}/registry.db")
    db.upgrade(engine)
    catalog = Catalog(engine, home / "git")
    for place in (MARKETPLACE, home / "generated.git"):
        catalog.add_source(str(place), name=None, owner_id=None)
    begin = time.perf_counter()
    Sync(engine, catalog, SearchIndex(home / "search")).run_once()
    taken_s = time.perf_counter() - begin
    with engine.connect() as connection:
        reference = Reference(documents(connection, None))
    engine.dispose()
    return SearchIndex(home / "search"), reference, taken_s


def main() -> None:
    generator = Generator(VERSIONS)
    with tempfile.TemporaryDirectory() as folder:
        index, reference, sync_s = fill(Path(folder), generator)
        asked = queries(generator)
        index.search("warm"), reference.search("warm")
        rounds = {"first": timed_ms(index.search, asked), "again": timed_ms(index.search, asked),
                  "SQLite FTS5": timed_ms(reference.search, asked)}
    report(rounds, components=len(generator.made), sync_s=sync_s)


def report(rounds: dict[str, list[tuple[str, float]]], *, components: int, sync_s: float) -> None:
    figures = {}
    for kind in [*dict.fromkeys(kind for kind, _ in rounds["first"]), "all queries"]:
        figures[kind] = {name: percentiles([ms for each, ms in times
                                            if kind in (each, "all queries")])
                         for name, times in rounds.items()}
    rows = [[kind, *(f"{p50:.2f} / {p95:.2f}" for p50, p95 in found.values()),
             f"{found['first'][0] / found['SQLite FTS5'][0]:.2f}"]
            for kind, found in figures.items()]
    print_table(f"Search over {VERSIONS} versions of {components} components, ms p50 / p95",
                ["queries", *rounds, "ratio p50"], rows)
    p95 = figures["all queries"]["first"][1]
    verdict = "met" if p95 <= TARGET_MS else "MISSED"
    print(f"95% of {len(rounds['first'])} queries, each asked for the first time, take at most "
          f"{p95:.1f} ms (target {TARGET_MS:.0f} ms: {verdict}). Sync and index from Git: "
          f"{sync_s:.0f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB.")
    save("search", {"p95_ms": p95, "target_ms": TARGET_MS, "sync_s": sync_s, "kinds": figures})


if __name__ == "__main__":
    main()
