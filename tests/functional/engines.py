"""The engines that tests/functional/test_engine_conformance.py holds to one contract.

Another engine joins by a class like LocalUnderTest and its line in ENGINES.
"""
from __future__ import annotations

import queue
import socket
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import docker

from runner.artifacts import JobFolders
from runner.config import Settings
from runner.devices import DECLARED, Gpu, Machine
from runner.docker_driver import DockerDriver
from runner.engine import Engine, Exit, Gang, GangKey
from runner.housekeeping import Housekeeper
from runner.job_store import JobStore
from runner.local_engine import LocalEngine
from runner.node_agent import NodeAgent
from runner.spec import Image, Input, JobSpec, PortRequest, Resources, TaskRoleSpec
from runner.staging import Stager
from tests.functional.runner_process import IMAGE

WAIT_S = 60


class UnderTest(Protocol):
    """An engine with at least 4 cores, 2000 MB and 4 GPUs, and what a test knows of its insides."""

    engine: Engine
    folders: JobFolders
    docker: docker.DockerClient

    def restart(self) -> None:
        """A new engine takes over, as after a kill of the one before."""

    def close(self) -> None: ...


class LocalUnderTest:
    """One machine, GPUs only declared, on the real Docker engine."""

    def __init__(self, folder: Path) -> None:
        self.docker = docker.from_env()
        self._settings = Settings(home=folder, socket=folder / "socket")
        self._machine = Machine(
            cpus=4, memory_mb=2000, gpu_reason=None, host_ip="127.0.0.1", gpus=tuple(
                Gpu(index=index, uuid=f"{DECLARED}{index}", model="A100", memory_mb=1)
                for index in range(4)))
        self.folders, self._store = JobFolders(folder / "jobs"), JobStore(folder / "runner.db")
        self.engine: Engine = self._made()

    def _made(self) -> Engine:
        home, driver = self._settings.home, DockerDriver(self._settings.runner_id())
        stager = Stager(home / "cache", home / "storage", [])
        return LocalEngine(NodeAgent(
            self._settings, driver, stager, self._machine,
            Housekeeper(self._settings, self._store, driver, stager)))

    def restart(self) -> None:
        self.engine.close()
        self.engine = self._made()

    def close(self) -> None:
        for key in self.engine.found():
            self.engine.fence(key)
        self.engine.close()
        self._store.close()
        self.docker.close()


ENGINES = {"local": LocalUnderTest}


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.containers: dict[tuple[str, int], str] = {}
        self.told: list[tuple[tuple[str, int], Exit]] = []
        self._news: queue.Queue = queue.Queue()

    def started(self, slot: tuple[str, int], container: str) -> None:
        self.containers[slot] = container

    def ended(self, slot: tuple[str, int], how: Exit) -> None:
        self.told.append((slot, how))
        self._news.put(slot)

    def failed(self, slot: tuple[str, int], error: Exception) -> None:
        self._news.put(error)

    def log_grew(self) -> None:
        pass

    def exits(self, count: int) -> dict[tuple[str, int], Exit]:
        """How the slots ended, when so many ends were told."""
        for _ in range(count):
            news = self._news.get(timeout=WAIT_S)
            if isinstance(news, Exception):
                raise news
        return dict(self.told)


def role(name: str = "main", *commands: str, instances: int = 1, cpu: int = 1, gpu: int = 0,
         memory_mb: int = 100, ports: tuple[PortRequest, ...] = (),
         storage: tuple[Input, ...] = (), image: str = IMAGE) -> TaskRoleSpec:
    return TaskRoleSpec(
        name=name, image=Image(uri=image, digest=digest_of(image)), commands=commands or ("true",),
        instances=instances, ports=ports, storage=storage,
        resources=Resources(cpu=cpu, memory_mb=memory_mb, shm_mb=8, gpu=gpu))


@lru_cache
def digest_of(image: str) -> str:
    client = docker.from_env()
    found = client.images.get(image).id
    client.close()
    return found


def job(*roles: TaskRoleSpec) -> JobSpec:
    return JobSpec(name="test", user="ann", task_roles=roles)


def reserved(engine: Engine, key: GangKey, spec: JobSpec) -> Gang:
    """A gang that has its places."""
    gpus = [gpu for machine in engine.capacity() for gpu in machine.gpus]
    placement = engine.reserve(key, spec, gpus)
    assert placement is not None, engine.explain(spec)
    return Gang(key=key, spec=spec, placement=placement)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]
