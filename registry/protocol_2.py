"""OpenPAI's protocol 2: what a job of that form must be, and its tasks in our words. Pure."""
from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from registry.component_rules import PREREQUISITE_TYPES, at_key, at_value
from registry.errors import Problem
from registry.yaml_nodes import MAX_PROBLEMS, Path, in_order, path_text
from registry.yaml_text import Document

MARKS = ("protocolVersion", "taskRoles")
CATALOGUED = (
    "This job is in OpenPAI's protocol 2. It is shown and found here, but cannot run here yet. "
    "Write it as `type: job` with `tasks` and `prerequisites` to run it.")
_NOT_IN_NAMES = re.compile("[^A-Za-z0-9._~-]+")
_EACH = ("cpu", "memoryMB", "gpu")


def is_protocol_2(value: Mapping[str, Any]) -> bool:
    return any(mark in value for mark in MARKS)


def name_of(value: Mapping[str, Any]) -> str:
    """The name as references write it: what they cannot hold becomes `_`."""
    return _NOT_IN_NAMES.sub("_", str(value.get("name") or ""))[:255].strip(".") or "_"


def tasks_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The task roles as tasks of our form, for all that reads jobs without running them."""
    return [_task(str(role), task) for role, task in value["taskRoles"].items()]


def check_protocol_2(document: Document, value: Mapping[str, Any]) -> list[Problem]:
    """Every error and warning of a job of this protocol."""
    found = list(document.problems)
    for number, problem in enumerate(_problems(document, value)):
        if number < MAX_PROBLEMS:
            found.append(problem)
    return in_order(found)


def _problems(document: Document, value: Mapping[str, Any]) -> Iterator[Problem]:
    if str(value.get("protocolVersion")) != "2":
        yield at_key(document, ("protocolVersion",), (
            "`taskRoles` is of OpenPAI's protocol 2, which begins with `protocolVersion: 2`. Write "
            "that line, or `tasks` in place of `taskRoles`."))
    yield at_value(document, ("protocolVersion",), CATALOGUED, "warning")
    if value.get("type") != "job":
        yield at_value(document, ("type",), "Only jobs are in protocol 2. Write `type: job`.")
    yield from _name_problems(document, value.get("name"))
    for path in document.kept_as_text:
        yield at_value(document, path, (
            f"The number in `{path_text(path)}` is kept as the text that it is written as. Put it "
            "in quotes: other readers take 1.10 for 1.1."), "warning")
    for field in ("parameters", "extras", "defaults"):
        if not isinstance(value.get(field) or {}, dict):
            yield at_key(document, (field,), f"`{field}` must be a mapping of names to values.")
    yield from _prerequisite_problems(document, value.get("prerequisites"))
    roles = value.get("taskRoles")
    if not isinstance(roles, dict) or not roles:
        yield at_key(document, ("taskRoles",), (
            "`taskRoles` must be a mapping of at least one role. Write for example `worker:` with "
            "`dockerImage`, `resourcePerInstance` and `commands` below it."))
        return
    for role, task in roles.items():
        yield from _role_problems(document, task, ("taskRoles", role))


def _name_problems(document: Document, name: Any) -> Iterator[Problem]:
    if not isinstance(name, str) or not name.strip():
        yield at_key(document, ("name",), "`name` is missing or no text. Add for example `name: "
                                          "pytorch_mnist`.")
    elif name_of({"name": name}) != name:
        yield at_value(document, ("name",), (
            f"References cannot hold this name; the job is found as `{name_of({'name': name})}`. "
            "Use letters, digits, `.`, `_`, `~` and `-`."), "warning")


def _prerequisite_problems(document: Document, items: Any) -> Iterator[Problem]:
    if items is not None and not isinstance(items, list):
        yield at_key(document, ("prerequisites",), "`prerequisites` must be a list.")
        return
    for index, item in enumerate(items or ()):
        path = ("prerequisites", index)
        uri = item.get("uri") if isinstance(item, dict) else None
        is_uri = isinstance(uri, str) or isinstance(uri, list) and all(
            isinstance(each, str) for each in uri)
        if not isinstance(item, dict) or not isinstance(item.get("name"), str) \
                or item.get("type") not in (*PREREQUISITE_TYPES, "output") or not is_uri:
            yield at_value(document, path, (
                f"Item {index + 1} of `prerequisites` needs `name`, `type` (one of data, script, "
                "dockerimage, output) and `uri`, a text or a list of texts."))


def _role_problems(document: Document, task: Any, path: Path) -> Iterator[Problem]:
    where = path_text(path)
    if not isinstance(task, dict):
        yield at_key(document, path, f"`{where}` must be a mapping with `dockerImage`, "
                                     "`resourcePerInstance` and `commands`.")
        return
    commands = task.get("commands")
    if not isinstance(commands, list) or not commands or not all(
            isinstance(command, (str, int, float)) for command in commands):
        yield at_key(document, (*path, "commands"), (
            f"`commands` of `{where}` must be a list of texts, at least one. Write `commands:` and "
            "below it `- echo hello`."))
    if not isinstance(task.get("dockerImage"), str):
        yield at_key(document, (*path, "dockerImage"), (
            f"`dockerImage` of `{where}` must be the name of a prerequisite."))
    each = task.get("resourcePerInstance")
    if not isinstance(each, dict):
        yield at_key(document, (*path, "resourcePerInstance"), (
            f"`resourcePerInstance` of `{where}` must say `cpu`, `memoryMB` and `gpu`."))
    elif missing := [name for name in _EACH if name not in each]:
        yield at_key(document, (*path, "resourcePerInstance"), (
            f"`resourcePerInstance` of `{where}` does not say {' and '.join(missing)}."), "warning")
    completion = task.get("completion")
    if isinstance(completion, dict):
        for name in set(completion) - {"minFailedInstances", "minSucceededInstances"}:
            yield at_key(document, (*path, "completion", name), (
                f"`{name}` is no field of `completion` and steers nothing. Write "
                "`minFailedInstances` or `minSucceededInstances`."), "warning")


def _task(role: str, task: Mapping[str, Any]) -> dict[str, Any]:
    ports = (task["resourcePerInstance"].get("ports") or {}).items() \
        if isinstance(task["resourcePerInstance"].get("ports"), dict) else ()
    named = {kind: task[kind] for kind in ("data", "script", "storage")
             if isinstance(task.get(kind), str)}
    return {
        "role": role, "dockerimage": task["dockerImage"], **named, "command": task["commands"],
        "resource": {
            "instances": task.get("instances", 1),
            "resourcePerInstance": {name: task["resourcePerInstance"].get(name, 0)
                                    for name in _EACH},
            "portList": [{"label": str(label), "beginAt": 0, "portNumber": count}
                         for label, count in ports]}}
