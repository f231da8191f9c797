"""Repositories and servers that mean harm: bounded, reported, and nothing else is disturbed."""
import re
import threading
import time
import tracemalloc

import pytest

from registry import look, reader, upstream
from tests.fakes.github import hostile
from tests.fakes.github.history import SUBMODULE, SYMLINK
from tests.fakes.scripted_server import ScriptedServer
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


@pytest.fixture
def parts(world, ann):
    return world.create(ann, "parts", {"data/good.yaml": data("good")})


def problems(market):
    return {each.path: each.problems[0].message for each in market.sources.problems(1)}


def wait_for(condition):
    give_up_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_at, "waited in vain"
        time.sleep(0.01)


# --- what is in the repository ------------------------------------------------------------------

def test_links_submodules_and_lfs_pointers_are_told_and_not_followed(market, world, parts):
    world.commit(parts, {"data/link.yaml": "/etc/passwd", "data/lfs.yaml": hostile.LFS_POINTER,
                         "data/sub": parts.git.resolve("main"), "job": "data"},
                 modes={"data/link.yaml": SYMLINK, "data/sub": SUBMODULE, "job": SYMLINK})
    market.add_repository(parts)
    market.run()
    assert market.present() == ["good@1.0.0"]
    found = problems(market)
    assert sorted(found) == ["data/lfs.yaml", "data/link.yaml", "job"]
    assert found["data/lfs.yaml"].startswith("LFS, not indexed")
    assert found["data/link.yaml"].startswith("This is a symbolic link")


def test_names_that_lead_out_of_the_repository_are_no_files(market, world, parts):
    git, evil = parts.git, parts.git.write_blob(data("evil").encode())
    folder = hostile.write_tree(git, [
        ("100644", b"../evil.yaml", evil), ("100644", b"-rf.yaml", git.write_blob(
            data("-rf").encode())), ("100644", b"good.yaml", git.write_blob(
                data("good", "2.0.0").encode()))])
    top = [("40000", b"..", folder), ("40000", b".git", folder), ("40000", b"data", folder)]
    hostile.commit_tree(world, parts, top)
    market.add_repository(parts)
    market.run()
    assert market.present() == ["-rf@1.0.0", "good@1.0.0", "good@2.0.0"]
    assert problems(market) == {}


def test_a_file_of_100_mb_is_told_of_and_never_held_in_memory(market, world, parts):
    zeros = hostile.write_zeros(parts.git, 100 << 20)
    good = parts.git.write_blob(data("good", "2.0.0").encode())
    folder = hostile.write_tree(parts.git, [("100644", b"big.yaml", zeros),
                                            ("100644", b"good.yaml", good)])
    hostile.commit_tree(world, parts, [("40000", b"data", folder)])
    market.add_repository(parts)
    tracemalloc.start()
    try:
        market.run()
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    assert market.present() == ["good@1.0.0", "good@2.0.0"]
    assert "larger than 256 kB" in problems(market)["data/big.yaml"]
    assert market.catalog.store(1).size_bytes() < 1 << 20


def test_a_file_just_within_the_limit_is_read_and_one_beyond_it_is_not(market, world, parts):
    text = data("fits") + "# "
    world.commit(parts, {"data/fits.yaml": text + "x" * (256_000 - len(text)),
                         "data/more.yaml": "x" * 256_001})
    market.add_repository(parts)
    market.run()
    assert market.present() == ["fits@1.0.0", "good@1.0.0"]
    assert "larger than 256 kB" in problems(market)["data/more.yaml"]


def test_folders_that_hold_themselves_many_times_over_end_the_look(market, world, parts,
                                                                   monkeypatch):
    monkeypatch.setattr(reader, "MAX_FOLDERS_READ", 10_000)
    tree = hostile.write_tree(parts.git, [("100644", b"x", parts.git.write_blob(b"x"))])
    for _ in range(12):
        tree = hostile.write_tree(parts.git, [
            ("40000", b"%02d" % number, tree) for number in range(12)])
    hostile.commit_tree(world, parts, [("40000", b"bomb", tree)])
    market.add_repository(parts)
    assert "folders to look through" in market.report().error


def test_a_million_branches_are_not_even_listed(market, world, parts):
    hostile.add_refs(parts, 200_000)
    market.add_repository(parts)
    market.run()
    assert sum(each.size for each in world.exchanges()) < 10_000


