"""What owners say about versions, and what follows from it for references, lists and syncs."""
import shutil

import pytest
import sqlalchemy as sa

from registry import db
from registry.errors import GoneError, InvalidInputError, NotFoundError
from registry.ledger import Ledger
from registry.marks import Marks
from registry.reference import DEPRECATED, YANKED
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository, git


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """data/a in the versions 1.0.0, 1.1.0, 1.2.0 and 2.0.0-rc.1."""
    made = Repository(tmp_path_factory.mktemp("marks") / "origin")
    for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1"):
        made.commit({"data/a.yaml": data("a", version)})
    return made.path


@pytest.fixture
def market(origin, tmp_path, database_url):
    """A copy of that repository as the only source."""
    market = Marketplace(tmp_path / "home", database_url)
    market.origin = Repository(shutil.copytree(origin, tmp_path / "origin"), is_new=False)
    market.add(market.origin.path)
    market.run()
    market.marks = Marks(market.engine)
    market.user_id = add_user(market.engine)
    yield market
    market.close()


def add_user(engine):
    with engine.begin() as connection:
        return connection.execute(db.users.insert().values(
            name="ann", password_hash="x", is_admin=False, session_epoch=0,
            created_at=sa.func.current_timestamp())).inserted_primary_key[0]


def yank(market, reference, reason="Wrong labels."):
    market.marks.yank(market.catalog.get(reference), reason=reason, user_id=market.user_id)


def deprecate(market, reference, *, successor="", is_whole=False):
    market.marks.deprecate(market.catalog.get(reference), reason="Old.", successor=successor,
                           user_id=market.user_id, is_whole=is_whole)


def purge(market, reference):
    market.marks.purge(market.catalog.get(reference), reason="Private.", user_id=market.user_id)


def events(market):
    with market.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.select(
            db.events.c.kind, db.events.c.version, db.events.c.detail).where(
                db.events.c.kind.not_in(["published", "moved"])).order_by(db.events.c.id))]


def listed(market):
    return [entry.version for entry in market.catalog.list_newest()]


# --- yank ---------------------------------------------------------------------------------------

def test_a_yanked_version_is_passed_over_at_once_and_after_the_next_sync(market):
    yank(market, "a@1.2.0")
    for _ in range(2):
        assert market.catalog.get("a").version == market.catalog.get("a@^1.0").version == "1.1.0"
        assert listed(market) == ["1.1.0"]
        assert market.catalog.get("a@1.2.0").yanked.reason == "Wrong labels."
        market.origin.commit({"readme": str(len(events(market)))})
        market.run()
    market.origin.commit({"data/a.yaml": data("a", "1.2.1")})
    market.run()
    assert market.catalog.get("a").version == "1.2.1"


def test_a_yank_during_a_sync_outlives_it(market):
    ledger, source = Ledger(market.engine), market.sources.get("origin")
    with market.catalog.store(source.id).reading() as files:
        history = ledger.load(source.id, files)
        yank(market, "a@1.2.0")
        ledger.save(source, history, source.head, source.commits)
    assert market.catalog.get("a").version == "1.1.0" and listed(market) == ["1.1.0"]


def test_a_yank_that_is_taken_back_was_never_there(market):
    before = market.rows()
    yank(market, "a@1.2.0")
    market.marks.restore(market.catalog.get("a@1.2.0"), YANKED)
    assert market.rows() == before and market.catalog.get("a@1.2.0").yanked is None
    assert events(market) == [("yanked", "1.2.0", "Wrong labels."),
                              ("restored", "1.2.0", "No longer yanked.")]
    with pytest.raises(NotFoundError, match="data/a@1.2.0 is not yanked"):
        market.marks.restore(market.catalog.get("a@1.2.0"), YANKED)


def test_a_component_whose_every_version_is_yanked_is_in_no_list(market):
    for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1"):
        yank(market, f"a@{version}")
    market.sync.index()
    assert listed(market) == [] and market.names() == []
    with pytest.raises(NotFoundError, match="Every version of data/a is yanked") as caught:
        market.catalog.get("a")
    assert "data/a@1.2.0" in caught.value.nearest
    assert market.catalog.component("a").version == "2.0.0-rc.1"


def test_the_index_follows_without_a_sync_of_the_source(market):
    yank(market, "a@1.2.0")
    market.sync.index()
    assert [hit.version for hit in market.index.search("a").hits] == ["1.1.0"]


def test_only_prereleases_left_are_listed_and_no_latest(market):
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        yank(market, f"a@{version}")
    assert listed(market) == ["2.0.0-rc.1"]
    with pytest.raises(NotFoundError, match="only pre-releases"):
        market.catalog.get("a")


def test_a_second_reason_takes_the_place_of_the_first(market):
    yank(market, "a@1.2.0")
    yank(market, "a@1.2.0", "Worse than that.")
    assert market.catalog.get("a@1.2.0").yanked.reason == "Worse than that."


@pytest.mark.parametrize("reason, part", [("", "Give a reason"), ("  \n", "Give a reason"),
                                          ("a\0b", "nobody can see"),
                                          ("x" * 2001, "2,001 characters")])
def test_a_reason_is_asked_for(market, reason, part):
    with pytest.raises(InvalidInputError, match=part) as caught:
        yank(market, "a@1.2.0", reason)
    assert caught.value.problems[0].path == "reason" and events(market) == []


