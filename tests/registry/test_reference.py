"""References and ranges, with nothing but the texts."""
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import InvalidInputError
from registry.reference import (
    Range,
    Reference,
    exactly,
    is_prerelease,
    latest_of,
    newest_in,
    shown_of,
)


@dataclass(frozen=True)
class Known:
    version: str
    position: int = 1
    is_moved: bool = False


def known(*versions):
    return [Known(version, position) for position, version in enumerate(versions)]


@pytest.mark.parametrize("text, parts", [
    ("digits", ("", "", "digits", "latest")),
    ("data/digits", ("", "data", "digits", "latest")),
    ("data/digits@latest", ("", "data", "digits", "latest")),
    ("mine:data/digits@1.0.0", ("mine", "data", "digits", "1.0.0")),
    ("mine:digits@abcdef1", ("mine", "", "digits", "abcdef1")),
    ("ann/models:data/digits", ("ann/models", "data", "digits", "latest")),
    ("digits@^1.0", ("", "", "digits", "^1.0")),
    ("digits@>=1 <2", ("", "", "digits", ">=1 <2")),
    ("digits@1.x || >= 3", ("", "", "digits", "1.x || >= 3")),
    ("digits@" + "1" * 255, ("", "", "digits", "1" * 255))])
def test_a_reference_has_source_type_name_and_selector(text, parts):
    found = Reference.parse(text)
    assert (found.source, found.type, found.name, found.selector) == parts
    assert Reference.parse(str(found)) == found


@pytest.mark.parametrize("text", [
    "", " ", "a b", "a@b@c", "/x", "x/", "..", ".", "a\n", "Ü", "x" * 256, "a@", "a@ 1", "a@1 ",
    "a@1\n2", "a:", ":a", "a/b/c:d", "a@" + "1" * 256, "a:b:c", "a@1\t2", "a@1\0",
    "a@\x1b[1m"])
def test_what_is_no_reference_says_what_one_is(text):
    with pytest.raises(InvalidInputError, match="Write `type/name`"):
        Reference.parse(text)


VERSIONS = ("0.0.1 0.1.0 0.1.5 0.2.0 1.0.0-alpha 1.0.0-beta.2 1.0.0 1.2 1.2.5 1.3.0-rc.1 1.3.0 "
            "1.9.9 2.0.0-rc.1 2.0.0 v2.1.0 3.0.0+build nightly").split()


