"""What this machine has for jobs."""
import ipaddress
from pathlib import Path

import pynvml
import pytest

from runner import devices
from runner.devices import Gpu, describe, total_memory_mb


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def machine_files(root: Path, *, cgroup: str = "0::/\n", **limits: str) -> Path:
    return write(root, {"proc/meminfo": "MemTotal:       4194304 kB\nMemFree: 12 kB\n",
                        "proc/self/cgroup": cgroup,
                        **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()}})


def test_given_values_are_taken_as_they_are():
    machine = describe(cpus=3, memory_mb=777, host_ip="10.1.2.3")
    assert (machine.cpus, machine.memory_mb, machine.host_ip) == (3, 777, "10.1.2.3")


def test_this_machine_offers_at_least_four_cpus_and_leaves_memory_to_the_system():
    machine = describe(cpus=None, memory_mb=None, host_ip=None)
    assert machine.cpus >= 4
    assert 0 < machine.memory_mb <= total_memory_mb(Path("/")) - 1024
    assert ipaddress.ip_address(machine.host_ip).version == 4


def test_memory_without_any_limit_is_all_of_the_machine(tmp_path):
    assert total_memory_mb(machine_files(tmp_path, **{"memory.max": "max\n"})) == 4096


def test_memory_is_limited_by_a_cgroup_of_version_2_and_those_above_it(tmp_path):
    root = machine_files(tmp_path, cgroup="0::/a/b\n", **{
        "a/b/memory.max": f"{3 << 30}\n", "a/memory.max": f"{2 << 30}\n", "memory.max": "max\n"})
    assert total_memory_mb(root) == 2048


def test_memory_is_limited_by_a_cgroup_of_version_1(tmp_path):
    root = machine_files(tmp_path, cgroup="5:cpu:/\n4:memory:/box\n0::/\n", **{
        "memory/box/memory.limit_in_bytes": f"{1 << 30}\n",
        "memory/memory.limit_in_bytes": f"{(1 << 63) - 4096}\n"})
    assert total_memory_mb(root) == 1024


def test_a_cgroup_path_of_another_namespace_falls_back_to_the_top(tmp_path):
    root = machine_files(tmp_path, cgroup="4:memory:/docker/0123\n", **{
        "memory/memory.limit_in_bytes": f"{1 << 30}\n"})
    assert total_memory_mb(root) == 1024


@pytest.mark.parametrize("total, offered", [(2048, 1024), (20_000, 18_000)])
def test_a_tenth_but_at_least_a_gibibyte_stays_with_the_system(total, offered):
    assert devices._without_reserve(total) == offered


def test_a_machine_without_the_driver_says_so(monkeypatch):
    def init():
        raise pynvml.NVMLError_LibraryNotFound
    monkeypatch.setattr(pynvml, "nvmlInit", init)
    machine = describe(cpus=1, memory_mb=1, host_ip="::1")
    assert machine.gpus == ()
    assert machine.gpu_reason == (
        "NVML is not installed: there is no NVIDIA driver on this machine")


def test_gpus_are_listed_with_uuid_and_memory(monkeypatch):
    class Memory:
        total = 80 << 30
    answers = {"nvmlInit": None, "nvmlShutdown": None, "nvmlDeviceGetCount": 2,
               "nvmlDeviceGetName": "NVIDIA H200", "nvmlDeviceGetMemoryInfo": Memory}
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", lambda index: index)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", lambda handle: f"GPU-{handle}")
    machine = describe(cpus=1, memory_mb=1, host_ip="::1")
    assert machine.gpu_reason is None
    assert machine.gpus[1] == Gpu(index=1, uuid="GPU-1", model="NVIDIA H200", memory_mb=81920)
