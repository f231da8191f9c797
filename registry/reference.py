"""References: `[source:][type/]name[@selector]`, and which version a selector means. Pure."""
from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any, Callable, Collection, Iterable, Protocol, TypeVar

import semver

from registry.errors import InvalidInputError
from runner.sentence import Sentence

LATEST = "latest"
YANKED, DEPRECATED = "yanked", "deprecated"  # what owners say of versions
MAX_SELECTOR = 255
MAX_KNOWN = 65_536  # texts of versions that are kept read
COMMIT = re.compile("[0-9a-f]{7,40}")
_CHARACTER = r"[^\s@\x00-\x1f\x7f]"
REFERENCE = re.compile(
    r"(?:(?P<source>[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)?):)?(?:(?P<type>[a-z]+)/)?"
    r"(?P<name>(?!\.{1,2}(?:@|\Z))[A-Za-z0-9._~-]{1,255})"
    rf"(?:@(?P<version>(?=.{{1,{MAX_SELECTOR}}}\Z){_CHARACTER}+(?: +{_CHARACTER}+)*))?")
_VERSION = re.compile(rf"{_CHARACTER}{{1,{MAX_SELECTOR}}}")
_PART = r"(0|[1-9][0-9]*|[xX*])"
_TERM = re.compile(
    rf"(\^|~|>=|<=|>|<|=)? *v?{_PART}(?:\.{_PART}(?:\.{_PART}(?:-([0-9A-Za-z.-]+))?"
    r"(?:\+[0-9A-Za-z.-]+)?)?)?(?: +|\Z)")
_SPAN = re.compile(r"\s+-\s+")
_RANGE_SIGNS = frozenset("^~<>=*")
_ONE_NUMBER_AND_MORE = re.compile(r"\d+-")

Order = tuple[int, Any, int]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What a reference says; a part that it leaves out is empty, its selector `latest`.

    The selector is `latest`, the exact text of a version, a range such as `^1.0`, or 7 to 40
    digits of a commit. Which of these it is shows only beside the known versions.
    """

    source: str = ""
    type: str = ""
    name: str
    selector: str = LATEST

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises InvalidInputError for what is no reference."""
        parts = REFERENCE.fullmatch(text)
        if parts is None:
            what = Sentence("`{text}` is no reference.", text=text[:200]) if text.strip() \
                else Sentence("No component is named.")
            raise InvalidInputError(Sentence(
                "{what} Write `type/name`, `type/name@1.0.0`, `type/name@^1.0` or "
                "`type/name@<commit>`.", what=what))
        return cls(source=parts["source"] or "", type=parts["type"] or "", name=parts["name"],
                   selector=parts["version"] or LATEST)

    @property
    def named(self) -> str:
        """Name and selector, as they stand after the type."""
        return self.name if self.selector == LATEST else f"{self.name}@{self.selector}"

    def __str__(self) -> str:
        source, type = (self.source and f"{self.source}:"), (self.type and f"{self.type}/")
        return f"{source}{type}{self.named}"


# --- which version ------------------------------------------------------------------------------

class Known(Protocol):
    """What a choice between the versions of one component looks at.

    `position` grows with the history of the source; the bytes of a version that moved are not
    what its number means.
    """

    @property
    def version(self) -> str: ...

    @property
    def position(self) -> int: ...

    @property
    def is_moved(self) -> bool: ...


Each = TypeVar("Each", bound=Known)


def latest_of(versions: Iterable[Each], yanked: Collection[str] = ()) -> Each | None:
    """What `latest` means: the newest release that is neither yanked nor moved; else None.

    A text that is no semantic version, and no text at all, counts as a release.
    """
    return max((each for each in _eligible(versions, yanked) if not is_prerelease(each.version)),
               key=_order, default=None)


def shown_of(versions: Iterable[Each], yanked: Collection[str] = ()) -> Each | None:
    """What lists and the search show of a component: the latest, else the newest pre-release.

    None where every version is yanked: lists hide the component then.
    """
    eligible = _eligible(versions, yanked)
    return latest_of(eligible) or max(eligible, key=_order, default=None)


def newest_in(wanted: Range, versions: Iterable[Each], yanked: Collection[str] = ()
              ) -> Each | None:
    """The newest version of a range that is neither yanked nor moved; None: there is none."""
    return max((each for each in _eligible(versions, yanked) if wanted.contains(each.version)),
               key=_order, default=None)


def exactly(selector: str, versions: Iterable[Each]) -> Each | None:
    """The version with exactly this text, as it was seen first; yanked or not."""
    return max((each for each in versions if each.version == selector and not each.is_moved),
               key=_order, default=None)


def is_referable(version: str) -> bool:
    """Whether a reference can name the version by its text."""
    return version != LATEST and bool(_VERSION.fullmatch(version))


def version_order(version: str, position: int) -> Order:
    """What sorts versions, oldest first: semantic ones by their rules, above all other texts."""
    return (*_rank(version), position)