@pytest.mark.parametrize("text, held", [
    ("^1.0", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"), ("^1", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"),
    ("^1.2.5", "1.2.5 1.3.0 1.9.9"), ("^0.1", "0.1.0 0.1.5"), ("^0.1.1", "0.1.5"),
    ("^0", "0.0.1 0.1.0 0.1.5 0.2.0"), ("^0.0", "0.0.1"), ("^0.0.1", "0.0.1"),
    ("~1.2", "1.2 1.2.5"), ("~1", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"), ("~1.2.3", "1.2.5"),
    (">=1 <2", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"), (">=1, <2", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"),
    (">= 1.2 < 1.3", "1.2 1.2.5"), ("1.x", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"), ("1.2.*", "1.2 1.2.5"),
    ("1", "1.0.0 1.2 1.2.5 1.3.0 1.9.9"), ("1.2", "1.2 1.2.5"), ("v1.2.0", "1.2"),
    (">1", "2.0.0 v2.1.0 3.0.0+build"), (">1.2", "1.3.0 1.9.9 2.0.0 v2.1.0 3.0.0+build"),
    (">1.2.5 <2", "1.3.0 1.9.9"), ("<1", "0.0.1 0.1.0 0.1.5 0.2.0"), ("<0.1.5", "0.0.1 0.1.0"),
    ("<=1", "0.0.1 0.1.0 0.1.5 0.2.0 1.0.0 1.2 1.2.5 1.3.0 1.9.9"), ("<=0.1.0", "0.0.1 0.1.0"),
    ("<=1.2 >=1", "1.0.0 1.2 1.2.5"), ("1.2 - 1.3", "1.2 1.2.5 1.3.0"),
    ("1.0.0-alpha - 1.0.0", "1.0.0-alpha 1.0.0-beta.2 1.0.0"),
    ("0.x || >=2.1", "0.0.1 0.1.0 0.1.5 0.2.0 v2.1.0 3.0.0+build"),
    ("^1.0.0-beta", "1.0.0-beta.2 1.0.0 1.2 1.2.5 1.3.0 1.9.9"),
    ("<1.0.0-beta.2 >0.2.0", "1.0.0-alpha"), ("=3.0.0", "3.0.0+build"), ("<x", ""), (">*", ""),
    ("2.0.0-rc.1", "2.0.0-rc.1"), ("^9", ""),
    ("*", "0.0.1 0.1.0 0.1.5 0.2.0 1.0.0 1.2 1.2.5 1.3.0 1.9.9 2.0.0 v2.1.0 3.0.0+build")])
def test_a_range_holds_what_npm_says(text, held):
    found = Range.parse(text)
    assert found is not None
    assert [version for version in VERSIONS if found.contains(version)] == held.split()


@pytest.mark.parametrize("text", [
    "", "a", "1.2.3.4", "01", "^^1", "^", "1 ||", "|| 1", "~>1.2", "1 -", "1.0.0-01", "1.0.0-",
    ">= ", "1.2-beta", "^1 - 2", "²"])
def test_what_is_no_range_is_none(text):
    assert Range.parse(text) is None


@pytest.mark.parametrize("versions, yanked, latest, shown", [
    ("1.9 1.10", "", "1.10", "1.10"), ("1.0.0 1.0.1-rc.1", "", "1.0.0", "1.0.0"),
    ("1.0-a 1.0-b", "", None, "1.0-b"), ("0.1 nightly", "", "0.1", "0.1"),
    ("b a", "", "b", "b"), ("1.0+x 1.0+y", "", "1.0+y", "1.0+y"), ("v2 1.0", "", "v2", "v2"),
    ("1.0 2.0", "2.0", "1.0", "1.0"), ("1.0 2.0", "1.0 2.0", None, None),
    ("1.0 2.0-rc", "1.0", None, "2.0-rc"), ("", "", None, None)])
def test_latest_is_the_newest_release_that_is_not_yanked(versions, yanked, latest, shown):
    found = known(*versions.split())
    assert getattr(latest_of(found, yanked.split()), "version", None) == latest
    assert getattr(shown_of(found, yanked.split()), "version", None) == shown


def test_files_without_a_version_are_never_yanked_and_the_newest_is_latest():
    assert latest_of(known("", ""), {""}) == Known("", 1)


def test_a_number_means_the_bytes_that_were_first_even_if_they_came_back_later():
    first, moved = Known("1.0.0", 1), Known("1.0.0", 9, is_moved=True)
    assert exactly("1.0.0", [moved, first]) is first and latest_of([first, moved]) is first
    assert exactly("1.0", [first]) is None and exactly("1.0.0", [moved]) is None


# --- against an oracle --------------------------------------------------------------------------

SMALL = st.integers(0, 3)
NUMBERS = st.tuples(SMALL, SMALL, SMALL, st.sampled_from(["", "a", "b.1"]))


def text_of(number):
    return ".".join(map(str, number[:3])) + (f"-{number[3]}" if number[3] else "")


def order(number):
    return number[:3], not number[3], number[3]


def is_held(terms, number):
    """By the sentences of npm's documentation."""
    is_named = any(wanted[3] and wanted[:3] == number[:3] for _, wanted in terms)
    return (is_named or not number[3]) and all(
        is_within(sign, wanted, number) for sign, wanted in terms)


def is_within(sign, wanted, number):
    at_least = order(number) >= order(wanted)
    same = {0: number[:3] == wanted[:3], 1: number[:2] == wanted[:2], 2: number[:1] == wanted[:1]}
    return {
        ">=": at_least, "<": not at_least, ">": order(number) > order(wanted),
        "<=": order(number) <= order(wanted), "=": number == wanted, "": number == wanted,
        "~": at_least and same[1],
        "^": at_least and (same[2] if wanted[0] else same[1] if wanted[1] else same[0])}[sign]


@settings(deadline=None, max_examples=500)
@given(st.lists(st.tuples(st.sampled_from([">=", "<", ">", "<=", "=", "", "~", "^"]), NUMBERS),
                min_size=1, max_size=2), st.lists(NUMBERS, unique=True, max_size=12), st.data())
def test_a_range_chooses_what_counting_through_all_versions_does(terms, numbers, data):
    text = " ".join(sign + text_of(wanted) for sign, wanted in terms)
    found = [Known(text_of(number), place) for place, number in enumerate(numbers)]
    yanked = set(data.draw(st.lists(st.sampled_from(found)) if found else st.just([])))
    held = [number for number, each in zip(numbers, found)
            if each not in yanked and is_held(terms, number)]
    chosen = newest_in(Range.parse(text), found, {each.version for each in yanked})
    assert (chosen.version if chosen else None) == (
        text_of(max(held, key=order)) if held else None)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=3),
       st.tuples(SMALL, SMALL, SMALL))
def test_an_open_part_holds_every_number_there(parts, number):
    for major, minor in parts:
        text = ".".join(map(str, number))
        assert Range.parse(f"{major}.x").contains(text) == (number[0] == major)
        assert Range.parse(f"{major}.{minor}").contains(text) == (number[:2] == (major, minor))
        assert Range.parse(f">={major}.{minor}").contains(text) == (number[:2] >= (major, minor))
        assert Range.parse(f"<={major}").contains(text) == (number[0] <= major)
        assert Range.parse(f">{major}").contains(text) == (number[0] > major)
        assert Range.parse(f"<{major}.{minor}").contains(text) == (number[:2] < (major, minor))


@settings(deadline=None, max_examples=500)
@given(st.lists(st.builds(
    Known, st.one_of(st.builds(text_of, NUMBERS), st.sampled_from(["", "nightly", "v1.0", "2"])),
    st.integers(0, 50), st.booleans())), st.sets(st.builds(text_of, NUMBERS)))
def test_latest_is_never_a_prerelease_nor_yanked_nor_moved(versions, yanked):
    good = [each for each in versions if not each.is_moved and each.version not in yanked
            and not is_prerelease(each.version)]
    found = latest_of(versions, yanked)
    assert (found in good) if good else found is None
    shown = shown_of(versions, yanked)
    assert shown == found if found else shown is None or is_prerelease(shown.version)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="0123456789.xX*^~<>=|-+ vab@/:,", max_size=30))
def test_any_text_is_read_or_refused(text):
    found = Range.parse(text)
    assert found is None or found.contains("1.0.0") in (True, False)
    try:
        assert str(Reference.parse(text))
    except InvalidInputError:
        pass


@pytest.mark.parametrize("version", ["2024-spring", "2024-06-01", "1-2"])
def test_one_number_and_a_hyphen_are_no_pre_release(version):
    assert latest_of([Known(version)]) == Known(version) and not is_prerelease(version)