def test_a_million_tags_are_too_many(market, world, parts):
    hostile.add_refs(parts, 120_000, "refs/tags/v")
    market.add_repository(parts, tag_prefix="v")
    assert "50000 tags" in market.report().error
    assert market.source("ann/parts").failures == 1


# --- what the server answers --------------------------------------------------------------------

@pytest.mark.parametrize("harm, said", [
    (hostile.garbage("ls-refs"), "none of Git's"),
    (hostile.garbage("fetch"), "none of Git's"),
    (hostile.cut("ls-refs"), "ended too early"),
    (hostile.cut("fetch"), "ended too early"),
    (hostile.endless_refs(), "more than"),
    (hostile.endless_pack(), "more than"),
    (hostile.canned_pack(hostile.delta_bomb()), "more than"),
    (hostile.canned_pack(b"PACK" + b"\0" * 40), "no pack of Git"),
], ids=["garbage for refs", "garbage for a pack", "cut refs", "a cut pack", "endless refs",
        "an endless pack", "a delta bomb", "no pack"])
def test_a_harmful_answer_ends_the_look_and_leaves_the_rest_alone(market, world, ann, parts, harm,
                                                                  said):
    other = world.create(ann, "other", {"data/other.yaml": data("other")})
    market.add_repository(parts)
    market.add_repository(other)
    honest, parts.git_answer = parts.git_answer, harm
    reports = {each.source: each.error for each in market.sync.run_once()}
    assert said in reports["ann/parts"] and reports["ann/other"] is None
    assert market.present() == ["other@1.0.0"]
    source = market.source("ann/parts")
    assert (source.failures, source.head, source.progress) == (1, None, None)
    parts.git_answer = honest
    market.sync.run_once()
    assert market.source("ann/parts").failures == 0
    assert market.present() == ["good@1.0.0", "other@1.0.0"]


def test_a_redirect_to_another_host_is_not_followed_and_gets_no_token(market, world, ann):
    hidden = world.create(ann, "hidden", {"data/a.yaml": data("a")}, is_private=True)
    market.add_repository(hidden, sponsor_id=market.connect(world.classic_token(ann, "repo")))
    with ScriptedServer() as elsewhere:
        for command in ("ls-refs", "fetch"):
            hidden.git_answer = hostile.redirected(f"{elsewhere.url}/x", command)
            assert market.report().error
        assert elsewhere.requests == []


def test_a_slow_drip_is_given_up(market, world, parts, monkeypatch):
    monkeypatch.setattr(look, "MOST_S", 1.0)
    market.add_repository(parts)
    parts.git_answer = hostile.slow("fetch")
    assert re.search("took too long|fell silent", market.report().error)


def test_a_slow_source_holds_up_no_other(market, world, ann, parts):
    gate, asked = threading.Event(), threading.Event()

    def wait(command, real):
        asked.set()
        gate.wait(60)
        return real()
    parts.git_answer = wait
    market.add_repository(parts)
    market.sync.step(False)
    wait_for(asked.is_set)
    market.add_repository(world.create(ann, "other", {"data/other.yaml": data("other")}))
    wait_for(lambda: market.sync.step(False) or market.present() == ["other@1.0.0"])
    gate.set()
    wait_for(lambda: market.sync.step(False) or len(market.present()) == 2)


def test_a_repository_that_takes_too_much_room_is_refused(market, parts, monkeypatch):
    monkeypatch.setattr(upstream, "MAX_STORE_BYTES", 100)
    market.add_repository(parts)
    assert re.search("more than|larger than", market.report().error)


def test_a_source_that_fails_rests_ever_longer_and_as_long_as_github_asks(market, world, parts):
    market.add_repository(parts)
    world.fault("POST", "git-upload-pack", 503, times=3)
    pauses = []
    for _ in range(3):
        assert "503" in market.report().error
        source = market.source("ann/parts")
        pauses.append((source.next_sync_at - source.checked_at).total_seconds())
    assert [round(pause / 60) for pause in pauses] == [1, 2, 4]
    assert source.upstream_state == "ok"
    world.fault("POST", "git-upload-pack", 429, times=1, Retry_After="1800")
    market.report()
    source = market.source("ann/parts")
    assert (source.next_sync_at - source.checked_at).total_seconds() > 1700
    market.sync.step(False)
    assert not market.sync._github.running
