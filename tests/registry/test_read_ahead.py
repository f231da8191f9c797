"""First syncs whose files are read by a process beside: as without it, whatever befalls it."""
from pathlib import Path

import pytest

from registry import read_ahead, upstream
from registry.fingerprint import fingerprint
from tests.registry.github_market import GitHubMarket
from tests.registry.marketplace import data

FILES = {f"data/a{number:03}.yaml": data(f"a{number:03}") for number in range(60)} | {
    "data/broken.yaml": "broken", "data/large.yaml": "x" * 256_001, "data/other.yaml": data("b"),
    "script/README.md": "# Read me", "script/again.yaml": data("a000")}


@pytest.fixture
def parts(github):
    world = github.world
    parts = world.create(world.add_user("ann"), "parts", FILES)
    world.commit(parts, {path: data(f"a{number:03}", "2.0.0")
                         for number, path in enumerate(FILES) if number < 50})
    return parts


def synced(home, github, parts):
    """The catalog's fingerprint after a first sync, and how many versions it has."""
    market = GitHubMarket(home, github)
    market.add_repository(parts)
    report = market.report()
    with market.engine.connect() as connection:
        found = fingerprint(connection)
    market.close()
    return found, len(report.new), report.error


@pytest.fixture
def expected(tmp_path, github, parts, monkeypatch):
    monkeypatch.setattr(upstream, "LEAST", 1_000_000)
    found = synced(tmp_path / "alone", github, parts)
    assert found[1:] == (111, None)
    monkeypatch.setattr(upstream, "LEAST", 1)
    return found


def test_files_that_are_read_beside_make_the_same_catalog(tmp_path, github, parts, expected,
                                                          monkeypatch):
    here, take = set(), read_ahead.ReadAhead.take

    def taken(ahead, path, blob, read):
        return take(ahead, path, blob, lambda *place: here.add(place) or read(*place))
    monkeypatch.setattr(read_ahead.ReadAhead, "take", taken)
    assert synced(tmp_path / "beside", github, parts) == expected
    assert len(here) <= 114 - read_ahead.BEGUN + 3  # of 114 files, three of which are none


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_killed_process_did_not_read_is_read_without_it(tmp_path, github, parts, expected,
                                                               monkeypatch, when):
    ask = read_ahead.ReadAhead.ask

    def killed(ahead, blobs):
        if when == "after":
            ask(ahead, blobs)
        ahead._process.kill()
        ahead._process.wait()
        if when == "before":
            ask(ahead, blobs)
    monkeypatch.setattr(read_ahead.ReadAhead, "ask", killed)
    assert synced(tmp_path / "killed", github, parts) == expected


def test_the_process_knows_no_secret_and_ends_by_itself(tmp_path, github, parts, expected,
                                                        monkeypatch):
    monkeypatch.setenv("PAISHARE_SEALING_KEY", "canary")
    known, ask = [], read_ahead.ReadAhead.ask

    def looked_at(ahead, blobs):
        known.append((Path(f"/proc/{ahead._process.pid}/environ").read_bytes(), ahead._process))
        ask(ahead, blobs)
    monkeypatch.setattr(read_ahead.ReadAhead, "ask", looked_at)
    synced(tmp_path / "beside", github, parts)
    (environ, process), = known
    assert b"canary" not in environ
    assert process.wait(60) == 0
