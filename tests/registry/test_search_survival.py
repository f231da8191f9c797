"""The index under `kill -9`: in any moment of a commit, a rebuild or a swap, beside readers."""
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry.db import versions
from registry.search import SearchIndex
from registry.sync import Sync
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository

ROOT = Path(__file__).parents[2]
COMPONENTS = 40  # of two versions each, of which now this one is the latest and now that one
PAGE_SIZE = 100
KILLS_AT_A_MOMENT, KILLS_AT_A_STEP = 30, 20
LONGEST_S = 0.25
STEPS = 60  # of the file system that a writer makes in a few rounds; counted where it is killed

# Forks a writer for each line that it reads, so that none has to import everything again.
# A line is the step at which the writer kills itself; 0: it works until it is killed.
WRITER = """
import os, pathlib, random, signal, sys
import sqlalchemy as sa
from registry import db
from registry.outbox import Outbox
from registry.search import SearchIndex

URL, SEARCH = sys.argv[1:]
FILE_STEPS = {"open", "os.rename", "os.remove", "os.symlink", "os.mkdir", "os.rmdir", "os.link"}

def kill_at(step):
    left = [step]
    def count(event, arguments):
        if event in FILE_STEPS and SEARCH in str(arguments[0]) + str(arguments[-1]):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), 9)
    sys.addaudithook(count)

def work(seed):
    chance, engine = random.Random(seed), db.create_engine(URL)
    outbox = Outbox(engine, SearchIndex(pathlib.Path(SEARCH)))
    print("works", flush=True)
    for turn in range(10_000):
        with engine.begin() as connection:
            known = connection.execute(sa.select(db.versions).where(db.versions.c.is_latest)).all()
            for row in chance.sample(known, 5):
                connection.execute(db.versions.update().where(
                    db.versions.c.type == row.type, db.versions.c.name == row.name).values(
                        is_latest=~db.versions.c.is_latest, description=f"seed{seed} turn{turn}"))
                connection.execute(db.search_outbox.insert().values(
                    source_id=row.source_id, type=row.type, name=row.name))
        outbox.rebuild() if turn % 4 == seed % 4 else outbox.drain()

for number, line in enumerate(sys.stdin):
    child = os.fork()
    if child == 0:
        if int(line):
            kill_at(int(line))
        work(number)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
READER = """
import json, pathlib, sys, collections
from registry.search import SearchIndex

index, stop, seen = SearchIndex(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]), set()
count = 0
while not stop.exists():
    for query in ("", "versions:all"):
        page = index.search(query, page_size=100)
        names = {(hit.type, hit.name) for hit in page.hits}
        versions = {(hit.type, hit.name, hit.version) for hit in page.hits}
        seen.add((query, page.is_ready, page.total, len(page.hits), len(names), len(versions)))
    count += 1
print(json.dumps([count, sorted(seen)]))
"""


class Writers:
    """Writers of the index, one after the other, each ended by SIGKILL."""

    def __init__(self, market, url):
        self._helper = subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(market.home / "search")], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def killed_at_a_moment(self, delay_s):
        pid = self._start(0)
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        self._ended()

    def killed_at_step(self, step):
        self._start(step)
        self._ended()

    def _start(self, step):
        self._say(step)
        words = {self._helper.stdout.readline().strip() for _ in range(2)}
        return int((words - {"works"}).pop())

    def _say(self, step):
        self._helper.stdin.write(f"{step}\n")
        self._helper.stdin.flush()

    def _ended(self):
        assert os.WTERMSIG(int(self._helper.stdout.readline())) == signal.SIGKILL

    def close(self):
        self._helper.communicate(timeout=20)
        assert self._helper.returncode == 0


@pytest.fixture
def market(tmp_path):
    """A catalogue and its index, both whole."""
    market = Marketplace(tmp_path / "home")
    origin = Repository(tmp_path / "origin")
    for version in ("1.0.0", "1.1.0"):
        origin.commit({f"{kind}/thing{number}.yaml": make(f"thing{number}", version)
                       for kind, make in (("data", data), ("dockerimage", image))
                       for number in range(COMPONENTS // 2)})
    market.add(origin.path)
    market.run()
    yield market
    market.close()


@pytest.fixture
def readers(market, tmp_path):
    """Two processes that search all the while; they must see whole answers and no others."""
    stop, search = tmp_path / "stop", str(market.home / "search")
    processes = [subprocess.Popen([sys.executable, "-c", READER, search, str(stop)], text=True,
                                  cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    yield
    stop.touch()
    for process in processes:
        count, seen = json.loads(process.communicate(timeout=30)[0])
        assert process.returncode == 0 and count > 100
        assert seen == [["", True, *[COMPONENTS] * 4],
                        ["versions:all", True, *[2 * COMPONENTS] * 2, COMPONENTS, 2 * COMPONENTS]]


def assert_whole_after_mending(market):
    """What the sync process does at its start makes every answer true again."""
    index = SearchIndex(market.home / "search")
    Sync(market.engine, market.catalog, index).index()
    assert index.is_sound() and index.count() == COMPONENTS
    with market.engine.connect() as connection:
        rows = connection.execute(sa.select(versions)).all()
    for query, wanted in (("", [row for row in rows if row.is_latest]), ("versions:all", rows)):
        hits = index.search(query, page_size=PAGE_SIZE).hits
        assert Counter((hit.type, hit.name, hit.version, hit.description) for hit in hits) \
            == Counter((row.type, row.name, row.version, row.description) for row in wanted)
    for type, name in random.Random(1).sample(sorted({(row.type, row.name) for row in rows}), 5):
        found = [(hit.type, hit.name) for hit in index.search(name, types=[type]).hits]
        assert found[0] == (type, name) and found.count((type, name)) == 1


@pytest.fixture
def writers(market):
    writers = Writers(market, f"sqlite:///{market.home}/registry.db")
    yield writers
    writers.close()


def test_an_index_whose_writer_is_killed_fifty_times_answers_all_the_while(
        market, readers, writers):
    chance = random.Random(3)
    for number in range(KILLS_AT_A_MOMENT):
        writers.killed_at_a_moment(LONGEST_S * (number + chance.random()) / KILLS_AT_A_MOMENT)
        assert_whole_after_mending(market)
    for step in chance.sample(range(1, STEPS), KILLS_AT_A_STEP):
        writers.killed_at_step(step)
        assert_whole_after_mending(market)
    market.sync._outbox.rebuild()
    assert len(list((market.home / "search").glob("v*-*"))) == 1  # what the killed left is gone
