"""Sources on GitHub, followed over Git against the stand-in."""
import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest

from registry import github_sync, upstream
from registry.errors import GoneError, NotFoundError
from registry.git_store import GitStore
from registry.inputs import Base
from registry.marks import Marks
from registry.rebuild import Fingerprints
from registry.upstream_rows import UpstreamRows
from tests.fakes.github.hostile import LFS_POINTER
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


# --- what becomes of a repository ---------------------------------------------------------------

def rewritten(world, parts, files):
    """A forced push of a history that has nothing in common with the one before."""
    return world.commit(parts, files, parent=None)


def test_after_a_forced_push_the_first_bytes_of_a_version_keep_serving(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a"), "data/b.yaml": data("b")})
    market.add_repository(parts)
    market.run()
    rewritten(world, parts, {"data/a.yaml": data("a", description="Other words.")})
    market.run()
    assert market.catalog.get("data/a@1.0.0").text == data("a")
    moved, = (each for each in market.catalog.versions("data", "a") if each.is_moved)
    assert moved.text == data("a", description="Other words.")
    gone = market.catalog.get("data/b@1.0.0")
    assert (gone.text, gone.is_present) == (data("b"), False)
    assert market.names() == ["data/a"]


def test_a_renamed_repository_is_followed_under_its_new_name(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.move(parts, name="pieces")
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    world.seen.clear()
    assert market.run().new == ("data/a@2.0.0",)
    source = market.source("ann/parts")
    assert (source.location, source.upstream_state) == ("ann/pieces", "ok")
    assert len(world.rest()) == 1


def test_a_repository_that_git_finds_no_more_under_its_name_is_asked_for_once(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.move(parts, name="pieces")
    world.moved.clear()  # as if the old name led nowhere
    world.seen.clear()
    market.run()
    assert market.source("ann/parts").location == "ann/pieces"
    assert len(world.rest()) == 1


def test_a_repository_that_was_given_to_somebody_else_is_followed(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.move(parts, owner=world.add_user("bob"))
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    market.run()
    assert market.source("ann/parts").location == "bob/parts"
    assert market.versions("data/a") == ["2.0.0", "1.0.0"]


def test_what_was_in_a_deleted_repository_keeps_serving_and_is_withdrawn(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.delete(parts)
    assert "was deleted, or is not public any more" in market.report().error
    source = market.source("ann/parts")
    assert source.upstream_state == "gone" and "can remove the source" in source.sync_error
    entry = market.catalog.get("data/a@1.0.0")
    assert (entry.text, entry.is_present) == (data("a"), False)
    assert market.names() == []
    assert market.catalog.store(source.id).read(entry.commit, entry.path) == data("a").encode()
    assert source.next_sync_at - source.checked_at > timedelta(minutes=29)


def test_another_repository_under_the_old_name_is_never_read(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.delete(parts)
    impostor = world.create(ann, "parts", {"data/a.yaml": data("a", "9.9.9")})
    assert impostor.id != parts.id
    for _ in range(2):
        assert "is a new one, made by" in market.report().error
        assert market.source("ann/parts").upstream_state == "replaced"
        assert market.versions("data/a") == ["1.0.0"]
        market.restart()


def test_another_repository_under_the_old_name_is_not_read_for_a_renamed_one(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.move(parts, name="pieces")
    world.create(ann, "parts", {"data/a.yaml": data("a", "9.9.9")})
    market.run()
    assert market.source("ann/parts").location == "ann/pieces"
    assert market.versions("data/a") == ["1.0.0"]


def test_an_emptied_repository_is_withdrawn_and_comes_back(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    head = parts.git.resolve("main")
    market.add_repository(parts)
    market.run()
    world.point(parts, "heads/main", None)
    assert "has no commit on its default branch" in market.report().error
    assert market.source("ann/parts").upstream_state == "empty"
    assert market.names() == [] and market.catalog.get("data/a@1.0.0").text == data("a")
    world.point(parts, "heads/main", head)
    market.run()
    source = market.source("ann/parts")
    assert (source.upstream_state, source.head) == ("ok", head)
    assert market.names() == ["data/a"]
    assert Fingerprints(market.engine, market.catalog).rebuilt() == \
        Fingerprints(market.engine, market.catalog).live()


def test_a_repository_without_a_commit_waits_for_the_first(market, world, ann):
    parts = world.create(ann, "parts")
    market.add_repository(parts)
    market.report()
    assert market.source("ann/parts").upstream_state == "empty"
    world.commit(parts, {"data/a.yaml": data("a")})
    assert market.run().new == ("data/a@1.0.0",)


def test_a_moved_tag_keeps_the_bytes_of_its_version(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a", "")})
    first = parts.git.resolve("main")
    world.point(parts, "tags/v1.0.0", first)
    market.add_repository(parts, tag_prefix="v")
    market.run()
    assert market.catalog.get("data/a@1.0.0").text == data("a", "")
    second = world.commit(parts, {"data/a.yaml": data("a", "", description="New.")})
    world.point(parts, "tags/v1.0.0", second)
    market.run()
    assert market.catalog.get("data/a@1.0.0").text == data("a", "")
    assert [each.is_moved for each in market.catalog.versions("data", "a")] == [True, False]


def test_a_tag_on_another_branch_brings_the_files_that_it_names(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a", "")})
    side = world.commit(parts, {"data/a.yaml": data("a", "", description="Release.")},
                        branch="release")
    world.point(parts, "tags/v1.0.0", side)
    market.add_repository(parts, tag_prefix="v")
    market.run()
    assert market.catalog.get("data/a@1.0.0").text == data("a", "", description="Release.")


# --- who may see it, and by whose token ---------------------------------------------------------

def test_a_private_repository_is_read_by_its_sponsors_token_alone(market, world, ann):
    token = world.classic_token(ann, "repo")
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")}, is_private=True)
    market.add_repository(parts, sponsor_id=market.connect(token))
    world.seen.clear()
    assert market.run().new == ("data/a@1.0.0",)
    assert {each.login for each in world.seen} == {"ann"} and not world.rest()
    assert market.names() == [] and market.present() == ["a@1.0.0"]


def test_a_repository_that_becomes_private_is_hidden_before_anything_else(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts, sponsor_id=market.connect(world.classic_token(ann, "repo")))
    market.run()
    assert market.names() == ["data/a"]
    parts.is_private = True
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    hidden_at = []
    honest = parts.git_answer

    def answer(command, real):
        hidden_at.append(market.source("ann/parts").is_private)
        return honest(command, real)
    parts.git_answer = answer
    market.run()
    assert hidden_at == [True] * 3
    assert market.present() == ["a@1.0.0", "a@2.0.0"] and market.names() == []


def test_what_became_private_is_hidden_also_while_strangers_are_asked_to_wait(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts, sponsor_id=market.connect(world.classic_token(ann, "repo")))
    market.run()
    parts.is_private = True
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    world.fault("POST", "git-upload-pack", 429, times=1)
    market.run()
    assert market.source("ann/parts").is_private and market.names() == []


def test_a_repository_that_becomes_private_without_a_sponsor_is_not_read_on(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    parts.is_private = True
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    assert market.report().error
    assert market.versions("data/a") == ["1.0.0"] and market.names() == []


def test_a_repository_that_becomes_public_is_shown(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")}, is_private=True)
    market.add_repository(parts, sponsor_id=market.connect(world.classic_token(ann, "repo")))
    market.run()
    parts.is_private = False
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    market.run()
    assert not market.source("ann/parts").is_private and market.names() == ["data/a"]


def test_a_repository_that_was_private_without_a_sponsor_is_shown_when_public(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts, is_private=True)  # as a delivery of a webhook had told
    assert "connects GitHub again" in market.report().error
    assert market.report().error is None
    assert not market.source("ann/parts").is_private and market.names() == ["data/a"]


def test_a_sponsors_dead_token_is_told_and_nobody_elses_is_used(market, world, ann):
    token = world.classic_token(ann, "repo")
    bob = world.add_user("bob")
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")}, is_private=True)
    parts.grants["bob"] = "read"
    market.add_repository(parts, sponsor_id=market.connect(token))
    market.connect(world.classic_token(bob, "repo"))
    market.run()
    token.is_revoked = True
    world.seen.clear()
    for _ in range(2):
        assert market.report().error
    source = market.source("ann/parts")
    assert source.upstream_state == "forbidden" and source.failures == 2
    assert "connects GitHub again" in source.sync_error
    assert "bob" not in {each.login for each in world.seen}
    assert market.present() == ["a@1.0.0"]


def test_a_public_repository_is_read_on_when_its_sponsors_token_ends(market, world, ann):
    token = world.classic_token(ann)
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts, sponsor_id=market.connect(token))
    market.run()
    token.is_revoked = True
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    assert market.run().new == ("data/a@2.0.0",)


def test_a_commit_of_a_fork_is_unknown_though_github_would_show_it(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    fork = world.fork(parts, world.add_user("mallory"))
    evil = world.commit(fork, {"data/a.yaml": data("a", description="Evil.")})
    assert parts.git.has(evil)
    market.run()
    with pytest.raises(NotFoundError):
        market.catalog.get(f"data/a@{evil}")


# --- much at once -------------------------------------------------------------------------------

def test_a_mass_disappearance_waits_for_the_owner(market, world, ann):
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(15)})
    market.add_repository(parts)
    market.run()
    head = world.commit(parts, {f"data/a{n}.yaml": None for n in range(11)})
    before = market.source("ann/parts").head
    for _ in range(2):
        assert "would take away 11 versions" in market.report().error
    source = market.source("ann/parts")
    assert (source.held_head, source.held_count, source.head) == (head, 11, before)
    assert len(market.present()) == 15
    market.set(source, confirmed_head=head)
    assert len(market.run().removed) == 11
    source = market.source("ann/parts")
    assert (source.held_head, source.confirmed_head, source.head) == (None, None, head)
    assert len(market.present()) == 4


def test_ten_versions_may_go_without_a_question(market, world, ann):
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(15)})
    market.add_repository(parts)
    market.run()
    world.commit(parts, {f"data/a{n}.yaml": None for n in range(10)})
    assert len(market.run().removed) == 10


def test_a_deleted_repository_of_many_versions_waits_for_the_owner_too(market, world, ann):
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(15)})
    market.add_repository(parts)
    market.run()
    world.delete(parts)
    assert "would take away 15 versions" in market.report().error
    source = market.source("ann/parts")
    assert source.upstream_state == "gone" and len(market.present()) == 15
    market.set(source, confirmed_head=source.held_head)
    market.report()
    assert market.present() == []


def test_a_held_head_is_let_go_when_the_files_come_back(market, world, ann):
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(15)})
    market.add_repository(parts)
    market.run()
    world.commit(parts, {f"data/a{n}.yaml": None for n in range(15)} | {"x": "x"})
    market.report()
    world.commit(parts, {f"data/a{n}.yaml": data(f"a{n}") for n in range(15)})
    market.run()
    assert market.source("ann/parts").held_head is None and len(market.present()) == 15


# --- files that jobs take from the repository ---------------------------------------------------

def base_of(market, reference):
    entry = market.catalog.get(reference)
    return Base(market.catalog.store(entry.source_id), entry.files_commit, entry.path)


def test_files_that_a_component_names_are_brought_for_its_jobs(market, world, ann):
    files = {"data/mnist.yaml": data("mnist", uri="../files"), "files/a.csv": "1,2",
             "files/deep/b.csv": "3,4", "other/large.bin": "x" * 1000}
    parts = world.create(ann, "parts", files)
    market.add_repository(parts)
    market.run()
    store = market.catalog.store(1)
    found = base_of(market, "mnist").input("../files", "mnist")
    assert (found.path, found.commit) == ("files", parts.git.resolve("main"))
    assert store.read(found.commit, "files/deep/b.csv") == b"3,4"
    with pytest.raises(NotFoundError):
        store.read(found.commit, "other/large.bin")


def test_a_file_beside_an_unchanged_component_is_brought_when_it_changes(market, world, ann):
    parts = world.create(ann, "parts", {"data/mnist.yaml": data("mnist", uri="../a.csv"),
                                        "a.csv": "1"})
    market.add_repository(parts)
    market.run()
    head = world.commit(parts, {"a.csv": "2"})
    market.run()
    found = base_of(market, "mnist").input("../a.csv", "mnist")
    assert (found.commit, found.sha256) == (head, hashlib.sha256(b"2").hexdigest())


def test_a_file_that_is_too_large_for_jobs_is_told_where_it_is_wanted(market, world, ann,
                                                                      monkeypatch):
    monkeypatch.setattr(upstream, "USED", replace(upstream.USED, blob_bytes=1000))
    parts = world.create(ann, "parts", {
        "data/mnist.yaml": data("mnist", uri="../files"), "files/a.csv": "1",
        "files/large.bin": "x" * 1001, "data/lfs.yaml": data("lfs", uri="../big.bin"),
        "big.bin": LFS_POINTER})
    market.add_repository(parts)
    market.run()
    with pytest.raises(ValueError, match="1 of its files are not here.*16 MiB"):
        base_of(market, "mnist").input("../files", "mnist")
    with pytest.raises(ValueError, match="kept by Git LFS"):
        base_of(market, "lfs").input("../big.bin", "lfs")


# --- at the edges -------------------------------------------------------------------------------

def test_strangers_who_are_asked_to_wait_are_helped_by_the_sponsors_token(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts, sponsor_id=market.connect(world.classic_token(ann)))
    world.fault("POST", "git-upload-pack", 429, times=1)
    world.seen.clear()
    assert market.run().new == ("data/a@1.0.0",)
    assert [each.login for each in world.exchanges()][-1] == "ann"


def test_purged_bytes_are_never_fetched_again(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a"), "data/b.yaml": data("b")})
    user_id = market.connect(world.classic_token(ann))
    market.add_repository(parts)
    market.run()
    entry = market.catalog.get("data/a")
    Marks(market.engine).purge(entry, reason="a secret", user_id=user_id)
    rewritten(world, parts, {"data/a.yaml": data("a"), "data/b.yaml": data("b", "2.0.0")})
    market.run()
    assert market.versions("data/a") == []
    assert not market.catalog.store(1).holds(entry.blob)
    with pytest.raises(GoneError):
        market.catalog.get("data/a@1.0.0")


def test_sub_paths_and_another_branch_are_all_that_is_read(market, world, ann):
    parts = world.create(ann, "parts", {"data/no.yaml": data("no")})
    world.commit(parts, {"team/data/yes.yaml": data("yes"), "data/other.yaml": data("other")},
                 branch="release")
    market.add_repository(parts, branch="release", sub_paths=["team"])
    assert market.run().new == ("data/yes@1.0.0",)
    with pytest.raises(NotFoundError):
        market.catalog.store(1).read(market.source("ann/parts").head, "data/other.yaml")


def test_a_branch_that_is_not_there_is_told(market, world, ann):
    market.add_repository(world.create(ann, "parts", {"x": "x"}), branch="gone")
    assert "has no commit on the branch `gone`" in market.report().error


def test_progress_is_told_while_a_look_lasts_and_not_after_it(market, world, ann, monkeypatch):
    told = []
    monkeypatch.setattr(UpstreamRows, "tell", lambda rows, *facts: told.append(facts))
    parts = world.create(ann, "parts", {f"data/a{n}.yaml": data(f"a{n}") for n in range(5)})
    monkeypatch.setattr(github_sync, "TELL_S", 0.0)
    market.add_repository(parts)
    market.run()
    assert told == [(1, "history", 0, 3), (1, "files", 0, 5), (1, "record", 0, 1)]
    assert market.source("ann/parts").progress is None


def test_a_store_without_all_files_is_dumped_and_restored(market, world, ann, tmp_path):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a"), "films/x.bin": "x" * 999})
    market.add_repository(parts)
    market.run()
    packed = tmp_path / "pack"
    with packed.open("wb") as file:
        facts = market.catalog.store(1).write_pack(file.write)
    other = GitStore(tmp_path / "other.git")
    with packed.open("rb") as file:
        other.take_pack(file, facts)
    assert other.read(facts.head, "data/a.yaml") == data("a").encode()


def test_it_is_the_same_on_either_database(tmp_path, github, world, ann, database_url):
    market = GitHubMarket(tmp_path / "home", github, database_url)
    parts = world.create(ann, "parts", {"data/a.yaml": data("a", uri="../x"), "x/y": "y",
                                        "data/b.yaml": "broken"})
    market.add_repository(parts)
    market.run()
    assert market.names() == ["data/a"]
    assert base_of(market, "a").input("../x", "a").path == "x"
    source = market.source("ann/parts")
    assert (source.progress, source.failures, source.problems) == (None, 0, 1)
    world.delete(parts)
    assert market.report().error and market.present() == []
    market.close()


def test_a_name_that_was_taken_over_a_moment_ago_shows_by_its_other_history(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    market.add_repository(parts)
    market.run()
    world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    market.run()  # asks for the name, which counts for a while
    world.move(parts, name="pieces")
    world.create(ann, "parts", {"data/a.yaml": data("a", "9.9.9")})
    market.run()
    assert market.source("ann/parts").location == "ann/pieces"
    assert market.versions("data/a") == ["2.0.0", "1.0.0"]


def test_tags_that_did_not_move_are_one_exchange_whatever_they_name(market, world, ann):
    parts = world.create(ann, "parts", {"data/a.yaml": data("a")})
    side = world.commit(parts, {"data/large.yaml": "x" * 300_000}, branch="side")
    world.point(parts, "tags/v1.0.0", side)
    market.add_repository(parts, tag_prefix="v")
    market.run()
    world.seen.clear()
    market.run()
    assert [command for command, _ in commands(world)] == ["ls-refs"]
    world.point(parts, "tags/v1.0.0", parts.git.resolve("main"))
    market.run()
    assert market.catalog.get("data/a@1.0.0").tags == ("v1.0.0",)
