"""The sync process as it runs: killed at any moment, twice at once, with readers all the while."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from registry.rebuild import Fingerprints
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository, git

ROOT = Path(__file__).parents[2]
SYNC = ("import os; from registry import sync; from registry.config import Settings; "
        "sync.main(Settings.from_environ(os.environ))")
READER = """
import json, pathlib, sys
from registry.search import SearchIndex
index, stop, seen = SearchIndex(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]), set()
while not stop.exists():
    page = index.search("", page_size=100)
    seen.add((page.total, page.is_ready))
    assert len(page.hits) == min(page.total, 100)
    assert sum(page.facets.get("type", {}).values()) == page.total
    index.search("about thing")
print(json.dumps(sorted(seen)))
"""


class SyncProcess:
    def __init__(self, home: Path, interval_s: float = 0.2, **settings: str) -> None:
        self.log = home.parent / f"sync-{time.monotonic_ns()}.txt"
        environ = {**os.environ, "PAISHARE_HOME": str(home), "PYTHONPATH": str(ROOT),
                   "PAISHARE_SYNC_INTERVAL_S": str(interval_s), **settings}
        self.process = subprocess.Popen([sys.executable, "-c", SYNC], env=environ, cwd=home,
                                        stderr=self.log.open("wb"))

    def says(self, text: str) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return text in self.log.read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


def wait_for(condition, timeout_s=60.0):
    give_up_at = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up_at, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def market(tmp_path):
    market = Marketplace(tmp_path / "home")
    yield market
    market.close()


@pytest.fixture
def start_sync(market):
    """Starts sync processes; what a failed test leaves of them is ended."""
    started = []

    def start(**options):
        started.append(SyncProcess(market.home, **options))
        return started[-1]
    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def many(version):
    """Files enough to be busy with for a while."""
    return {f"{kind}/thing{number}.yaml": make(f"thing{number}", version)
            for kind, make in (("data", data), ("dockerimage", image)) for number in range(60)}


def grow(origin, step):
    """One more commit with a tag: all files anew, one broken, one gone, one without a version."""
    files = many(f"1.{step}.0") | {f"data/thing{step}.yaml": "broken: ["}
    files |= {"data/tagged.yaml": data("tagged", "", description=f"Step {step}.")}
    if (origin.path / f"data/thing{step + 30}.yaml").exists():
        files |= {f"data/thing{step + 30}.yaml": None}
    origin.commit(files)
    git(origin.path, "tag", f"v1.{step}.0")


def add(market, origin):
    market.sources.add_folder(str(origin.path), name="origin", owner_id=None, tag_prefix="v")


def test_a_sync_killed_at_any_moment_ends_like_one_that_was_not(market, start_sync, tmp_path):
    origin, moment = Repository(tmp_path / "origin"), random.Random(5)
    add(market, origin)
    for step in range(12):
        grow(origin, step)
        process = start_sync()
        wait_for(lambda: process.says("Syncing every"))
        time.sleep(moment.uniform(0, 0.6))
        process.stop(signal.SIGKILL)
        if step % 4 == 3:
            shutil.rmtree(market.home / "search", ignore_errors=True)
    process = start_sync()
    wait_for(lambda: market.sources.get("origin").head == origin.head
             and len(market.names(page_size=100)) == 100 and market.names("thing7"))
    assert process.stop() == 0
    assert_like_undisturbed(market, origin, tmp_path)


def assert_like_undisturbed(market, origin, tmp_path):
    other = Marketplace(tmp_path / "undisturbed")
    add(other, origin)
    other.run()
    assert market.rows() == other.rows()
    assert market.versions("data/tagged") == [f"1.{step}.0" for step in reversed(range(12))]
    prints = [Fingerprints(each.engine, each.catalog) for each in (market, other)]
    assert len({prints[0].live(), prints[1].live(), prints[0].rebuilt()}) == 1
    for query in ("", "thing1", "data", "1.3.0"):
        pages = [[(hit.reference, hit.updated, hit.score)
                  for page in (1, 2) for hit in each.index.search(query, page=page,
                                                                  page_size=100).hits]
                 for each in (market, other)]
        assert sorted(pages[0]) == sorted(pages[1])
    other.close()
    left = [path.name for path in market.home.rglob("*")
            if path.suffix in (".lock", ".tmp") or path.name.startswith((".new-", "tmp"))]
    assert left == ["sync.lock"]
    git(market.home / "git" / "1.git", "fsck", "--full", "--strict")


def test_a_second_sync_process_waits_for_the_first(market, start_sync, tmp_path):
    origin = Repository(tmp_path / "origin")
    first = start_sync()
    wait_for(lambda: first.says("Syncing every"))
    second = start_sync()
    wait_for(lambda: second.says("Another process does this work"))
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    wait_for(lambda: market.names("a"))
    assert first.stop() == 0
    wait_for(lambda: second.says("Syncing every"))
    assert second.stop() == 0


def test_readers_in_other_processes_never_stumble_over_a_writer(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    origin.commit(many("1.0.0"))
    market.add(origin.path)
    market.run()
    stop, search = tmp_path / "stop", str(market.home / "search")
    readers = [subprocess.Popen([sys.executable, "-c", READER, search, str(stop)], text=True,
                                cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for step in range(8):
            if step % 3 == 0:
                shutil.rmtree(search, ignore_errors=True)  # a reader may complain meanwhile
            origin.commit({"data/thing1.yaml": data("thing1", f"2.{step}.0"),
                           f"data/new{step}.yaml": data(f"new{step}")})
            market.run()
            market.sync._outbox.rebuild()
    finally:
        stop.touch()
    for reader in readers:
        seen = json.loads(reader.communicate(timeout=120)[0])
        assert reader.returncode == 0
        assert {total for total, is_ready in seen if is_ready} <= set(range(120, 129))


def test_an_idle_sync_acts_at_once_when_asked(market, start_sync, tmp_path):
    origin = Repository(tmp_path / "origin")
    origin.commit(many("1.0.0"))
    market.add(origin.path)
    process = start_sync(interval_s=3600)
    wait_for(lambda: market.names("thing1"))
    origin.commit({"data/fresh.yaml": data("fresh")})
    market.sources.request_sync("origin")
    wait_for(lambda: market.names("fresh"))
    assert process.stop() == 0
