"""OpenPAI's protocol 2: what a job of that form must be, and its tasks in our words. Pure."""
from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from registry.component_rules import PREREQUISITE_TYPES, at_key, at_value
from registry.errors import Problem
from registry.yaml_nodes import MAX_PROBLEMS, Path, in_order, path_text
from registry.yaml_text import Document
from runner.sentence import Sentence
from runner.spec import Image, Login, registry_name

MARKS = ("protocolVersion", "taskRoles")
FORM = "OpenPAI's protocol 2"
CATALOGUED = Sentence(
    "This job is in OpenPAI's protocol 2. Use turns it into a job of this marketplace's form and "
    "shows it before it runs.")
MASK = "******"
_NOT_IN_NAMES = re.compile("[^A-Za-z0-9._~-]+")
_EACH = ("cpu", "memoryMB", "gpu")
_MUSTACHE = re.compile(r"<%\s*\$(?P<kind>[A-Za-z]+)\.?(?P<rest>[A-Za-z0-9_.\[\]-]*)\s*%>")
_FIELD_OF = re.compile(r"(?P<name>uri|name|version)(?:\[(?P<number>[0-9]{1,3})\])?")
_PREREQUISITE_FIELDS = ("protocolVersion", "name", "type", "version", "contributor", "description",
                        "uri")
_ROLE_FIELDS = {"instances", "completion", "taskRetryCount", "dockerImage", "data", "output",
                "script", "extraContainerOptions", "resourcePerInstance", "commands"}


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
        yield at_key(document, ("protocolVersion",), Sentence(
            "`taskRoles` is of OpenPAI's protocol 2, which begins with `protocolVersion: 2`. Write "
            "that line, or `tasks` in place of `taskRoles`."))
    yield at_value(document, ("protocolVersion",), CATALOGUED, "warning")
    if value.get("type") != "job":
        yield at_value(document, ("type",), Sentence(
            "Only jobs are in protocol 2. Write `type: job`."))
    yield from _name_problems(document, value.get("name"))
    for path in document.kept_as_text:
        yield at_value(document, path, Sentence(
            "The number in `{path}` is kept as the text that it is written as. Put it in quotes: "
            "other readers take 1.10 for 1.1.", path=path_text(path)), "warning")
    for field in ("parameters", "extras", "defaults"):
        if not isinstance(value.get(field) or {}, dict):
            yield at_key(document, (field,), Sentence(
                "`{field}` must be a mapping of names to values.", field=field))
    yield from _prerequisite_problems(document, value.get("prerequisites"))
    roles = value.get("taskRoles")
    if not isinstance(roles, dict) or not roles:
        yield at_key(document, ("taskRoles",), Sentence(
            "`taskRoles` must be a mapping of at least one role. Write for example `worker:` with "
            "`dockerImage`, `resourcePerInstance` and `commands` below it."))
        return
    for role, task in roles.items():
        yield from _role_problems(document, task, ("taskRoles", role))


def _name_problems(document: Document, name: Any) -> Iterator[Problem]:
    if not isinstance(name, str) or not name.strip():
        yield at_key(document, ("name",), Sentence(
            "`name` is missing or no text. Add for example `name: pytorch_mnist`."))
    elif name_of({"name": name}) != name:
        yield at_value(document, ("name",), Sentence(
            "References cannot hold this name; the job is found as `{found}`. Use letters, digits, "
            "`.`, `_`, `~` and `-`.", found=name_of({"name": name})), "warning")


def _prerequisite_problems(document: Document, items: Any) -> Iterator[Problem]:
    if items is not None and not isinstance(items, list):
        yield at_key(document, ("prerequisites",), Sentence("`prerequisites` must be a list."))
        return
    for index, item in enumerate(items or ()):
        path = ("prerequisites", index)
        uri = item.get("uri") if isinstance(item, dict) else None
        is_uri = isinstance(uri, str) or isinstance(uri, list) and all(
            isinstance(each, str) for each in uri)
        if not isinstance(item, dict) or not isinstance(item.get("name"), str) \
                or item.get("type") not in (*PREREQUISITE_TYPES, "output") or not is_uri:
            yield at_value(document, path, Sentence(
                "Item {index} of `prerequisites` needs `name`, `type` (one of data, script, "
                "dockerimage, output) and `uri`, a text or a list of texts.", index=index + 1))


