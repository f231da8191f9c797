"""Receipts of attempts: what each says in one line a fact, and in what two of them differ. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping

INPUTS, MACHINE, RESULT = "inputs", "machine", "result"
_MISSING = "–"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One fact of a receipt: `group` says of what, `value` is for people; times are left out."""

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


def facts(receipt: Mapping[str, Any]) -> list[Fact]:
    """All that a run followed from, where it ran, and how it ended."""
    spec = receipt["spec"]
    found = [*_inputs(spec), *_machine(receipt), *_results(receipt)]
    return [Fact(group=group, what=what, value=_text(value)) for group, what, value in found]


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """What differs, in the order of `facts`; empty where both ran the same with the same end."""
    here, there = ({(fact.group, fact.what): fact.value for fact in facts(each)}
                   for each in (first, second))
    order = {group: at for at, group in enumerate((INPUTS, MACHINE, RESULT))}
    keys = sorted(here | there, key=lambda key: order[key[0]])
    return [Difference(group=group, what=what, first=here.get((group, what), _MISSING),
                       second=there.get((group, what), _MISSING))
            for group, what in keys
            if here.get((group, what)) != there.get((group, what))]


def _inputs(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, value in spec["parameters"].items():
        yield INPUTS, f"parameter {name}", value
    for role in spec["task_roles"]:
        yield INPUTS, f"image of {role['name']}", role["image"]["digest"] or role["image"]["uri"]
        yield INPUTS, f"instances of {role['name']}", role["instances"]
        yield INPUTS, f"resources of {role['name']}", ", ".join(
            f"{name} {value}" for name, value in role["resources"].items())
        yield INPUTS, f"commands of {role['name']}", "\n".join(role["commands"])
        for kind in ("data", "script", "storage"):
            for item in role[kind]:
                yield INPUTS, f"{kind} {item['target']} of {role['name']}", _pin(item)


def _pin(item: Mapping[str, Any]) -> str:
    """What an input was, as exactly as it is known: its bytes, else its commit, else its place."""
    if item["sha256"]:
        return f"sha256 {item['sha256']}"
    if item["commit"]:
        return f"commit {item['commit']}{' ' + item['path'] if item['path'] else ''}"
    return item["uri"]


def _machine(receipt: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    names = {"cpus": "CPU cores", "memory_mb": "memory in MiB", "docker": "Docker",
             "kernel": "kernel", "cgroups": "cgroups", "gpu_driver": "GPU driver"}
    for key, what in names.items():
        yield MACHINE, what, receipt["machine"].get(key)
    for task in receipt["tasks"]:
        models = sorted(gpu["model"] for gpu in task["gpus"])
        yield MACHINE, f"GPUs of {task['role']}-{task['index']}", ", ".join(models) or None


def _results(receipt: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    yield RESULT, "state", receipt["state"]
    yield RESULT, "reason", receipt["reason"]
    yield RESULT, "wall time", _seconds(receipt["wall_s"])
    for task in receipt["tasks"]:
        name = f"{task['role']}-{task['index']}"
        yield RESULT, f"exit of {name}", task["exit_text"] or task["exit_code"]
        yield RESULT, f"CPU time of {name}", _seconds(task["cpu_s"])
        yield RESULT, f"peak memory of {name}", _mib(task["peak_memory"])
        for gpu in task["gpus"]:
            yield RESULT, f"peak memory of GPU {gpu['index']} of {name}", _mib(gpu["peak_memory"])


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f} s"


def _mib(value: int | None) -> str | None:
    return None if value is None else f"{value / 2**20:.1f} MiB"


def _text(value: Any) -> str:
    return _MISSING if value is None else str(value)
