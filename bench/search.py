"""Search beside SQLite FTS5 and tantivy over the same components: time, size and memory."""
from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import psutil
import sqlalchemy as sa

from bench import corpus, words
from bench.components import Generator, Made
from bench.references import REFERENCES, Ask, texts
from bench.table import print_table, save
from registry import db
from registry.outbox import Outbox
from registry.query import parse_query
from registry.search import SearchIndex
from registry.tokens import STOP_WORDS

VERSIONS = (1_000, 10_000)
QUERIES, ROUNDS = 24, 4
PRIVATE_SOURCES, PRIVATE_SHARE = 25, 0.2
COMMON = "ready run easy change docker installed libraries dataset published checked".split()
# What docs/ promises: milliseconds at the 95th percentile, by kind and number of versions.
TARGETS: Mapping[str, Mapping[int, float]] = {
    "page": {10_000: 5, 100_000: 10}, "page, common word": {10_000: 10, 100_000: 40},
    "phrase": {10_000: 10, 100_000: 60}, "typo": {10_000: 10, 100_000: 60},
    "autocomplete": {10_000: 5, 100_000: 10}}
OTHER_TARGETS: Mapping[str, Mapping[int, float]] = {
    "index, s": {10_000: 12, 100_000: 150}, "update of 1, ms": {10_000: 1000, 100_000: 1500},
    "memory, MB": {10_000: 150, 100_000: 350}, "page p50 / SQLite FTS5": {10_000: 1, 100_000: 1}}


class Ours:
    """PAIShare's index, asked as the marketplace's pages ask it."""

    name = "PAIShare"

    def __init__(self, folder: Path, engine: sa.Engine | None = None) -> None:
        self.index = SearchIndex(folder)
        self.outbox = Outbox(engine, self.index) if engine else None

    def search(self, ask: Ask) -> tuple[list[str], int]:
        """A page always comes with its total and all facets, and shows what a visitor may see."""
        text = f'"{ask.text}"' if ask.is_phrase else ask.text
        end = "" if ask.is_unfinished or ask.is_misspelled else " "
        page = self.index.search(parse_query(text + end).clause)
        return [f"{hit.type}/{hit.name}" for hit in page.hits], page.total

    def complete(self, start: str) -> list[Any]:
        return list(self.index.complete(start))


ENGINES = {each.name: each for each in (Ours, *REFERENCES)}
Times = dict[str, dict[str, list[float]]]  # kind → engine → milliseconds


@dataclass(frozen=True)
class Place:
    """One corpus on disk: its catalog, and an index of each engine."""

    folder: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/registry.db"

    def index(self, name: str) -> Path:
        return self.folder / name.replace(" ", "-")

    def size_mb(self, name: str) -> float:
        """What the files take that are no links."""
        return sum(path.stat().st_size for path in self.index(name).rglob("*")
                   if path.is_file() and not path.is_symlink()) / 1e6


def fill(place: Place, generator: Generator) -> None:
    """A fifth of the components is private, spread over sources that no visitor may see."""
    engine = db.create_engine(place.url)
    db.upgrade(engine)
    chance = random.Random(3).random
    homes: dict[int, list[Made]] = {number: [] for number in range(PRIVATE_SOURCES + 1)}
    for made in generator.made:
        is_private = chance() < PRIVATE_SHARE
        homes[1 + int(chance() * PRIVATE_SOURCES) if is_private else 0].append(made)
    for number, made_ones in homes.items():
        corpus.fill(engine, f"source{number}", corpus.made_rows(made_ones),
                    kind="private" if number else "local")
    engine.dispose()


# --- in a process of its own ----------------------------------------------------------------

def build(name: str, place: Place) -> dict[str, float]:
    """Make the whole index from the catalog; seconds, and the memory that took at most."""
    engine = db.create_engine(place.url)
    begin = time.perf_counter()
    if name == Ours.name:
        Outbox(engine, SearchIndex(place.index(name))).rebuild()
    else:
        ENGINES[name](place.index(name)).add(texts(engine))
    taken_s = time.perf_counter() - begin
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"wall_s": taken_s, "cpu_s": sum(each.ru_utime + each.ru_stime for each in used),
            "peak_mb": max(each.ru_maxrss for each in used) / 1024}


def read(name: str, place: Place) -> dict[str, float]:
    """What a process holds in memory that opened the index and answered some queries."""
    before_mb = psutil.Process().memory_info().rss / 2**20
    opened = ENGINES[name](place.index(name))
    for asked in queries([])["page"]:
        opened.search(asked)
    return {"rss_mb": psutil.Process().memory_info().rss / 2**20, "before_mb": before_mb}


