"""The work of a sync grows with what changed, not with what is there."""
import shutil

import pytest
from dulwich.object_store import DiskObjectStore

from registry import component_file, reader
from registry.rebuild import Fingerprints
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository, git


@pytest.fixture
def market(tmp_path):
    market = Marketplace(tmp_path / "home")
    yield market
    market.close()


@pytest.fixture
def work(monkeypatch):
    """Counts the objects of Git that are read, and the files that are parsed."""
    counts = {"objects": 0, "files": 0}
    get_raw, parse = DiskObjectStore.get_raw, component_file.parse

    def counted(self, name):
        counts["objects"] += 1
        return get_raw(self, name)

    def parsed(*arguments, **options):
        counts["files"] += 1
        return parse(*arguments, **options)
    monkeypatch.setattr(DiskObjectStore, "get_raw", counted)
    monkeypatch.setattr(component_file, "parse", parsed)
    return counts


def test_one_changed_file_costs_the_same_in_a_small_and_in_a_large_source(tmp_path, work):
    costs = []
    for count in (5, 150):
        market, origin = Marketplace(tmp_path / f"{count}"), Repository(tmp_path / f"o{count}")
        origin.commit({f"team{n}/data/x{n}.yaml": data(f"x{n}") for n in range(count)})
        for step in range(count):
            origin.commit({"README": f"{step}"})
        market.add(origin.path)
        market.run()
        market.restart()
        origin.commit({"team1/data/x1.yaml": data("x1", "2.0.0")})
        work.update(objects=0, files=0)
        assert market.run().new == ("data/x1@2.0.0",)
        costs.append(dict(work))
        work.update(objects=0, files=0)
        market.run()
        assert work["files"] == 0 and work["objects"] < 5
        market.close()
    assert costs[0]["files"] == costs[1]["files"] == 1
    assert costs[1]["objects"] <= costs[0]["objects"] + 2 < 60


def test_a_long_history_is_no_flood_of_folders(market, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MAX_FOLDERS_READ", 60)
    origin = Repository(tmp_path / "origin")
    for step in range(40):
        origin.commit({"team/data/x.yaml": data("x", f"1.{step}.0")})
    market.add(origin.path)
    market.run()
    assert len(market.catalog.versions("data", "x")) == 40


def test_a_sync_that_is_killed_before_its_cursor_moved_ends_the_same(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.sources.add_folder(str(origin.path), name="o", owner_id=None, tag_prefix="v")
    origin.commit({"data/a.yaml": data("a", "")})
    market.run()
    before = tmp_path / "before"
    shutil.copytree(market.home / "git", before)
    git(origin.path, "tag", "v1.0.0")
    origin.commit({"data/a.yaml": data("a", "", description="new"), "data/b.yaml": "broken: ["})
    git(origin.path, "tag", "v1.1.0")
    market.run()
    expected, store = Fingerprints(market.engine, market.catalog).live(), market.home / "git"
    for name in ("journal.json", "commits"):
        shutil.copy(before / "1.git" / name, store / "1.git" / name)
    market.restart()
    market.run()
    assert Fingerprints(market.engine, market.catalog).live() == expected
    shutil.rmtree(store)
    market.restart()
    market.run()
    assert Fingerprints(market.engine, market.catalog).live() == expected


def test_a_source_that_goes_and_comes_back_is_told_and_loses_nothing(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    origin.path.rename(tmp_path / "elsewhere")
    report, = market.sync.run_once()
    assert "is not there" in report.error and market.names() == ["data/a"]
    (tmp_path / "elsewhere").rename(origin.path)
    assert market.run().new == () and market.catalog.get("a").is_present
