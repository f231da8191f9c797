"""Whether search finds what is meant: judged queries by class, beside SQLite FTS5's bm25."""
from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Mapping, Sequence

from bench import corpus, references
from bench.components import Generator
from bench.judgements import Judge, Judged
from bench.table import print_table, save
from registry.hits import Page
from registry.query import QueryError, parse_query
from registry.search import SearchIndex

HAND_WRITTEN = Path(__file__).parent / "judged" / "hand.json"
BASELINE = Path(__file__).parent / "judged" / "baseline.json"
REAL = (corpus.BUNDLED, corpus.OPENPAI)
VERSIONS, TOP, BASELINE_VERSIONS = 10_000, 10, 1_000
HALVES = ("tuning", "held out")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one engine said to one query: `type/name` of its first ten, best first."""

    keys: tuple[str, ...]
    total: int = 0
    suggested: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Score:
    """How good one answer is, each from 0 to 1; `is_first` is asked of exact names alone."""

    judged: Judged
    answer: Answer
    ndcg: float
    reciprocal: float
    is_first: bool
    is_empty: bool


def score(judged: Judged, answer: Answer) -> Score:
    if judged.kind == "nonsense":
        found = not answer.keys if not judged.is_near else any(
            key in judged.grades for key in (*answer.keys, *answer.suggested))
        value = float(found)
        return Score(judged=judged, answer=answer, ndcg=value, reciprocal=value, is_first=True,
                     is_empty=False)
    best = max(judged.grades.values())
    places = [place for place, key in enumerate(answer.keys, 1) if judged.grades.get(key) == best]
    ideal = _gain(sorted(judged.grades.values(), reverse=True)[:TOP])
    return Score(
        judged=judged, answer=answer, is_empty=not answer.keys,
        ndcg=_gain([judged.grades.get(key, 0) for key in answer.keys]) / ideal,
        reciprocal=1 / places[0] if places else 0.0,
        is_first=judged.kind != "exact name" or places[:1] == [1])


def _gain(grades: Iterable[int]) -> float:
    return sum((2 ** grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades, 1))


def halves(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Every second query of a class is held out: nobody tunes anything on it."""
    found: dict[str, list[Judged]] = {half: [] for half in HALVES}
    for kind in dict.fromkeys(each.kind for each in judged):
        for number, each in enumerate(item for item in judged if item.kind == kind):
            found[HALVES[number % 2]].append(each)
    return found