def _role_problems(document: Document, task: Any, path: Path) -> Iterator[Problem]:
    where = path_text(path)
    if not isinstance(task, dict):
        yield at_key(document, path, Sentence(
            "`{where}` must be a mapping with `dockerImage`, `resourcePerInstance` and `commands`.",
            where=where))
        return
    commands = task.get("commands")
    if not isinstance(commands, list) or not commands or not all(
            isinstance(command, (str, int, float)) for command in commands):
        yield at_key(document, (*path, "commands"), Sentence(
            "`commands` of `{where}` must be a list of texts, at least one. Write `commands:` and "
            "below it `- echo hello`.", where=where))
    if not isinstance(task.get("dockerImage"), str):
        yield at_key(document, (*path, "dockerImage"), Sentence(
            "`dockerImage` of `{where}` must be the name of a prerequisite.", where=where))
    each = task.get("resourcePerInstance")
    if not isinstance(each, dict):
        yield at_key(document, (*path, "resourcePerInstance"), Sentence(
            "`resourcePerInstance` of `{where}` must say `cpu`, `memoryMB` and `gpu`.",
            where=where))
    elif missing := [name for name in _EACH if name not in each]:
        yield at_key(document, (*path, "resourcePerInstance"), Sentence(
            "`resourcePerInstance` of `{where}` does not say {missing}.", where=where,
            missing=" and ".join(missing)), "warning")
    completion = task.get("completion")
    if isinstance(completion, dict):
        for name in set(completion) - {"minFailedInstances", "minSucceededInstances"}:
            yield at_key(document, (*path, "completion", name), Sentence(
                "`{name}` is no field of `completion` and steers nothing. Write "
                "`minFailedInstances` or `minSucceededInstances`.", name=name), "warning")


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


# --- as a job of our form -------------------------------------------------------------------------

