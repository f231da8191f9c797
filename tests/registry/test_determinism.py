"""The catalog follows from the sources' histories alone, however and whenever they were read."""
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from registry.rebuild import Fingerprints
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository, git

FILES = ("data/a.yaml", "data/b.yaml", "data/c.yml", "more/data/a.yaml")
TEXTS = (None, "broken: [", data("a", ""), data("a", "", description="x"), data("a", "1.0.0"),
         data("a", "1.0.0", description="moved"), data("a", "1.1.0"), data("b"), data("b", "2.0.0"))
STEPS = st.lists(st.tuples(
    st.sampled_from(["commit"] * 5 + ["branch", "merge", "rename"]), st.sampled_from(FILES),
    st.sampled_from(TEXTS), st.sampled_from([None] * 4 + ["v1.0.0", "v1.1.0", "v2.0.0"])),
    min_size=1, max_size=6)


class Author:
    """Makes a history step by step, as people do: branches, merges, renames, tags."""

    def __init__(self, path):
        self.origin = Repository(path)
        self.origin.commit({"README": "x"})

    def step(self, kind, path, text, tag):
        folder = self.origin.path
        if kind == "branch":
            git(folder, "checkout", "-q", "-B", "side")
            self._write(path, text)
            git(folder, "checkout", "-q", "main")
        elif kind == "merge" and git(folder, "branch", "--list", "side"):
            git(folder, "merge", "-q", "-X", "ours", "--no-ff", "-m", "merge", "side", ok=(0, 1))
            if git(folder, "ls-files", "--unmerged"):
                git(folder, "merge", "--abort")
        elif kind == "rename" and (folder / path).exists():
            (folder / "data").mkdir(exist_ok=True)
            (folder / path).rename(folder / "data" / "renamed.yaml")
            self.origin.commit({})
        else:
            self._write(path, text)
        if tag and tag not in git(folder, "tag").split():
            git(folder, "tag", tag)

    def _write(self, path, text):
        if text is None and not (self.origin.path / path).exists():
            return
        (self.origin.path / path).parent.mkdir(parents=True, exist_ok=True)
        self.origin.commit({path: text})


def fingerprint(market):
    return Fingerprints(market.engine, market.catalog).live()


def hash_of(home, *places, **how):
    """The fingerprint of a new catalog with these sources, added and read in this order."""
    market = Marketplace(home)
    for place in places:
        market.sources.add_folder(str(place), name=place.name, owner_id=None, tag_prefix="v")
        market.sync.run_once([place.name])
    found = fingerprint(market)
    market.close()
    return found


@example([("commit", "more/data/a.yaml", data("a", ""), "v2.0.0"),
          ("commit", "data/a.yaml", None, None),
          ("branch", "more/data/a.yaml", data("a", "1.0.0"), "v1.1.0")])
@example([("branch", "data/a.yaml", data("b"), None),
          ("commit", "data/b.yaml", data("b", "2.0.0"), None), ("merge", "data/c.yml", None, None)])
@example([("commit", "data/a.yaml", data("a", ""), None),
          ("commit", "data/b.yaml", data("a"), None),
          ("commit", "data/c.yml", data("a", "", description="x"), None),
          ("rename", "data/a.yaml", None, None), ("commit", "data/c.yml", data("b"), None)])
@settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck),
          phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(STEPS)
def test_a_history_read_step_by_step_at_once_or_in_another_order_gives_the_same_catalog(steps):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        one, two = Author(root / "one"), Author(root / "two")
        two.step("commit", "data/a.yaml", data("a", "3.0.0"), None)
        live = Marketplace(root / "live")
        for author in (one, two):
            live.sources.add_folder(str(author.origin.path), name=author.origin.path.name,
                                    owner_id=None, tag_prefix="v")
        for step in steps:
            one.step(*step)
            assert all(report.error is None for report in live.sync.run_once())
        expected = fingerprint(live)
        assert Fingerprints(live.engine, live.catalog).rebuilt() == expected
        assert hash_of(root / "x", root / "one", root / "two") == expected
        assert hash_of(root / "y", root / "two", root / "one") == expected
        live.close()


