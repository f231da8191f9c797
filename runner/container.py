"""What a container is made with, and what is known of it then. Records; knows no driver."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping

LABEL = "paishare.runner"
LABEL_NETWORK = "paishare.network"  # which was Docker's own when the container was made


@dataclass(frozen=True, kw_only=True)
class Bind:
    source: Path
    target: str
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """One container: `cpu` in cores, memory and shm in MiB, `ports` published under their number.

    `host_network` True: the container shares the machine's network and `ports` is not used.
    `user` None: the image's own user.
    """

    name: str
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    work_dir: str
    cpu: float
    memory_mb: int
    shm_mb: int
    pids_limit: int
    gpus: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    binds: tuple[Bind, ...] = ()
    ports: tuple[int, ...] = ()
    host_network: bool = False
    user: str | None = None


@dataclass(frozen=True, kw_only=True)
class Container:
    """`status` is Docker's: created, running, exited, dead …; times as Docker writes them."""

    id: str
    name: str
    status: str
    exit_code: int
    oom_killed: bool
    error: str
    labels: Mapping[str, str] = field(default_factory=dict)
    started_at: str = ""
