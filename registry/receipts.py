"""Receipts of attempts: what each says in one line a fact, and in what two of them differ. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Iterable, Iterator, Mapping

from registry.measures import memory
from registry.placeholders import as_text
from registry.wording import N_
from runner.sentence import Sentence

PARAMETERS, FIGURES, INPUTS, RESOURCES = "parameters", "figures", "inputs", "resources"
MACHINE, RESULT, FILES = "machine", "result", "files"
GROUPS = (PARAMETERS, FIGURES, INPUTS, RESOURCES, RESULT, FILES, MACHINE)
_MISSING = "–"
NOT_MEASURED = Sentence("not measured: too short")
_KINDS = {"data": N_("data {target} of {role}"), "script": N_("script {target} of {role}"),
          "storage": N_("storage {target} of {role}")}
_MACHINE = {"cpus": N_("CPU cores"), "memory_mb": N_("memory"), "docker": N_("Docker"),
            "kernel": N_("kernel"), "cgroups": N_("cgroups"), "gpu_driver": N_("GPU driver")}


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One fact of a receipt: `group` is one of GROUPS, `value` is for people; no times."""

    group: str
    what: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Where two receipts differ; `–` where one of them does not say."""

    group: str
    what: str
    first: str
    second: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One fact of two receipts side by side; `–` where one of them does not say."""

    group: str
    what: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        return self.first != self.second


def facts(receipt: Mapping[str, Any], files: Iterable[Mapping[str, Any]] = (),
          figures: Mapping[str, str] = MappingProxyType({})) -> list[Fact]:
    """All that a run followed from, where it ran, how it ended, and the `files` that it left.

    `figures` are what it measured, each by its name.
    """
    spec = receipt["spec"]
    measured = ((FIGURES, name, value) for name, value in figures.items())
    found = [*_parameters(spec), *measured, *_inputs(spec), *_resources(spec), *_results(receipt),
             *_files(files), *_machine(receipt)]
    return [Fact(group=group, what=what, value=_text(value)) for group, what, value in found]


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """What differs, in the order of GROUPS; empty where both ran the same with the same end."""
    return [Difference(group=row.group, what=row.what, first=row.first, second=row.second)
            for row in side_by_side(facts(first), facts(second)) if row.differs]


def side_by_side(first: Iterable[Fact], second: Iterable[Fact]) -> list[Row]:
    """Every fact of either, group by group, in each group those first that differ."""
    here, there = ({(fact.group, fact.what): fact for fact in each} for each in (first, second))
    rows = []
    for key in here | there:
        values = [each[key].value if key in each else _MISSING for each in (here, there)]
        rows.append(Row(group=key[0], what=key[1], first=values[0], second=values[1]))
    return sorted(rows, key=lambda row: (GROUPS.index(row.group), not row.differs))


def _parameters(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, value in spec["parameters"].items():
        yield PARAMETERS, Sentence("parameter {name}", name=name), as_text(value)


def _inputs(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for role in spec["task_roles"]:
        name = role["name"]
        yield (INPUTS, Sentence("image of {role}", role=name),
               role["image"]["digest"] or role["image"]["uri"])
        for kind, what in _KINDS.items():
            for item in role[kind]:
                yield INPUTS, Sentence(what, target=item["target"], role=name), _pin(item)
        yield INPUTS, Sentence("commands of {role}", role=name), "\n".join(role["commands"])


def _resources(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for role in spec["task_roles"]:
        yield RESOURCES, Sentence("instances of {role}", role=role["name"]), role["instances"]
        yield RESOURCES, Sentence("resources of {role}", role=role["name"]), _given(
            role["resources"])


def _given(each: Mapping[str, int]) -> str:
    return Sentence("{cpus} CPU, {memory} of memory ({shm} of it shared), {gpus} GPU",
                    cpus=each["cpu"], gpus=each["gpu"], memory=memory(each["memory_mb"] << 20),
                    shm=memory(each["shm_mb"] << 20))


def _pin(item: Mapping[str, Any]) -> str:
    """What an input was, as exactly as it is known: its bytes, else its commit, else its place."""
    if item["sha256"]:
        return f"sha256 {item['sha256']}"
    if item["commit"]:
        return f"commit {item['commit']}{' ' + item['path'] if item['path'] else ''}"
    return item["uri"]


def _machine(receipt: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key, what in _MACHINE.items():
        value = receipt["machine"].get(key)
        if value and key == "memory_mb":
            value = memory(value << 20)
        yield MACHINE, Sentence(what), value
    for task in receipt["tasks"]:
        models = sorted(gpu["model"] for gpu in task["gpus"])
        yield (MACHINE, Sentence("GPUs of {task}", task=f"{task['role']}-{task['index']}"),
               ", ".join(models) or None)


def _results(receipt: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    limits = {role["name"]: role["resources"]["memory_mb"] << 20
              for role in receipt["spec"]["task_roles"]}
    yield RESULT, Sentence("state"), receipt["state"]
    yield RESULT, Sentence("reason"), receipt["reason"]
    yield RESULT, Sentence("wall time"), _seconds(receipt["wall_s"])
    for task in receipt["tasks"]:
        name = f"{task['role']}-{task['index']}"
        yield RESULT, Sentence("exit of {task}", task=name), task["exit_text"] or task["exit_code"]
        yield (RESULT, Sentence("CPU time of {task}", task=name),
               _seconds(task["cpu_s"]) or NOT_MEASURED)
        yield RESULT, Sentence("peak memory of {task}", task=name), _peak(task, limits)
        for gpu in task["gpus"]:
            yield (RESULT, Sentence("peak memory of GPU {number} of {task}", number=gpu["index"],
                                    task=name), _memory(gpu["peak_memory"]))


def _files(files: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """Each file by its bytes; by its size where these were not summed up."""
    for each in files:
        name = f"{each['role']}-{each['index']}/{each['path']}"
        value = f"sha256 {each['sha256']}" if each["sha256"] else Sentence(
            "{size} bytes", size=each["size"])
        yield FILES, name, value


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f} s"


def _peak(task: Mapping[str, Any], limits: Mapping[str, int]) -> str:
    """What was killed at its limit had all of it, whatever the last look before saw."""
    if task["oom_killed"]:
        return Sentence("{size}, its limit: it was killed there",
                        size=memory(limits[task["role"]]))
    return _memory(task["peak_memory"]) or NOT_MEASURED


def _memory(value: int | None) -> str | None:
    return None if value is None else memory(value)


def _text(value: Any) -> str:
    if value is None:
        return _MISSING
    return value if isinstance(value, str) else str(value)
