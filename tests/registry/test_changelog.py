"""The versions of a component in their order, and what each changed."""
import pytest
import semver
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.changelog import Changelog
from registry.reference import version_order
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository


@pytest.fixture
def market(tmp_path, database_url):
    market = Marketplace(tmp_path / "home", database_url)
    market.origin = Repository(tmp_path / "origin")
    market.add(market.origin.path)
    market.changelog = Changelog(market.engine)
    yield market
    market.close()


def write(market, *texts):
    for text in texts:
        market.origin.commit({"data/d.yaml": text})
    market.run()


def steps(market, **how):
    entry = market.catalog.versions("data", "d")[0]
    return [(step.entry.version, step.before and step.before.version,
             step.difference and step.difference.verdict)
            for step in market.changelog.steps(entry, **{"limit": 9, "user_id": None, **how})]


def test_each_version_is_compared_with_the_one_before(market):
    write(market, data("d"), data("d", "1.0.1", description="Other."),
          data("d", "2.0.0", uri="https://h.org/y"))
    assert steps(market) == [("2.0.0", "1.0.1", "breaking"), ("1.0.1", "1.0.0", "cosmetic"),
                             ("1.0.0", None, None)]


def test_a_slice_knows_what_came_before_it(market):
    write(market, data("d"), data("d", "1.0.1"), data("d", "1.0.2"))
    assert steps(market, limit=1, offset=1) == [("1.0.1", "1.0.0", "cosmetic")]


def test_versions_stand_in_the_order_of_their_numbers(market):
    write(market, data("d", "2.0.0"), data("d", "1.0.0"), data("d", "1.1.0"))
    assert [step[:2] for step in steps(market)] == [
        ("2.0.0", "1.1.0"), ("1.1.0", "1.0.0"), ("1.0.0", None)]


def test_what_moved_is_compared_with_the_first_of_its_number_and_nothing_follows_it(market):
    write(market, data("d"), data("d", uri="https://h.org/y"), data("d", "1.1.0"))
    assert steps(market) == [("1.1.0", "1.0.0", "cosmetic"), ("1.0.0", "1.0.0", "breaking"),
                             ("1.0.0", None, None)]
    moved = next(each for each in market.catalog.versions("data", "d") if each.is_moved)
    assert market.changelog.before(moved, user_id=None).blob == market.catalog.get("d@1.0.0").blob


def test_a_page_of_versions_knows_how_many_there_are_and_the_latest(market):
    write(market, *(data("d", f"1.{number}.0") for number in range(5)))
    entry = market.catalog.get("d@1.0.0")
    found = market.changelog.versions(entry, limit=2, offset=3, user_id=None)
    assert [each.version for each in found.entries] == ["1.1.0", "1.0.0"] and found.total == 5
    assert [each.version for each in found.landmarks] == ["1.4.0"]


def test_the_first_version_has_none_before_it(market):
    write(market, data("d"))
    entry = market.catalog.get("d")
    assert market.changelog.before(entry, user_id=None) is None
    assert not market.changelog.versions(entry, limit=9, user_id=None).has_before


PARTS = st.one_of(st.integers(0, 12).map(str), st.sampled_from(["a", "b", "rc", "x-1", "A"]))
NUMBERS = st.builds(
    lambda core, stage: ".".join(map(str, core)) + ("-" + ".".join(stage) if stage else ""),
    st.tuples(*[st.integers(0, 3)] * 3), st.lists(PARTS, max_size=3))


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_versions_are_ordered_as_semver_says(one, other):
    ours = [version_order(version, 0) for version in (one, other)]
    theirs = [semver.Version.parse(version) for version in (one, other)]
    assert (ours[0] < ours[1]) == (theirs[0] < theirs[1])
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
