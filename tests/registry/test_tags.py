"""Versions from tags, sub-paths of a source, READMEs, and what was purged."""
import pytest

from registry import db
from registry.errors import InvalidInputError
from registry.source import check_tag_prefix, checked_sub_paths
from tests.registry.marketplace import data, image
from tests.registry.repository import git


def add(market, origin, **how):
    return market.sources.add_folder(str(origin.path), name="origin", owner_id=None, **how)


def entries(market, name="a", type="data"):
    """Version, whether it is moved and its tags, newest first."""
    return [(entry.version, entry.is_moved, entry.tags)
            for entry in market.catalog.versions(type, name)]


def tag(origin, name, commit="HEAD", *how):
    git(origin.path, "tag", "-f", *how, name, commit)


# --- tags ---------------------------------------------------------------------------------------

def test_a_tag_gives_the_version_of_files_that_say_none(market, origin):
    first = origin.commit({"data/a.yaml": data("a", ""), "dockerimage/b.yaml": image("b", "")})
    tag(origin, "v1.0.0")
    origin.commit({"data/a.yaml": data("a", "", description="newer")})
    tag(origin, "v1.1.0", "HEAD", "-a", "-m", "annotated")
    add(market, origin, tag_prefix="v")
    market.run()
    assert entries(market) == [("1.1.0", False, ("v1.1.0",)), ("1.0.0", False, ("v1.0.0",))]
    assert entries(market, "b", "dockerimage") == [
        ("1.1.0", False, ("v1.1.0",)), ("1.0.0", False, ("v1.0.0",))]
    assert market.catalog.get("a").description == "newer"
    assert market.catalog.get("a@1.0.0").files_commit == first


def test_tags_are_not_read_unless_the_source_asks_for_it(market, origin):
    origin.commit({"data/a.yaml": data("a", "")})
    tag(origin, "v1.0.0")
    add(market, origin)
    market.run()
    assert entries(market) == [("", False, ())]


def test_only_tags_that_go_on_with_a_version_count(market, origin):
    origin.commit({"data/a.yaml": data("a", "")})
    for name in ("v1.0.0", "1.2.0", "vnext", "other-v2.0.0", "v3.0.0-rc.1"):
        tag(origin, name)
    add(market, origin, tag_prefix="v")
    market.run()
    assert [entry[0] for entry in entries(market)] == ["3.0.0-rc.1", "1.0.0"]
    assert market.catalog.get("a").version == "1.0.0"


def test_a_tag_that_comes_later_names_the_bytes_that_are_known(market, origin):
    origin.commit({"data/a.yaml": data("a", "")})
    add(market, origin, tag_prefix="v")
    market.run()
    tag(origin, "v1.0.0")
    market.run()
    assert entries(market) == [("1.0.0", False, ("v1.0.0",))]


def test_a_tag_beside_a_field_that_says_otherwise_is_a_warning_at_the_field(market, origin):
    origin.commit({"data/a.yaml": data("a", "1.0.0")})
    tag(origin, "v1.0.0"), tag(origin, "v2.0.0")
    add(market, origin, tag_prefix="v")
    market.run()
    assert entries(market) == [("1.0.0", False, ("v1.0.0",))]
    warning, = market.catalog.get("a").warnings
    assert (warning.line, warning.column, warning.path) == (3, 10, "version")
    assert warning.message == (
        "The tag `v2.0.0` calls this 2.0.0, but the field `version` says 1.0.0, and the field "
        "counts. Delete the tag, or write `version: 2.0.0` and tag that commit.")
    assert [file.path for file in market.sources.warnings(1)] == ["data/a.yaml"]
    market.run()
    assert len(market.catalog.get("a").warnings) == 1
    git(origin.path, "tag", "-d", "v2.0.0")
    market.run()
    assert market.catalog.get("a").warnings == ()


