"""What this machine has for jobs: cores, memory, GPUs, and the address that others reach it by."""
from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import pynvml

MIN_CPUS = 4
MIN_RESERVE_MB = 1024
# TEST-NET-1 (RFC 5737): routed like any public address, owned by nobody; nothing is sent to it.
_SOME_PUBLIC_ADDRESS = ("192.0.2.1", 9)


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU; `index` in PCI order, which a reboot may change: promise it by `uuid`."""

    index: int
    uuid: str
    model: str
    memory_mb: int


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What may be promised to tasks; `gpu_reason` says why there is no GPU, None if there is."""

    cpus: int
    memory_mb: int
    gpus: tuple[Gpu, ...]
    gpu_reason: str | None
    host_ip: str


@dataclass(frozen=True, kw_only=True)
class GpuUsage:
    """How busy one GPU is now, in percent of its time, and bytes of its memory that are in use."""

    uuid: str
    percent: int
    memory: int


def describe(*, cpus: int | None, memory_mb: int | None, host_ip: str | None) -> Machine:
    """Look at this machine; a value that is given is taken as it is.

    `cpus` None: all cores, but at least four, so that small distributed jobs run on a laptop of
    one or two cores too; their tasks share these and are slower.
    `memory_mb` None: all memory but a tenth, at least 1 GiB, for the system.
    `host_ip` None: the address that this machine would talk to the internet from, or 127.0.0.1.
    """
    gpus, gpu_reason = _find_gpus()
    return Machine(
        cpus=cpus or max(MIN_CPUS, os.cpu_count() or 1),
        memory_mb=memory_mb or _without_reserve(total_memory_mb(Path("/"))),
        gpus=gpus, gpu_reason=gpu_reason, host_ip=host_ip or _own_address())


def total_memory_mb(root: Path) -> int:
    """MiB of memory below `root` (`/`, but for tests): the machine's, or less by a cgroup limit."""
    fields = dict(line.split(":", 1) for line in (root / "proc/meminfo").read_text().splitlines())
    total = int(fields["MemTotal"].split()[0]) * 1024
    return min([total, *_cgroup_limits(root)]) // 2**20


def _without_reserve(total_mb: int) -> int:
    return total_mb - max(MIN_RESERVE_MB, total_mb // 10)


def _cgroup_limits(root: Path) -> list[int]:
    """Bytes allowed by this process's cgroup and those above it, of version 1 and 2."""
    limits = []
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        own = top / path.lstrip("/")
        for folder in (own, *own.parents):
            if folder.is_relative_to(top) and (folder / name).is_file():
                limits.append((folder / name).read_text().strip())
    return [int(limit) for limit in limits if limit.isdigit()]


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_SOME_PUBLIC_ADDRESS)
        except OSError:
            return "127.0.0.1"
        return probe.getsockname()[0]


def _find_gpus() -> tuple[tuple[Gpu, ...], str | None]:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), _why(error)
    try:
        gpus = tuple(map(_gpu, range(pynvml.nvmlDeviceGetCount())))
    except pynvml.NVMLError as error:
        return (), f"NVML cannot read the GPUs: {error}"
    finally:
        pynvml.nvmlShutdown()
    return gpus, None if gpus else "NVML finds no NVIDIA GPU"


def gpu_usage(uuids: tuple[str, ...]) -> tuple[GpuUsage, ...]:
    """What NVML says of these GPUs now; those that it cannot read are left out."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        return tuple(found for uuid in uuids if (found := _gpu_usage(uuid)))
    finally:
        pynvml.nvmlShutdown()


def _gpu_usage(uuid: str) -> GpuUsage | None:
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        return GpuUsage(uuid=uuid, percent=pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
                        memory=pynvml.nvmlDeviceGetMemoryInfo(handle).used)
    except pynvml.NVMLError:
        return None


def _why(error: Exception) -> str:
    if isinstance(error, pynvml.NVMLError_LibraryNotFound):
        return "NVML is not installed: there is no NVIDIA driver on this machine"
    if isinstance(error, pynvml.NVMLError_DriverNotLoaded):
        return "the NVIDIA driver is installed but not loaded"
    return f"NVML does not start: {error}"


def _gpu(index: int) -> Gpu:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return Gpu(index=index, uuid=pynvml.nvmlDeviceGetUUID(handle),
               model=pynvml.nvmlDeviceGetName(handle),
               memory_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).total // 2**20)


def gpu_driver() -> str | None:
    """The version of the NVIDIA driver; None where there is none."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return pynvml.nvmlSystemGetDriverVersion()
    finally:
        pynvml.nvmlShutdown()
