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
    nothing,
    shown,
)
from registry.component_rules import DEFAULT_SHM_MB, REFERENCE
from registry.line_diff import steps_between
from registry.placeholders import as_text
from registry.uri_changes import image_sentence, uris_in
from registry.uses import plain_data, plain_script

_KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text",
               list: "a list", dict: "a mapping"}
_INPUT_NAMES = {"data": "data", "script": "script", "storage": "storage",
                "dockerimage": "image", "": "prerequisite"}
_RESOURCES = {"gpu": "GPU", "cpu": "CPU core", "memoryMB": "MB of memory",
              "shmMB": "MB of shared memory"}


def _parameters(pair: Pair) -> Iterator[Change]:
    for name in pair.keys():
        yield from changed(pair.at(name, owner=name), _parameter)


def _parameter(pair: Pair) -> Iterator[Change]:
    name, old, new = pair.owner, pair.old, pair.new
    if new is MISSING:
        yield pair.change("parameters", f"The parameter `{name}` is gone: a submission that sets "
                                        "it is refused.", BREAKING)
    elif old is MISSING:
        yield pair.change("parameters", f"The parameter `{name}` is new, {shown(new)} by "
                                        "default.", is_new=True)
    elif _takes_less(old, new):
        takes = "any value" if old is None else _KIND_NAMES[type(old)]
        yield pair.change("parameters", f"The parameter `{name}` takes {_KIND_NAMES[type(new)]} "
                          f"instead of {takes}; its default goes {from_to(old, new)}.", BREAKING)
    else:
        yield pair.change("parameters", f"The default of the parameter `{name}` goes "
                                        f"{from_to(old, new)}.", is_new=True)


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
        yield pair.change("tasks", "The tasks stand in another order.", COSMETIC)


def _task(pair: Pair) -> Iterator[Change]:
    if pair.new is MISSING:
        yield pair.change("tasks", f"The task role `{pair.owner}` is gone.", BREAKING)
    elif pair.old is MISSING:
        yield pair.change("tasks", f"The task role `{pair.owner}` is new and needs room beside "
                                   f"the others: {_needs(pair.new)}.", BREAKING, is_new=True)
    else:
        yield from field_changes(pair, _TASK_FIELDS)


def _needs(task: Mapping[str, Any]) -> str:
    resource = mapping_of(task.get("resource"))
    each = mapping_of(resource.get("resourcePerInstance"))
    return (f"{as_text(resource.get('instances', 1))} × ({as_text(each.get('cpu'))} CPU, "
            f"{as_text(each.get('memoryMB'))} MB, {as_text(each.get('gpu'))} GPU)")


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
    unit = _RESOURCES[key] + ("" if new == 1 or " of " in _RESOURCES[key] else "s")
    if not is_same(old, new):
        yield pair.change("resources", f"`{pair.owner}` asks for {_spelled(pair.new, new)} {unit} "
                                       f"instead of {_spelled(pair.old, old)}.", verdict)
    elif is_placeholder(pair.new):
        yield pair.change("resources", f"A parameter, {shown(pair.new)}, says how much "
                          f"`{pair.owner}` asks for: {_spelled(None, new)} {unit} by default.",
                          is_new=True)


def _instances(pair: Pair) -> Iterator[Change]:
    old, new = pair.effective(1)
    if not is_same(old, new):
        noun = "instance" if new == 1 else "instances"
        yield pair.change("resources", f"`{pair.owner}` runs as {_spelled(pair.new, new)} {noun} "
                          f"instead of {_spelled(pair.old, old)}.",
                          BREAKING if _is_more(old, new) else COMPATIBLE)
    elif is_placeholder(pair.new):
        yield pair.change("resources", f"A parameter, {shown(pair.new)}, says as how many "
                          f"instances `{pair.owner}` runs.", is_new=True)


def _ports(pair: Pair) -> Iterator[Change]:
    old, new = _by_key(pair.old, "label"), _by_key(pair.new, "label")
    for label in [*old, *(label for label in new if label not in old)]:
        port = replace(pair, path=f"{pair.path}[{label}]", old=old.get(label, MISSING),
                       new=new.get(label, MISSING))
        yield from changed(port, partial(_port, label=label))
    if list(old) != list(new) and set(old) == set(new):
        yield pair.change("ports", "The ports stand in another order.", COSMETIC)


def _port(pair: Pair, label: str) -> Iterator[Change]:
    if pair.new is MISSING:
        yield pair.change("ports", f"The port `{label}` of `{pair.owner}` is gone.", BREAKING)
        return
    if pair.old is MISSING:
        yield pair.change("ports", f"`{pair.owner}` has a new port, `{label}`.", is_new=True)
        return
    rules: dict[str, Rule] = {
        "beginAt": partial(_begin_at, label=label),
        "portNumber": partial(_port_number, label=label)}
    yield from field_changes(pair, rules)