def test_a_tag_beside_many_fields_that_say_otherwise_is_one_warning(market, origin):
    origin.commit({f"data/{name}.yaml": data(name) for name in "abc"})
    tag(origin, "v2.0.0")
    origin.commit({"data/b.yaml": data("b", "3.0.0")})
    tag(origin, "v3.0.0")  # about b alone
    source = add(market, origin, tag_prefix="v")
    market.run()
    warned, = market.sources.warnings(source.id)
    problem, = warned.problems
    assert warned.path == "data/a.yaml" and problem.message.startswith("The tag `v2.0.0`")
    assert problem.message.endswith("So it is with 2 more of its components.")


def test_a_tag_off_the_branch_makes_its_files_versions_too(market, origin):
    origin.commit({"data/a.yaml": data("a", "2.0.0")})
    git(origin.path, "checkout", "-q", "-b", "old")
    side = origin.commit({"data/a.yaml": data("a", "1.0.1"), "data/b.yaml": data("b", "")})
    tag(origin, "v1.0.1")
    git(origin.path, "checkout", "-q", "main")
    add(market, origin, tag_prefix="v")
    market.run()
    assert [entry[0] for entry in entries(market)] == ["2.0.0", "1.0.1"]
    entry = market.catalog.get("b@1.0.1")
    assert (entry.commit, entry.files_commit, entry.is_present) == (side, side, False)
    git(origin.path, "merge", "-q", "-X", "ours", "--no-ff", "-m", "merge", "old")
    market.run()
    assert market.catalog.get("b").is_present


def test_a_tag_that_is_moved_is_told_and_the_old_bytes_keep_serving(market, origin):
    origin.commit({"data/a.yaml": data("a", "", description="old")})
    tag(origin, "v1.0.0")
    add(market, origin, tag_prefix="v")
    market.run()
    origin.commit({"data/a.yaml": data("a", "", description="new")})
    tag(origin, "v1.0.0")
    market.run()
    assert market.catalog.get("a@1.0.0").description == "old"
    assert sorted(entries(market)) == [("1.0.0", False, ()), ("1.0.0", True, ("v1.0.0",))]
    with market.engine.connect() as connection:
        kinds = [row.kind for row in connection.execute(db.events.select())]
    assert kinds == ["published", "moved"]


def test_a_version_outlives_its_tag_and_meets_it_again(market, origin):
    origin.commit({"data/a.yaml": data("a", "")})
    tag(origin, "v1.0.0")
    add(market, origin, tag_prefix="v")
    market.run()
    git(origin.path, "tag", "-d", "v1.0.0")
    market.run()
    assert entries(market) == [("1.0.0", False, ())]
    tag(origin, "v1.0.0")
    market.run()
    assert entries(market) == [("1.0.0", False, ("v1.0.0",))]


@pytest.mark.parametrize("prefix", ["-v", "a b", "a..b", "~x", "x" * 101, "/v", "v\n"])
def test_what_no_tag_begins_with_is_refused(prefix):
    with pytest.raises(InvalidInputError, match="No tag of Git begins with"):
        check_tag_prefix(prefix)


@pytest.mark.parametrize("prefix", [None, "", "v", "team/component-", "été-"])
def test_any_beginning_of_a_tag_is_taken(prefix):
    check_tag_prefix(prefix)


# --- sub-paths ------------------------------------------------------------------------------------

def test_of_a_source_with_sub_paths_only_what_is_below_them_counts(market, origin):
    origin.commit({"one/data/a.yaml": data("a"), "two/x/data/b.yaml": data("b"),
                   "three/data/c.yaml": data("c"), "data/d.yaml": data("d")})
    add(market, origin, sub_paths=["two", "./one/"])
    market.run()
    assert sorted(market.names()) == ["data/a", "data/b"]
    assert market.sources.get("origin").sub_paths == ("one", "two")


def test_a_sub_path_that_is_not_there_is_told_until_it_is(market, origin):
    origin.commit({"one/data/a.yaml": data("a")})
    add(market, origin, sub_paths=["one", "later"])
    assert market.run().problems == 1
    problem, = market.sources.problems(1)
    assert problem.path == "later" and "is not there" in problem.problems[0].message
    origin.commit({"later/data/b.yaml": data("b")})
    assert market.run().problems == 0
    assert sorted(market.names()) == ["data/a", "data/b"]


