"""Job, parameters and prerequisites → the job spec: no `$$` left, every input pinned."""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Iterable, Mapping

from registry.catalog import Catalog, Entry
from registry.component import Component, is_text_path
from registry.component_rules import (
    DEFAULT_SHM_MB,
    INNER_TYPES,
    PLACEHOLDER,
    PREREQUISITE_TYPES,
    at_key,
    at_value,
    check,
)
from registry.errors import (
    ComponentError,
    ConflictError,
    GoneError,
    InvalidInputError,
    NotFoundError,
    Problem,
)
from registry.inputs import inputs_of
from registry.placeholders import Substitution, effective_parameters
from registry.prerequisites import Prerequisite, Prerequisites
from registry.protocol_2 import CATALOGUED
from registry.reference import REFERENCE
from registry.yaml_nodes import Path, in_order, path_text, summary
from registry.yaml_text import read
from runner.sentence import Sentence, either, said_by
from runner.spec import Image, Input, JobSpec, PortRequest, Resources, TaskRoleSpec

_JOB_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._~-]{1,255}")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A job that can run; `advice` are warnings from the owners of what it uses."""

    spec: JobSpec
    advice: tuple[Problem, ...]


def resolve(component: Component, *, catalog: Catalog, user: str,
            parameters: Mapping[str, Any] = _NOTHING, entry: Entry | None = None,
            name: str | None = None, user_id: int | None = None) -> Resolved:
    """Turn a job into what the runner takes.

    `entry` is where the job is from, None for a text that is in no source; `name` replaces the
    name of the job; `user_id` is who reads the catalog, None a visitor.
    Raises InvalidInputError with every problem that was found.
    """
    if component.type != "job":
        raise InvalidInputError(Sentence(
            "`{reference}` is of type {type}. Only jobs can be submitted; find one that uses "
            "it in the marketplace.", reference=component.reference, type=component.type))
    if component.is_protocol_2:
        raise ComponentError(CATALOGUED, [
            replace(problem, severity="error") for problem in component.warnings
            if problem.message == CATALOGUED])
    prerequisites = Prerequisites(component, catalog, entry, user_id)
    resolution = _Resolution(component, prerequisites, entry)
    spec = resolution.job_spec(user, parameters, name)
    return Resolved(spec=spec, advice=tuple(in_order(resolution.advice)))


