"""What changed in a job: parameters, tasks, what they ask for and what they take. Pure."""
from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Callable, Iterator, Mapping

from registry.changes import (
    BREAKING,
    COMPATIBLE,
    COSMETIC,
    MISSING,
    Change,
    Pair,
    Rule,
    changed,
    effective,
    field_changes,
    from_to,
    is_placeholder,
    is_same,
    mapping_of,
    shown,
)
from registry.component_rules import DEFAULT_SHM_MB
from registry.line_diff import steps_between
from registry.placeholders import as_text
from registry.prerequisite_changes import INPUT_NAMES, prerequisites
from registry.wording import N_
from runner.sentence import Sentence, both, plural

_KIND_NAMES = {bool: Sentence("true or false"), int: Sentence("a whole number"),
               float: Sentence("a number"), str: Sentence("a text"), list: Sentence("a list"),
               dict: Sentence("a mapping")}
_RESOURCES: dict[str, Callable[[int], str]] = {
    "gpu": lambda count: Sentence("GPU") if count == 1 else Sentence("GPUs"),
    "cpu": lambda count: plural("CPU core", "CPU cores", count),
    "memoryMB": lambda _: Sentence("MiB of memory"),
    "shmMB": lambda _: Sentence("MiB of shared memory")}


def _parameters(pair: Pair) -> Iterator[Change]:
    for name in pair.keys():
        yield from changed(pair.at(name, owner=name), _parameter)


def _parameter(pair: Pair) -> Iterator[Change]:
    name, old, new = pair.owner, pair.old, pair.new
    if new is MISSING:
        yield pair.change("parameters", Sentence(
            "The parameter `{name}` is gone: a submission that sets it is refused.",
            name=name), BREAKING)
    elif old is MISSING:
        yield pair.change("parameters", Sentence(
            "The parameter `{name}` is new, {new} by default.", name=name,
            new=shown(new)), is_new=True)
    elif _takes_less(old, new):
        takes = Sentence("any value") if old is None else _KIND_NAMES[type(old)]
        yield pair.change("parameters", Sentence(
            "The parameter `{name}` takes {kind} instead of {before}; its default goes {change}.",
            name=name, kind=_KIND_NAMES[type(new)], before=takes,
            change=from_to(old, new)), BREAKING)
    else:
        yield pair.change("parameters", Sentence(
            "The default of the parameter `{name}` goes {change}.", name=name,
            change=from_to(old, new)), is_new=True)


def _takes_less(old: Any, new: Any) -> bool:
    """Whether a value that was accepted beside the old default may be refused beside the new."""
    return new is not None and type(new) is not type(old) and not (
        type(old) is int and type(new) is float)


def _tasks(pair: Pair) -> Iterator[Change]:
    old, new = _by_key(pair.old, "role"), _by_key(pair.new, "role")
    for role in [*old, *(role for role in new if role not in old)]:
        task = replace(pair, path=f"{pair.path}[{role}]", owner=role,
                       old=old.get(role, MISSING), new=new.get(role, MISSING))
        yield from changed(task, _task)
    if list(old) != list(new) and set(old) == set(new):
        yield pair.change("tasks", Sentence("The tasks stand in another order."), COSMETIC)


def _task(pair: Pair) -> Iterator[Change]:
    if pair.new is MISSING:
        yield pair.change("tasks", Sentence(
            "The task role `{owner}` is gone.", owner=pair.owner), BREAKING)
    elif pair.old is MISSING:
        yield pair.change("tasks", Sentence(
            "The task role `{owner}` is new and needs room beside the others: {needs}.",
            owner=pair.owner, needs=_needs(pair.new)), BREAKING, is_new=True)
    else:
        yield from field_changes(pair, _TASK_FIELDS)


def _needs(task: Mapping[str, Any]) -> str:
    resource = mapping_of(task.get("resource"))
    each = mapping_of(resource.get("resourcePerInstance"))
    return (f"{as_text(resource.get('instances', 1))} × ({as_text(each.get('cpu'))} CPU, "
            f"{as_text(each.get('memoryMB'))} MiB, {as_text(each.get('gpu'))} GPU)")


def _resource(pair: Pair) -> Iterator[Change]:
    yield from field_changes(pair, {"resourcePerInstance": _per_instance, "instances": _instances,
                                    "portList": _ports})


def _per_instance(pair: Pair) -> Iterator[Change]:
    yield from field_changes(pair, dict.fromkeys(_RESOURCES, _amount))