def test_what_has_no_version_cannot_be_yanked(market):
    market.origin.commit({"data/b.yaml": data("b", "")})
    market.run()
    with pytest.raises(InvalidInputError, match="has no version"):
        yank(market, "b")


def test_a_mark_on_a_source_that_is_gone_says_so(market):
    entry = market.catalog.get("a@1.2.0")
    market.sources.remove("origin")
    with pytest.raises(NotFoundError, match="removed meanwhile"):
        market.marks.yank(entry, reason="x", user_id=market.user_id)


# --- deprecation --------------------------------------------------------------------------------

def test_a_deprecated_version_stays_where_it_was_with_its_successor(market):
    deprecate(market, "a@1.2.0", successor="data/b@^2")
    entry = market.catalog.get("a")
    assert (entry.version, entry.deprecated.reason, entry.deprecated.successor) == (
        "1.2.0", "Old.", "data/b@^2")
    assert entry.advice == ("`data/a@1.2.0` is deprecated: Old. Use `data/b@^2` instead.",)
    assert market.catalog.get("a@1.1.0").deprecated is None
    assert events(market) == [("deprecated", "1.2.0", "Old. Use data/b@^2 instead.")]


def test_a_deprecated_component_is_so_in_each_version_and_one_of_its_own_goes_first(market):
    deprecate(market, "a", is_whole=True)
    deprecate(market, "a@1.0.0", successor="data/a@1.2.0")
    assert [entry.deprecated.successor for entry in market.catalog.versions("data", "a")] == [
        "", "", "", "data/a@1.2.0"]
    market.marks.restore(market.catalog.get("a@1.0.0"), DEPRECATED)
    market.marks.restore(market.catalog.get("a"), DEPRECATED, is_whole=True)
    assert {entry.deprecated for entry in market.catalog.versions("data", "a")} == {None}


@pytest.mark.parametrize("successor, part", [
    ("not a reference", "is no reference"), ("data/a", "is what is deprecated"),
    ("a@1.2.0", "is what is deprecated"), ("data/a@1.2.0", "is what is deprecated")])
def test_a_successor_is_a_reference_to_something_else(market, successor, part):
    with pytest.raises(InvalidInputError, match=part) as caught:
        deprecate(market, "a", successor=successor, is_whole=True)
    assert caught.value.problems[0].path == "successor"


# --- purge --------------------------------------------------------------------------------------

def test_what_was_purged_is_gone_with_its_reason_and_the_rest_stays(market):
    text, commit = market.catalog.get("a@1.2.0").text, market.catalog.get("a@1.2.0").commit
    purge(market, "a@1.2.0")
    for reference in ("a@1.2.0", f"a@{commit[:8]}"):
        with pytest.raises(GoneError, match="deleted for good: Private."):
            market.catalog.get(reference)
    assert market.catalog.get("a").version == "1.1.0" and listed(market) == ["1.1.0"]
    with market.engine.connect() as connection:
        assert text not in connection.scalars(sa.select(db.versions.c.text)).all()
    assert events(market) == [("purged", "1.2.0", "Private.")]


def test_nothing_brings_a_purged_version_back(market):
    purge(market, "a@2.0.0-rc.1")  # the one that stands at the head
    market.restart()
    market.run()
    with pytest.raises(GoneError):
        market.catalog.get("a@2.0.0-rc.1")
    assert market.versions("data/a") == ["1.2.0", "1.1.0", "1.0.0"]


def test_the_bytes_are_off_the_disk_after_the_next_sync_and_stay_so(market):
    entry = market.catalog.get("a@2.0.0-rc.1")  # its file stands at the head
    objects = market.catalog.store(entry.source_id).path / "objects"
    purge(market, "a@2.0.0-rc.1")
    assert market.sources.requested() == ["origin"]
    market.sync.step(False)
    for _ in range(2):
        known = git(objects.parent, "cat-file", "--batch-all-objects", "--batch-check")
        assert entry.blob not in known and market.catalog.get("a@1.2.0").blob in known
        market.origin.commit({"readme": known[:40]})
        market.restart()
        market.run()


def test_every_version_that_a_tag_gives_to_the_same_bytes_goes_with_it(market):
    with market.engine.begin() as connection:
        connection.execute(db.sources.update().values(tag_prefix="v"))
    market.origin.commit({"data/b.yaml": data("b", "")})
    for tag in ("v9.0.0", "v9.1.0"):
        git(market.origin.path, "tag", tag)
    market.run()
    assert set(market.versions("data/b")) >= {"9.0.0", "9.1.0"}
    purge(market, "b@9.0.0")
    market.run()
    assert market.versions("data/b") == []
    for reference in ("b", "b@9.0.0", f"b@{market.origin.head}"):
        with pytest.raises(GoneError):
            market.catalog.get(reference)


def test_after_the_first_bytes_of_a_moved_version_are_purged_its_number_is_gone(market):
    moved = market.origin.commit({"data/a.yaml": data("a", "1.2.0", description="Other.")})
    market.run()
    purge(market, "a@1.2.0")
    with pytest.raises(GoneError):
        market.catalog.get("a@1.2.0")
    assert market.catalog.get(f"a@{moved}").description == "Other."
    assert market.catalog.get("a").version == "1.1.0"


def test_a_component_of_which_nothing_is_left_is_gone(market):
    for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1"):
        purge(market, f"a@{version}")
    for reference in ("a", "a@^1", "a@9"):
        with pytest.raises(GoneError):
            market.catalog.get(reference)
