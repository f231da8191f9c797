"""`$$name$$` → its value: the scopes of a task and of a job, and the parameters in effect."""
from __future__ import annotations

import json
from typing import Any, Iterator, Mapping, Sequence

from registry.component_rules import PLACEHOLDER, at_key, nearest
from registry.errors import ComponentError, Problem
from registry.yaml_nodes import Path, path_text
from registry.yaml_text import Document, load
from runner.sentence import Sentence, said_by

MAX_NAMES = 20
_KINDS = {bool: Sentence("true or false"), int: Sentence("a whole number"),
          float: Sentence("a number"), str: Sentence("a text"), list: Sentence("a list"),
          dict: Sentence("a mapping")}


def effective_parameters(document: Document, declared: Mapping[str, Any], given: Mapping[str, Any]
                         ) -> tuple[dict[str, Any], list[Problem]]:
    """The declared parameters with the given values, typed like the defaults, and what is wrong.

    A text is read as YAML where the default is no text. A default of null takes any value, a text
    that looks like a number as the number.
    """
    values, problems = dict(declared), []
    for name, value in given.items():
        if name not in declared:
            known = Sentence(" It has: {names}.", names=", ".join(declared)) if declared else \
                Sentence(" It has none.")
            problems.append(Problem(path=path_text(("parameters", name)), message=Sentence(
                "The job declares no parameter `{name}`.{hint}{known}", name=name[:80],
                hint=nearest(name, declared), known=known)))
            continue
        try:
            values[name] = _typed(value, declared[name])
        except ValueError as error:
            problems.append(at_key(document, ("parameters", name), Sentence(
                "`{name}` {must_be} Give for example `{name}={example}`.", name=name,
                must_be=said_by(error), example=as_text(declared[name]))))
    return values, problems


def _typed(value: Any, default: Any) -> Any:
    kind = type(default)
    if kind is str and isinstance(value, (bool, int, float)):
        value = as_text(value)
    elif default is None and isinstance(value, str):
        value = _number_or_text(value)
    elif kind is not str and isinstance(value, str):
        value = _read(value, default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if default is not None and type(value) is not kind:
        raise ValueError(Sentence(
            "must be {kind} like its default `{default}`, but is `{value}`.", kind=_KINDS[kind],
            default=as_text(default), value=as_text(value)[:80]))
    if not _is_clean(value):
        raise ValueError(Sentence("must be a finite number, or a text without NUL."))
    return value


def _is_clean(value: Any) -> bool:
    try:
        return "\\u0000" not in json.dumps(value, allow_nan=False)
    except ValueError:
        return False


def _number_or_text(text: str) -> Any:
    try:
        value = load(text)
    except ComponentError:
        return text
    return value if isinstance(value, (bool, int, float)) else text


def _read(text: str, default: Any) -> Any:
    try:
        return load(text)
    except ComponentError as error:
        raise ValueError(Sentence(
            "must be like its default `{default}`, but is no YAML: {message}",
            default=as_text(default), message=error.message)) from error


def as_text(value: Any) -> str:
    """A value as it appears inside a longer text: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Substitution:
    """Replaces `$$name$$` in the values of one document and collects every name not found."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def value(self, value: Any, scopes: Sequence[Mapping[str, Any]], path: Path) -> Any:
        """Replace in every text of a value; the first scope that knows a name gives its value.

        A text that is one reference and nothing else becomes the value itself, with its type.
        Values are taken as they are: references in them are not replaced again.
        """
        if isinstance(value, dict):
            return {key: self.value(item, scopes, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, scopes, (*path, at)) for at, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        whole = PLACEHOLDER.fullmatch(value)
        if whole:
            return self._found(whole[1], scopes, path)
        return self.text(value, scopes, path)

    def text(self, text: str, scopes: Sequence[Mapping[str, Any]], path: Path) -> str:
        """Replace in a text that stays a text."""
        return PLACEHOLDER.sub(lambda match: self._inserted(match[1], scopes, path), text)

    def _inserted(self, name: str, scopes: Sequence[Mapping[str, Any]], path: Path) -> str:
        value = self._found(name, scopes, path)
        if value is None:
            self._report(name, path, Sentence(
                "`$${name}$$` has no value. Give one at submission, or write a default.",
                name=name))
        return as_text(value)

    def _found(self, name: str, scopes: Sequence[Mapping[str, Any]], path: Path) -> Any:
        for scope in scopes:
            for value in _lookup(scope, name):
                return value
        known = list(dict.fromkeys(key for scope in scopes for key in scope))
        listed = ", ".join(known[:MAX_NAMES]) + (", …" if len(known) > MAX_NAMES else "")
        self._report(name, path, Sentence(
            "`$${name}$$` is not known here.{hint} {known} Where the process id of the shell is "
            "meant, write `${{$}}`.", name=name, hint=nearest(name, known),
            known=Sentence("Known names: {names}.", names=listed) if known
            else Sentence("The job declares no parameters.")))
        return ""

    def _report(self, name: str, path: Path, message: str) -> None:
        place = self.document.place(path)
        offset = self.document.text.find(f"$${name}$$", place.start, place.end)
        problem = self.document.problem(place.start if offset < 0 else offset, message, path)
        if problem not in self.problems:
            self.problems.append(problem)


def _lookup(scope: Mapping[str, Any], name: str) -> Iterator[Any]:
    """The value of a name, or of a dotted way into mappings; nothing where there is none."""
    if name in scope:
        yield scope[name]
        return
    head, _, rest = name.partition(".")
    if rest and isinstance(scope.get(head), dict):
        yield from _lookup(scope[head], rest)