@lru_cache(MAX_KNOWN)
def _rank(version: str) -> tuple[int, Any]:
    """Semver's precedence as tuples: a component of 10,000 versions is sorted at every look."""
    number = number_of(version)
    if number is None:
        return 0, version
    parts = number.prerelease.split(".") if number.prerelease else ()
    stage = (0, *((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts))
    return 1, (number.major, number.minor, number.patch, stage if parts else (1,))


@lru_cache(MAX_KNOWN)
def number_of(version: str) -> semver.Version | None:
    """The semantic version that a text is, `1.0` and `v1.0.0` included; None: it is none.

    One number and a hyphen are none: `2024-06-01` and `2024-spring` are no pre-releases.
    """
    text = version[1:] if version[:1] == "v" else version
    if _ONE_NUMBER_AND_MORE.match(text):
        return None
    try:
        return semver.Version.parse(text, optional_minor_and_patch=True)
    except ValueError:
        return None


def is_prerelease(version: str) -> bool:
    number = number_of(version)
    return number is not None and bool(number.prerelease)


def _eligible(versions: Iterable[Each], yanked: Collection[str]) -> list[Each]:
    return [each for each in versions
            if not each.is_moved and not (each.version and each.version in yanked)]


def _order(each: Known) -> Order:
    return version_order(each.version, each.position)


# --- ranges -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Bound:
    compare: Callable[[semver.Version, semver.Version], bool]
    number: semver.Version


@dataclass(frozen=True)
class Range:
    """A range as npm reads it: `^1.0`, `~1.2`, `>=1 <2`, `1.x`, `1.2 - 1.4`, `1.x || >=3`.

    Of pre-releases it holds only those of a number that it names with one: `^1.0.0-beta` holds
    1.0.0-rc, and not 1.1.0-rc.
    """

    alternatives: tuple[tuple[_Bound, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Range | None:
        """None: the text is no range."""
        found = [_bounds_of(each.strip()) for each in text.replace(",", " ").split("||")]
        alternatives = tuple(tuple(bounds) for bounds in found if bounds is not None)
        return cls(alternatives) if len(alternatives) == len(found) else None

    def contains(self, version: str) -> bool:
        number = number_of(version)
        return number is not None and any(_is_within(number, bounds)
                                          for bounds in self.alternatives)


def looks_like_range(selector: str) -> bool:
    """Whether its writer meant a range, even where it cannot be read as one."""
    return selector[0] in _RANGE_SIGNS or " " in selector or "||" in selector


def _is_within(number: semver.Version, bounds: Iterable[_Bound]) -> bool:
    if not all(bound.compare(number, bound.number) for bound in bounds):
        return False
    return not number.prerelease or any(
        bound.number.prerelease and bound.number.to_tuple()[:3] == number.to_tuple()[:3]
        for bound in bounds)


def _bounds_of(text: str) -> list[_Bound] | None:
    """The bounds that all hold in one alternative; None: the text is none."""
    ends = _SPAN.split(text)
    if len(ends) == 2 and all(end and end[0] not in _RANGE_SIGNS for end in ends):
        text = f">={ends[0]} <={ends[1]}"
    bounds: list[_Bound] = []
    place = 0
    while place < len(text):
        term = _TERM.match(text, place)
        if term is None:
            return None
        try:
            bounds += _bounds(*term.groups())
        except ValueError:  # such as 1.0.0-01
            return None
        place = term.end()
    return bounds if text else None


def _bounds(sign: str | None, major: str, minor: str | None, patch: str | None,
            prerelease: str | None) -> list[_Bound]:
    """One term as bounds; the numbers that it leaves open are those of every version."""
    numbers = [int(part) for part in takewhile(
        lambda part: part is not None and part.isdigit(), (major, minor, patch)) if part]
    if not numbers:
        nothing = [_Bound(operator.lt, _version([0], "0"))]
        return nothing if sign in ("<", ">") else []
    floor = _version(numbers, prerelease if len(numbers) == 3 else None)
    last = len(numbers) - 1
    if sign == "^":
        first = next((place for place, number in enumerate(numbers) if number), last)
        return [_Bound(operator.ge, floor), _below_next(numbers, first)]
    if sign == "~":
        return [_Bound(operator.ge, floor), _below_next(numbers, min(1, last))]
    if sign == ">=":
        return [_Bound(operator.ge, floor)]
    if last == 2:
        compare = {">": operator.gt, "<": operator.lt, "<=": operator.le}
        return [_Bound(compare.get(sign or "=", operator.eq), floor)]
    if sign == ">":
        return [_Bound(operator.ge, _version(_next(numbers, last)))]
    if sign == "<":
        return [_Bound(operator.lt, _version(numbers, "0"))]
    upper = _below_next(numbers, last)
    return [upper] if sign == "<=" else [_Bound(operator.ge, floor), upper]


def _below_next(numbers: list[int], place: int) -> _Bound:
    """Below the next number at `place`, its pre-releases included."""
    return _Bound(operator.lt, _version(_next(numbers, place), "0"))


def _next(numbers: list[int], place: int) -> list[int]:
    return [*numbers[:place], numbers[place] + 1]


def _version(numbers: list[int], prerelease: str | None = None) -> semver.Version:
    text = ".".join(str(number) for number in [*numbers, 0, 0][:3])
    return semver.Version.parse(f"{text}-{prerelease}" if prerelease else text)