class _Resolution:
    """One job on its way to a job spec; problems are collected, then raised together."""

    def __init__(self, component: Component, prerequisites: Prerequisites, entry: Entry | None
                 ) -> None:
        self.component = component
        self.entry = entry
        self.document = read(component.text, is_text_path)
        self.prerequisites = prerequisites
        self.substitution = Substitution(self.document)
        self.problems: list[Problem] = []
        self.advice = [Problem(message=text, severity="warning")
                       for text in (entry.advice if entry else ())]

    def job_spec(self, user: str, given: Mapping[str, Any], name: str | None) -> JobSpec:
        values, self.problems = effective_parameters(
            self.document, self.component.parameters, given)
        self._check_name(name)
        job = self._substituted(values)
        self._stop_on_problems()
        roles = tuple(self._task_role(task, ("tasks", index))
                      for index, task in enumerate(job["tasks"]))
        self._stop_on_problems()
        return JobSpec(
            name=name or self.component.name, user=user, task_roles=roles,
            virtual_cluster=job.get("virtualCluster") or "default",
            retry_count=int(job.get("retryCount", 0)), priority=int(job.get("priority", 0)),
            time_limit_s=int(job["timeLimitMinutes"]) * 60 if "timeLimitMinutes" in job else None,
            gpu_type=job.get("gpuType") or "", is_debug=bool(job.get("isDebug")),
            origin=_origin(self.entry), parameters=values, yaml=self.component.text)

    def _check_name(self, name: str | None) -> None:
        if name and not _JOB_NAME.fullmatch(name):
            self.problems.append(Problem(path="name", message=Sentence(
                "`{name}` cannot be the name of a job. Use 1 to 255 letters, digits or any of `- . "
                "_ ~`.", name=name[:80])))

    def _substituted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The job with all references replaced, held once more against the rules."""
        job = dict(self.component.document)
        for field in ("virtualCluster", "retryCount", "priority", "timeLimitMinutes", "gpuType"):
            if field in job:
                job[field] = self.substitution.value(job[field], [values], (field,))
        job["tasks"] = [self._substituted_task(task, values, ("tasks", index))
                        for index, task in enumerate(self.component.tasks)]
        self.problems += self.substitution.problems
        unknown = {problem.path for problem in self.substitution.problems}
        for problem in check(self.document, job, "job", is_resolved=True):
            if problem.severity == "error" and problem.path not in unknown:
                self.problems.append(self._with_reference(problem))
        return job

    def _substituted_task(self, task: Mapping[str, Any], values: Mapping[str, Any], path: Path
                          ) -> dict[str, Any]:
        """First the task's own parameters, then its fields, then its commands, which see both."""
        own = self.substitution.value(task.get("parameters") or {}, [values],
                                      (*path, "parameters"))
        fields = {key: self.substitution.value(value, [own, values], (*path, key))
                  for key, value in task.items() if key not in ("command", "parameters")}
        scopes = [self._command_scope(fields), own, values]
        commands = [self.substitution.text(command, scopes, (*path, "command", index))
                    for index, command in enumerate(task["command"])]
        return {**fields, "parameters": own, "command": commands}

    def _command_scope(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """What a command can name of its task; a prerequisite is named as its folder is."""
        scope = {key: value for key, value in fields.items() if value is not None}
        if "dockerimage" not in scope and self.prerequisites.only_image:
            scope["dockerimage"] = self.prerequisites.only_image
        for kind in PREREQUISITE_TYPES:
            reference = REFERENCE.fullmatch(str(scope.get(kind, "")))
            if reference:
                scope[kind] = reference["name"]
        scope["resource"] = {"instances": 1, **(scope.get("resource") or {})}
        return scope

    def _task_role(self, task: Mapping[str, Any], path: Path) -> TaskRoleSpec:
        resource = task["resource"]
        inputs = {kind: self._inputs(kind, task.get(kind), (*path, kind))
                  for kind in ("data", "script", *INNER_TYPES)}
        self._check_targets([item for kind in inputs.values() for item in kind], path)
        return TaskRoleSpec(
            name=task["role"], image=self._image(task.get("dockerimage"), path),
            commands=tuple(task["command"]), instances=int(resource.get("instances", 1)),
            resources=_resources(resource["resourcePerInstance"]),
            ports=tuple(_port(port) for port in resource.get("portList") or ()),
            min_failed_task_count=_count(task.get("minFailedTaskCount", 1)),
            min_succeeded_task_count=_count(task.get("minSucceededTaskCount")),
            data=inputs["data"], script=inputs["script"],
            storage=inputs["storage"] + inputs["output"])

    def _image(self, wanted: str | None, path: Path) -> Image:
        wanted = wanted or self.prerequisites.only_image
        if not wanted:
            self.problems.append(at_key(self.document, (*path, "role"), Sentence(
                "This task names no `dockerimage`, and the prerequisites have not exactly one. Add "
                "`dockerimage: …` with the name of one.")))
            return Image(uri="")
        found = self._found("dockerimage", wanted, (*path, "dockerimage"))
        return Image(uri=found.document["uri"] if found else "")

    def _inputs(self, kind: str, wanted: str | None, path: Path) -> tuple[Input, ...]:
        found = self._found(kind, wanted, path) if wanted else None
        if not found:
            return ()
        try:
            return inputs_of(kind, found.document, found.base, self.prerequisites.home)
        except (ValueError, NotFoundError) as error:
            self._report((*found.path, "uri") if found.path else path, said_by(error))
            return ()

    def _check_targets(self, inputs: list[Input], path: Path) -> None:
        first: dict[str, Input] = {}
        for item in inputs:
            other = first.setdefault(item.target, item)
            if other is not item:
                self._report(path, Sentence(
                    "`{uri}` and `{uri2}` would both be `{target}`. Give one prerequisite another "
                    "name.", uri=other.uri[:200], uri2=item.uri[:200], target=item.target))

    def _found(self, kind: str, wanted: str, path: Path) -> Prerequisite | None:
        try:
            found = self.prerequisites.get(kind, wanted)
            self._advise(path, found.advice)
            return found
        except NotFoundError as error:
            near = [f"`{name}`" for name in error.nearest[:3]]
            self._report(path, Sentence(
                "No {kind} `{wanted}` is among the prerequisites or in the marketplace.{hint} "
                "Correct the name, or write it out in `prerequisites`.", kind=kind,
                wanted=wanted[:255],
                hint=Sentence(" Did you mean {names}?", names=either(near)) if near else ""))
        except (ConflictError, GoneError, InvalidInputError) as error:
            self._report(path, error.message)
        return None

    def _with_reference(self, problem: Problem) -> Problem:
        """Say so where the wrong value was put in for a reference."""
        places = {path_text(path): place for path, place in self.document.places.items()}
        place = places.get(problem.path)
        written = self.document.text[place.start:place.end] if place else ""
        if not PLACEHOLDER.search(written):
            return problem
        return replace(problem, message=Sentence(
            "{message} The value stands for `{written}`.", message=problem.message,
            written=written[:80]))

    def _report(self, path: Path, message: str) -> None:
        problem = at_value(self.document, path, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def _advise(self, path: Path, advice: Iterable[str]) -> None:
        for text in advice:
            problem = at_value(self.document, path, text, "warning")
            if text not in [known.message for known in self.advice]:
                self.advice.append(problem)

    def _stop_on_problems(self) -> None:
        if self.problems:
            raise InvalidInputError(summary(self.problems), in_order(self.problems))


def _origin(entry: Entry | None) -> dict[str, str]:
    if entry is None:
        return {}
    return {"reference": entry.reference, "source": entry.source, "commit": entry.commit,
            "path": entry.path, "blob": entry.blob}


def _resources(each: Mapping[str, Any]) -> Resources:
    return Resources(cpu=int(each["cpu"]), memory_mb=int(each["memoryMB"]), gpu=int(each["gpu"]),
                     shm_mb=int(each.get("shmMB", DEFAULT_SHM_MB)))


def _port(port: Mapping[str, Any]) -> PortRequest:
    return PortRequest(label=port["label"], begin_at=int(port["beginAt"]),
                       count=int(port["portNumber"]))


def _count(value: int | float | None) -> int | None:
    return None if value is None else int(value)
