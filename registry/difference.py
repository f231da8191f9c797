"""Two versions of a component compared in words, with a verdict; what their numbers say. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from semver import Version

from registry.changes import (
    BREAKING,
    COMPATIBLE,
    COSMETIC,
    Change,
    Pair,
    Rule,
    field_changes,
    from_to,
    nothing,
    other,
    shown,
)
from registry.component import Component
from registry.job_changes import JOB_FIELDS
from registry.reference import number_of
from registry.uri_changes import data_uri, image_uri, script_uri
from runner.sentence import Sentence

SAME = "same"
MAJOR, MINOR, PATCH = "major", "minor", "patch"
_NAMES = {"name": Sentence("name"), "type": Sentence("type")}
_STEPS = (PATCH, MINOR, MAJOR)
_PROMISES = {PATCH: Sentence("that only something was mended"),
             MINOR: Sentence("that nothing breaks")}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What lies between two versions.

    `verdict` is breaking, compatible, cosmetic or same. `step` is the number that should go up:
    major, minor or patch; empty where nothing changed. `suggested` is the version after the older
    one by that step, empty where that has no number. `warning` says where the newer number
    promises more than it keeps, else it is empty.
    """

    changes: tuple[Change, ...]
    verdict: str
    step: str
    suggested: str
    warning: str


def compare(before: Component, after: Component, *, is_one_source: bool = True) -> Difference:
    """What changed from one version of a component to another.

    Two sources count their versions each for itself: what their numbers promise is not compared.
    """
    changes = changes_between(before.document, after.document)
    if not changes and before.text != after.text:
        changes = (Change(path="", area="writing", verdict=COSMETIC, sentence=Sentence(
            "Only comments, spacing or the order of fields changed; it means the same.")),)
    verdict, step = verdict_of(changes), step_of(changes)
    return Difference(changes=changes, verdict=verdict, step=step,
                      suggested=next_version(before.version, step),
                      warning=version_warning(before.version, after.version, changes)
                      if is_one_source else "")


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """Every change from one document to another of the same type, in the order of the fields."""
    whole = Pair(path="", old=before, new=after, old_parameters=before.get("parameters") or {},
                 new_parameters=after.get("parameters") or {})
    rules = _FIELDS | {"uri": _URI_RULES.get(str(after.get("type")), other)}
    return tuple(field_changes(whole, rules))


def verdict_of(changes: tuple[Change, ...]) -> str:
    """The gravest of all; same where there is none."""
    verdicts = {change.verdict for change in changes}
    return next((each for each in (BREAKING, COMPATIBLE, COSMETIC) if each in verdicts), SAME)


def step_of(changes: tuple[Change, ...]) -> str:
    """Which number the changes ask for; empty where there are none."""
    return max((_step(change) for change in changes), key=_STEPS.index, default="")


def next_version(version: str, step: str) -> str:
    """The version one step on; empty where the version is no number or there is no step."""
    number = number_of(version)
    if number is None or not step:
        return ""
    return str(number.finalize_version() if number.prerelease
               else number.next_version(_spoken(number, step)))


def version_warning(before: str, after: str, changes: tuple[Change, ...]) -> str:
    """Where the newer number says less than the changes do; empty where it does not."""
    step = step_of(changes)
    if not step or not before and not after:
        return ""
    if before == after:
        return Sentence(
            "Both say {after}, and yet they differ: this version was written anew after it was "
            "published. A version of its own{example} keeps the two apart.", after=after,
            example=_like(before, step))
    old, new = number_of(before), number_of(after)
    if old is None or new is None or new <= old or new.prerelease:
        return ""
    said, needed = _taken(old, new), _spoken(old, step)
    if _STEPS.index(said) >= _STEPS.index(needed):
        return ""
    gravest = next(change for change in changes if _step(change) == step)
    return Sentence(
        "The step from {before} to {after} says {promise}, but the changes say more: {change} "
        "{suggested} would tell.", before=before, after=after, promise=_PROMISES[said],
        change=gravest.sentence, suggested=next_version(before, step))


def _like(version: str, step: str) -> str:
    suggested = next_version(version, step)
    return Sentence(", such as {suggested},", suggested=suggested) if suggested else ""


def _step(change: Change) -> str:
    if change.verdict == BREAKING:
        return MAJOR
    return MINOR if change.verdict == COMPATIBLE and change.is_new else PATCH


def _spoken(number: Version, step: str) -> str:
    """Before 1.0.0 each number stands one place further right."""
    if number.major:
        return step
    return _STEPS[max(0, _STEPS.index(step) - 1)]


def _taken(old: Version, new: Version) -> str:
    """Which number went up."""
    if new.major > old.major:
        return MAJOR
    return MINOR if new.minor > old.minor else PATCH


# --- fields of every component -----------------------------------------------------------------

def _identity(pair: Pair) -> Iterator[Change]:
    yield pair.change("identity", Sentence(
        "The {name} goes {change}: they are not the same component.", name=_NAMES[pair.path],
        change=from_to(pair.old, pair.new)), BREAKING)


def _version(pair: Pair) -> Iterator[Change]:
    if not (pair.is_added and pair.is_removed):
        yield pair.change("description", _text_sentence(Sentence("version"), pair), COSMETIC)


def _contributor(pair: Pair) -> Iterator[Change]:
    if not (pair.is_added and pair.is_removed):
        yield pair.change("description", _text_sentence(Sentence("contributor"), pair), COSMETIC)


def _description(pair: Pair) -> Iterator[Change]:
    if pair.is_added and pair.is_removed:
        return
    sentence = Sentence("The description is new.") if pair.is_added else \
        Sentence("The description is gone.") if pair.is_removed else \
        Sentence("The description is another.")
    yield pair.change("description", sentence, COSMETIC)


def _text_sentence(name: str, pair: Pair) -> str:
    if pair.is_added:
        return Sentence("The {name} is new: {new}.", name=name, new=shown(pair.new))
    if pair.is_removed:
        return Sentence("The {name} is gone; it was {old}.", name=name, old=shown(pair.old))
    return Sentence("The {name} goes {change}.", name=name, change=from_to(pair.old, pair.new))


_FIELDS: dict[str, Rule] = {
    "name": _identity, "type": _identity, **JOB_FIELDS, "version": _version,
    "contributor": _contributor, "description": _description, "protocol_version": nothing}
_URI_RULES: dict[str, Rule] = {"data": data_uri, "script": script_uri, "dockerimage": image_uri}
