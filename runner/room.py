"""What a job takes and what is left for others: the machine and the quotas on it. Pure."""
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Iterable, Mapping, Sequence

from runner.devices import Gpu, Machine
from runner.spec import JobSpec

MACHINE = ""  # its name among the quotas


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Running jobs, and what they hold together: whole cores, MiB, GPUs; None: no limit."""

    jobs: int | None = None
    cpus: int | None = None
    memory_mb: int | None = None
    gpus: int | None = None

    def holds(self, needs: Needs) -> bool:
        return not ((self.jobs is not None and self.jobs < 1)
                    or (self.cpus is not None and self.cpus < needs.cpus)
                    or (self.memory_mb is not None and self.memory_mb < needs.memory_mb)
                    or (self.gpus is not None and self.gpus < needs.gpus))

    def less(self, needs: Needs, sign: int = 1) -> Bounds:
        left = [None if has is None else has - sign * need for has, need in self.compared(needs)]
        return Bounds(jobs=left[0], cpus=left[1], memory_mb=left[2], gpus=left[3])

    def compared(self, needs: Needs) -> tuple[tuple[int | None, int], ...]:
        return ((self.jobs, 1), (self.cpus, needs.cpus), (self.memory_mb, needs.memory_mb),
                (self.gpus, needs.gpus))


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a whole job takes; `ports` are its fixed ones, `quotas` the names of those it is in."""

    cpus: int
    memory_mb: int
    gpus: int = 0
    gpu_type: str = ""
    ports: frozenset[int] = frozenset()
    quotas: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Room:
    """What is free: cores, MiB, GPUs; `ports` are those that are held, `quotas` what is left."""

    cpus: int
    memory_mb: int
    gpus: frozenset[Gpu] = frozenset()
    ports: frozenset[int] = frozenset()
    quotas: Mapping[str, Bounds] = field(default_factory=dict)

    def lacks(self, needs: Needs) -> frozenset[str]:
        """The names of the quotas, MACHINE among them, that have not enough left."""
        names = [name for name in needs.quotas
                 if name in self.quotas and not self.quotas[name].holds(needs)]
        if (needs.cpus > self.cpus or needs.memory_mb > self.memory_mb or needs.ports & self.ports
                or len(self.fitting(needs.gpu_type)) < needs.gpus):
            names.append(MACHINE)
        return frozenset(names)

    def fitting(self, gpu_type: str) -> list[Gpu]:
        """The free GPUs of a type, the smallest first."""
        return sorted((gpu for gpu in self.gpus if is_of_type(gpu.model, gpu_type)),
                      key=lambda gpu: (gpu.memory_mb, gpu.index, gpu.uuid))

    def less(self, needs: Needs, gpus: Iterable[Gpu]) -> Room:
        """What is left beside such a job on these GPUs."""
        return replace(
            self, cpus=self.cpus - needs.cpus, memory_mb=self.memory_mb - needs.memory_mb,
            gpus=self.gpus - frozenset(gpus), ports=self.ports | needs.ports,
            quotas=self._counted(needs, 1))

    def plus(self, needs: Needs, gpus: Iterable[Gpu]) -> Room:
        """What is free when such a job has left these GPUs."""
        return replace(
            self, cpus=self.cpus + needs.cpus, memory_mb=self.memory_mb + needs.memory_mb,
            gpus=self.gpus | frozenset(gpus), ports=self.ports - needs.ports,
            quotas=self._counted(needs, -1))

    def _counted(self, needs: Needs, sign: int) -> Mapping[str, Bounds]:
        return {**self.quotas, **{name: self.quotas[name].less(needs, sign)
                                  for name in needs.quotas if name in self.quotas}}


def whole_of(machines: Sequence[Machine], quotas: Mapping[str, Bounds]) -> Room:
    """The room of empty machines."""
    return Room(cpus=sum(each.cpus for each in machines), quotas=quotas,
                memory_mb=sum(each.memory_mb for each in machines),
                gpus=frozenset(gpu for each in machines for gpu in each.gpus))


def needs_of(spec: JobSpec, quotas: tuple[str, ...] = ()) -> Needs:
    """What all tasks of a job take together."""
    roles = spec.task_roles
    return Needs(
        cpus=sum(role.instances * role.resources.cpu for role in roles),
        memory_mb=sum(role.instances * role.resources.memory_mb for role in roles),
        gpus=sum(role.instances * role.resources.gpu for role in roles),
        gpu_type=spec.gpu_type, quotas=quotas,
        ports=frozenset(port.begin_at + number for role in roles for port in role.ports
                        if port.begin_at for number in range(port.count)))


def share_of(needs: Needs, whole: Room) -> float:
    """The part of the room that a job holds, 0 to 1: of what it takes the largest part of."""
    return min(1.0, max(needs.cpus / whole.cpus, needs.memory_mb / whole.memory_mb,
                        needs.gpus / len(whole.gpus) if whole.gpus else 0.0))


@lru_cache(maxsize=1024)
def is_of_type(model: str, gpu_type: str) -> bool:
    """Whether a model's name has the type in it, as whole words; case and spaces do not matter.

    "A100" and "a100-sxm4" are found in "NVIDIA A100-SXM4-80GB", "A10" and "SXM" are not.
    """
    letters = re.findall(r"[^\W_]", gpu_type)
    if not letters:
        return True
    pattern = r"[\W_]*".join(map(re.escape, letters))
    return bool(re.search(rf"(?<![^\W_]){pattern}(?![^\W_])", model, re.IGNORECASE))