def _begin_at(pair: Pair, label: str) -> Iterator[Change]:
    old, new = pair.effective(None)
    now = "any free port" if new == 0 else f"the port {_spelled(pair.new, new)}"
    before = "any free port" if old == 0 else f"{_spelled(pair.old, old)}"
    yield pair.change("ports", f"`{label}` of `{pair.owner}` takes {now} instead of {before}.",
                      BREAKING)


def _port_number(pair: Pair, label: str) -> Iterator[Change]:
    old, new = pair.effective(1)
    if not is_same(old, new):
        yield pair.change("ports", f"`{label}` of `{pair.owner}` has {_spelled(pair.new, new)} "
                          f"ports instead of {_spelled(pair.old, old)}.",
                          COMPATIBLE if _is_more(old, new) else BREAKING)


def _command(pair: Pair) -> Iterator[Change]:
    old, new = _texts(pair.old), _texts(pair.new)
    steps = [step for step in steps_between(old, new) if step[0] != "equal"]
    gone = [line for _, low, high, _, _ in steps for line in old[low:high]]
    come = [line for _, _, _, low, high in steps for line in new[low:high]]
    if sorted(gone) == sorted(come):
        sentence = f"`{pair.owner}` runs the same commands in another order."
    elif len(gone) == len(come) == 1 and (words := _words(gone[0], come[0])):
        sentence = f"In a command of `{pair.owner}`, {words}."
    else:
        parts = [f"{len(lines)} {what} ({shown(lines[0])}{', …' if len(lines) > 1 else ''})"
                 for what, lines in (("new", come), ("gone", gone)) if lines]
        sentence = f"Commands of `{pair.owner}`: {' and '.join(parts)}."
    yield pair.change("commands", sentence)


def _words(old: str, new: str) -> str:
    """What changed within one command; empty where that is too much to say."""
    left, right = old.split(), new.split()
    steps = [step for step in steps_between(left, right) if step[0] != "equal"]
    gone = " ".join(" ".join(left[low:high]) for _, low, high, _, _ in steps).split()
    come = " ".join(" ".join(right[low:high]) for _, _, _, low, high in steps).split()
    parts = [f"{shown(' '.join(words))} is {what}"
             for what, words in (("gone", gone), ("new", come)) if words]
    is_small = 2 * max(len(gone), len(come)) < max(len(left), len(right))
    return " and ".join(parts) if is_small else ""


def _input(pair: Pair) -> Iterator[Change]:
    """Which prerequisite a task takes."""
    kind = pair.path.rpartition(".")[2]
    name, area = _INPUT_NAMES[kind], "image" if kind == "dockerimage" else "inputs"
    if pair.is_added and pair.is_removed:
        return
    if pair.is_added:
        yield pair.change(area, f"`{pair.owner}` takes the {name} {shown(pair.new)}.",
                          is_new=True)
    elif pair.is_removed:
        yield pair.change(area, f"`{pair.owner}` takes the {name} {shown(pair.old)} no longer.",
                          BREAKING if kind == "storage" else COMPATIBLE)
    else:
        yield pair.change(area, f"`{pair.owner}` takes the {name} {shown(pair.new)} instead of "
                                f"{shown(pair.old)}.",
                          BREAKING if kind == "storage" else COMPATIBLE)


def _completion(pair: Pair) -> Iterator[Change]:
    is_failure = pair.path.endswith("minFailedTaskCount")
    default = 1 if is_failure else None
    old, new = (default if value is MISSING else effective(value, value, parameters)
                for value, parameters in ((pair.old, pair.old_parameters),
                                          (pair.new, pair.new_parameters)))
    if is_same(old, new):
        return
    end = "fails the job" if is_failure else "ends the job well"
    task = "failed" if is_failure else "successful"
    yield pair.change("policies", f"How many {task} tasks of `{pair.owner}` it takes until that "
                                  f"{end}: {_policy(new)} instead of {_policy(old)}.")


def _policy(value: Any) -> str:
    return "never" if value is None else as_text(value)


def _task_parameters(pair: Pair) -> Iterator[Change]:
    for name in pair.keys():
        yield from changed(pair.at(name), partial(_task_parameter, name=name))


def _task_parameter(pair: Pair, name: str) -> Iterator[Change]:
    yield pair.change("parameters", f"`{pair.owner}` sets its own parameter `{name}` to "
                                    f"{shown(pair.new)} instead of {shown(pair.old)}.")


