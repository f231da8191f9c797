"""The container of one task: what it is called, what it runs, sees and may use. Pure."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping, Sequence

from runner.container import Bind, LaunchSpec
from runner.devices import Machine, given
from runner.engine import Gang, GangKey, Slot
from runner.environment import environment
from runner.spec import TaskRoleSpec
from runner.staging import Mount

OUTPUT_DIR = "/paishare/output"
COMMANDS_FILE = "/paishare/commands"
DEFAULT_WORK_DIR = "/work"
SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -e {0}; fi; "
                          "exec sh -e {0}".format(COMMANDS_FILE))
LABEL_JOB, LABEL_ATTEMPT, LABEL_TASK = "paishare.job", "paishare.attempt", "paishare.task"


def role_of(gang: Gang, slot: Slot) -> TaskRoleSpec:
    return next(role for role in gang.spec.task_roles if role.name == slot[0])


def container_name(gang: Gang, slot: Slot) -> str:
    """The same for one task of one attempt, whoever asks: creating it twice is impossible."""
    (job, attempt), (role, index) = gang.key, slot
    ordinal = [each.name for each in gang.spec.task_roles].index(role)
    return f"paishare-{job}-{attempt}-{ordinal}-{index}"


def labels_of(gang: Gang, slot: Slot) -> dict[str, str]:
    job, attempt = gang.key
    return {LABEL_JOB: job, LABEL_ATTEMPT: str(attempt), LABEL_TASK: "-".join(map(str, slot))}


def owner_of(labels: Mapping[str, str]) -> GangKey:
    """The gang that a container was made for."""
    return labels.get(LABEL_JOB, ""), int(labels.get(LABEL_ATTEMPT, 0))


def launch_spec(gang: Gang, slot: Slot, *, machine: Machine, image: str, work_dir: str,
                binds: tuple[Bind, ...], pids_limit: int) -> LaunchSpec:
    """Everything that the container of a task is made with."""
    role, place = role_of(gang, slot), gang.placement.task(*slot)
    ports = gang.placement.reachable_ports(gang.spec, *slot)
    gpus, devices = given(machine, place.gpus)
    return LaunchSpec(
        name=container_name(gang, slot), image=image, command=SHELL, work_dir=work_dir,
        environment=environment(gang.spec, gang.placement, *slot, work_dir=work_dir,
                                output_dir=OUTPUT_DIR),
        labels=labels_of(gang, slot), cpu=min(role.resources.cpu, os.cpu_count() or 1),
        memory_mb=role.resources.memory_mb, shm_mb=role.resources.shm_mb, pids_limit=pids_limit,
        gpus=gpus, devices=devices, binds=binds,
        ports=tuple(port for block in ports.values() for port in block),
        host_network=gang.placement.host_network)


def binds_of(output: Path, commands: Path, staged: Sequence[Mount], work_dir: str,
             ) -> tuple[Bind, ...]:
    """What a task sees of this machine: its output folder, its commands, its inputs."""
    return (Bind(source=output, target=OUTPUT_DIR, read_only=False),
            Bind(source=commands, target=COMMANDS_FILE, read_only=True),
            *(Bind(source=mount.source, target=str(Path(work_dir, mount.target)),
                   read_only=mount.read_only) for mount in staged))


def chown_spec(gang: Gang, slot: Slot, image: str, folders: Sequence[Path]) -> LaunchSpec:
    """A short container of the task's image that gives files of root to the runner's user."""
    return LaunchSpec(
        name=f"{container_name(gang, slot)}-own", image=image, work_dir="/", environment={},
        labels=labels_of(gang, slot), cpu=1, memory_mb=100, shm_mb=1, pids_limit=16, user="0:0",
        command=("/bin/chown", "-R", f"{os.getuid()}:{os.getgid()}", "/own"),
        binds=tuple(Bind(source=path, target=f"/own/{number}", read_only=False)
                    for number, path in enumerate(folders) if path.exists()))