@pytest.mark.parametrize("path", ["/etc", "..", "a/../../b", "x\0"])
def test_a_sub_path_outside_the_source_is_refused(path):
    with pytest.raises(InvalidInputError, match="no folder below the source"):
        checked_sub_paths([path])


def test_sub_paths_are_kept_in_their_plain_form():
    assert checked_sub_paths(["b/", " a ", "a/x", "", "b"]) == ("a", "b")
    assert checked_sub_paths(["."]) == checked_sub_paths([".", "a"]) == ()


# --- READMEs --------------------------------------------------------------------------------------

@pytest.mark.parametrize("files, text", [
    ({"data/a.md": "beside", "data/README.md": "folder"}, "beside"),
    ({"data/a/README.md": "own folder", "data/README.md": "folder"}, "own folder"),
    ({"data/README.md": "folder"}, "folder"),
    ({"data/README.md": "folder", "data/b.yaml": data("b")}, ""),
    ({"README.md": "root"}, ""),
    ({"data/a.md": "é" * 40_000}, "é" * 32_768)])
def test_a_version_has_the_readme_that_is_nearest_to_it(market, origin, files, text):
    origin.commit({"data/a.yaml": data("a"), **files})
    add(market, origin)
    market.run()
    assert market.catalog.get("a").readme == text


def test_a_readme_is_frozen_with_its_version(market, origin):
    add(market, origin)
    for version, readme in (("1.0.0", "first"), ("1.0.0", "second"), ("1.1.0", "third")):
        origin.commit({"data/a.yaml": data("a", version), "data/a.md": readme})
        market.run()
    assert market.catalog.get("a@1.0.0").readme == "first"
    assert market.catalog.get("a").readme == "third"


# --- purged bytes ---------------------------------------------------------------------------------

def purge(market, entry):
    """What the catalog writes when an admin deletes a version for good."""
    with market.engine.begin() as connection:
        connection.execute(db.versions.delete().where(db.versions.c.id == entry.id))
        connection.execute(db.purges.insert().values(
            source_id=entry.source_id, type=entry.type, name=entry.name, version=entry.version,
            blob=entry.blob, reason="law", created_at=entry.committed_at))


def is_on_disk(market, blob):
    """Whether Git finds the object in the store, loose or packed."""
    store = market.catalog.store(1)
    found = git(store.path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return blob in found.split()


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_purged_bytes_leave_the_disk_and_never_come_back(market, origin, is_packed):
    more = {f"x/{number}": str(number) for number in range(120)} if is_packed else {}
    origin.commit({"data/a.yaml": data("a"), **more})
    add(market, origin)
    market.run()
    gone = market.catalog.get("a")
    assert is_on_disk(market, gone.blob)
    origin.commit({"data/b.yaml": data("b")})
    purge(market, gone)
    report = market.run()
    assert not is_on_disk(market, gone.blob)
    assert report.problems == 1 and market.catalog.versions("data", "a") == []
    origin.commit({"data/a.yaml": data("a", description="clean")})
    market.run()
    origin.commit({"data/a.yaml": data("a")})
    market.run()
    assert not is_on_disk(market, gone.blob)
    assert [entry.is_moved for entry in market.catalog.versions("data", "a")] == [True]
    kept = market.catalog.get("b")
    assert market.catalog.store(1).read(kept.commit, kept.path) == kept.text.encode()


def test_a_purge_takes_the_bytes_of_a_plain_folder_too(market, tmp_path):
    file = tmp_path / "folder" / "data" / "a.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(data("a"))
    market.add(tmp_path / "folder")
    market.run()
    gone = market.catalog.get("a")
    purge(market, gone)
    market.restart()
    market.run()
    assert not is_on_disk(market, gone.blob) and market.catalog.versions("data", "a") == []
