"""What this machine has for jobs: cores, memory, GPUs, and the address that others reach it by."""
from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import pynvml

from runner.sentence import Sentence

MIN_CPUS = 4
MIN_RESERVE_MB = 1024
# TEST-NET-1 (RFC 5737): routed like any public address, owned by nobody; nothing is sent to it.
_SOME_PUBLIC_ADDRESS = ("192.0.2.1", 9)


# What the names of GPUs begin with that NVML does not know.
AMD, DECLARED = "AMD-", "DECLARED-"
AMD_VENDOR = "0x1002"
AMD_COMPUTE = "/dev/kfd"
FOREIGN_FOR_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU, or one slice of it (MIG), each given to one task at a time.

    `index` is in PCI order, which a reboot may change: promise it by `uuid`. `node` is the device
    file of an AMD GPU, such as /dev/dri/renderD128. A declared one is only said to be there.
    """

    index: int
    uuid: str
    model: str
    memory_mb: int
    node: str = ""

    @property
    def is_declared(self) -> bool:
        return self.uuid.startswith(DECLARED)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What may be promised to tasks; `gpu_reason` says why there is no GPU, None if there is.

    `foreign` are those of the GPUs that other programs use at this moment.
    """

    cpus: int
    memory_mb: int
    gpus: tuple[Gpu, ...]
    gpu_reason: str | None
    host_ip: str
    foreign: frozenset[Gpu] = frozenset()


@dataclass(frozen=True, kw_only=True)
class GpuUsage:
    """How busy one GPU is now, in percent of its time, and bytes of its memory that are in use."""

    uuid: str
    percent: int
    memory: int


def describe(*, cpus: int | None, memory_mb: int | None, host_ip: str | None,
             declared: tuple[Gpu, ...] = ()) -> Machine:
    """Look at this machine; a value that is given is taken as it is.

    `cpus` None: all cores, but at least four, so that small distributed jobs run on a laptop of
    one or two cores too; their tasks share these and are slower.
    `memory_mb` None: all memory but a tenth, at least 1 GiB, for the system.
    `host_ip` None: the address that this machine would talk to the internet from, or 127.0.0.1.
    `declared` GPUs count where there is no real one.
    """
    gpus, gpu_reason = _find_gpus()
    gpus += amd_gpus(Path("/"), first=len(gpus))
    if not gpus and declared:
        gpus = declared
    gpu_reason = None if gpus else gpu_reason
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
        gpus = tuple(gpu for index in range(pynvml.nvmlDeviceGetCount()) for gpu in _gpus(index))
    except pynvml.NVMLError as error:
        return (), Sentence("NVML cannot read the GPUs: {error}", error=error)
    finally:
        pynvml.nvmlShutdown()
    return gpus, None if gpus else "NVML finds no NVIDIA GPU, and no slice of one"


def amd_gpus(root: Path, *, first: int) -> tuple[Gpu, ...]:
    """The AMD GPUs that the kernel's driver for computing drives, numbered from `first`."""
    if not (root / AMD_COMPUTE.lstrip("/")).exists():
        return ()
    nodes = sorted((root / "sys/class/drm").glob("renderD*"), key=lambda path: path.name)
    found = [node for node in nodes if _line(node / "device/vendor") == AMD_VENDOR]
    return tuple(_amd_gpu(node, first + number) for number, node in enumerate(found))


def _amd_gpu(node: Path, index: int) -> Gpu:
    device = node / "device"
    unique = _line(device / "unique_id") or device.resolve().name
    memory = _line(device / "mem_info_vram_total")
    return Gpu(index=index, uuid=f"{AMD}{unique}", node=f"/dev/dri/{node.name}",
               model=f"AMD {_line(device / 'product_name') or _line(device / 'device')}",
               memory_mb=int(memory or 0) // 2**20)


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def given(machine: Machine, uuids: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a container gets for these GPUs: uuids for the NVIDIA runtime, and device files."""
    nvidia = tuple(uuid for uuid in uuids if not uuid.startswith((AMD, DECLARED)))
    nodes = tuple(gpu.node for gpu in machine.gpus if gpu.uuid in uuids and gpu.node)
    return nvidia, (AMD_COMPUTE, *nodes) if nodes else ()


class ForeignGpus:
    """Which GPUs are used by programs that are no jobs of the runner; asked anew every 5 s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Gpu, tuple[float, bool]] = {}

    def among(self, free: frozenset[Gpu]) -> frozenset[Gpu]:
        """Those of the GPUs that no job has on which a process computes, or that are gone."""
        now_s = self._clock()
        self._known = {gpu: known for gpu, known in self._known.items()
                       if gpu in free and now_s - known[0] < FOREIGN_FOR_S}
        new = free - self._known.keys()
        busy = _busy_gpus(new) if new else frozenset()
        self._known |= {gpu: (now_s, gpu in busy) for gpu in new}
        return frozenset(gpu for gpu, (_, is_busy) in self._known.items() if is_busy)


def _busy_gpus(gpus: frozenset[Gpu]) -> frozenset[Gpu]:
    asked = [gpu for gpu in gpus if not gpu.uuid.startswith((AMD, DECLARED))]
    if not asked:
        return frozenset()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return frozenset(asked)
    try:
        return frozenset(gpu for gpu in asked if _is_busy(gpu.uuid))
    finally:
        pynvml.nvmlShutdown()


def _is_busy(uuid: str) -> bool:
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError:
        return True
    try:
        return bool(pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
    except pynvml.NVMLError:
        return False  # this driver does not tell


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
        return Sentence("NVML is not installed: there is no NVIDIA driver on this machine")
    if isinstance(error, pynvml.NVMLError_DriverNotLoaded):
        return Sentence("the NVIDIA driver is installed but not loaded")
    return Sentence("NVML does not start: {error}", error=error)


def _gpus(index: int) -> list[Gpu]:
    """One GPU, or its slices where it is cut into some."""
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    if not _is_sliced(handle):
        return [_gpu(index, handle)]
    slices = []
    for number in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            found = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
        except pynvml.NVMLError_NotFound:
            continue
        slices.append(_gpu(index, found))
    return slices


def _is_sliced(handle: object) -> bool:
    try:
        return pynvml.nvmlDeviceGetMigMode(handle)[0] == pynvml.NVML_DEVICE_MIG_ENABLE
    except pynvml.NVMLError:
        return False  # a GPU that cannot be cut


def _gpu(index: int, handle: object) -> Gpu:
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