@pytest.fixture
def market(tmp_path):
    market = Marketplace(tmp_path / "home")
    yield market
    market.close()


def test_rewritten_histories_moved_and_deleted_tags_are_made_again_from_the_store(
        market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.sources.add_folder(str(origin.path), name="o", owner_id=None, tag_prefix="v")
    first = origin.commit({"data/a.yaml": data("a", ""), "data/b.yaml": data("b")})
    git(origin.path, "tag", "v1.0.0")
    market.run()
    origin.commit({"data/a.yaml": data("a", "", description="lost"),
                   "data/b.yaml": data("b", description="lost")})
    git(origin.path, "tag", "v1.1.0")
    market.run()
    git(origin.path, "reset", "-q", "--hard", first)
    origin.commit({"data/a.yaml": data("a", "", description="new"), "data/c.yaml": "broken: ["})
    git(origin.path, "tag", "-f", "v1.0.0")
    git(origin.path, "tag", "-d", "v1.1.0")
    market.run()
    origin.commit({"data/b.yaml": None})
    market.run()
    found = Fingerprints(market.engine, market.catalog)
    assert found.rebuilt() == found.live()
    assert len(market.catalog.versions("data", "a")) == 3


def test_a_file_that_breaks_between_two_syncs_keeps_the_newest_good_version(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    origin.commit({"data/a.yaml": data("a")})
    market.run()
    origin.commit({"data/a.yaml": data("a", "1.1.0")})
    origin.commit({"data/a.yaml": "broken: ["})
    market.run()
    found = Fingerprints(market.engine, market.catalog)
    assert found.rebuilt() == found.live() and market.catalog.get("a").version == "1.1.0"


def test_a_tag_counts_from_its_commit_on_even_if_it_comes_later(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.sources.add_folder(str(origin.path), name="o", owner_id=None, tag_prefix="v")
    first = origin.commit({"data/a.yaml": data("a", "")})
    origin.commit({"data/a.yaml": data("a", "", description="between")})
    market.run()
    git(origin.path, "tag", "v2.0.0", first)
    origin.commit({"data/a.yaml": data("a", "")})
    market.run()
    git(origin.path, "tag", "v1.0.0", first)
    market.run()
    again = Marketplace(tmp_path / "again")
    again.sources.add_folder(str(origin.path), name="o", owner_id=None, tag_prefix="v")
    again.run()
    assert fingerprint(again) == fingerprint(market) == Fingerprints(
        market.engine, market.catalog).rebuilt()
    assert market.catalog.get("a").version == "2.0.0"
    again.close()


def test_a_catalog_is_made_anew_with_a_tag_that_came_when_more_was_read(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.sources.add_folder(str(origin.path), name="o", owner_id=None, tag_prefix="v")
    origin.commit({"more/data/a.yaml": data("a", "")})
    both = origin.commit({"data/a.yaml": data("a")})
    origin.commit({"more/data/a.yaml": data("b")})
    market.run()
    git(origin.path, "tag", "v6.0.0", both)
    origin.commit({"data/b.yaml": data("a", "1.1.0")})
    market.run()
    found = Fingerprints(market.engine, market.catalog)
    assert found.rebuilt() == found.live()


def test_a_wiped_catalog_is_the_same_again(market, tmp_path):
    origin, moment = Repository(tmp_path / "origin"), random.Random(7)
    market.add(origin.path)
    for step in range(6):
        origin.commit({f"data/x{moment.randrange(4)}.yaml": data(f"x{step % 3}", f"1.{step}.0")})
        market.run()
    before = fingerprint(market)
    again = Marketplace(tmp_path / "plain")
    again.add(origin.path)
    again.run()
    assert fingerprint(again) == before
    again.close()
