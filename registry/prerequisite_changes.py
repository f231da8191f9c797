"""What changed in the prerequisites of a job: which there are, where each comes from. Pure."""
from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Callable, Iterator

from registry.changes import (
    BREAKING,
    COMPATIBLE,
    COSMETIC,
    MISSING,
    Change,
    Pair,
    changed,
    field_changes,
    nothing,
    shown,
)
from registry.component_rules import REFERENCE
from registry.uri_changes import image_sentence, uris_in
from registry.uses import plain_data, plain_script
from registry.wording import N_
from runner.sentence import Sentence

INPUT_NAMES = {"data": Sentence("data"), "script": Sentence("script"),
               "storage": Sentence("storage"), "dockerimage": Sentence("image"),
               "": Sentence("prerequisite")}


def prerequisites(pair: Pair) -> Iterator[Change]:
    """The rule of the field `prerequisites`."""
    old, new = _named(pair.old), _named(pair.new)
    for key in [*old, *(key for key in new if key not in old)]:
        kind, name, _ = key
        path = f"{pair.path}[{kind}/{name}]" if kind else f"{pair.path}[{name}]"
        item = replace(pair, path=path, owner=name, old=old.get(key, MISSING),
                       new=new.get(key, MISSING))
        yield from changed(item, partial(_prerequisite, kind=kind))
    if list(old) != list(new) and set(old) == set(new):
        yield pair.change("inputs", Sentence("The prerequisites stand in another order."), COSMETIC)


def _prerequisite(pair: Pair, kind: str) -> Iterator[Change]:
    name, area = INPUT_NAMES.get(kind, kind), "image" if kind == "dockerimage" else "inputs"
    if pair.old is MISSING:
        yield pair.change(area, Sentence(
            "The {name} `{owner}` is among the prerequisites now.", name=name, owner=pair.owner),
            is_new=True)
    elif pair.new is MISSING:
        yield pair.change(area, Sentence(
            "The {name} `{owner}` is no longer among the prerequisites.", name=name,
            owner=pair.owner),
            BREAKING if kind == "storage" else COMPATIBLE)
    elif isinstance(pair.old, dict) and isinstance(pair.new, dict):
        yield from field_changes(pair, {
            "uri": partial(_inline_uri, kind=kind), "version": _quiet, "description": _quiet,
            "contributor": _quiet, "protocol_version": nothing})
    elif isinstance(pair.old, dict) or isinstance(pair.new, dict):
        said = N_("The {name} `{owner}` is written in the job now.") \
            if isinstance(pair.new, dict) else \
            N_("The {name} `{owner}` comes from the marketplace as {new} now.")
        yield pair.change(area, Sentence(said, name=name, owner=pair.owner, new=shown(pair.new)))
    else:
        yield pair.change(area, Sentence(
            "The {name} `{owner}` is {new} instead of {old}.", name=name, owner=pair.owner,
            new=_pinned(pair.new), old=_pinned(pair.old)))


def _pinned(reference: str) -> str:
    version = reference.partition("@")[2]
    return f"`{reference}`" if version and version != "latest" else \
        Sentence("the latest of `{reference}`", reference=reference)


def _quiet(pair: Pair) -> Iterator[Change]:
    yield pair.change("description", Sentence("`{path}` is another.", path=pair.path), COSMETIC)


def _inline_uri(pair: Pair, kind: str) -> Iterator[Change]:
    """In a job its author has tried it with the rest; only the user's storage must stay."""
    name = Sentence("{kind} `{name}`", kind=INPUT_NAMES.get(kind, kind), name=pair.owner)
    if kind == "dockerimage":
        sentence, _ = image_sentence(name, pair)
        if sentence:
            yield pair.change("image", sentence)
        return
    if _plain_uris(kind, pair.old) != _plain_uris(kind, pair.new):
        yield pair.change("inputs", Sentence(
            "The {name} comes from {new} instead of {old}.", name=name, new=shown(pair.new),
            old=shown(pair.old)),
            BREAKING if kind == "storage" else COMPATIBLE)


def _plain_uris(kind: str, uri: Any) -> list[Any]:
    plain: Callable[[str], Any] = plain_script if kind == "script" else plain_data
    return [plain(each) for each in uris_in(uri)]


def _named(items: Any) -> dict[tuple[str, str, int], Any]:
    """Prerequisites by type, name and, where two have the same, their number."""
    found: dict[tuple[str, str, int], Any] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            kind, name = str(item.get("type")), str(item.get("name"))
        else:
            parts = REFERENCE.fullmatch(str(item))
            kind, name = (parts["type"] or "", parts["name"]) if parts else ("", str(item))
        found[kind, name, sum(key[:2] == (kind, name) for key in found)] = item
    return found
