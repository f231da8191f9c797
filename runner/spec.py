"""What the runner is given and how far a job has come: records, states, JSON both ways."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Mapping

from jsonschema import Draft202012Validator

from runner.errors import InvalidSpecError
from runner.sentence import Sentence

WAITING, RUNNING = "WAITING", "RUNNING"
SUCCEEDED, FAILED, STOPPED = "SUCCEEDED", "FAILED", "STOPPED"
JOB_STATES = (WAITING, RUNNING, SUCCEEDED, FAILED, STOPPED)
FINAL_STATES = frozenset({SUCCEEDED, FAILED, STOPPED})
TRANSITIONS: Mapping[str, frozenset[str]] = {
    WAITING: frozenset({WAITING, RUNNING, FAILED, STOPPED}),
    RUNNING: frozenset({RUNNING, WAITING, SUCCEEDED, FAILED, STOPPED}),
    SUCCEEDED: frozenset(),
    FAILED: frozenset(),
    STOPPED: frozenset(),
}
MAX_LIMIT_S = 366 * 86400
DOCKER_HUB = "docker.io"
_HUB_NAMES = frozenset({"index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})
STAGES = ("setup", "image", "data", "queue", "run", "end")


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What one task may use: whole cores, MiB of memory, MiB of /dev/shm, whole GPUs."""

    cpu: int = 1
    memory_mb: int = 100
    shm_mb: int = 64
    gpu: int = 0


@dataclass(frozen=True, kw_only=True)
class PortRequest:
    """`count` ports under one label; `begin_at` 0 means any, else exactly from there."""

    label: str
    begin_at: int = 0
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Input:
    """One URI of a data, script or storage prerequisite, pinned as far as it is known.

    `kind` is `file` (one file of the web, of this machine or of a storage that the operator names;
    of the last also a folder, with a slash at the end of its URI), `git` (a repository, or with
    `path` one folder or file of it) or `storage` (a folder that outlives the job).
    `target` is where it appears, relative to the task's work directory: `<name>/<last part>`.
    `commit` (40 hex digits) and `sha256` (64) are None until known; the runner fills in what it
    finds and keeps it for every further attempt.
    """

    kind: str
    uri: str
    target: str
    path: str = ""
    commit: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Image:
    """`digest` is `sha256:…` of the image's content, None until the runner has seen it."""

    uri: str
    digest: str | None = None

    @property
    def server(self) -> str:
        """The registry that the name is of."""
        first, slash, _ = self.uri.partition("/")
        is_server = slash and ("." in first or ":" in first or first == "localhost")
        return registry_name(first) if is_server else DOCKER_HUB


@dataclass(frozen=True, kw_only=True)
class Login:
    """What one user logs in to one registry with. It travels beside a job spec, never in it."""

    server: str
    username: str
    secret: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class TaskRoleSpec:
    """One entry of `tasks:`; `instances` containers run `commands` in one shell each."""

    name: str
    image: Image
    commands: tuple[str, ...]
    instances: int = 1
    resources: Resources = Resources()
    ports: tuple[PortRequest, ...] = ()
    data: tuple[Input, ...] = ()
    script: tuple[Input, ...] = ()
    storage: tuple[Input, ...] = ()
    min_failed_task_count: int | None = 1
    min_succeeded_task_count: int | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.data + self.script + self.storage


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """A job with nothing left to resolve.

    `retry_count`: N further attempts after a failure of the user's code, -1 without limit,
    -2 also after success. `priority`: the higher, the earlier its turn; how high one may go, its
    virtual cluster says. `time_limit_s`: seconds that one attempt may run, None for no end.
    `gpu_type` is part of a GPU's model name, empty for any. `is_debug`: the containers of tasks
    that fail are kept for a while.
    `origin` (reference, source, commit, path, blob; all strings), `parameters` and `yaml` are kept
    for the reader and for "submit again"; they steer nothing.
    """

    name: str
    user: str
    task_roles: tuple[TaskRoleSpec, ...]
    virtual_cluster: str = "default"
    retry_count: int = 0
    priority: int = 0
    time_limit_s: int | None = None
    gpu_type: str = ""
    is_debug: bool = False
    origin: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    yaml: str = ""

    @property
    def task_count(self) -> int:
        return sum(role.instances for role in self.task_roles)

    @property
    def gpu_count(self) -> int:
        return sum(role.instances * role.resources.gpu for role in self.task_roles)

    @property
    def template(self) -> str:
        """`source:type/name@version` that the text came from; empty: it came from none."""
        reference = self.origin.get("reference")
        return f"{self.origin['source']}:{reference}" if reference else ""

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


_NAME = {"type": "string", "pattern": r"^(?!\.{1,2}$)[A-Za-z0-9\-._~]{1,255}$(?!\n)"}
_ROLE_NAME = {"type": "string", "pattern": r"^[A-Za-z0-9._~]{1,255}$(?!\n)"}
_COUNT = {"type": ["integer", "null"], "minimum": 1}