def _amount(pair: Pair) -> Iterator[Change]:
    key = pair.path.rpartition(".")[2]
    old, new = pair.effective(DEFAULT_SHM_MB if key == "shmMB" else None)
    # Shared memory is a part of the memory: more of it needs no larger machine.
    verdict = BREAKING if _is_more(old, new) and key != "shmMB" else COMPATIBLE
    unit = _RESOURCES[key](1 if new == 1 else 2)
    if not is_same(old, new):
        yield pair.change("resources", Sentence(
            "`{owner}` asks for {new} {unit} instead of {old}.", owner=pair.owner,
            new=_spelled(pair.new, new), unit=unit, old=_spelled(pair.old, old)), verdict)
    elif is_placeholder(pair.new):
        yield pair.change("resources", Sentence(
            "A parameter, {new}, says how much `{owner}` asks for: {amount} {unit} by default.",
            new=shown(pair.new), owner=pair.owner, amount=_spelled(None, new), unit=unit),
            is_new=True)


def _instances(pair: Pair) -> Iterator[Change]:
    old, new = pair.effective(1)
    if not is_same(old, new):
        yield pair.change("resources", plural(
            "`{owner}` runs as {new} instance instead of {old}.",
            "`{owner}` runs as {new} instances instead of {old}.", 1 if new == 1 else 2,
            owner=pair.owner, new=_spelled(pair.new, new), old=_spelled(pair.old, old)),
            BREAKING if _is_more(old, new) else COMPATIBLE)
    elif is_placeholder(pair.new):
        yield pair.change("resources", Sentence(
            "A parameter, {new}, says as how many instances `{owner}` runs.", new=shown(pair.new),
            owner=pair.owner), is_new=True)


def _ports(pair: Pair) -> Iterator[Change]:
    old, new = _by_key(pair.old, "label"), _by_key(pair.new, "label")
    for label in [*old, *(label for label in new if label not in old)]:
        port = replace(pair, path=f"{pair.path}[{label}]", old=old.get(label, MISSING),
                       new=new.get(label, MISSING))
        yield from changed(port, partial(_port, label=label))
    if list(old) != list(new) and set(old) == set(new):
        yield pair.change("ports", Sentence("The ports stand in another order."), COSMETIC)


def _port(pair: Pair, label: str) -> Iterator[Change]:
    if pair.new is MISSING:
        yield pair.change("ports", Sentence(
            "The port `{label}` of `{owner}` is gone.", label=label, owner=pair.owner), BREAKING)
        return
    if pair.old is MISSING:
        yield pair.change("ports", Sentence(
            "`{owner}` has a new port, `{label}`.", owner=pair.owner, label=label), is_new=True)
        return
    rules: dict[str, Rule] = {
        "beginAt": partial(_begin_at, label=label),
        "portNumber": partial(_port_number, label=label)}
    yield from field_changes(pair, rules)


def _begin_at(pair: Pair, label: str) -> Iterator[Change]:
    old, new = pair.effective(None)
    now = Sentence("any free port") if new == 0 else Sentence(
        "the port {port}", port=_spelled(pair.new, new))
    before = Sentence("any free port") if old == 0 else _spelled(pair.old, old)
    yield pair.change("ports", Sentence(
        "`{label}` of `{owner}` takes {now} instead of {before}.", label=label, owner=pair.owner,
        now=now, before=before),
            BREAKING)


def _port_number(pair: Pair, label: str) -> Iterator[Change]:
    old, new = pair.effective(1)
    if not is_same(old, new):
        yield pair.change("ports", Sentence(
            "`{label}` of `{owner}` has {new} ports instead of {old}.", label=label,
            owner=pair.owner, new=_spelled(pair.new, new), old=_spelled(pair.old, old)),
            COMPATIBLE if _is_more(old, new) else BREAKING)


def _command(pair: Pair) -> Iterator[Change]:
    old, new = _texts(pair.old), _texts(pair.new)
    steps = [step for step in steps_between(old, new) if step[0] != "equal"]
    gone = [line for _, low, high, _, _ in steps for line in old[low:high]]
    come = [line for _, _, _, low, high in steps for line in new[low:high]]
    if sorted(gone) == sorted(come):
        sentence = Sentence("`{owner}` runs the same commands in another order.", owner=pair.owner)
    elif len(gone) == len(come) == 1 and (words := _words(gone[0], come[0])):
        sentence = Sentence("In a command of `{owner}`, {words}.", owner=pair.owner, words=words)
    else:
        parts = [Sentence(said, count=len(lines),
                          lines=shown(lines[0]) + (", …" if len(lines) > 1 else ""))
                 for said, lines in ((N_("{count} new ({lines})"), come),
                                     (N_("{count} gone ({lines})"), gone)) if lines]
        sentence = Sentence("Commands of `{owner}`: {parts}.", owner=pair.owner, parts=both(parts))
    yield pair.change("commands", sentence)