def _retry_count(pair: Pair) -> Iterator[Change]:
    old, new = pair.effective(0)
    if not is_same(old, new):
        yield pair.change("policies", f"A failed job is tried again {_spelled(pair.new, new)} "
                                      f"times instead of {_spelled(pair.old, old)}.")


def _virtual_cluster(pair: Pair) -> Iterator[Change]:
    old, new = pair.effective("default")
    if not is_same(old or "default", new or "default"):
        yield pair.change("policies", f"The virtual cluster is {shown(new)} instead of "
                                      f"{shown(old)}.")


# --- prerequisites of a job --------------------------------------------------------------------

def _prerequisites(pair: Pair) -> Iterator[Change]:
    old, new = _named(pair.old), _named(pair.new)
    for key in [*old, *(key for key in new if key not in old)]:
        kind, name, _ = key
        path = f"{pair.path}[{kind}/{name}]" if kind else f"{pair.path}[{name}]"
        item = replace(pair, path=path, owner=name, old=old.get(key, MISSING),
                       new=new.get(key, MISSING))
        yield from changed(item, partial(_prerequisite, kind=kind))
    if list(old) != list(new) and set(old) == set(new):
        yield pair.change("inputs", "The prerequisites stand in another order.", COSMETIC)


def _prerequisite(pair: Pair, kind: str) -> Iterator[Change]:
    name, area = _INPUT_NAMES.get(kind, kind), "image" if kind == "dockerimage" else "inputs"
    if pair.old is MISSING:
        yield pair.change(area, f"The {name} `{pair.owner}` is among the prerequisites now.",
                          is_new=True)
    elif pair.new is MISSING:
        yield pair.change(area, f"The {name} `{pair.owner}` is no longer among the prerequisites.",
                          BREAKING if kind == "storage" else COMPATIBLE)
    elif isinstance(pair.old, dict) and isinstance(pair.new, dict):
        yield from field_changes(pair, {
            "uri": partial(_inline_uri, kind=kind), "version": _quiet, "description": _quiet,
            "contributor": _quiet, "protocol_version": nothing})
    elif isinstance(pair.old, dict) or isinstance(pair.new, dict):
        where = "is written in the job" if isinstance(pair.new, dict) else \
            f"comes from the marketplace as {shown(pair.new)}"
        yield pair.change(area, f"The {name} `{pair.owner}` {where} now.")
    else:
        yield pair.change(area, f"The {name} `{pair.owner}` is {_pinned(pair.new)} instead of "
                                f"{_pinned(pair.old)}.")


def _pinned(reference: str) -> str:
    version = reference.partition("@")[2]
    return f"`{reference}`" if version and version != "latest" else f"the latest of `{reference}`"


def _quiet(pair: Pair) -> Iterator[Change]:
    yield pair.change("description", f"`{pair.path}` is another.", COSMETIC)


def _inline_uri(pair: Pair, kind: str) -> Iterator[Change]:
    """In a job its author has tried it with the rest; only the user's storage must stay."""
    name = f"{_INPUT_NAMES.get(kind, kind)} `{pair.owner}`"
    if kind == "dockerimage":
        sentence, _ = image_sentence(name, pair)
        if sentence:
            yield pair.change("image", sentence)
        return
    if _plain_uris(kind, pair.old) != _plain_uris(kind, pair.new):
        yield pair.change("inputs", f"The {name} comes from {shown(pair.new)} instead of "
                                    f"{shown(pair.old)}.",
                          BREAKING if kind == "storage" else COMPATIBLE)


def _plain_uris(kind: str, uri: Any) -> list[Any]:
    plain: Callable[[str], Any] = plain_script if kind == "script" else plain_data
    return [plain(each) for each in uris_in(uri)]


def _named(items: Any) -> dict[tuple[str, str, int], Any]:
    """Prerequisites by type, name and, where two have the same, their number."""
    found: dict[tuple[str, str, int], Any] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            kind, name = str(item.get("type")), str(item.get("name"))
        else:
            parts = REFERENCE.fullmatch(str(item))
            kind, name = (parts["type"] or "", parts["name"]) if parts else ("", str(item))
        found[kind, name, sum(key[:2] == (kind, name) for key in found)] = item
    return found


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
    text = "none" if value is None else as_text(value)
    return f"{text} (`{written}`)" if is_placeholder(written) else text


_TASK_FIELDS: dict[str, Rule] = {
    "resource": _resource, "command": _command, "dockerimage": _input, "data": _input,
    "script": _input, "storage": _input, "minFailedTaskCount": _completion,
    "minSucceededTaskCount": _completion, "parameters": _task_parameters}
JOB_FIELDS: dict[str, Rule] = {
    "parameters": _parameters, "tasks": _tasks, "prerequisites": _prerequisites,
    "retryCount": _retry_count, "virtualCluster": _virtual_cluster}
