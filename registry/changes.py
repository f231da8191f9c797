"""What changed at one place of two documents: a sentence and a verdict on it. Pure."""
from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterable, Iterator, Mapping

from registry.component_rules import PLACEHOLDER
from registry.placeholders import as_text
from runner.sentence import Sentence

BREAKING, COMPATIBLE, COSMETIC = "breaking", "compatible", "cosmetic"
MAX_SHOWN = 80


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that changed.

    `path` is its place, with names for positions: `tasks[worker].command`. `area` is where people
    look for it. `is_new`: the component can something that it could not before.
    """

    path: str
    area: str
    sentence: str
    verdict: str
    is_new: bool = False


class _Missing:
    """Stands for a field that is not there, which is another thing than null."""


MISSING = _Missing()


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The two values of one place, and the parameters of the two documents."""

    path: str
    old: Any
    new: Any
    old_parameters: Mapping[str, Any]
    new_parameters: Mapping[str, Any]
    owner: str = ""

    def at(self, key: str, *, owner: str = "") -> Pair:
        """The same field of both, where they are mappings."""
        return replace(self, path=f"{self.path}.{key}" if self.path else key,
                       owner=owner or self.owner, old=get(self.old, key), new=get(self.new, key))

    def keys(self) -> list[str]:
        return list(dict.fromkeys([*mapping_of(self.old), *mapping_of(self.new)]))

    def effective(self, default: Any) -> tuple[Any, Any]:
        """Both values as they count: a default where there is none, a parameter's default."""
        return (effective(self.old, default, self.old_parameters),
                effective(self.new, default, self.new_parameters))

    @property
    def is_same(self) -> bool:
        return is_same(self.old, self.new)

    @property
    def is_added(self) -> bool:
        return self.old in (MISSING, None, "")

    @property
    def is_removed(self) -> bool:
        return self.new in (MISSING, None, "")

    def change(self, area: str, sentence: str, verdict: str = COMPATIBLE, *,
               is_new: bool = False) -> Change:
        return Change(path=self.path, area=area, sentence=sentence, verdict=verdict, is_new=is_new)


Rule = Callable[[Pair], Iterable[Change]]


def changed(pair: Pair, rule: Rule) -> Iterator[Change]:
    """What a rule says of two values; something is said of every difference."""
    if pair.is_same:
        return
    said = list(rule(pair))
    yield from said or [pair.change(
        "writing", Sentence(
            "`{path}` is written otherwise and means the same.", path=pair.path), COSMETIC)]


def field_changes(pair: Pair, rules: Mapping[str, Rule]) -> Iterator[Change]:
    """The changes of each field of two mappings."""
    for key in dict.fromkeys([*rules, *pair.keys()]):
        yield from changed(pair.at(key), rules.get(key, other))


def other(pair: Pair) -> Iterator[Change]:
    """A field that PAIShare does not know, and so cannot judge."""
    if pair.old is MISSING:
        sentence = Sentence("`{path}` is new: {new}.", path=pair.path, new=shown(pair.new))
    elif pair.new is MISSING:
        sentence = Sentence("`{path}` is gone; it was {old}.", path=pair.path, old=shown(pair.old))
    else:
        sentence = Sentence("`{path}` goes {change}.", path=pair.path,
                            change=from_to(pair.old, pair.new))
    yield pair.change("other fields", sentence, is_new=pair.old is MISSING)


def nothing(_: Pair) -> Iterable[Change]:
    """All allowed values mean the same."""
    return ()


# --- values ------------------------------------------------------------------------------------

def get(value: Any, key: str) -> Any:
    return mapping_of(value).get(key, MISSING)


def mapping_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def is_same(one: Any, other: Any) -> bool:
    """Equal, and of the same kind: Python takes 1, 1.0 and true for equal."""
    if one is MISSING or other is MISSING:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def effective(value: Any, default: Any, parameters: Mapping[str, Any]) -> Any:
    if value is MISSING or value is None:
        return default
    found = PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    return parameters.get(found[1], value) if found else value


def is_placeholder(value: Any) -> bool:
    return isinstance(value, str) and bool(PLACEHOLDER.search(value))


def shown(value: Any) -> str:
    if value is MISSING:
        return Sentence("nothing")
    text = as_text(value) if not isinstance(value, str) or "\n" not in value else json.dumps(
        value, ensure_ascii=False)
    text = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return "`" + text.replace("`", "'") + "`" if text else Sentence("nothing")


def from_to(old: Any, new: Any) -> str:
    return Sentence("from {old} to {new}", old=shown(old), new=shown(new))