def _words(old: str, new: str) -> str:
    """What changed within one command; empty where that is too much to say."""
    left, right = old.split(), new.split()
    steps = [step for step in steps_between(left, right) if step[0] != "equal"]
    gone = " ".join(" ".join(left[low:high]) for _, low, high, _, _ in steps).split()
    come = " ".join(" ".join(right[low:high]) for _, _, _, low, high in steps).split()
    parts = [Sentence(said, words=shown(" ".join(words)))
             for said, words in ((N_("{words} is gone"), gone), (N_("{words} is new"), come))
             if words]
    is_small = 2 * max(len(gone), len(come)) < max(len(left), len(right))
    return both(parts) if is_small and parts else ""


def _input(pair: Pair) -> Iterator[Change]:
    """Which prerequisite a task takes."""
    kind = pair.path.rpartition(".")[2]
    name, area = INPUT_NAMES[kind], "image" if kind == "dockerimage" else "inputs"
    if pair.is_added and pair.is_removed:
        return
    if pair.is_added:
        yield pair.change(area, Sentence(
            "`{owner}` takes the {name} {new}.", owner=pair.owner, name=name, new=shown(pair.new)),
            is_new=True)
    elif pair.is_removed:
        yield pair.change(area, Sentence(
            "`{owner}` takes the {name} {old} no longer.", owner=pair.owner, name=name,
            old=shown(pair.old)),
            BREAKING if kind == "storage" else COMPATIBLE)
    else:
        yield pair.change(area, Sentence(
            "`{owner}` takes the {name} {new} instead of {old}.", owner=pair.owner, name=name,
            new=shown(pair.new), old=shown(pair.old)),
            BREAKING if kind == "storage" else COMPATIBLE)


def _completion(pair: Pair) -> Iterator[Change]:
    is_failure = pair.path.endswith("minFailedTaskCount")
    default = 1 if is_failure else None
    old, new = (default if value is MISSING else effective(value, value, parameters)
                for value, parameters in ((pair.old, pair.old_parameters),
                                          (pair.new, pair.new_parameters)))
    if is_same(old, new):
        return
    said = N_("How many failed tasks of `{owner}` it takes until that fails the job: {new} instead "
              "of {old}.") if is_failure else \
        N_("How many successful tasks of `{owner}` it takes until that ends the job well: {new} "
           "instead of {old}.")
    yield pair.change("policies", Sentence(said, owner=pair.owner, new=_policy(new),
                                           old=_policy(old)))


def _policy(value: Any) -> str:
    return Sentence("never") if value is None else as_text(value)


def _task_parameters(pair: Pair) -> Iterator[Change]:
    for name in pair.keys():
        yield from changed(pair.at(name), partial(_task_parameter, name=name))


def _task_parameter(pair: Pair, name: str) -> Iterator[Change]:
    yield pair.change("parameters", Sentence(
        "`{owner}` sets its own parameter `{name}` to {new} instead of {old}.", owner=pair.owner,
        name=name, new=shown(pair.new), old=shown(pair.old)))


def _retry_count(pair: Pair) -> Iterator[Change]:
    old, new = pair.effective(0)
    if not is_same(old, new):
        yield pair.change("policies", Sentence(
            "A failed job is tried again {new} times instead of {old}.",
            new=_spelled(pair.new, new), old=_spelled(pair.old, old)))


def _virtual_cluster(pair: Pair) -> Iterator[Change]:
    old, new = pair.effective("default")
    if not is_same(old or "default", new or "default"):
        yield pair.change("policies", Sentence(
            "The virtual cluster is {new} instead of {old}.", new=shown(new), old=shown(old)))


# --- values ------------------------------------------------------------------------------------

def _is_more(old: Any, new: Any) -> bool:
    numbers = (int, float)
    return isinstance(old, numbers) and isinstance(new, numbers) and new > old


def _by_key(items: Any, key: str) -> dict[str, Any]:
    """A list by the names of its items; a second of the same name counts on."""
    found: dict[str, Any] = {}
    for item in items if isinstance(items, list) else ():
        name = str(mapping_of(item).get(key))
        while name in found:
            name += "′"
        found[name] = item
    return found


def _texts(value: Any) -> list[str]:
    return [as_text(item) for item in value] if isinstance(value, list) else [as_text(value)]


def _spelled(written: Any, value: Any) -> str:
    text = Sentence("none") if value is None else as_text(value)
    return Sentence("{text} (`{written}`)", text=text, written=written) \
        if is_placeholder(written) else text


_TASK_FIELDS: dict[str, Rule] = {
    "resource": _resource, "command": _command, "dockerimage": _input, "data": _input,
    "script": _input, "storage": _input, "minFailedTaskCount": _completion,
    "minSucceededTaskCount": _completion, "parameters": _task_parameters}
JOB_FIELDS: dict[str, Rule] = {
    "parameters": _parameters, "tasks": _tasks, "prerequisites": prerequisites,
    "retryCount": _retry_count, "virtualCluster": _virtual_cluster}
