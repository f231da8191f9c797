"""OpenPAI's v1 job, a JSON object: the same in our words, and what got lost. Pure."""
from __future__ import annotations

import json
import re
import shlex
from typing import Any, Collection, Iterator, Mapping

from registry.errors import InvalidInputError, Problem
from runner.sentence import Sentence

FORM = "OpenPAI's v1 JSON"
IMAGE = "image"
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\\n])*")|,(?=\s*[\]}])')
_NOT_IN_NAMES = re.compile("[^A-Za-z0-9._~-]+")
_ENV_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_PLACES = {"dataDir": "data", "codeDir": "code"}
_KNOWN = frozenset({"jobName", "image", "authFile", "dataDir", "outputDir", "codeDir", "gpuType",
                    "virtualCluster", "retryCount", "jobEnvs", "taskRoles", "extras"})
_TOLERATED = frozenset({"killAllOnCompletedTaskNumber"})
_JOB_NAME = re.compile("[A-Za-z0-9._-]{1,255}")
_NUMBER = re.compile("-?[0-9]{1,9}")
_ROLE_NUMBERS = ("taskNumber", "cpuNumber", "memoryMB", "shmMB", "gpuNumber",
                 "minFailedTaskCount", "minSucceededTaskCount")
_ROLE_KNOWN = frozenset({"name", "taskNumber", "cpuNumber", "memoryMB", "shmMB", "gpuNumber",
                         "portList", "command", "minFailedTaskCount", "minSucceededTaskCount"})


def read_v1(text: str) -> dict[str, Any] | None:
    """The JSON object of such a job, comments and last commas allowed; None for another text.

    Raises InvalidInputError with the place where it is nearly JSON.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "//", "/*")):
        return None
    plain = _COMMENT.sub(lambda found: found[1] or " " * len(found[0]), text.lstrip("\ufeff"))
    plain = _LAST_COMMA.sub(lambda found: found[1] or " ", plain)
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError) as error:
        if '"taskRoles"' not in text:
            return None  # YAML may begin with a brace too
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        raise InvalidInputError(Sentence(
            "This looks like {form}, but is no JSON.", form=FORM), [
                Problem(line=line, column=column, message=Sentence(
                    "{error}. Correct the JSON at this place.",
                    error=getattr(error, "msg", Sentence("It is nested too deep"))))]) from error
    is_v1 = isinstance(value, dict) and isinstance(value.get("taskRoles"), list) \
        and "jobName" in value
    return value if is_v1 else None


def check_v1(value: Mapping[str, Any]) -> dict[str, Any]:
    """A job as OpenPAI's server took it: only fields that it knew, texts of digits as numbers.

    Raises InvalidInputError in its words.
    """
    if not isinstance(value.get("jobName"), str) or not _JOB_NAME.fullmatch(value["jobName"]):
        raise InvalidInputError('child "jobName" fails because ["jobName" is required, of letters, '
                                'digits, "-", "." and "_"]')
    if not isinstance(value.get("image"), str) or not value["image"]:
        raise InvalidInputError('child "image" fails because ["image" is required]')
    if not value.get("taskRoles"):
        raise InvalidInputError('child "taskRoles" fails because ["taskRoles" does not contain 1 '
                                "required value(s)]")
    found = _checked(value, _KNOWN | _TOLERATED, ("retryCount",))
    return {**{name: found[name] for name in found if name not in _TOLERATED}, "taskRoles": [
        _checked_role(role) for role in value["taskRoles"]]}


def _checked_role(role: Any) -> dict[str, Any]:
    if not isinstance(role, dict) or not role.get("command"):
        raise InvalidInputError('child "taskRoles" fails because ["command" is required]')
    found = _checked(role, _ROLE_KNOWN, _ROLE_NUMBERS)
    ports = role.get("portList") or []
    if not isinstance(ports, list) or not all(isinstance(port, dict) for port in ports):
        raise InvalidInputError('child "portList" fails because ["portList" must be an array]')
    return {**found, "portList": [
        _checked(port, {"label", "beginAt", "portNumber"}, ("beginAt", "portNumber"))
        for port in ports]}


def _checked(value: Mapping[str, Any], known: Collection[str], numbers: Collection[str]
             ) -> dict[str, Any]:
    found = dict(value)
    for name in value:
        if name not in known:
            raise InvalidInputError(f'"{name}" is not allowed')
    for name in numbers:
        given = found.get(name)
        if isinstance(given, str):
            if not _NUMBER.fullmatch(given):
                raise InvalidInputError(f'child "{name}" fails because ["{name}" must be a number]')
            found[name] = int(given)
    return found


def converted_v1(value: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The job in our form, and a warning for each field that means nothing here.

    Fields of a wrong kind are taken over as they are: the rules of our form then name them.
    """
    notes = list(_notes(value))
    name = _NOT_IN_NAMES.sub("_", str(value["jobName"]))[:255]
    exports = _exports(value.get("jobEnvs"))
    document: dict[str, Any] = {
        "protocol_version": "v2", "name": name, "type": "job",
        "description": f"{value['jobName']}, written as {FORM}",
        **_given(value, "virtualCluster", "gpuType", "retryCount"),
        **({"isDebug": True} if _is_debug(value) else {}),
        "prerequisites": [{"protocol_version": "v2", "name": IMAGE, "type": "dockerimage",
                           "uri": value.get("image")}, *_repositories(value)],
        "tasks": [_task(role, exports, value) for role in value["taskRoles"]]}
    return document, notes


