"""Sources on GitHub, followed over Git against the stand-in."""
import pytest

from tests.registry.github_market import GitHubMarket
from tests.registry.marketplace import data


@pytest.fixture
def market(tmp_path, github):
    market = GitHubMarket(tmp_path / "home", github)
    yield market
    market.close()


@pytest.fixture
def world(github):
    return github.world


@pytest.fixture
def ann(world):
    return world.add_user("ann")


def commands(world):
    """What was asked over Git since it was last looked at, and how much came back."""
    found = [(each.command, each.size) for each in world.exchanges()]
    world.seen.clear()
    return found


def test_a_repository_is_indexed_with_its_history_and_searchable(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a"), "data/a.md": "# All about a"})
    head = world.commit(parts, {"data/a.yaml": data("a", "2.0.0"), "x/large.bin": "x" * 100_000})
    market.add_repository(parts)
    assert sorted(market.run().new) == ["data/a@1.0.0", "data/a@2.0.0"]
    entry = market.catalog.get("ann/parts:data/a")
    assert (entry.version, entry.commit, entry.path) == ("2.0.0", head, "data/a.yaml")
    assert market.names("all about") == ["data/a"]
    source = market.source("ann/parts")
    assert (source.head, source.upstream_head, source.upstream_state) == (head, head, "ok")
    assert source.progress is None and source.failures == 0


def test_a_first_sync_asks_rest_nothing_and_git_three_times(market, world, ann):
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(30)})
    market.add_repository(parts)
    market.run()
    assert world.rest() == []
    assert [command for command, _ in commands(world)] == ["ls-refs", "fetch", "fetch"]


def test_nothing_new_is_one_exchange_of_a_few_hundred_bytes(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    for number in range(50):
        world.point(parts, f"heads/other-{number}", parts.git.resolve("main"))
    market.add_repository(parts)
    market.run()
    world.seen.clear()
    market.run()
    asked, = world.seen
    assert asked.command == "ls-refs" and asked.received + asked.size < 1000


def test_changed_files_take_three_exchanges_and_only_what_changed_comes(market, world, ann):
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(30)})
    market.add_repository(parts)
    market.run()
    world.seen.clear()
    world.commit(parts, {f"data/a{n}.yaml": data(f"a{n}", "2.0.0") for n in range(10)})
    assert len(market.run().new) == 10
    found = commands(world)
    assert [command for command, _ in found] == ["ls-refs", "fetch", "fetch"]
    assert sum(size for _, size in found) < 6000
