"""What a container uses at this moment: the kernel's own counts, of cgroups version 1 and 2."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_MEMORY_V1, _MEMORY_V2 = "memory.usage_in_bytes", "memory.current"
_CPU_V1, _CPU_V2 = "cpuacct.usage", "cpu.stat"
_DISK_V1, _DISK_V2 = "blkio.throttle.io_service_bytes", "io.stat"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """CPU seconds, disk and network bytes since the start; memory in bytes now.

    `memory` is without what the kernel could drop at once. `received` and `sent` None: the
    container shares the machine's network, where nobody counts by container.
    """

    cpu_s: float
    memory: int
    read: int
    written: int
    received: int | None
    sent: int | None


def usage_of(pid: int, container: str, *, has_own_network: bool,
             root: Path = Path("/")) -> Usage | None:
    """The usage of the container whose first process is `pid`; None where that has ended.

    None also where the process is another one, as with an engine on another machine.
    """
    try:
        folders = _folders(pid, container, root)
        if folders is None:
            return None
        network = _network(root / f"proc/{pid}/net/dev") if has_own_network else (None, None)
        disk = _disk(folders)
        return Usage(cpu_s=_cpu_s(folders), memory=_memory(folders), read=disk[0],
                     written=disk[1], received=network[0], sent=network[1])
    except (OSError, ValueError, KeyError):
        return None


def _folders(pid: int, container: str, root: Path) -> dict[str, Path] | None:
    """Where each controller keeps the container's counts; version 2 keeps all under one."""
    found = {}
    for line in (root / f"proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if container not in path:
            continue
        below = path.lstrip("/")
        for name in controllers.split(","):
            found[name] = root / "sys/fs/cgroup" / name / below
    return found or None


def _file(folders: dict[str, Path], controller: str, v1: str, v2: str) -> Path:
    own = folders.get(controller)
    return own / v1 if own else folders[""] / v2


def _memory(folders: dict[str, Path]) -> int:
    file = _file(folders, "memory", _MEMORY_V1, _MEMORY_V2)
    stat = _fields(file.with_name("memory.stat"))
    droppable = stat.get("total_inactive_file", stat.get("inactive_file", 0))
    return max(0, int(file.read_text()) - droppable)


def _cpu_s(folders: dict[str, Path]) -> float:
    file = _file(folders, "cpuacct", _CPU_V1, _CPU_V2)
    if file.name == _CPU_V1:
        return int(file.read_text()) / 1e9
    return _fields(file)["usage_usec"] / 1e6


def _disk(folders: dict[str, Path]) -> tuple[int, int]:
    """Bytes read and written; nothing where the kernel does not count."""
    file = _file(folders, "blkio", _DISK_V1, _DISK_V2)
    try:
        words = file.read_text().replace("=", " ").split()
    except FileNotFoundError:
        return 0, 0
    names = ("Read", "Write") if file.name == _DISK_V1 else ("rbytes", "wbytes")
    read, written = (sum(int(count) for word, count in zip(words, words[1:]) if word == name)
                     for name in names)
    return read, written


def _network(file: Path) -> tuple[int, int]:
    """Bytes received and sent by every interface but the loopback."""
    lines = [line.split(":", 1) for line in file.read_text().splitlines() if ":" in line]
    counts = [fields.split() for name, fields in lines if name.strip() != "lo"]
    return sum(int(each[0]) for each in counts), sum(int(each[8]) for each in counts)


def _fields(file: Path) -> dict[str, int]:
    lines = (line.split() for line in file.read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
