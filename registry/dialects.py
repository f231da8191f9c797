"""OpenPAI's form of a component, protocol v2 as its releases 0.8 to 0.12 had it, and ours. Pure."""
from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from registry.component import dump
from registry.component_rules import TYPES
from registry.errors import InvalidInputError, Problem

PROTOCOL = "v2"
MAX_DEPTH = 12
MAX_ITEMS = 2000
_KEY = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_PART = re.compile(r"\[([^\[\]]*)\]")
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_NUMBERS = frozenset({"instances", "cpu", "gpu", "memoryMB", "shmMB", "retryCount", "beginAt",
                      "portNumber", "minFailedTaskCount", "minSucceededTaskCount", "priority",
                      "timeLimitMinutes"})
_RESOURCE = ("instances", "portList")
_EACH = ("cpu", "gpu", "memoryMB", "shmMB")


# --- ours → OpenPAI's ---------------------------------------------------------------------------

def template(document: Mapping[str, Any], prerequisites: Iterable[Mapping[str, Any]],
             version: str) -> dict[str, Any]:
    """A component as OpenPAI's clients read one.

    `version` stands in where the document has none. `prerequisites` are those of a job, each
    written out. A list of URIs becomes one text, as that protocol has it.
    """
    found = {"protocol_version": PROTOCOL, **document}
    found["version"] = document.get("version") or version
    if document["type"] == "job":
        found["prerequisites"] = [_with_one_uri(item) for item in prerequisites]
    return _with_one_uri(found)


def _with_one_uri(item: Mapping[str, Any]) -> dict[str, Any]:
    uri = item.get("uri")
    return {**item, "uri": ",".join(map(str, uri))} if isinstance(uri, list) else dict(item)


# --- OpenPAI's → ours ---------------------------------------------------------------------------

def component_text(template: Any) -> str:
    """The YAML of what a client of OpenPAI publishes; raises InvalidInputError for no template.

    Parameters may be a list of names and values, as its forms send them, and a task's resources
    may stand in the task itself.
    """
    if not isinstance(template, dict) or not template:
        raise InvalidInputError("Failed to parse template content. Send one template as a JSON "
                                "object, as a form, or as YAML with Content-Type: text/yaml.")
    if template.get("type") not in TYPES:
        raise _error("type", f"`type` must be one of {', '.join(TYPES)}.")
    found = {key: value for key, value in template.items() if value is not None}
    found["protocol_version"] = str(found.get("protocol_version") or PROTOCOL)
    if "version" in found:
        found["version"] = str(found["version"])
    if "parameters" in found:
        found["parameters"] = _parameters(found["parameters"])
    if isinstance(found.get("tasks"), list):
        found["tasks"] = [_task(task) for task in found["tasks"]]
    return dump(found)


def _parameters(value: Any) -> Any:
    """A mapping, also of `[{name: …, value: …}]` or `[{lr: 0.1}, …]`."""
    if not isinstance(value, list):
        return value
    found: dict[str, Any] = {}
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise _error(f"parameters[{number}]", "Write each parameter as "
                         '{"name": …, "value": …}.')
        pairs = {str(item["name"]): item.get("value")} if "name" in item else item
        for name, each in pairs.items():
            if name in found:
                raise _error(f"parameters[{number}]", f"There is a second parameter {name}.")
            found[name] = each
    return found


def _task(task: Any) -> Any:
    """A task with its resources in `resource`, where OpenPAI's form leaves them in the task."""
    if not isinstance(task, dict) or "resource" in task:
        return task
    rest = {key: value for key, value in task.items() if key not in (*_RESOURCE, *_EACH)}
    if "parameters" in rest:
        rest["parameters"] = _parameters(rest["parameters"])
    resource = {key: task[key] for key in _RESOURCE if key in task}
    each = {key: task[key] for key in _EACH if key in task}
    return rest | ({"resource": {**resource, "resourcePerInstance": each}}
                   if resource or each else {})


def form_values(items: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A form with nested names, `tasks[0][role]=main`, as the object that it stands for.

    Raises InvalidInputError naming the field that does not fit.
    """
    root: dict[str, Any] = {}
    for count, (key, text) in enumerate(items):
        name = _KEY.fullmatch(key)
        parts = [name[1], *_PART.findall(name[2])] if name else []
        if not parts or len(parts) > MAX_DEPTH or count >= MAX_ITEMS:
            raise _error(key[:100], "The form has a field that cannot be read, or too many.")
        _put(root, parts, _scalar(parts[-1], text), key)
    return {key: _listed(value) for key, value in root.items()}


def _put(target: dict[str, Any], parts: list[str], value: Any, key: str) -> None:
    """`[]` is the next place of a list."""
    for part in parts[:-1]:
        target = target.setdefault(part or str(len(target)), {})
        if not isinstance(target, dict):
            raise _error(key[:100], "The form has this field twice, as a text and as an object.")
    target[parts[-1] or str(len(target))] = value


def _listed(value: Any) -> Any:
    """An object whose names are 0, 1, 2 … is a list."""
    if not isinstance(value, dict):
        return value
    found = {key: _listed(each) for key, each in value.items()}
    is_list = found and set(found) == {str(number) for number in range(len(found))}
    return [found[str(number)] for number in range(len(found))] if is_list else found


def _scalar(name: str, text: str) -> Any:
    """A form has texts only; where the protocol wants a number, it is one."""
    return int(text) if name in _NUMBERS and _NUMBER.fullmatch(text) else text


def _error(path: str, message: str) -> InvalidInputError:
    return InvalidInputError(message, [Problem(message=message, path=path)])
