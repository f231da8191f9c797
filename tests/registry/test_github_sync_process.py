"""The sync process with sources on GitHub: killed in the middle of a fetch, and woken at once."""
import threading

import pytest

from registry.rebuild import Fingerprints
from tests.registry.github_market import GitHubMarket
from tests.registry.marketplace import data
from tests.registry.test_sync_survival import SyncProcess, wait_for


@pytest.fixture
def world(github):
    return github.world


@pytest.fixture
def start(github):
    """Starts sync processes on a home; what a failed test leaves of them is ended."""
    started = []

    def start(market, **options):
        started.append(SyncProcess(market.home, PAISHARE_GITHUB_URL=github.url, **options))
        return started[-1]
    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.fixture
def markets(tmp_path, github):
    """A market that is left alone, and one whose sync process is killed."""
    both = [GitHubMarket(tmp_path / name / "home", github) for name in ("calm", "killed")]
    yield both
    for market in both:
        market.close()


def held_up(parts, place):
    """Has the fetch at this place wait; tells when it does, and lets it go on."""
    honest, reached, gate, count = parts.git_answer, threading.Event(), threading.Event(), []

    def answer(command, real):
        count.append(command)
        if command == "fetch" and count.count("fetch") == place:
            reached.set()
            gate.wait(60)
        return honest(command, real)
    parts.git_answer = answer
    return reached, lambda: (gate.set(), setattr(parts, "git_answer", honest))


def test_killed_in_two_fetches_it_comes_to_the_same_catalogue(markets, world, start):
    calm, killed = markets
    ann = world.add_user("ann")
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(20)})
    world.commit(parts, {f"data/a{n}.yaml": data(f"a{n}", "2.0.0") for n in range(0, 20, 2)})
    world.commit(parts, {"data/a3.yaml": None, "data/a4.yaml": "broken"})
    killed.add_repository(parts)
    for place in (1, 2):
        reached, go_on = held_up(parts, place)
        process = start(killed)
        wait_for(reached.is_set)
        process.stop(9)
        go_on()
    process = start(killed)
    wait_for(lambda: killed.source("ann/parts").synced_at)
    assert process.stop() == 0
    calm.add_repository(parts)
    calm.run()
    prints = [Fingerprints(market.engine, market.catalog) for market in (calm, killed)]
    assert prints[0].live() == prints[1].live() == prints[1].rebuilt()
    assert killed.source("ann/parts").progress is None


def test_a_sync_that_is_asked_for_comes_at_once(markets, world, start):
    market = markets[0]
    parts = world.create(world.add_user("ann"), "parts", {"data/a.yaml": data("a")})
    process = start(market, interval_s=3600)
    wait_for(lambda: process.says("Syncing every"))
    market.add_repository(parts)
    wait_for(lambda: market.names("a"))
    world.commit(parts, {"data/b.yaml": data("b")})
    market.sources.request_sync("ann/parts")
    wait_for(lambda: market.names("b"))
    assert process.stop() == 0
