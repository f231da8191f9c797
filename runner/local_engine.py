"""The engine of one machine: what is promised on it, and an agent in this process that acts."""
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Callable, Collection, Mapping, Sequence

from runner.devices import Gpu, Machine
from runner.engine import Console, Errand, Gang, GangKey, Listener, Slot
from runner.node_agent import STARTS_AT_ONCE, NodeAgent
from runner.room import Room, needs_of, whole_of
from runner.scheduler import LATER, Fit, Placement, both, explain, place
from runner.spec import JobSpec, Login
from runner.supplies import Supply


class LocalEngine:
    """Fulfils `engine.Engine`; `agent` is the machine."""

    def __init__(self, agent: NodeAgent) -> None:
        self._agent = agent
        self._lock = threading.RLock()
        self._promised: dict[GangKey, Gang] = {}

    # -- promises -------------------------------------------------------------------------------

    def capacity(self) -> tuple[Machine, ...]:
        with self._lock:
            return (self._machine(),)

    def explain(self, spec: JobSpec) -> Fit:
        with self._lock:
            machine = self._machine()
            free, shortage = self._free(machine), self._agent.shortage()
            fit = explain(spec, whole=whole_of([machine], {}), gpu_reason=machine.gpu_reason,
                          free=replace(free, gpus=free.gpus - machine.foreign),
                          ports=self._agent.ports.candidates(), foreign=machine.foreign,
                          is_port_free=self._is_port_free())
            return both(Fit(fit=LATER, reason=shortage), fit) if shortage else fit

    def reserve(self, key: GangKey, spec: JobSpec, gpus: Collection[Gpu]) -> Placement | None:
        with self._lock:
            if key in self._promised:
                return self._promised[key].placement
            if self._agent.shortage():
                return None
            machine = self._machine()
            free = self._free(machine)
            placement = place(
                spec, ip=machine.host_ip, free=replace(free, gpus=free.gpus.intersection(gpus)),
                ports=self._agent.ports.candidates(), is_port_free=self._is_port_free())
            if placement is None or not self._agent.ports.hold(key, placement.ports):
                return None
            self._promised[key] = Gang(key=key, spec=spec, placement=placement)
        return placement

    def hold(self, gang: Gang) -> None:
        with self._lock:
            self._promised[gang.key] = gang

    def promised(self) -> set[GangKey]:
        with self._lock:
            return set(self._promised)

    def release(self, key: GangKey) -> None:
        with self._lock:
            self._promised.pop(key, None)
            self._agent.ports.release(key)

    def _machine(self) -> Machine:
        promised = {uuid for gang in self._promised.values()
                    for task in gang.placement.tasks for uuid in task.gpus}
        return self._agent.describe(promised)

    def _free(self, machine: Machine) -> Room:
        room = whole_of([machine], {})
        for gang in self._promised.values():
            uuids = {uuid for task in gang.placement.tasks for uuid in task.gpus}
            room = room.less(needs_of(gang.spec),
                             [gpu for gpu in machine.gpus if gpu.uuid in uuids])
        return room

    def _is_port_free(self) -> Callable[[int], bool]:
        taken = {port for gang in self._promised.values() for port in gang.placement.ports}
        return lambda port: port not in taken and self._agent.ports.is_free(port)

    # -- gangs ----------------------------------------------------------------------------------

    def start(self, gang: Gang, slots: Collection[Slot], listener: Listener) -> None:
        with ThreadPoolExecutor(STARTS_AT_ONCE) as pool:
            made = list(pool.map(lambda slot: self._agent.create(gang, slot), slots))
            list(pool.map(lambda slot, each: self._agent.start(gang, slot, each, listener),
                          slots, made))

    def adopt(self, gang: Gang, slots: Collection[Slot], listener: Listener) -> None:
        for slot in slots:
            self._agent.adopt(gang, slot, listener)

    def look(self, gang: Gang) -> Mapping[Slot, str]:
        found = {slot: self._agent.look(gang, slot) for slot in gang.slots}
        return {slot: status for slot, status in found.items() if status}

    def stop(self, gang: Gang, grace_s: float) -> None:
        for slot in gang.slots:
            self._agent.stop(gang.key, slot, grace_s)

    def open_console(self, gang: Gang, slot: Slot, columns: int, rows: int) -> Console:
        return self._agent.open_console(gang, slot, columns, rows)

    def clear(self, gang: Gang) -> None:
        self._agent.clear(gang, gang.slots)

    def prepare(self, errand: Errand) -> JobSpec:
        return self._agent.preparation.run(errand)

    def supplies(self, spec: JobSpec, logins: Sequence[Login]) -> Sequence[Supply]:
        return self._agent.preparation.supplies(spec, logins)

    def pulls(self, job: str) -> Sequence[Mapping[str, Any]]:
        return self._agent.preparation.images.of(job)

    # -- the machine ----------------------------------------------------------------------------

    def versions(self) -> Mapping[str, str | None]:
        return self._agent.versions()

    def found(self) -> set[GangKey]:
        return self._agent.found()

    def fence(self, key: GangKey) -> None:
        self._agent.fence(key)

    def close(self) -> None:
        self._agent.close()
