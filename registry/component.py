"""YAML text → Component, or every problem with its place; Component → YAML text."""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Collection, Iterable, Mapping, NoReturn

from registry.component_rules import (
    INNER_TYPES,
    PLACEHOLDER,
    PREREQUISITE_TYPES,
    TYPES,
    check,
    nearest,
)
from registry.errors import ComponentError, Problem
from registry.protocol_2 import check_protocol_2, is_protocol_2, name_of, tasks_of
from registry.reference import REFERENCE
from registry.yaml_nodes import MAX_BYTES, Path, component_error, in_order, path_text
from registry.yaml_text import Document
from registry.yaml_text import dump as dump_yaml
from registry.yaml_text import load, read
from runner.sentence import Sentence, either

__all__ = ["MAX_BYTES", "TYPES", "Component", "dump", "load_yaml", "locate", "parse",
           "parse_recorded", "uris_of"]

_TEXT_FIELDS = frozenset({"version", "protocol_version"})
_URI_SEPARATOR = re.compile(r"\s*,\s*(?=[A-Za-z][A-Za-z0-9+.-]*://|\.{0,2}/)")


@dataclass(frozen=True, kw_only=True)
class Component:
    """One component as written; `version`, `contributor` and `description` are empty if absent.

    `text` is exactly what was read, `document` the same as plain values with unknown fields kept
    and versions as text. `warnings` tell what is accepted but better written otherwise.
    """

    type: str
    name: str
    version: str
    contributor: str
    description: str
    text: str
    document: Mapping[str, Any]
    warnings: tuple[Problem, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        return self.document.get("parameters") or {}

    @property
    def is_protocol_2(self) -> bool:
        """Whether this is a job of OpenPAI's protocol 2, which is shown and cannot run yet."""
        return is_protocol_2(self.document)

    @property
    def tasks(self) -> list[dict[str, Any]]:
        return tasks_of(self.document) if self.is_protocol_2 else self.document.get("tasks") or []

    @property
    def prerequisites(self) -> list[dict[str, Any]]:
        """Everything the job needs: as written, or `reference`, `name` and `type` (None: any)."""
        items = self.document.get("prerequisites") or []
        found = [_by_reference(item) if isinstance(item, str) else item for item in items]
        for task in self.tasks:
            for kind in PREREQUISITE_TYPES:
                wanted = task.get(kind)
                if not wanted or PLACEHOLDER.search(wanted):
                    continue
                if not any(_serves(item, kind, wanted) for item in found):
                    found.append(_by_reference(wanted, kind))
        return found

    @property
    def uris(self) -> tuple[str, ...]:
        return uris_of(self.document)

    @property
    def reference(self) -> str:
        return f"{self.type}/{self.name}" + (f"@{self.version}" if self.version else "")


def parse(text: bytes | str, *, types: Collection[str] = TYPES, file: str = "") -> Component:
    """Read one component of one of `types`; `file` is what its file is called, empty: any name.

    Raises ComponentError with every problem: line, column, path and what to write instead;
    the warnings are among them.
    """
    document = read(text, is_text_path)
    value = _checked_mapping(document)
    type_name = _type_of(document, value, types)
    problems = _all_problems(document, value, type_name)
    if any(problem.severity == "error" for problem in problems):
        raise component_error(problems)
    component = _component(document, type_name, problems)
    if not file or PurePosixPath(file).stem == component.name:
        return component
    return replace(component, warnings=(*problems, _misnamed(document, component.name, file)))


def parse_recorded(text: str) -> Component:
    """Read a component that was checked when it was recorded, three times as fast as `parse`.

    Fields may have any form where the rules were others then. `warnings` is empty. Raises
    ComponentError where the text is no YAML, or no component at all.
    """
    document = read(text, is_text_path)
    return _component(document, _type_of(document, _checked_mapping(document), TYPES), ())


def _type_of(document: Document, value: Mapping[str, Any], types: Collection[str]) -> str:
    return "job" if is_protocol_2(value) and "job" in types else \
        _checked_type(document, value, types)


def _component(document: Document, type_name: str, warnings: Iterable[Problem]) -> Component:
    value = document.value
    return Component(
        type=type_name, name=name_of(value) if is_protocol_2(value) else value["name"],
        version=_text(value, "version"), contributor=_text(value, "contributor"),
        description=_text(value, "description"), text=document.text, document=value,
        warnings=tuple(warnings))


def _misnamed(document: Document, name: str, file: str) -> Problem:
    place = document.places.get(("name",))
    line, column = document.line_column(place.start) if place else (None, None)
    return Problem(
        message=Sentence(
            "The file is named {file} but the component {name}. It is found by the latter; better "
            "rename the file to {name}{suffix}.", file=file, name=name,
            suffix=PurePosixPath(file).suffix),
        path="name", line=line, column=column, severity="warning")


def _text(value: Mapping[str, Any], name: str) -> str:
    return str(value.get(name) or "")


def dump(component: Component | Mapping[str, Any]) -> str:
    """Write a component, or a document like its `document`, as YAML that `parse` reads back."""
    document = component.document if isinstance(component, Component) else component
    return dump_yaml(dict(document))


def locate(text: str, path: str, part: str = "") -> tuple[int, int] | None:
    """Line and column of the value at `tasks[0].command[1]`, or of `part` where that is in it.

    Both count from 1. None where the text has no such path, or is no YAML.
    """
    try:
        document = read(text)
    except ComponentError:
        return None
    for steps, place in document.places.items():
        if path_text(steps) == path:
            offset = document.text.find(part, place.start, place.end)
            return document.line_column(place.start if offset < 0 else offset)
    return None


def load_yaml(text: bytes | str) -> Any:
    """Read any YAML 1.2 text within the limits as plain values; raises ComponentError."""
    return load(text)


def uris_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The URIs of a component or prerequisite: of its list, or of its text, split at commas."""
    uri = document.get("uri") or ()
    if not isinstance(uri, str):
        return tuple(uri)
    if document.get("type") == "dockerimage":
        return (uri,)
    parts = _URI_SEPARATOR.split(uri) if "://" in uri else uri.split(",")
    return tuple(part.strip() for part in parts if part.strip())


def is_text_path(path: Path) -> bool:
    """Whether the field there is a version, which stays text even where it looks like a number."""
    in_prerequisite = len(path) == 3 and path[0] == "prerequisites"
    return bool(path) and path[-1] in _TEXT_FIELDS and (len(path) == 1 or in_prerequisite)


def _by_reference(reference: str, kind: str | None = None) -> dict[str, Any]:
    parts = REFERENCE.fullmatch(reference)
    name = parts["name"] if parts else reference
    return {"name": name, "type": parts["type"] or kind if parts else kind, "reference": reference}


def _serves(item: Mapping[str, Any], kind: str, wanted: str) -> bool:
    return item["type"] in (kind, None) and wanted in (item["name"], item.get("reference"))


def _all_problems(document: Document, value: Mapping[str, Any], type_name: str) -> list[Problem]:
    """What the reading found, and what the rules find elsewhere."""
    if is_protocol_2(value):
        return check_protocol_2(document, value)
    unread = {problem.path for problem in document.problems}
    return in_order([*document.problems, *(
        problem for problem in check(document, value, type_name) if problem.path not in unread)])


def _checked_mapping(document: Document) -> dict[str, Any]:
    value = document.value
    if value is None:
        _refuse(document, (), Sentence("The text is empty. Begin with `type: job` and `name: …`."))
    if not isinstance(value, dict):
        _refuse(document, (), Sentence(
            "A component is a list of fields such as `type: job`; this is a list of items. Remove "
            "the `- ` before the first field.") if isinstance(value, list) else Sentence(
            "A component is a list of fields such as `type: job`; this is a single text. Write "
            "`type: job` first."))
    if "jobName" in value:
        _refuse(document, ("jobName",), Sentence(
            "This is an OpenPAI v1 job, which is not supported yet. Write it as `type: job` with "
            "`tasks` and `prerequisites`."))
    return value


def _checked_type(document: Document, value: Mapping[str, Any], types: Collection[str]) -> str:
    type_name = value.get("type")
    if type_name in TYPES and type_name in types:
        return type_name
    choices = either(f"`type: {name}`" for name in types)
    if type_name in INNER_TYPES:
        message = Sentence(
            "{kind} has no file of its own. Write it into the `prerequisites` of a job.",
            kind=type_name.capitalize())
    elif type_name in TYPES:
        message = Sentence(
            "A component of type {type_name} is not expected here, only {choices}.",
            type_name=type_name, choices=choices)
    elif type_name is None:
        message = Sentence("`type` is missing. Add {choices}.", choices=choices)
    else:
        message = Sentence(
            "`{type_name}` is no type.{hint} Write {choices}.", type_name=str(type_name)[:80],
            hint=nearest(str(type_name), types), choices=choices)
    _refuse(document, ("type",), message, value)


def _refuse(document: Document, path: Path, message: str,
            value: Mapping[str, Any] | None = None) -> NoReturn:
    """Give up on the type, but still tell what else is wrong if the fields show what is meant."""
    others: list[Problem] = []
    if value is not None:
        meant = "job" if "tasks" in value else "data"
        others = [problem for problem in _all_problems(document, value, meant)
                  if problem.severity == "error" and problem.path not in ("type", "uri")]
    raise component_error([document.problem(document.place(path).start, message, path), *others])