def figures(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """By class, and of all classes with the same weight."""
    by_kind: dict[str, dict[str, float]] = {}
    for kind in dict.fromkeys(each.judged.kind for each in scores):
        chosen = [each for each in scores if each.judged.kind == kind]
        by_kind[kind] = {
            "ndcg": statistics.mean(each.ndcg for each in chosen),
            "mrr": statistics.mean(each.reciprocal for each in chosen),
            "first": statistics.mean(each.is_first for each in chosen),
            "empty": statistics.mean(each.is_empty for each in chosen), "queries": len(chosen)}
    macro = {name: statistics.mean(each[name] for each in by_kind.values())
             for name in ("ndcg", "mrr", "first", "empty")}
    return {**by_kind, "all": {**macro, "queries": len(scores)}}


# --- the engines ------------------------------------------------------------------------------

def ours(index: SearchIndex) -> Callable[[Judged], Answer]:
    def keys(page: Page) -> tuple[str, ...]:
        return tuple(f"{hit.type}/{hit.name}" for hit in page.hits)

    def search(text: str) -> Page:
        return index.search(parse_query(text).clause, page_size=TOP)

    def ask(judged: Judged) -> Answer:
        try:
            page = search(judged.text)
        except QueryError:
            return Answer(keys=())
        found = (keys(search(text)) for text in page.suggestions)
        return Answer(keys=keys(page), total=page.total,
                      suggested=tuple(key for each in found for key in each))
    return ask


def fts5(engine: references.Sqlite) -> Callable[[Judged], Answer]:
    """The reference knows no filters, so it is asked for the words alone."""
    def ask(judged: Judged) -> Answer:
        keys, total = engine.search(references.Ask(text=judged.words, is_unfinished=True))
        return Answer(keys=tuple(keys[:TOP]), total=total)
    return ask


def hand_written(folders: Sequence[Path]) -> list[Judged]:
    """Queries with grades given by hand, as far as these folders have what answers them."""
    there = {f"{row['type']}/{row['name']}" for row in corpus.real_rows(*folders)}
    return [Judged(kind=kind, text=text, words=text, grades=grades)
            for kind, queries in json.loads(HAND_WRITTEN.read_text()).items()
            for text, grades in queries.items() if grades.keys() <= there]


def measure(versions: int, *, folders: Sequence[Path] = REAL,
            is_alone: bool = False) -> dict[str, dict[str, list[Score]]]:
    """Scores by engine and half: generated queries over a large corpus, others over the real.

    `is_alone`: without the reference.
    """
    generator = Generator(versions)
    parts = [
        (Judge(generator).all(), [corpus.made_rows(generator.made),
                                  corpus.real_rows(corpus.BUNDLED)]),
        (hand_written(folders), [corpus.real_rows(folder) for folder in folders])]
    found: dict[str, dict[str, list[Score]]] = {}
    for judged, sources in parts:
        with corpus.filled(*sources) as (engine, index), tempfile.TemporaryDirectory() as folder:
            engines = {"PAIShare": ours(index)}
            if not is_alone:
                reference = references.Sqlite(Path(folder))
                reference.add(references.texts(engine))
                engines[reference.name] = fts5(reference)
            for name, ask in engines.items():
                for half, chosen in halves(judged).items():
                    found.setdefault(name, {}).setdefault(half, []).extend(
                        score(each, ask(each)) for each in chosen)
    return found


def measure_baseline() -> dict[str, dict[str, float]]:
    """What a test compares with: quick, and the same on every machine."""
    by_half = measure(BASELINE_VERSIONS, folders=(corpus.BUNDLED,), is_alone=True)["PAIShare"]
    return figures([each for scores in by_half.values() for each in scores])


# --- what is printed --------------------------------------------------------------------------

def report(found: Mapping[str, Mapping[str, Sequence[Score]]], versions: int) -> None:
    results = {name: {half: figures(scores) for half, scores in by_half.items()}
               for name, by_half in found.items()}
    for half in HALVES:
        ours_, theirs = (results[name][half] for name in results)
        rows = [[kind, str(each["queries"]), *(f"{each[name]:.3f}" for name in ("ndcg", "mrr")),
                 f"{each['first']:.0%}" if kind == "exact name" else "", f"{each['empty']:.1%}",
                 *(f"{theirs[kind][name]:.3f}" for name in ("ndcg", "mrr")),
                 f"{theirs[kind]['empty']:.1%}"] for kind, each in ours_.items()]
        print_table(f"Relevance over {versions} versions, {half} half",
                    ["class", "queries", "nDCG@10", "MRR", "name first", "no result",
                     "FTS5 nDCG", "FTS5 MRR", "FTS5 none"], rows)
    save(f"relevance-{versions}", results)


def show(found: Mapping[str, Sequence[Score]], kind: str) -> None:
    """Every tuning query of a class that is not answered in full: wanted and found."""
    for each in found["tuning"]:
        if each.judged.kind == kind and each.ndcg < 0.999:
            grades = each.judged.grades
            wanted = sorted(grades, key=lambda key: -grades[key])[:5]
            print(f"{each.ndcg:.2f}  {each.judged.text!r}  ({each.answer.total} found)")
            print("      wanted", ", ".join(f"{key}:{grades[key]}" for key in wanted))
            print("      found ", ", ".join(
                f"{key}:{grades.get(key, 0)}" for key in each.answer.keys[:TOP]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=VERSIONS)
    parser.add_argument("--show", metavar="CLASS", help="list its badly answered tuning queries")
    parser.add_argument("--write-baseline", action="store_true",
                        help=f"keep what a test compares with, at {BASELINE_VERSIONS} versions")
    options = parser.parse_args()
    if options.write_baseline:
        kept = {kind: round(each["ndcg"], 4) for kind, each in measure_baseline().items()}
        BASELINE.write_text(json.dumps(kept, indent=1) + "\n")
        return
    found = measure(options.versions)
    report(found, options.versions)
    if options.show:
        show(found["PAIShare"], options.show)


if __name__ == "__main__":
    main()
