"""The fields of a search query, `field:value`: their names, what each means, which values fit."""
from __future__ import annotations

import calendar
import difflib
import re
from dataclasses import dataclass
from datetime import date
from typing import Mapping

from registry.reference import Range, looks_like_range
from registry.wording import N_
from runner.sentence import Sentence

_COMPARED = re.compile(r"(<=|>=|<|>|=|≤|≥)?\s*(.*)", re.DOTALL)
_SIGNS = {"≤": "<=", "≥": ">=", None: "="}
_NUMBER = re.compile(r"[0-9]{1,6}")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2}))?(?:-([0-9]{1,2}))?")
_OPEN_NUMBER = re.compile(r"(^|\.)[xX*](\.|$)")
_NEAR = 0.75


class ValueProblem(Exception):
    """A value does not fit its field; `instead` is a value that does, or empty."""

    def __init__(self, message: str, instead: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.instead = instead


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field: its meaning in a sentence, an example, its other names, its only values.

    `kind` is `text`, `number` or `date`; the latter two are compared with < <= > >= = and `a..b`.
    """

    meaning: str
    example: str
    aliases: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    kind: str = "text"


FIELDS: Mapping[str, Field] = {
    "type": Field(meaning=N_("what it is"), example="type:job", aliases=("kind",),
                  values=("job", "data", "script", "dockerimage")),
    "name": Field(meaning=N_("a word of the name"), example="name:cifar10"),
    "by": Field(meaning=N_("its contributor"), example="by:openpai",
                aliases=("author", "contributor", "user")),
    "tag": Field(meaning=N_("a tag of it"), example="tag:vision", aliases=("tags", "label")),
    "source": Field(meaning=N_("the source that it comes from"), example="source:bundled",
                    aliases=("repo", "src")),
    "gpu": Field(meaning=N_("how many GPUs the whole job asks for"), example="gpu:<=4",
                 aliases=("gpus",), kind="number"),
    "image": Field(meaning=N_("the Docker image that it runs in or is"), example="image:pytorch",
                   aliases=("docker",)),
    "param": Field(meaning=N_("the name of a parameter"), example="param:lr",
                   aliases=("params", "parameter", "parameters")),
    "updated": Field(meaning=N_("when its newest version came, in UTC"),
                     example="updated:>2026-01-01", aliases=("date",), kind="date"),
    "uses": Field(meaning=N_("a component or URI that it uses"), example="uses:cifar10",
                  aliases=("use",)),
    "version": Field(meaning=N_("its version, or a range"), example="version:^1.0"),
    "is": Field(meaning=N_("a mark that it bears"), example="is:deprecated",
                values=("deprecated",)),
    "versions": Field(meaning=N_("look through older versions, too"), example="versions:all",
                      values=("all",)),
}
_KEYS = {name: key for key, field in FIELDS.items() for name in (key, *field.aliases)}


def key_of(name: str) -> str | None:
    """The key of FIELDS that a name stands for, whatever its case; None: there is none."""
    return _KEYS.get(name.lower())


def near_key(name: str) -> str | None:
    """The name of a field that was probably meant by a misspelt one; None: none is near."""
    lower = name.lower()
    alike = [known for known in _KEYS
             if known[0] == lower[:1] and abs(len(known) - len(lower)) <= 1 and len(known) > 2]
    found = difflib.get_close_matches(lower, alike, n=1, cutoff=_NEAR)
    return found[0] if found else None


def comparisons(key: str, value: str) -> list[tuple[str, str]]:
    """What `key:value` asks for, as (operator, value) that must all hold.

    Dates come out as whole days, `2026-01-31`; text as it is. Raises ValueProblem.
    """
    field = FIELDS[key]
    if field.values:
        return [("=", _one_of(key, field.values, value))]
    if key == "version":
        return [("=", _version(value))]
    if field.kind == "text":
        return [("=", value)]
    first, dots, last = value.partition("..")
    if dots:
        return [_compared(key, f">={first}")[0], _compared(key, f"<={last}")[-1]]
    return _compared(key, value)


def is_range(value: str) -> bool:
    """Whether a value of `version:` means a range; `1.0` alone means all that begins so."""
    return bool(value) and (looks_like_range(value) or _OPEN_NUMBER.search(value) is not None)


def _version(value: str) -> str:
    text = value.replace("≤", "<=").replace("≥", ">=").strip()
    if is_range(text) and Range.parse(text) is None:
        raise ValueProblem(Sentence(
            "`{value}` is no range of versions. Write `version:^1.0`, `version:>=1.2` or "
            "`version:\">=1 <2\"`.", value=value))
    return text


def _one_of(key: str, values: tuple[str, ...], value: str) -> str:
    lower = value.lower()
    if lower in values:
        return lower
    near = difflib.get_close_matches(lower, values, n=1) \
        or [known for known in values if lower in known]
    choice = ", ".join(f"`{key}:{known}`" for known in values)
    raise ValueProblem(Sentence(
        "There is no `{key}:{value}`, only {choice}.", key=key, value=value, choice=choice),
                       (near or ([values[0]] if len(values) == 1 else [""]))[0])


def _compared(key: str, text: str) -> list[tuple[str, str]]:
    sign, value = _COMPARED.fullmatch(text).groups()  # type: ignore[union-attr]
    operator, value = _SIGNS.get(sign, sign), value.strip()
    if FIELDS[key].kind == "number":
        if not _NUMBER.fullmatch(value):
            raise ValueProblem(Sentence(
                "`{key}:` takes a whole number: `{key}:4`, `{key}:<=4` or `{key}:1..4`.", key=key))
        return [(operator, str(int(value)))]
    return _days(key, operator, value)


def _days(key: str, operator: str, value: str) -> list[tuple[str, str]]:
    """A day, a month or a year compared, as days."""
    match = _DATE.fullmatch(value)
    try:
        year, month, day = (int(part) if part else 0 for part in match.groups())  # type: ignore
        first = date(year, month or 1, day or 1)
        last = date(year, month or 12, day or calendar.monthrange(year, month or 12)[1])
    except (AttributeError, ValueError) as error:
        raise ValueProblem(Sentence(
            "`{key}:` takes a day that there is: `{key}:>2026-01-31`, `{key}:2026-01` or "
            "`{key}:2026-01-01..2026-01-31`.", key=key)) from error
    if operator == "=" and first != last:
        return [(">=", first.isoformat()), ("<=", last.isoformat())]
    return [(operator, (last if operator in (">", "<=") else first).isoformat())]