def _object(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False,
            "required": required, "properties": properties}


_INPUTS = {"type": "array", "items": _object(["kind", "uri", "target"], {
    "kind": {"enum": ["file", "git", "storage"]},
    "uri": {"type": "string", "minLength": 1},
    "target": {"type": "string", "minLength": 1,
               "pattern": r"^(?!/)(?!.*(?:^|/)\.{1,2}(?:/|$))[^\x00-\x1f]+$"},
    "path": {"type": "string", "pattern": r"^(?!/)(?!.*(?:^|/)\.{1,2}(?:/|$))[^\x00-\x1f]*$"},
    "commit": {"type": ["string", "null"], "pattern": "^[0-9a-f]{40}$"},
    "sha256": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"},
})}
JOB_SPEC_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(["name", "user", "task_roles"], {
        "name": _NAME,
        "user": {"type": "string", "minLength": 1},
        "virtual_cluster": {"type": "string"},
        "retry_count": {"type": "integer", "minimum": -2},
        "priority": {"type": "integer", "minimum": -1000, "maximum": 1000},
        "time_limit_s": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_LIMIT_S},
        "gpu_type": {"type": "string", "maxLength": 100},
        "is_debug": {"type": "boolean"},
        "origin": {"type": "object", "additionalProperties": {"type": "string"}},
        "parameters": {"type": "object"},
        "yaml": {"type": "string"},
        "task_roles": {"type": "array", "minItems": 1, "items": _object(
            ["name", "image", "commands"], {
                "name": _ROLE_NAME,
                "image": _object(["uri"], {
                    "uri": {"type": "string", "pattern": r"^[A-Za-z0-9][^\s]*$"},
                    "digest": {"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"}}),
                "commands": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "instances": {"type": "integer", "minimum": 1, "maximum": 1000},
                "resources": _object([], {
                    "cpu": {"type": "integer", "minimum": 1},
                    "memory_mb": {"type": "integer", "minimum": 100},
                    "shm_mb": {"type": "integer", "minimum": 1},
                    "gpu": {"type": "integer", "minimum": 0}}),
                "ports": {"type": "array", "items": _object(["label"], {
                    "label": _ROLE_NAME,
                    "begin_at": {"type": "integer", "minimum": 0, "maximum": 65535},
                    "count": {"type": "integer", "minimum": 1, "maximum": 1000}})},
                "data": _INPUTS, "script": _INPUTS, "storage": _INPUTS,
                "min_failed_task_count": _COUNT,
                "min_succeeded_task_count": _COUNT,
            })},
    }),
}
_VALIDATOR = Draft202012Validator(JOB_SPEC_SCHEMA)


def registry_name(server: str) -> str:
    """A registry as images name it, from how people and `docker login` write it."""
    name = server.strip().partition("://")[2] or server.strip()
    name = name.partition("/")[0].lower()
    return DOCKER_HUB if name in _HUB_NAMES else name


def _inputs(values: list[Mapping[str, Any]]) -> tuple[Input, ...]:
    return tuple(Input(**value) for value in values)


def _task_role(value: Mapping[str, Any]) -> TaskRoleSpec:
    rest = dict(value)
    return TaskRoleSpec(
        image=Image(**rest.pop("image")),
        commands=tuple(rest.pop("commands")),
        resources=Resources(**rest.pop("resources", {})),
        ports=tuple(PortRequest(**port) for port in rest.pop("ports", ())),
        data=_inputs(rest.pop("data", ())),
        script=_inputs(rest.pop("script", ())),
        storage=_inputs(rest.pop("storage", ())),
        **rest,
    )


def job_spec_from_json(value: Any) -> JobSpec:
    """Read a job spec as `as_json` writes it; raises InvalidSpecError with every wrong place."""
    errors = [{"path": error.json_path, "message": error.message}
              for error in _VALIDATOR.iter_errors(_as_lists(value))]
    if errors:
        raise InvalidSpecError(Sentence(
            "The job spec has {number} mistakes; the first: {path}: {message}",
            number=len(errors), path=errors[0]["path"], message=errors[0]["message"]), errors)
    spec = known_job_spec(value)
    names = [role.name for role in spec.task_roles]
    if len(set(names)) < len(names):
        raise InvalidSpecError(Sentence("Two task roles have the same name."))
    return spec


def known_job_spec(value: Mapping[str, Any]) -> JobSpec:
    """Read a job spec that has been checked before, such as one from the store."""
    rest = dict(value)
    return JobSpec(task_roles=tuple(map(_task_role, rest.pop("task_roles"))), **rest)


def _as_lists(value: Any) -> Any:
    """Tuples as lists, which JSON Schema calls arrays."""
    if isinstance(value, Mapping):
        return {key: _as_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_lists(item) for item in value]
    return value