def apart(task: str, name: str, place: Place) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", "bench.search", "--task", task, name,
                           str(place.folder)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


# --- queries --------------------------------------------------------------------------------

def queries(made: list[Made]) -> dict[str, list[Any]]:
    """By kind; the same ones each time. Autocomplete has texts instead."""
    choose = random.Random(2).choice
    topics = [topic.word for topic in (*words.FRAMEWORKS, *words.DATASETS, *words.MODELS)
              if topic.word.isalnum()]

    def two() -> str:
        return f"{choose(words.FRAMEWORKS).word} {choose(words.TASKS).word}"

    def begun() -> str:
        return f"{choose(words.FRAMEWORKS).word} {choose(words.TASKS).word[:3]}"

    def typo() -> str:
        word = choose([topic for topic in topics if len(topic) > 5])
        place = choose(range(2, len(word) - 1))
        return word[:place] + word[place + 1] + word[place] + word[place + 2:]

    def phrase() -> str:
        return " ".join([word for word in choose(words.PHRASES).split()
                         if word not in STOP_WORDS][:2])
    makers: dict[str, Callable[[], Any]] = {
        "one word": lambda: Ask(text=choose(topics)),
        "common word": lambda: Ask(text=choose(COMMON)),
        "two words": lambda: Ask(text=two()),
        "prefix": lambda: Ask(text=begun(), is_unfinished=True),
        "phrase": lambda: Ask(text=phrase(), is_phrase=True),
        "typo": lambda: Ask(text=typo(), is_misspelled=True),
        "facets": lambda: Ask(text=two(), has_facets=True),
        "visibility": lambda: Ask(text=two(), is_public=True),
        "page": lambda: Ask(text=two(), is_unfinished=True, is_public=True, has_facets=True),
        "page, common word": lambda: Ask(text=choose(COMMON), is_public=True, has_facets=True),
        "autocomplete": lambda: choose(topics)[:choose((1, 2, 3))]}
    return {kind: [maker() for _ in range(QUERIES)] for kind, maker in makers.items()}


def latencies(engines: Mapping[str, Any], asked: Mapping[str, list[Any]]) -> tuple[Times, Times]:
    """Every query in every engine by turns: the first time, and the times after.

    Of the processor's time: nothing here waits for a disk, and other programs count for nothing.
    """
    first: Times = {kind: {name: [] for name in engines} for kind in asked}
    again: Times = {kind: {name: [] for name in engines} for kind in asked}
    for number in range(ROUNDS + 1):
        for kind, items in asked.items():
            for item in items:
                for name, opened in engines.items():
                    call = opened.complete if isinstance(item, str) else opened.search
                    begin = time.process_time()
                    call(item)
                    taken_ms = (time.process_time() - begin) * 1000
                    (again if number else first)[kind][name].append(taken_ms)
    return first, again


