import logging
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry import db
from registry.errors import NotFoundError
from registry.outbox import Outbox
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository, git

OPENPAI = Path(__file__).parents[3] / "shared" / "data" / "openpai" / "marketplace"


def problem(market, path):
    """The sentences about one file."""
    found = [each for each in market.sources.problems(1) if each.path == path]
    return [each.message for file in found for each in file.problems]


def events(market):
    """What happened to which version, in its order."""
    with market.engine.connect() as connection:
        rows = connection.execute(sa.select(db.events).order_by(db.events.c.id))
        return [(row.kind, row.name, row.version) for row in rows]


# --- the three kinds of sources -----------------------------------------------------------------

def test_a_working_tree_is_indexed_with_commit_path_and_blob(market, origin):
    commit = origin.commit({"data/cifar10.yaml": data("cifar10")})
    market.add(origin.path)
    assert market.run().new == ("data/cifar10@1.0.0",)
    entry = market.catalog.get("data/cifar10")
    assert (entry.commit, entry.path) == (commit, "data/cifar10.yaml")
    assert entry.blob == git(origin.path, "rev-parse", "HEAD:data/cifar10.yaml")
    assert entry.committed_at.isoformat() == "2023-11-14T22:14:20"
    assert market.names("cifar10") == ["data/cifar10"]


def test_of_a_folder_in_a_repository_only_what_is_below_it_counts(market, origin):
    origin.commit({"market/data/a.yaml": data("a"), "data/b.yaml": data("b")})
    market.add(origin.path / "market")
    market.run()
    assert market.names() == ["data/a"]
    assert market.catalog.get("a").path == "market/data/a.yaml"


def test_a_bare_repository_is_indexed(market, origin, tmp_path):
    origin.commit({"data/a.yaml": data("a")})
    git(tmp_path, "clone", "-q", "--bare", str(origin.path), "bare.git")
    assert market.add(tmp_path / "bare.git").name == "bare"
    assert market.run().new == ("data/a@1.0.0",)


def test_a_plain_folder_is_indexed_and_each_change_is_a_version(market, tmp_path):
    file = tmp_path / "folder" / "data" / "a.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(data("a"))
    market.add(tmp_path / "folder")
    market.run()
    file.write_text(data("a", "1.1.0"))
    assert market.run().new == ("data/a@1.1.0",)
    assert market.versions("data/a") == ["1.1.0", "1.0.0"]
    first = market.catalog.get("a@1.0.0")
    assert market.catalog.store(1).read(first.commit, first.path) == data("a").encode()


def test_a_plain_folder_that_did_not_change_gets_no_commit(market, tmp_path):
    (tmp_path / "folder" / "data").mkdir(parents=True)
    market.add(tmp_path / "folder")
    assert market.run().head == market.run().head


