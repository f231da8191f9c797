"""Odd and hostile queries to pages and API: none fails, and none takes long. Prints the slowest."""
from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from bench import corpus
from bench.components import Generator
from bench.table import print_table, save
from registry import db
from registry.app import create_app
from registry.outbox import Outbox
from registry.query_fields import FIELDS
from registry.search import SearchIndex

LIMIT_MS = 200
SHOWN = 12
MAX_LENGTH = 1000
# In the order of a request's life: what a visitor opens, what a program asks, what typing asks.
PATHS = ("/?q=", "/api/v3/components?q=", "/api/v3/components?explain=true&page_size=100&q=",
         "/api/v3/complete?q=", "/feed.atom?q=", "/?sort=name&page=99&q=")
SIGNS = ('"', "“", "”", "(", ")", "（", "-", "−", ":", "：", "*", "?", "~", "^", "|", "&", "!",
         "/", "\\", "'", "`", "\0", "\t", "\n", "\r", "\u202e", "\u200b", "\ufeff", "\u00a0", "%",
         "%00", "+", "#", "<", ">", "<=", ">=", "=", ";", "--", "/*", "$$", "{{", "}}", ".", "..")
WORDS = ("AND", "OR", "NOT", "and", "or", "not", "to", "a", "the", "z", "0", "1", "²", "ß",
         "İ", "ſ", "ﬀ", "é", "e\u0301", "中", "文", "训练", "数据集", "한", "カ", "ا", "न", "😀",
         "👩‍👩‍👧", "x" * 300, "a_b-C3", "CamelCase", "v1.0.0", "1e999", "-1", "2026-01-01",
         "2026-13-45", "9" * 400, "\U0010ffff", "None", "null", "1=1", "' OR 1=1 --")
VALUES = ("", "job", "data", "all", "deprecated", "<=4", ">=", "<1e9", ">2026-01-01", "2026-02-30",
          "2026-01-01..2026-02-02", "..", '"two words"', '"', "*", "a*", "中", "cifar10",
          "data/cifar10", "https://example.org/x", "99999999999999999999", "-1", "٣", "¼")
