"""What changed in the URIs of data, scripts and images, and whether jobs still find them. Pure."""
from __future__ import annotations

import posixpath
import re
from typing import Any, Iterator, Mapping
from urllib.parse import unquote

from registry.changes import BREAKING, COMPATIBLE, MISSING, Change, Pair, from_to, shown
from registry.component import uris_of
from registry.uses import plain_data, plain_image, plain_script
from runner.sentence import Sentence

_TAG_NUMBER = re.compile(r"v?(\d+)")
_SCRIPT_FILE = re.compile(r"\.(?:py|ipynb|sh|bash|zsh|pl|rb|r|lua|sql|tcl)", re.I)


def data_uri(pair: Pair) -> Iterator[Change]:
    yield from _uris(pair, "data", {plain_data(uri): uri for uri in uris_in(pair.old)},
                     {plain_data(uri): uri for uri in uris_in(pair.new)})


def script_uri(pair: Pair) -> Iterator[Change]:
    old = {plain_script(uri)[0]: uri for uri in uris_in(pair.old)}
    new = {plain_script(uri)[0]: uri for uri in uris_in(pair.new)}
    for repository in old.keys() & new.keys():
        before, after = (plain_script(uris[repository])[1] for uris in (old, new))
        if before != after:
            yield pair.change("inputs", Sentence(
                "`{repository}` is taken at {after} instead of {before}.", repository=repository,
                after=_branch(after), before=_branch(before)))
    yield from _uris(pair, "script", old, new)


def _branch(name: str) -> str:
    return shown(name) if name else Sentence("its default branch")


def _uris(pair: Pair, kind: str, old: Mapping[str, str], new: Mapping[str, str]
          ) -> Iterator[Change]:
    """What comes from elsewhere, and whether a job still finds it under its name."""
    gone = [uri for plain, uri in old.items() if plain not in new]
    come = [uri for plain, uri in new.items() if plain not in old]
    names = {_file_name(uri, kind): uri for uri in come}
    for uri in gone:
        name = _file_name(uri, kind)
        what = _noun(uri, kind)
        if name in names:
            yield pair.change("inputs", Sentence(
                "The {what} `{name}` comes from {new} instead of {old}.", what=what, name=name,
                new=shown(names.pop(name)), old=shown(uri)))
        else:
            yield pair.change("inputs", Sentence(
                "The {what} `{name}` is gone ({uri}): commands that name it do not find it.",
                what=what, name=name, uri=shown(uri)), BREAKING)
    for name, uri in names.items():
        yield pair.change("inputs", Sentence(
            "The {what} `{name}` is new, from {uri}.", what=_noun(uri, kind), name=name,
            uri=shown(uri)), is_new=True)


def image_uri(pair: Pair) -> Iterator[Change]:
    """An image of its own: the jobs that use it were written for what it was."""
    sentence, is_other = image_sentence(Sentence("image"), pair)
    if sentence:
        yield pair.change("image", sentence, BREAKING if is_other else COMPATIBLE)


def image_sentence(name: str, pair: Pair) -> tuple[str, bool]:
    """What changed, and whether it is another image or another main version of it."""
    old, new = plain_image(str(pair.old)), plain_image(str(pair.new))
    if old == new:
        return "", False
    (old_name, old_tag), (new_name, new_tag) = _image_parts(old), _image_parts(new)
    if old_name != new_name:
        return Sentence(
            "The {name} is {new} instead of {old}.", name=name, new=shown(pair.new),
            old=shown(pair.old)), True
    numbers = [_TAG_NUMBER.match(tag) for tag in (old_tag, new_tag)]
    is_other = all(numbers) and len({int(found[1]) for found in numbers if found}) > 1
    return Sentence("The {name} goes {change}.", name=name,
                    change=from_to(pair.old, pair.new)), is_other


def _image_parts(plain: str) -> tuple[str, str]:
    name, at, digest = plain.partition("@")
    if at:
        return name, digest
    name, _, tag = plain.rpartition(":")
    return name, tag


def uris_in(uri: Any) -> tuple[str, ...]:
    return () if uri is MISSING else uris_of({"uri": uri})


def _file_name(uri: str, kind: str) -> str:
    """What the input is called in a task."""
    path = plain_script(uri)[0] if kind == "script" else plain_data(uri).partition("?")[0]
    return unquote(posixpath.basename(path.rstrip("/")))


def _noun(uri: str, kind: str) -> str:
    """A script is a whole repository or folder, unless its name is one of a single file."""
    if kind == "data":
        return "file"
    ending = posixpath.splitext(_file_name(uri, kind))[1]
    is_file = _SCRIPT_FILE.fullmatch(ending) or (ending and "://" not in uri)
    return "file" if is_file else "folder"