def test_a_folder_above_the_home_is_indexed_without_it(market, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.yaml").write_text(data("a"))
    market.add(tmp_path, "all")
    assert market.run().head == market.run().head
    assert market.catalog.store(1).kind(market.sources.get("all").head, "home") is None


def test_a_folder_that_its_repository_does_not_track_is_a_plain_folder(market, origin):
    origin.commit({".gitignore": ".venv\n"})
    file = origin.path / ".venv" / "market" / "data" / "a.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(data("a"))
    market.add(origin.path / ".venv" / "market")
    market.run()
    assert market.catalog.get("a").path == "data/a.yaml"


def test_a_plain_folder_that_becomes_a_repository_keeps_its_versions(market, tmp_path):
    file = tmp_path / "folder" / "data" / "a.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(data("a"))
    market.add(tmp_path / "folder")
    market.run()
    git(tmp_path / "folder", "init", "-q", "-b", "main")
    repository = Repository(tmp_path / "folder", is_new=False)
    head = repository.commit({"data/a.yaml": data("a", "2.0.0")})
    market.run()
    assert market.versions("data/a") == ["2.0.0", "1.0.0"]
    assert market.catalog.get("a").commit == head


def test_a_repository_without_commits_waits_for_the_first(market, origin):
    market.add(origin.path)
    assert market.run().head is None
    origin.commit({"data/a.yaml": data("a")})
    assert market.run().new == ("data/a@1.0.0",)


@pytest.mark.skipif(not OPENPAI.is_dir(), reason="the marketplace of OpenPAI is not beside us")
def test_the_marketplace_of_openpai_is_indexed_without_a_problem(market):
    market.add(OPENPAI)
    report = market.run()
    assert (len(report.new), report.problems) == (24, 0)
    assert market.names("cifar10") == ["data/cifar10", "job/tensorflow_cifar10"]
    assert "job/tensorflow_cifar10" in market.names("TensorFlow")


# --- histories ----------------------------------------------------------------------------------

def test_every_version_of_the_history_is_recorded(market, origin):
    commits = [origin.commit({"data/a.yaml": data("a", version)})
               for version in ("1.0.0", "1.10.0", "1.9.0", "2.0.0-rc1")]
    market.add(origin.path)
    market.run()
    assert market.versions("data/a") == ["2.0.0-rc1", "1.10.0", "1.9.0", "1.0.0"]
    assert market.catalog.get("a").version == "1.10.0"
    assert market.catalog.get("a@1.9.0").commit == commits[2]


def test_versions_made_on_a_merged_branch_are_recorded_too(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    git(origin.path, "checkout", "-q", "-b", "side")
    middle = origin.commit({"data/a.yaml": data("a", "1.1.0")})
    origin.commit({"data/a.yaml": data("a", "1.2.0")})
    git(origin.path, "checkout", "-q", "main")
    git(origin.path, "merge", "-q", "--no-ff", "-m", "merge", "side")
    market.add(origin.path)
    market.run()
    assert market.versions("data/a") == ["1.2.0", "1.1.0", "1.0.0"]
    assert market.catalog.get("a@1.1.0").commit == middle


def test_a_sync_after_each_commit_ends_like_one_sync_at_the_end(market, origin, tmp_path):
    whole = Marketplace(tmp_path / "whole")
    market.add(origin.path), whole.add(origin.path)
    for files in ({"data/a.yaml": data("a")}, {"data/b.yaml": data("b"), "script/x": "1"},
                  {"data/a.yaml": data("a", "1.1.0"), "data/b.yaml": "broken: ["},
                  {"data/a.yaml": data("a")}, {"data/b.yaml": None, "data/c.yml": data("b")}):
        origin.commit(files)
        market.run()
    whole.run()
    assert market.rows() == whole.rows()
    assert market.names() == whole.names()
    whole.close()


def test_a_version_keeps_the_first_commit_that_had_its_bytes(market, origin):
    first = origin.commit({"data/a.yaml": data("a")})
    origin.commit({"data/a.yaml": data("a", "1.1.0")})
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    assert market.catalog.get("a@1.0.0").commit == first


def test_the_same_version_with_other_bytes_is_moved_and_the_first_keeps_serving(market, origin):
    old = origin.commit({"data/a.yaml": data("a", description="old")})
    new = origin.commit({"data/a.yaml": data("a", description="new")})
    market.add(origin.path)
    market.run()
    assert {entry.commit: entry.is_moved for entry in market.catalog.versions("data", "a")} == {
        old: False, new: True}
    assert market.catalog.get("a").description == "old"
    assert market.catalog.get(f"a@{old[:7]}").description == "old"
    assert market.catalog.get(f"a@{new}").description == "new"
    assert market.catalog.get("a").is_present


def test_bytes_that_come_back_are_no_entry_of_their_own(market, origin):
    market.add(origin.path)
    for text in ("old", "new", "old"):
        origin.commit({"data/a.yaml": data("a", description=text)})
        market.run()
    assert market.catalog.get("a").description == "old"
    assert len(market.catalog.versions("data", "a")) == 2


def test_files_without_a_version_are_never_moved_and_the_newest_is_the_latest(market, origin):
    market.add(origin.path)
    for text in ("old", "new", "old"):
        origin.commit({"data/a.yaml": data("a", "", description=text)})
        market.run()
        assert market.catalog.get("a").description == text
    assert [entry.is_moved for entry in market.catalog.versions("data", "a")] == [False, False]


def test_what_happens_to_versions_is_told_as_events(market, origin):
    market.add(origin.path)
    for files in ({"data/a.yaml": data("a"), "data/b.yaml": data("b")},
                  {"data/a.yaml": data("a", description="other")},
                  {"data/a.yaml": "broken: [", "data/b.yaml": None},
                  {"data/b.yaml": data("b", "1.1.0")}):
        origin.commit(files)
        market.run()
    assert events(market) == [
        ("published", "a", "1.0.0"), ("published", "b", "1.0.0"), ("moved", "a", "1.0.0"),
        ("withdrawn", "b", "1.0.0"), ("published", "b", "1.1.0"), ("returned", "b", "1.1.0")]


def test_files_beside_a_component_are_read_at_the_last_commit_that_still_had_it(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    second = origin.commit({"points.csv": "1,2"})
    third = origin.commit({"data/a.yaml": data("a", "1.1.0")})
    fourth = origin.commit({"points.csv": "3,4"})
    market.add(origin.path)
    market.run()
    assert market.catalog.get("a@1.0.0").files_commit == second
    assert market.catalog.get("a@1.1.0").files_commit == fourth
    assert market.catalog.get(f"a@{third}").files_commit == third


def test_a_rewritten_history_loses_no_version(market, origin):
    first = origin.commit({"data/a.yaml": data("a")})
    origin.commit({"data/a.yaml": data("a", "1.1.0")})
    market.add(origin.path)
    market.run()
    git(origin.path, "reset", "-q", "--hard", first)
    head = origin.commit({"data/a.yaml": data("a", "1.2.0")})
    assert market.run().head == head
    assert market.versions("data/a") == ["1.2.0", "1.1.0", "1.0.0"]
    lost = market.catalog.get("a@1.1.0")
    assert market.catalog.store(1).read(lost.commit, lost.path) == lost.text.encode()


def test_a_history_that_starts_over_keeps_what_was_seen_first(market, origin):
    old = origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    git(origin.path, "checkout", "-q", "--orphan", "again")
    new = origin.commit({"data/a.yaml": data("a"), "readme": "new"})
    market.run()
    entry = market.catalog.get("a")
    assert (entry.commit, entry.files_commit, entry.is_present) == (old, new, True)
    assert market.catalog.get(f"a@{old}").commit == old
    assert market.catalog.get(f"a@{new}").commit == new


def test_a_shallow_clone_is_indexed_and_what_is_fetched_later_is_added(market, origin, tmp_path):
    commits = [origin.commit({"data/a.yaml": data("a", f"1.{n}.0")}) for n in range(4)]
    git(tmp_path, "clone", "-q", "--depth", "1", origin.path.as_uri(), "shallow")
    market.add(tmp_path / "shallow")
    market.run()
    assert market.versions("data/a") == ["1.3.0"]
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    market.run()
    assert market.versions("data/a") == ["1.3.0", "1.2.0", "1.1.0", "1.0.0"]
    assert market.catalog.get("a@1.0.0").commit == commits[0]


def test_a_sync_cut_off_after_fetching_the_rest_of_a_shallow_clone_still_records_it(
        market, origin, tmp_path):
    for n in range(3):
        origin.commit({"data/a.yaml": data("a", f"1.{n}.0")})
    git(tmp_path, "clone", "-q", "--depth", "1", origin.path.as_uri(), "shallow")
    market.add(tmp_path / "shallow")
    market.run()
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    market.catalog.store(1).fetch(tmp_path / "shallow")
    market.restart()
    market.run()
    assert len(market.versions("data/a")) == 3


def test_a_detached_head_is_followed(market, origin):
    first = origin.commit({"data/a.yaml": data("a")})
    origin.commit({"data/a.yaml": data("a", "1.1.0")})
    git(origin.path, "checkout", "-q", "--detach", first)
    market.add(origin.path)
    assert market.run().head == first
    assert market.versions("data/a") == ["1.0.0"]


# --- files that move, break and go ----------------------------------------------------------------

def test_a_deleted_file_is_no_longer_found_but_still_resolved(market, origin):
    origin.commit({"data/a.yaml": data("a"), "data/b.yaml": data("b")})
    market.add(origin.path)
    market.run()
    origin.commit({"data/a.yaml": None})
    assert market.run().removed == ("data/a",)
    assert market.names() == ["data/b"]
    entry = market.catalog.get("data/a@1.0.0")
    assert entry.is_present is False and entry.text == data("a")


def test_a_renamed_file_is_the_same_version_as_it_was_first_seen(market, origin):
    first = origin.commit({"data/x.yaml": data("a")})
    market.add(origin.path)
    market.run()
    assert "better rename the file" in market.catalog.get("a").warnings[0].message
    git(origin.path, "mv", "data/x.yaml", "data/a.yaml")
    origin.commit({})
    assert market.run().new == ()
    entry = market.catalog.get("a")
    assert (entry.path, entry.commit, entry.files_commit) == ("data/x.yaml", first, first)
    assert (entry.is_present, entry.warnings) == (True, ())
    origin.commit({"data/a.yaml": None})
    assert market.run().removed == ("data/a",)


def test_a_component_renamed_in_its_file_leaves_the_old_name(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    origin.commit({"data/a.yaml": data("b")})
    market.add(origin.path)
    market.run()
    assert market.names() == ["data/b"]
    assert market.catalog.get("a").is_present is False


def test_a_file_that_breaks_keeps_its_last_good_version_and_says_what_is_wrong(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    broken = origin.commit({"data/a.yaml": data("a", "1.1.0") + "uri: twice\n"})
    later = origin.commit({"readme": "x"})
    assert market.run().problems == 1
    found, = market.sources.problems(1)
    assert (found.path, found.commit) == ("data/a.yaml", broken)
    assert (found.problems[0].line, found.problems[0].path) == (7, "uri")
    entry = market.catalog.get("a")
    assert (entry.version, entry.is_present, entry.files_commit != later) == ("1.0.0", True, True)
    assert market.names("a") == ["data/a"]


def test_a_problem_vanishes_with_the_next_good_version(market, origin):
    origin.commit({"data/a.yaml": "nonsense"})
    market.add(origin.path)
    market.run()
    assert market.sources.get("origin").problems == 1
    origin.commit({"data/a.yaml": data("a")})
    market.run()
    assert market.sources.problems(1) == []


def test_a_problem_keeps_the_commit_that_brought_it_in(market, origin):
    broken = origin.commit({"data/a.yaml": "nonsense"})
    market.add(origin.path)
    market.run()
    for _ in range(2):
        origin.commit({"data/b.yaml": data("b")})
        market.run()
    assert market.sources.problems(1)[0].commit == broken


def test_what_was_broken_once_is_of_no_interest_now(market, origin):
    origin.commit({"data/a.yaml": "nonsense", "data/b.yaml": "nonsense"})
    origin.commit({"data/a.yaml": data("a"), "data/b.yaml": None})
    market.add(origin.path)
    assert market.run().problems == 0
    assert market.versions("data/a") == ["1.0.0"]


def test_a_second_file_with_the_same_component_is_a_problem_of_that_file(market, origin):
    origin.commit({"data/b.yaml": data("a")})
    copied = origin.commit({"data/a.yaml": data("a", "2.0.0")})
    market.add(origin.path)
    market.run()
    assert problem(market, "data/a.yaml") == [
        "data/b.yaml already declares data/a, and a source may have it only once. Give this one "
        "another name, or delete one of the two files."]
    assert market.sources.problems(1)[0].commit == copied
    assert market.versions("data/a") == ["1.0.0"]


def test_of_two_files_with_the_same_component_in_one_commit_the_first_by_path_counts(
        market, origin):
    origin.commit({"data/b.yaml": data("a", "2.0.0"), "data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    assert problem(market, "data/b.yaml") and market.versions("data/a") == ["1.0.0"]


@pytest.mark.parametrize("text", [data("a", "2.0.0"), data("a")], ids=["other", "the same bytes"])
def test_the_second_file_takes_over_when_the_first_goes(market, origin, text):
    first = origin.commit({"data/a.yaml": data("a")})
    second = origin.commit({"data/b.yaml": text})
    market.add(origin.path)
    market.run()
    origin.commit({"data/a.yaml": None})
    market.run()
    entry = market.catalog.get("a")
    assert (entry.text, entry.is_present) == (text, True)
    assert entry.commit == (second if "2.0.0" in text else first)
    assert market.sources.problems(1) == []


def test_a_component_in_the_folder_of_another_type_is_a_problem(market, origin):
    origin.commit({"job/a.yaml": data("a"), "data/b.yaml": data("b")})
    market.add(origin.path)
    market.run()
    assert market.names() == ["data/b"]
    assert "only `type: job`" in problem(market, "job/a.yaml")[0]


def test_a_file_named_otherwise_is_only_a_warning(market, origin):
    origin.commit({"data/other.yaml": data("a")})
    market.add(origin.path)
    market.run()
    warning, = market.catalog.get("a").warnings
    assert (warning.severity, warning.path, warning.line) == ("warning", "name", 1)
    assert "rename the file to a.yaml" in warning.message


def test_hostile_files_are_problems_and_nothing_more(market, origin):
    bomb = "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a]\n" for n in range(50))
    origin.commit({"data/bomb.yaml": bomb, "data/long.yaml": "x" * 300_000,
                   "data/deep.yaml": "[" * 20_000, "data/good.yaml": data("good")})
    (origin.path / "data" / "nul.yaml").write_bytes(b"name: \0\n")
    (origin.path / "data" / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    (origin.path / "data" / "link.yaml").symlink_to("/etc/passwd")
    origin.commit({})
    market.add(origin.path)
    assert market.run().problems == 6
    assert market.names() == ["data/good"]
    assert "symbolic link" in problem(market, "data/link.yaml")[0]


# --- sources that fail --------------------------------------------------------------------------

def test_a_deleted_origin_keeps_everything_and_says_so(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    shutil.rmtree(origin.path)
    report, = market.sync.run_once()
    source = market.sources.get("origin")
    assert report.error == source.sync_error
    assert "is not there" in source.sync_error and source.synced_at
    assert market.names() == ["data/a"]
    entry = market.catalog.get("a")
    assert market.catalog.store(1).read(entry.commit, entry.path)


def test_an_origin_that_comes_back_is_synced_again(market, origin, tmp_path):
    market.add(origin.path)
    origin.path.rename(tmp_path / "elsewhere")
    assert market.sync.run_once()[0].error
    (tmp_path / "elsewhere").rename(origin.path)
    market.run()
    assert market.sources.get("origin").sync_error is None


def test_a_broken_source_does_not_keep_the_others_from_syncing(market, origin, tmp_path):
    other = Repository(tmp_path / "another")
    origin.commit({"data/a.yaml": data("a")})
    other.commit({"data/b.yaml": data("b")})
    market.add(other.path), market.add(origin.path)
    shutil.rmtree(other.path / ".git" / "objects")
    errors = {report.source: report.error for report in market.sync.run_once()}
    assert errors["another"] and errors["origin"] is None


def test_a_lost_store_is_made_again(market, origin):
    commit = origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    shutil.rmtree(market.home / "git")
    market.run()
    assert market.catalog.store(1).read(commit, "data/a.yaml") == data("a").encode()


def test_the_log_tells_a_failure_once(market, origin, caplog):
    market.add(origin.path)
    shutil.rmtree(origin.path)
    with caplog.at_level(logging.INFO, "registry.sync"):
        market.sync.run_once(), market.sync.run_once()
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


# --- requests, removal and the index --------------------------------------------------------------

def test_a_new_source_is_synced_without_waiting_and_only_once(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.sync.step(False)
    assert market.names() == ["data/a"]
    origin.commit({"data/b.yaml": data("b")})
    market.sync.step(False)
    assert market.names() == ["data/a"]


def test_a_sync_that_is_asked_for_is_done(market, origin):
    market.add(origin.path)
    market.run()
    origin.commit({"data/a.yaml": data("a")})
    market.sources.request_sync("origin")
    market.sync.step(False)
    assert market.names() == ["data/a"]


def test_a_removed_source_is_no_longer_found_and_its_store_is_deleted(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    market.sources.remove("origin")
    market.sync.step(False)
    assert market.names() == [] and list((market.home / "git").iterdir()) == []
    with pytest.raises(NotFoundError):
        market.catalog.get("a")


def test_a_source_added_again_is_another_one(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    first = market.add(origin.path)
    market.run()
    market.sources.remove("origin")
    second = market.add(origin.path)
    market.run()
    assert second.id > first.id and market.names() == ["data/a"]


def test_a_deleted_index_is_noticed_at_the_next_look(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.add(origin.path)
    market.run()
    shutil.rmtree(market.home / "search")
    assert market.index.search("a").is_ready is False
    market.sync.step(False)
    assert market.names("a") == ["data/a"]


def test_an_index_batch_that_was_cut_off_before_it_was_ticked_off_is_done_again(
        market, origin, monkeypatch):
    market.add(origin.path)
    market.run()
    origin.commit({"data/a.yaml": data("a")})
    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(Outbox, "_delete", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        market.sync.run_once()
    assert market.names() == ["data/a"]
    market.run()
    assert market.names() == ["data/a"] and market.index.count() == 1


def test_a_sync_that_is_cut_off_while_it_writes_leaves_the_catalog_as_it_was(
        market, origin, monkeypatch):
    origin.commit({"data/a.yaml": data("a"), "data/b.yaml": "broken: ["})
    market.add(origin.path)
    with monkeypatch.context() as patched:
        patched.setattr("registry.ledger._write_problems", lambda *_: 1 / 0)
        assert "unexpectedly (ZeroDivisionError)" in market.sync.run_once()[0].error
    assert market.rows() == []
    market.run()
    assert market.names() == ["data/a"]


def test_components_of_two_sources_are_told_apart(market, origin, tmp_path):
    other = Repository(tmp_path / "other")
    origin.commit({"data/a.yaml": data("a"), "dockerimage/b.yaml": image("b")})
    market.add(origin.path)
    market.run()
    other.commit({"data/a.yaml": data("a", "2.0.0")})
    market.add(other.path)
    market.sync.run_once()
    hits = {hit.reference for hit in market.index.search("").hits}
    assert hits == {"origin:data/a@1.0.0", "other:data/a@2.0.0", "dockerimage/b@1.0.0"}
    market.sources.remove("other")
    market.sync.step(False)
    assert {hit.reference for hit in market.index.search("").hits} == {
        "data/a@1.0.0", "dockerimage/b@1.0.0"}