# What was slow once, or could be: one word that becomes a thousand, a thousand that are one.
CHOSEN = (
    "\ufdfa" * MAX_LENGTH, "㍿" * MAX_LENGTH, "ﷺ " * 49, "😀" * MAX_LENGTH, "e" + "\u0301" * 999,
    "".join(map(chr, range(0x4e00, 0x4e00 + 4 * MAX_LENGTH, 4))),
    "".join(letter + chr(0x4e00 + 7 * number) for number, letter in enumerate("qwertyuiop" * 50)),
    "图像分类训练模型数据集分布式深度学习" * 50, '"' + "图像分类训练模型" * 120 + '"',
    '"a" ' * 250, "a-" * 500, "a_b" * 333, "1." * 500, "a1" * 500, "a/" * 500, "*" * MAX_LENGTH,
    " ".join(f"{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"),
    " OR ".join(f"{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"),
    " ".join(f"-{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz"),
    " OR ".join(f"image:{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz"),
    " OR ".join(('"ready to run"', '"easy to change"', '"docker installed"') * 16),
    "versions:all " + " ".join(("(ready OR run OR easy OR change OR docker)",) * 8))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One query and its way: how it was answered and how long that took in this process."""

    path: str
    text: str
    status: int
    cpu_ms: float


def strings(names: Sequence[str], *, seed: int = 1) -> Iterator[str]:
    """Endless queries of every shape that somebody may send, the same for the same seed."""
    chance = random.Random(seed)
    shapes: tuple[Callable[[random.Random, Sequence[str]], str], ...] = (
        mixed, mixed, mixed, plain, misspelled, nested, repeated, scattered, filtered)
    while True:
        yield chance.choice(shapes)(chance, names)[:MAX_LENGTH + 1]


def part(chance: random.Random, names: Sequence[str]) -> str:
    kind = chance.random()
    if kind < 0.4:
        return chance.choice(names)
    if kind < 0.6:
        return f"{chance.choice(tuple(FIELDS))}:{chance.choice((*VALUES, *names[:50]))}"
    return chance.choice(WORDS if kind < 0.8 else SIGNS)


def mixed(chance: random.Random, names: Sequence[str]) -> str:
    """Names, words, fields and signs, with and without spaces between them."""
    return "".join(part(chance, names) + chance.choice((" ", " ", ""))
                   for _ in range(chance.randint(1, 12)))


def plain(chance: random.Random, names: Sequence[str]) -> str:
    return " ".join(chance.choices(names, k=chance.randint(1, 40)))


def misspelled(chance: random.Random, names: Sequence[str]) -> str:
    """Names with letters that are wrong, swapped or missing."""
    text = list(" ".join(chance.choices(names, k=chance.randint(1, 8))))
    for _ in range(chance.randint(1, 6)):
        text[chance.randrange(len(text))] = chance.choice(("", "x", "q", "é", "中", "_"))
    return "".join(text)


def nested(chance: random.Random, names: Sequence[str]) -> str:
    depth = chance.randint(1, 300)
    start, end = chance.choice((("(", ")"), ("-(", ")"), ("(a OR ", ")"), ('"', '"'), ("NOT ", ""),
                                ("（", "）"), ("-", ""), ("(", ""), ("", ")")))
    return start * depth + chance.choice(names) + end * depth


def repeated(chance: random.Random, names: Sequence[str]) -> str:
    """The same over and over, up to what a query may be and one more."""
    return (part(chance, names) + chance.choice(("", " ", " OR ", " -", "*"))) * 600


def scattered(chance: random.Random, names: Sequence[str]) -> str:
    """Any characters that can be sent at all."""
    return "".join(chr(chance.choice((chance.randrange(0x20, 0x7f), chance.randrange(1, 0xd800),
                                      chance.randrange(0x4e00, 0x9fff),
                                      chance.randrange(0xe000, 0x110000))))
                   for _ in range(chance.choice((1, 3, 20, 300, MAX_LENGTH))))


def filtered(chance: random.Random, names: Sequence[str]) -> str:
    """Every field at once, some of them excluded or one of several."""
    return chance.choice((" ", " OR ", " -")).join(
        f"{field}:{chance.choice((*VALUES, *names[:50]))}"
        for field in chance.sample(tuple(FIELDS), chance.randint(1, len(FIELDS))))


def home(folder: Path, versions: int) -> tuple[Any, list[str]]:
    """A client of the whole application over so many versions, and what the components are called.
    """
    engine = db.create_engine(f"sqlite:///{folder}/registry.db")
    db.upgrade(engine)
    made = Generator(versions).made
    corpus.fill(engine, "one", corpus.made_rows(made))
    Outbox(engine, SearchIndex(folder / "search")).rebuild()
    engine.dispose()
    app = create_app({"PAISHARE_HOME": str(folder), "PAISHARE_DATABASE_URL": "",
                      "PAISHARE_RUNNER_URL": f"unix:{folder}/none.sock"})
    return app.test_client(), sorted({each.name for each in made})


def ask(client: Any, path: str, text: str) -> Answer:
    address, _, query = path.partition("?")
    values = dict(each.split("=") for each in query.split("&"))
    begin = time.thread_time()
    status = client.get(address, query_string={**values, "q": text}).status_code
    return Answer(path=path, text=text, status=status,
                  cpu_ms=(time.thread_time() - begin) * 1000)


def measure(versions: int, count: int) -> list[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        client, names = home(Path(folder), versions)
        for path in PATHS:
            ask(client, path, names[0])  # the first answer of a process reads the index
        made = strings(names)
        chosen = [ask(client, path, text) for path in PATHS for text in CHOSEN]
        return chosen + [ask(client, PATHS[number % len(PATHS)], next(made))
                         for number in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--count", type=int, default=20_000)
    wanted = parser.parse_args()
    answers = measure(wanted.versions, wanted.count)
    slowest = sorted(answers, key=lambda answer: -answer.cpu_ms)
    failed = [answer for answer in answers if answer.status >= 500]
    late = [answer for answer in answers if answer.cpu_ms > LIMIT_MS]
    print_table(f"The slowest of {len(answers):,} queries at {wanted.versions:,} versions",
                ("ms", "status", "to", "query, shortened"),
                [(f"{answer.cpu_ms:.0f}", str(answer.status), answer.path,
                  ascii(answer.text)[:60]) for answer in (*failed, *slowest[:SHOWN])])
    middle, hundredth = (slowest[len(slowest) // part].cpu_ms for part in (2, 100))
    print(f"Failed: {len(failed)}. Over {LIMIT_MS} ms of processor time: {len(late)}. "
          f"p50 {middle:.1f} ms, p99 {hundredth:.1f} ms, longest {slowest[0].cpu_ms:.0f} ms.")
    save("query_fuzz", {
        "versions": wanted.versions, "queries": len(answers), "p50_ms": middle,
        "p99_ms": hundredth, "longest_ms": slowest[0].cpu_ms, "late": len(late),
        "failed": [json.dumps(answer.text) for answer in failed]})


if __name__ == "__main__":
    main()
