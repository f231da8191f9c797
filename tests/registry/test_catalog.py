from dataclasses import replace

import pytest

from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.reference import Reference
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository


@pytest.fixture(scope="module")
def shared(tmp_path_factory, databases):
    """Two sources: `one` with several versions, `two` with a component of the same name."""
    folder = tmp_path_factory.mktemp("catalog")
    market = Marketplace(folder / "home", databases.new())
    one, two = Repository(folder / "one"), Repository(folder / "two")
    one.commit({"data/digits.yaml": data("digits"), "dockerimage/digits.yaml": image("digits"),
                "data/only_here.yaml": data("only_here", "")})
    market.commit = one.commit({"data/digits.yaml": data("digits", "1.1.0")})
    market.later = one.commit({"readme": "x"})
    one.commit({"data/digits.yaml": data("digits", "2.0.0-beta")})
    two.commit({"dockerimage/digits.yaml": image("digits", "3.0.0"), "data/x.yaml": data("x")})
    market.add(one.path), market.add(two.path)
    market.sync.run_once()
    yield market
    market.close()


@pytest.mark.parametrize("reference, version", [
    ("data/digits", "1.1.0"), ("data/digits@latest", "1.1.0"), ("data/digits@1.0.0", "1.0.0"),
    ("one:data/digits@2.0.0-beta", "2.0.0-beta"), ("only_here", ""), ("one:only_here", ""),
    ("two:dockerimage/digits", "3.0.0"), ("one:dockerimage/digits", "1.0.0"),
    ("dockerimage/digits@3.0.0", "3.0.0")])
def test_a_reference_names_one_version(shared, reference, version):
    assert shared.catalog.get(reference).version == version


def test_the_warnings_of_every_source_are_counted_as_they_are_listed(shared):
    counts = shared.sources.warning_counts()
    for source in shared.sources.visible():
        assert counts.get(source.id, 0) == len(shared.sources.warnings(source.id))
        assert shared.sources.warning_counts(source.id).get(source.id) == counts.get(source.id)
    assert sum(counts.values()) == 1


def test_a_type_that_is_known_from_elsewhere_narrows_the_choice(shared):
    assert shared.catalog.get("digits", type="data").type == "data"
    with pytest.raises(NotFoundError):
        shared.catalog.get("data/digits", type="job")


def test_a_commit_names_what_the_component_was_then(shared):
    assert shared.catalog.get(f"data/digits@{shared.commit[:7]}").version == "1.1.0"
    entry = shared.catalog.get(f"data/digits@{shared.later}")
    assert (entry.version, entry.commit, entry.files_commit) == (
        "1.1.0", shared.later, shared.later)


def test_the_beginning_of_two_commits_is_asked_about(shared):
    known = [replace(entry, commit=f"abcdef0{number}" + "0" * 32) for number, entry in enumerate(
        shared.catalog.versions("data", "digits"))]
    with pytest.raises(ConflictError, match="how several commits begin") as caught:
        shared.catalog.choose(Reference(name="digits", selector="abcdef0"), known)
    assert len(caught.value.choices) == 3
    assert shared.catalog.choose(Reference(name="digits", selector="abcdef01"), known) == \
        replace(known[1], files_commit=known[1].commit)


def test_versions_come_newest_first_with_one_that_is_shown(shared):
    found = shared.catalog.versions("data", "digits")
    assert [(entry.version, entry.is_latest) for entry in found] == [
        ("2.0.0-beta", False), ("1.1.0", True), ("1.0.0", False)]
    assert shared.catalog.versions("data", "nothing") == []
    assert [entry.source for entry in shared.catalog.versions("dockerimage", "digits", "two")] \
        == ["two"]


def test_what_fits_several_components_names_the_choices(shared):
    with pytest.raises(ConflictError) as caught:
        shared.catalog.get("digits")
    assert caught.value.message == (
        "`digits` fits several components. Choose one of: one:data/digits, "
        "one:dockerimage/digits, two:dockerimage/digits.")


@pytest.mark.parametrize("reference, nearest", [
    ("digit", {"data/digits", "dockerimage/digits"}), ("data/digit", {"data/digits"}),
    ("data/onlyhere", {"data/only_here"}), ("zzzzzz", set())])