def converted_2(value: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The job in our form, and a warning for each field that means nothing here.

    `<% $parameters.x %>` becomes `$$x$$`; what refers to a prerequisite becomes its URI.
    """
    notes: list[Problem] = []
    items = [item for item in value.get("prerequisites") or () if isinstance(item, dict)]
    texts = _Texts(items, notes)
    given = {name: value[name] for name in ("version", "contributor", "description")
             if value.get(name) not in (None, "")}
    defaults = _mapping(value.get("defaults"))
    retries = {"retryCount": value["jobRetryCount"]} if "jobRetryCount" in value else {}
    cluster = {"virtualCluster": defaults["virtualCluster"]} \
        if defaults.get("virtualCluster") else {}
    deployed = _deployment(value, str(defaults.get("deployment") or ""), notes)
    document = {
        "protocol_version": "v2", "name": name_of(value), "type": "job", **given, **cluster,
        **retries, "parameters": _mapping(value.get("parameters")),
        "prerequisites": [_prerequisite(item, index, notes) for index, item in enumerate(items)],
        "tasks": [_converted_task(str(role), task, texts, _mapping(deployed.get(role)))
                  for role, task in value["taskRoles"].items()]}
    for name in ("secrets", "extras"):
        for field in _mapping(value.get(name)):
            notes.append(_note(f"{name}.{field}", Sentence(
                "`{name}.{field}` steers nothing here.", name=name, field=field)))
    for role, task in value["taskRoles"].items():
        notes += _lost(f"taskRoles.{role}", task)
    return document, notes


def logins_of(value: Mapping[str, Any]) -> list[Login]:
    """What the images of a job are pulled with: `auth`, with `<% $secrets.x %>` replaced."""
    found: list[Login] = []
    secrets = _mapping(value.get("secrets"))
    for item in map(_mapping, _list(value.get("prerequisites"))):
        auth = _mapping(item.get("auth"))
        username, secret, server = (
            _MUSTACHE.sub(lambda each: str(secrets.get(each["rest"], each[0])
                                           if each["kind"] == "secrets" else each[0]),
                          str(auth.get(field) or ""))
            for field in ("username", "password", "registryuri"))
        if username and secret and isinstance(item.get("uri"), str):
            found.append(Login(server=registry_name(server) or Image(uri=item["uri"]).server,
                               username=username, secret=secret))
    return found


def masked(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The job without the texts that only its sender may know; None where it has none of them."""
    items = [_mapping(item) for item in _list(value.get("prerequisites"))]
    if not value.get("secrets") and not any(item.get("auth") for item in items):
        return None
    shown = [{**item, "auth": {**_mapping(item["auth"]), "password": MASK}} if item.get("auth")
             else item for item in items]
    return {**value, **({"prerequisites": shown} if items else {}),
            "secrets": {name: MASK for name in _mapping(value.get("secrets"))}}


class _Texts:
    """Replaces `<% … %>` in the commands of one task after another."""

    def __init__(self, prerequisites: list[dict[str, Any]], notes: list[Problem]) -> None:
        self._by_name = {(str(item.get("type")), str(item.get("name"))): item
                         for item in prerequisites}
        self._notes = notes

    def replaced(self, text: str, task: Mapping[str, Any], path: str) -> str:
        def value(found: re.Match[str]) -> str:
            kind, name = found["kind"], found["rest"]
            if kind == "parameters" and name:
                return f"$${name}$$"
            meant = self._field(kind, name, task)
            if meant is not None:
                return meant
            note = _note(path, Sentence(
                "`{found}` stands for nothing here and stays as it is. Write the value itself, or "
                "make it a parameter.", found=found[0]))
            if note not in self._notes:
                self._notes.append(note)
            return found[0]
        return _MUSTACHE.sub(value, text)

    def _field(self, kind: str, rest: str, task: Mapping[str, Any]) -> str | None:
        """What `$data.uri[0]` means: a field of the task's own prerequisite of that kind."""
        wanted = _FIELD_OF.fullmatch(rest)
        field = {"dockerImage": "dockerimage"}.get(kind, kind)
        item = self._by_name.get((field, str(task.get(kind))), {})
        value = item.get(wanted["name"]) if wanted else None
        values = value if isinstance(value, list) else [] if value is None else [value]
        number = int(wanted["number"] or 0) if wanted else 0
        return str(values[number]) if number < len(values) else None


def _converted_task(role: str, task: Mapping[str, Any], texts: _Texts,
                    deployment: Mapping[str, Any]) -> dict[str, Any]:
    path = f"taskRoles.{role}.commands"
    commands = [texts.replaced(str(command), task, path) for command in (
        *_list(deployment.get("preCommands")), *task["commands"],
        *_list(deployment.get("postCommands")))]
    completion, more = map(_mapping, (task.get("completion"), task.get("extraContainerOptions")))
    found = _task(role, {**task, "commands": commands})
    if task.get("output"):
        found["output"] = task["output"]
    if "shmMB" in more:
        found["resource"]["resourcePerInstance"]["shmMB"] = more["shmMB"]
    return {**found, "minFailedTaskCount": _count(completion.get("minFailedInstances", 1)),
            "minSucceededTaskCount": _count(completion.get("minSucceededInstances"))}


def _mapping(value: Any) -> dict[str, Any]:
    """Empty for what is none: the checks above have told what must be one."""
    return dict(value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: Any) -> Any:
    """-1 says that no number ends the job."""
    return None if value == -1 else value


def _prerequisite(item: Mapping[str, Any], index: int, notes: list[Problem]) -> dict[str, Any]:
    """Without what our form has no word for; a list of URIs, but for images."""
    path, uri = f"prerequisites[{index}]", item["uri"]
    for name in item:
        if name == "auth":
            notes.append(_note(f"{path}.auth", Sentence(
                "`{path}.auth` is not written into the job, which others may read. It is used "
                "where the job is sent as it is, by the API or `paishare submit`; else add the "
                "login on the page Settings.", path=path)))
        elif name not in _PREREQUISITE_FIELDS:
            notes.append(_note(f"{path}.{name}", Sentence(
                "`{path}.{name}` steers nothing here.", path=path, name=name)))
    found = {name: item[name] for name in _PREREQUISITE_FIELDS
             if name in item and item[name] is not None and name != "protocolVersion"}
    uris = [uri] if isinstance(uri, str) else uri
    return {"protocol_version": "v2", **found,
            "uri": "".join(uris[:1]) if item["type"] == "dockerimage" else uris}


def _deployment(value: Mapping[str, Any], wanted: str, notes: list[Problem]
                ) -> Mapping[str, Any]:
    """The commands that the default deployment adds, by task role."""
    for index, item in enumerate(map(_mapping, _list(value.get("deployments")))):
        if item.get("name") == wanted:
            return _mapping(item.get("taskRoles"))
        notes.append(_note(f"deployments[{index}]", Sentence(
            "`deployments[{index}]` is not the default one and adds nothing.", index=index)))
    return {}


def _lost(path: str, task: Mapping[str, Any]) -> Iterator[Problem]:
    if task.get("taskRetryCount"):
        yield _note(f"{path}.taskRetryCount", Sentence(
            "`{path}.taskRetryCount` steers nothing here: a job is tried again as a whole, "
            "`retryCount` times.", path=path))
    if _mapping(task.get("extraContainerOptions")).get("infiniband"):
        yield _note(f"{path}.extraContainerOptions.infiniband",
                    Sentence(
                        "`{path}.extraContainerOptions.infiniband` steers nothing here.",
                        path=path))
    for name in sorted(set(task) - _ROLE_FIELDS):
        yield _note(f"{path}.{name}", Sentence(
            "`{path}.{name}` steers nothing here.", path=path, name=name))


def _note(path: str, message: str) -> Problem:
    return Problem(path=path, message=message, severity="warning")