def percentiles(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


# --- updates --------------------------------------------------------------------------------

class Publisher:
    """Writes new versions into a catalog as a sync does, each with a word that marks its round."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.rounds = 0

    def publish(self, count: int) -> tuple[str, set[tuple[str, str]]]:
        """New versions of `count` components that visitors see: the word, types and names."""
        self.rounds += 1
        mark = f"markword{self.rounds}"
        with self.engine.begin() as connection:
            rows = connection.execute(sa.select(db.versions).join(db.sources).where(
                db.versions.c.is_latest, db.sources.c.kind == "local").order_by(
                    db.versions.c.blob).limit(count)).all()  # those that have no mark yet
            for row in rows:
                connection.execute(db.versions.update().where(
                    db.versions.c.id == row.id).values(is_latest=False))
                values = {**row._mapping, "version": f"2.{self.rounds}.0", "position": 10**6,
                          "description": f"{row.description} {mark}", "blob": f"{mark}-{row.id}"}
                del values["id"]
                connection.execute(db.versions.insert().values(values))
                connection.execute(db.search_outbox.insert().values(
                    source_id=row.source_id, type=row.type, name=row.name))
        return mark, {(row.type, row.name) for row in rows}


def updates(engines: Mapping[str, Any], engine: sa.Engine, count: int,
            rounds: int) -> dict[str, list[float]]:
    """Milliseconds from a committed catalog to a reader that finds all of `count` versions."""
    publisher, found = Publisher(engine), {name: [] for name in engines}
    publisher.rounds = 1000 * count  # other words than those of an earlier call
    for _ in range(rounds):
        mark, keys = publisher.publish(count)
        for name, opened in engines.items():
            begin = time.perf_counter()
            if isinstance(opened, Ours):
                assert opened.outbox
                opened.outbox.drain()
            else:
                opened.replace(texts(engine, keys))
            total = opened.search(Ask(text=mark))[1]
            found[name].append((time.perf_counter() - begin) * 1000)
            assert total == count, f"{name} finds {total} of {count}"
    return found


# --- all of it ------------------------------------------------------------------------------

def measure(versions: int) -> dict[str, Any]:
    generator = Generator(versions)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        fill(place, generator)
        built = {name: apart("build", name, place) for name in ENGINES}
        memory = {name: apart("read", name, place) for name in ENGINES}
        sizes = {name: place.size_mb(name) for name in ENGINES}
        engine = db.create_engine(place.url)
        opened = {name: make(place.index(name)) for name, make in ENGINES.items()
                  if name != Ours.name}
        opened = {Ours.name: Ours(place.index(Ours.name), engine), **opened}
        first, again = latencies(opened, queries(generator.made))
        visible = {count: updates(opened, engine, count, rounds)
                   for count, rounds in ((1, 7), (100, 3))}
        engine.dispose()
    return {"components": len(generator.made), "build": built, "memory": memory, "size": sizes,
            "updates": visible, "first": _by_kind(first), "again": _by_kind(again)}


def _by_kind(times: Times) -> dict[str, dict[str, tuple[float, float]]]:
    return {kind: {name: percentiles(each) for name, each in by_name.items()}
            for kind, by_name in times.items()}


def rows_of(found: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """One figure of each engine a row."""
    yield "index, s", {name: each["wall_s"] for name, each in found["build"].items()}
    yield "index, s of CPU", {name: each["cpu_s"] for name, each in found["build"].items()}
    yield "index, MB at most", {name: each["peak_mb"] for name, each in found["build"].items()}
    for count, times in found["updates"].items():
        yield f"update of {count}, ms", {name: statistics.median(each)
                                         for name, each in times.items()}
    yield "disk, MB", found["size"]
    yield "memory, MB", {name: each["rss_mb"] for name, each in found["memory"].items()}


def report(found: Mapping[str, Any], versions: int) -> None:
    others = [name for name in ENGINES if name != Ours.name]
    title = f"{versions} versions of {found['components']} components"
    print_table(f"Index of {title}", ["", *ENGINES, *(f"/ {name}" for name in others)], [
        [what, *(f"{values[name]:.1f}" for name in ENGINES), *_ratios(values)]
        for what, values in rows_of(found)])
    print("PAIShare's index holds every version, to answer versions:all; the others' the newest.")
    print_table(f"Queries over {title}, ms of CPU, p50 / p95", [
        "", "first time", *ENGINES, *(f"/ {name}" for name in others)], [
        [kind, _pair(found["first"][kind][Ours.name]),
         *(_pair(values[name]) for name in ENGINES),
         *_ratios({name: each[0] for name, each in values.items()})]
        for kind, values in found["again"].items()])
    print_targets(found, versions)
    save(f"search-{versions}", found)


def _pair(times: tuple[float, float]) -> str:
    return f"{times[0]:.2f} / {times[1]:.2f}"


def _ratios(values: Mapping[str, float]) -> list[str]:
    return [f"{values[Ours.name] / values[name]:.2f}" for name in ENGINES if name != Ours.name]


def print_targets(found: Mapping[str, Any], versions: int) -> None:
    figures = {f"{kind}, p95 ms": found["again"][kind][Ours.name][1] for kind in TARGETS}
    wanted = {f"{kind}, p95 ms": each.get(versions) for kind, each in TARGETS.items()}
    page = found["again"]["page"]
    figures |= {what: values[Ours.name] for what, values in rows_of(found)}
    figures["page p50 / SQLite FTS5"] = page[Ours.name][0] / page["SQLite FTS5"][0]
    wanted |= {what: each.get(versions) for what, each in OTHER_TARGETS.items()}
    rows = [[what, f"{figures[what]:.2f}", f"≤ {most:g}",
             "met" if figures[what] <= most else f"MISSED by {figures[what] / most - 1:.0%}"]
            for what, most in wanted.items() if most]
    if rows:
        print_table(f"Targets at {versions} versions", ["", "measured", "target", ""], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, nargs="+", default=VERSIONS)
    parser.add_argument("--task", nargs=3, metavar=("TASK", "ENGINE", "FOLDER"),
                        help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        task, name, folder = options.task
        print(json.dumps({"build": build, "read": read}[task](name, Place(Path(folder)))))
        return
    for versions in options.versions:
        begin = time.perf_counter()
        report(measure(versions), versions)
        print(f"That took {time.perf_counter() - begin:.0f} s.")


if __name__ == "__main__":
    main()