def test_an_unknown_name_comes_with_the_nearest(shared, reference, nearest):
    with pytest.raises(NotFoundError) as caught:
        shared.catalog.get(reference)
    assert set(caught.value.nearest) == nearest


@pytest.mark.parametrize("version", ["9.9.9", "abcdef1", "0" * 40])
def test_an_unknown_version_comes_with_the_known_ones(shared, version):
    with pytest.raises(NotFoundError) as caught:
        shared.catalog.get(f"data/digits@{version}")
    assert caught.value.nearest == (
        "data/digits@2.0.0-beta", "data/digits@1.1.0", "data/digits@1.0.0")


@pytest.mark.parametrize("reference", ["", "a b", "a@b@c", "/x", "x/", "..", "a\n", "Ü", "x" * 999])
def test_what_is_no_reference_is_invalid(shared, reference):
    with pytest.raises(InvalidInputError):
        shared.catalog.get(reference)


def test_a_list_of_the_newest_has_each_present_component_once(shared):
    found = shared.catalog.list_newest(types=("data",))
    assert {entry.reference for entry in found} == {
        "data/digits@1.1.0", "data/only_here", "data/x@1.0.0"}
    assert len(shared.catalog.list_newest(2)) == 2


@pytest.mark.parametrize("versions, shown", [
    (["1.9", "1.10"], "1.10"), (["1.0.0", "1.0.1-rc.1"], "1.0.0"), (["v2", "1.0"], "v2"),
    (["", "0.1"], "0.1"), (["latest", "1.0"], "1.0"), (["b", "a"], "b"),
    (["1.0+x", "1.0+y"], "1.0+y")])
def test_versions_are_ordered_by_the_rules_of_semantic_versions(
        market, tmp_path, versions, shown):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    for version in versions:
        origin.commit({"data/a.yaml": data("a", version and f'"{version}"')})
    market.run()
    assert market.catalog.get("a").version == shown


def test_a_component_with_nothing_but_prereleases_is_listed_and_has_no_latest(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    for version in ("1.0-a", "1.0-b"):
        origin.commit({"data/a.yaml": data("a", version)})
    market.run()
    assert [entry.version for entry in market.catalog.list_newest()] == ["1.0-b"]
    with pytest.raises(NotFoundError, match="only pre-releases so far") as caught:
        market.catalog.get("a")
    assert caught.value.nearest == ("data/a@1.0-b", "data/a@1.0-a")


# --- sources ------------------------------------------------------------------------------------

def test_a_source_is_known_with_what_it_holds(shared):
    one, two = shared.sources.visible()
    assert (one.name, one.kind, one.components, one.problems) == ("one", "local", 3, 0)
    assert (two.name, two.components, two.owner_id, two.sync_error) == ("two", 2, None, None)
    assert len(one.head) == 40 and one.sync_requested_at is None


def test_a_source_is_named_after_its_folder(market, tmp_path):
    (tmp_path / "my jobs (2).git").mkdir()
    source = market.add(tmp_path / "my jobs (2).git")
    assert source.name == "my-jobs-2" and source.head is None
    assert market.sources.requested() == ["my-jobs-2"]


@pytest.mark.parametrize("name", ["a b", "a/b", "-x", "ü", "x" * 101, "a:b"])
def test_a_name_that_a_reference_cannot_hold_is_refused(market, tmp_path, name):
    with pytest.raises(InvalidInputError, match="source's name"):
        market.add(tmp_path, name)


@pytest.mark.parametrize("location", ["", "/nowhere", "a\0b", "https://example.org/x", "~nobody/x",
                                      "x" * 5000])
def test_a_place_that_is_no_folder_is_refused(market, location, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(InvalidInputError, match="no folder"):
        market.sources.add_folder(location or "nothing", name=None, owner_id=None)


def test_a_place_or_name_that_is_taken_is_a_conflict(market, tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    market.add(tmp_path / "a")
    with pytest.raises(ConflictError, match="the source a for"):
        market.add(tmp_path / "a", "other")
    with pytest.raises(ConflictError, match="Choose another name"):
        market.add(tmp_path / "b", "a")


def test_an_unknown_source_comes_with_the_nearest(shared):
    with pytest.raises(NotFoundError) as caught:
        shared.sources.get("ones")
    assert caught.value.nearest == ("one",)
