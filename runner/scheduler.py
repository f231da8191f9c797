"""Who gets what: all tasks of a job or none, no GPU, port, core or MiB promised twice. Pure."""
from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from runner.devices import Gpu
from runner.room import Bounds, Room
from runner.sentence import Sentence, joined, plural
from runner.spec import JobSpec, PortRequest, TaskRoleSpec

NOW, LATER, NEVER = "now", "later", "never"
HTTP_LABEL = "http"
LAST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class TaskPlacement:
    """What one task is promised: its machine's `ip`, `ports` by label, `http` always among them."""

    role: str
    index: int
    ip: str
    ports: Mapping[str, tuple[int, ...]]
    gpus: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The promises to all tasks of one attempt.

    `host_network`: the tasks share the machine's network, which every job of several tasks does.
    """

    tasks: tuple[TaskPlacement, ...]
    host_network: bool

    def task(self, role: str, index: int) -> TaskPlacement:
        """The promise to one task; raises KeyError where the job has no such task."""
        for task in self.tasks:
            if (task.role, task.index) == (role, index):
                return task
        raise KeyError((role, index))

    @property
    def ports(self) -> frozenset[int]:
        """All ports of all tasks."""
        return frozenset(port for task in self.tasks for block in task.ports.values()
                         for port in block)

    def reachable_ports(self, spec: JobSpec, role: str, index: int) -> dict[str, tuple[int, ...]]:
        """The ports of one task that others reach, by label.

        On the machine's network these are all, else those that the role itself asks for.
        """
        declared = {port.label for each in spec.task_roles if each.name == role
                    for port in each.ports}
        return {label: block for label, block in self.task(role, index).ports.items()
                if self.host_network or label in declared}

    def as_json(self) -> dict[str, Any]:
        return {"host_network": self.host_network, "tasks": [
            {"role": task.role, "index": task.index, "ip": task.ip, "gpus": list(task.gpus),
             "ports": {label: list(block) for label, block in task.ports.items()}}
            for task in self.tasks]}


@dataclass(frozen=True, kw_only=True)
class Fit:
    """`fit` is now, later or never; `reason` one or more sentences for a person."""

    fit: str
    reason: str


def placement_from_json(value: str | Mapping[str, Any]) -> Placement:
    """Read what `as_json` gave, also as JSON text."""
    read = json.loads(value) if isinstance(value, str) else value
    return Placement(host_network=read["host_network"], tasks=tuple(
        TaskPlacement(role=task["role"], index=task["index"], ip=task["ip"],
                      gpus=tuple(task["gpus"]),
                      ports={label: tuple(block) for label, block in task["ports"].items()})
        for task in read["tasks"]))


def port_requests(role: TaskRoleSpec) -> tuple[PortRequest, ...]:
    """The ports of a role, with one `http` port where it asks for none of that label.

    The addition is what others find it by in HOST_LIST; only ports that the role itself asks for
    (`role.ports`) are meant to be published.
    """
    if any(request.label == HTTP_LABEL for request in role.ports):
        return role.ports
    return (*role.ports, PortRequest(label=HTTP_LABEL))


def place(spec: JobSpec, *, ip: str, free: Room, ports: Iterable[int],
          is_port_free: Callable[[int], bool]) -> Placement | None:
    """Promise what every task of the job asks for, or None when not all of it is free.

    `ip` is the address of the machine. `ports` are the candidates for ports of any number, in
    order of preference; each candidate and each fixed port is taken only where `is_port_free`
    agrees. Quotas are not looked at.
    """
    needs, gpus = _needs(spec), free.fitting(spec.gpu_type)
    if _port_clashes(spec) or any(
            need.total > has for need, has in zip(needs, (free.cpus, free.memory_mb, len(gpus)))):
        return None
    fixed = frozenset(_fixed_ports(spec))
    if not all(map(is_port_free, fixed)):
        return None
    wanted = _any_port_count(spec)
    found = tuple(islice(_usable(ports, fixed, is_port_free), wanted))
    if len(found) < wanted:
        return None
    return _deal(spec, ip, iter(found), iter(gpu.uuid for gpu in gpus))


def explain(spec: JobSpec, *, whole: Room, free: Room, is_port_free: Callable[[int], bool],
            gpu_reason: str | None = None, ports: Iterable[int] | None = None,
            foreign: frozenset[Gpu] = frozenset()) -> Fit:
    """Say whether the job could start now, and if not, what it waits for or lacks.

    `whole` is the empty machine, and `gpu_reason` why it has no GPU; `foreign` are GPUs that
    programs beside the runner's jobs use. Quotas are not looked at.
    `ports` None: the candidates for ports of any number are not looked at.
    """
    return _fit(_lacks(spec, whole, gpu_reason) + _port_clashes(spec),
                _waits(spec, whole, free, foreign) + _port_waits(spec, is_port_free, ports))


def explain_quotas(spec: JobSpec, names: Iterable[str], whole: Room, free: Room) -> Fit:
    """The same of the quotas that the job counts in: those of these names in both rooms."""
    lacks, waits = list[str](), list[str]()
    for name in names:
        most, left = whole.quotas.get(name, Bounds()), free.quotas.get(name, Bounds())
        lacks += _quota_lacks(spec, name, most)
        waits += _quota_waits(spec, name, most, left)
    return _fit(lacks, waits)


def both(one: Fit, other: Fit) -> Fit:
    """What two say together: never where one does, with the reasons of those that say so."""
    fit = next(each for each in (NEVER, LATER, NOW) if each in (one.fit, other.fit))
    return Fit(fit=fit, reason=joined(*dict.fromkeys(
        each.reason for each in (one, other) if each.fit == fit)))


def _fit(lacks: Sequence[str], waits: Sequence[str]) -> Fit:
    if lacks or waits:
        return Fit(fit=NEVER if lacks else LATER, reason=joined(*(lacks or waits)))
    return Fit(fit=NOW, reason=Sentence("Can start now."))


def _deal(spec: JobSpec, ip: str, ports: Iterator[int], gpus: Iterator[str]) -> Placement:
    tasks = []
    for role in spec.task_roles:
        for index in range(role.instances):
            blocks: dict[str, tuple[int, ...]] = {}
            for request in port_requests(role):
                block = tuple(_block(request)) or tuple(islice(ports, request.count))
                blocks[request.label] = blocks.get(request.label, ()) + block
            tasks.append(TaskPlacement(role=role.name, index=index, ip=ip, ports=blocks,
                                       gpus=tuple(islice(gpus, role.resources.gpu))))
    return Placement(tasks=tuple(tasks), host_network=len(tasks) > 1)


# -- cores, memory, GPUs --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Need:
    """How much of one thing the whole job needs, and that in words."""

    total: int
    text: str


def _needs(spec: JobSpec) -> tuple[_Need, _Need, _Need]:
    of_type = Sentence(" of type {gpu_type}", gpu_type=spec.gpu_type) if spec.gpu_type else ""
    return (_need(spec, "cpu", lambda count: plural("{count} CPU", "{count} CPUs", count)),
            _need(spec, "memory_mb", lambda count: Sentence("{mb} MiB of memory", mb=count)),
            _need(spec, "gpu", lambda count: plural(
                "{count} GPU{of_type}", "{count} GPUs{of_type}", count, of_type=of_type)))


def _need(spec: JobSpec, resource: str, amount_of: Callable[[int], str]) -> _Need:
    each = [(role, getattr(role.resources, resource)) for role in spec.task_roles]
    parts = [f"{role.name}: {role.instances} × {amount}" for role, amount in each if amount]
    total = sum(role.instances * amount for role, amount in each)
    text, (role, amount) = amount_of(total), next((pair for pair in each if pair[1]), each[0])
    if len(parts) > 1:
        text = Sentence("{amount} at once ({parts})", amount=text, parts=", ".join(parts))
    elif parts and role.instances > 1:
        text = Sentence("{amount} at once ({number} tasks × {each})", amount=text,
                        number=role.instances, each=amount)
    return _Need(total=total, text=text)


def _lacks(spec: JobSpec, whole: Room, gpu_reason: str | None) -> list[str]:
    cpu, memory, gpu = _needs(spec)
    lacks: list[str] = []
    if cpu.total > whole.cpus:
        lacks.append(Sentence(
            "Needs {need}, this machine has {most}.", need=cpu.text, most=whole.cpus))
    if memory.total > whole.memory_mb:
        lacks.append(Sentence(
            "Needs {need}, this machine has {most}.", need=memory.text, most=whole.memory_mb))
    fitting = len(whole.fitting(spec.gpu_type))
    if gpu.total > fitting:
        lacks.append(Sentence(
            "Needs {need}, but this machine has {most}{why}.", need=gpu.text,
            most=fitting or Sentence("none"), why=_why_no_more(spec, whole, gpu_reason)))
    return lacks


def _why_no_more(spec: JobSpec, whole: Room, gpu_reason: str | None) -> str:
    """Which GPUs there are, where their type is the matter; why there are none, where none is."""
    if not whole.gpus:
        return Sentence(" ({reason})", reason=gpu_reason) if gpu_reason else ""
    if not spec.gpu_type:
        return ""
    models = Counter(gpu.model for gpu in whole.gpus)
    return Sentence(" (it has {models})", models=", ".join(
        f"{count} × {name}" for name, count in sorted(models.items())))


def _waits(spec: JobSpec, whole: Room, free: Room, foreign: frozenset[Gpu]) -> list[str]:
    totals = (whole.cpus, whole.memory_mb, len(whole.fitting(spec.gpu_type)))
    left = (free.cpus, free.memory_mb, len(free.fitting(spec.gpu_type)))
    waits: list[str] = [
        Sentence("Waits for {need}: {has} free.", need=need.text, has=_of(has, total))
        for need, has, total in zip(_needs(spec), left, totals) if need.total > has]
    if foreign and _needs(spec)[-1].total > left[-1]:
        waits.append(plural(
            "{count} of the GPUs is used by programs that are no jobs of this runner.",
            "{count} of the GPUs are used by programs that are no jobs of this runner.",
            len(foreign)))
    return waits


def _quota_lacks(spec: JobSpec, name: str, bounds: Bounds) -> list[str]:
    lacks: list[str] = [
        Sentence("Needs {need}, but {name} may use {most} at once.", need=need.text,
                 name=name, most=most or Sentence("none"))
        for need, most in zip(_needs(spec), (bounds.cpus, bounds.memory_mb, bounds.gpus))
        if most is not None and need.total > most]
    if bounds.jobs == 0:
        lacks.append(Sentence("The operator of this machine lets no job of {name} run.",
                              name=name))
    return lacks


def _quota_waits(spec: JobSpec, name: str, whole: Bounds, free: Bounds) -> list[str]:
    waits: list[str] = [
        Sentence("Waits for {need}: {has} free for {name}.", need=need.text,
                 has=_of(has, most), name=name)
        for need, has, most in zip(_needs(spec), (free.cpus, free.memory_mb, free.gpus),
                                   (whole.cpus, whole.memory_mb, whole.gpus))
        if has is not None and most is not None and need.total > has]
    if free.jobs is not None and free.jobs < 1:
        waits.append(Sentence(
            "Waits until another job of {name} has ended: {jobs} may run at once.",
            name=name, jobs=whole.jobs))
    return waits


def _of(has: int, total: int) -> str:
    return plural("{count} of {total} is", "{count} of {total} are", max(0, has), total=total)


# -- ports ----------------------------------------------------------------------------------------


def _block(request: PortRequest) -> range:
    """The ports of a fixed block; empty where any number will do."""
    return range(request.begin_at, request.begin_at + request.count if request.begin_at else 0)


def _requests(spec: JobSpec) -> Iterator[tuple[TaskRoleSpec, PortRequest]]:
    for role in spec.task_roles:
        for request in port_requests(role):
            yield role, request


def _fixed_ports(spec: JobSpec) -> list[int]:
    return [port for _, request in _requests(spec) for port in _block(request)]


def _any_port_count(spec: JobSpec) -> int:
    return sum(role.instances * request.count for role, request in _requests(spec)
               if not request.begin_at)


def _port_clashes(spec: JobSpec) -> list[str]:
    """Fixed ports that no single machine can give."""
    clashes: list[str] = [
        Sentence(
            "Role {name} asks for {ports} in each of its {instances} tasks, which one machine "
            "has only once. Write beginAt: 0 to get any free ports.", name=role.name,
            ports=_ports(request), instances=role.instances)
        for role, request in _requests(spec) if request.begin_at and role.instances > 1]
    clashes += [
        Sentence(
            "Role {name} asks for {ports}, but the last port is {last_port}.", name=role.name,
            ports=_ports(request), last_port=LAST_PORT)
        for role, request in _requests(spec) if request.begin_at + request.count - 1 > LAST_PORT]
    twice = sorted(port for port, count in Counter(_fixed_ports(spec)).items() if count > 1)
    if twice:
        clashes.append(Sentence(
            "Port {port} is asked for twice, which one machine has only once. Write beginAt: 0 to "
            "get any free port.", port=twice[0]))
    return clashes


def _ports(request: PortRequest) -> str:
    if request.count == 1:
        return Sentence("port {port}", port=request.begin_at)
    return Sentence("ports {first}-{last}", first=request.begin_at,
                    last=request.begin_at + request.count - 1)


def _port_waits(spec: JobSpec, is_port_free: Callable[[int], bool],
                ports: Iterable[int] | None) -> list[str]:
    fixed = _fixed_ports(spec)
    held = [str(port) for port in fixed if not is_port_free(port)]
    waits: list[str] = []
    if held:
        waits.append(Sentence(
            "Waits for port {ports}: held by another job or program.", ports=", ".join(held)))
    if ports is not None:
        wanted = _any_port_count(spec)
        found = len(tuple(islice(_usable(ports, frozenset(fixed), is_port_free), wanted)))
        if found < wanted:
            waits.append(Sentence(
                "Waits for {wanted} free ports: {found} are left.", wanted=wanted, found=found))
    return waits


def _usable(ports: Iterable[int], fixed: frozenset[int],
            is_port_free: Callable[[int], bool]) -> Iterator[int]:
    seen = set(fixed)
    for port in ports:
        if port not in seen and is_port_free(port):
            yield port
        seen.add(port)