def _given(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value[name] for name in names if value.get(name) not in (None, "")}


def _is_debug(value: Mapping[str, Any]) -> bool:
    envs = value.get("jobEnvs")
    return isinstance(envs, dict) and str(envs.get("isDebug")).lower() == "true"


def _exports(envs: Any) -> list[str]:
    """Shell lines that set the job's variables, as texts that mean nothing to the shell."""
    items = envs.items() if isinstance(envs, dict) else ()
    return [f"export {name}={shlex.quote(str(value))}" for name, value in items
            if _ENV_NAME.fullmatch(name) and name not in ("isDebug", "paiAzRDMA")]


def _repositories(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`codeDir` and `dataDir` where they are something that a runner fetches."""
    found: list[dict[str, Any]] = []
    for field, name in _PLACES.items():
        uri = value.get(field)
        if _is_web(uri):
            kind = "script" if field == "codeDir" else "data"
            found.append({"protocol_version": "v2", "name": name, "type": kind, "uri": [uri]})
    return found


def _is_web(uri: Any) -> bool:
    return isinstance(uri, str) and uri.startswith(("http://", "https://"))


def _task(role: Any, exports: list[str], job: Mapping[str, Any]) -> Any:
    if not isinstance(role, dict):
        return role
    inputs = {kind: name for field, name in _PLACES.items() if _is_web(job.get(field))
              for kind in ["script" if field == "codeDir" else "data"]}
    each = {"cpu": role.get("cpuNumber", 1), "memoryMB": role.get("memoryMB", 100),
            "gpu": role.get("gpuNumber", 0), **_given(role, "shmMB")}
    command = role.get("command")
    return {
        "role": role.get("name"), "dockerimage": IMAGE, **inputs,
        "resource": {"instances": role.get("taskNumber", 1), "resourcePerInstance": each,
                     "portList": _ports(role.get("portList") or [])},
        "minFailedTaskCount": role.get("minFailedTaskCount", 1),
        "minSucceededTaskCount": role.get("minSucceededTaskCount"),
        "command": [*exports, *([command] if command else [])]}


def _ports(ports: Any) -> Any:
    if not isinstance(ports, list):
        return ports
    return [{"label": port.get("label"), "beginAt": port.get("beginAt", 0),
             "portNumber": port.get("portNumber", 1)} if isinstance(port, dict) else port
            for port in ports]


def _notes(value: Mapping[str, Any]) -> Iterator[Problem]:
    for field in (*_PLACES, "outputDir"):
        uri = value.get(field)
        if uri and not (field in _PLACES and _is_web(uri)):
            yield _note(field, Sentence(
                "`{field}` is brought to no task by itself. {instead}",
                field=field, instead=_INSTEAD[field]))
    if value.get("authFile"):
        yield _note("authFile", Sentence(
            "`authFile` is not read. Add a login to the image's registry on the page Settings, or "
            "with `paishare registry add`."))
    envs = value.get("jobEnvs") or {}
    for name in envs if isinstance(envs, dict) else ():
        if name == "isDebug" and _is_debug(value):
            continue
        if name in ("isDebug", "paiAzRDMA") or not _ENV_NAME.fullmatch(str(name)):
            yield _note(f"jobEnvs.{name}", Sentence(
                "`jobEnvs.{name}` steers nothing here.", name=name))
    if value.get("extras"):
        yield _note("extras", Sentence("`extras` steers nothing here."))
    for name in value:
        if name not in _KNOWN:
            yield _note(name, Sentence(
                "`{name}` is no field of this form and steers nothing.", name=name))
    for index, role in enumerate(value["taskRoles"]):
        for name in role if isinstance(role, dict) else ():
            if name not in _ROLE_KNOWN:
                path = f"taskRoles[{index}].{name}"
                yield _note(path, Sentence(
                    "`{path}` is no field of this form and steers nothing.", path=path))


_INSTEAD = {
    "dataDir": Sentence(
        "Add a `data` prerequisite with an https address, or with that of a folder in Hadoop, "
        "such as `hdfs://host:port/path/`."),
    "codeDir": Sentence(
        "Add a `script` prerequisite with the address of a Git repository, or a `data` one with "
        "that of a folder in Hadoop, such as `hdfs://host:port/path/`."),
    "outputDir": Sentence(
        "What a task writes into `$PAI_OUTPUT_DIR` is kept as its artifacts. A `storage` "
        "prerequisite such as `hdfs://host:port/path` has files sent there.")}


def _note(path: str, message: str) -> Problem:
    return Problem(path=path, message=message, severity="warning")
