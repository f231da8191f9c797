"""What this machine has for jobs."""
import ipaddress
from pathlib import Path

import pynvml
import pytest

from runner import devices
from runner.devices import (
    ForeignGpus,
    Gpu,
    Machine,
    amd_gpus,
    describe,
    given,
    total_memory_mb,
)


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


class Nvml:
    """Two GPUs as NVML tells them: the second one is cut into slices of which one is made."""

    def __init__(self, monkeypatch):
        self.processes: dict[str, list[int]] = {}
        self.missing: set[str] = set()

        class Memory:
            total = 80 << 30
        answers = {
            "nvmlInit": lambda: None, "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: 2, "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetMigMode": lambda handle: (handle, handle),
            "nvmlDeviceGetMaxMigDeviceCount": lambda handle: 2,
            "nvmlDeviceGetMigDeviceHandleByIndex": self.slice,
            "nvmlDeviceGetUUID": lambda handle: "GPU-0" if handle == 0 else "MIG-1",
            "nvmlDeviceGetName": lambda handle: "A100" if handle == 0 else "A100 MIG 1g.10gb",
            "nvmlDeviceGetMemoryInfo": lambda handle: Memory,
            "nvmlDeviceGetHandleByUUID": self.by_uuid,
            "nvmlDeviceGetComputeRunningProcesses": lambda uuid: self.processes.get(uuid, [])}
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, answer)

    def slice(self, handle, number):
        if number == 0:
            raise pynvml.NVMLError_NotFound
        return "slice"

    def by_uuid(self, uuid):
        if uuid in self.missing:
            raise pynvml.NVMLError_NotFound
        return uuid


@pytest.fixture
def nvml(monkeypatch):
    return Nvml(monkeypatch)


def test_each_slice_of_a_gpu_is_a_device_of_its_own(nvml):
    machine = describe(cpus=1, memory_mb=1, host_ip="::1")
    assert [(gpu.index, gpu.uuid, gpu.model) for gpu in machine.gpus] == [
        (0, "GPU-0", "A100"), (1, "MIG-1", "A100 MIG 1g.10gb")]


def test_a_gpu_that_others_compute_on_or_that_is_gone_is_foreign_until_asked_again(nvml):
    now_s = [0.0]
    first, second = describe(cpus=1, memory_mb=1, host_ip="::1").gpus
    foreign = ForeignGpus(clock=lambda: now_s[0])
    nvml.processes["GPU-0"] = [4711]
    assert foreign.among(frozenset({first, second})) == {first}
    nvml.processes.clear()
    nvml.missing.add("MIG-1")
    assert foreign.among(frozenset({first, second})) == {first}
    now_s[0] = 5.0
    assert foreign.among(frozenset({first, second})) == {second}


def test_a_gpu_that_a_job_had_is_asked_for_again_at_once(nvml):
    (gpu, _), foreign = describe(cpus=1, memory_mb=1, host_ip="::1").gpus, ForeignGpus(lambda: 0)
    assert not foreign.among(frozenset({gpu}))
    nvml.processes["GPU-0"] = [4711]
    assert not foreign.among(frozenset({gpu}))
    assert not foreign.among(frozenset())
    assert foreign.among(frozenset({gpu})) == {gpu}


def amd_files(root, **more):
    card = "sys/class/drm/renderD129/device"
    return write(root, {"dev/kfd": "", "sys/class/drm/renderD128/device/vendor": "0x8086\n",
                        f"{card}/vendor": "0x1002\n", f"{card}/unique_id": "8a01\n",
                        f"{card}/product_name": "Instinct MI210\n",
                        f"{card}/mem_info_vram_total": f"{64 << 30}\n"})


def test_amd_gpus_are_found_by_their_render_nodes(tmp_path):
    assert amd_gpus(amd_files(tmp_path), first=2) == (
        Gpu(index=2, uuid="AMD-8a01", model="AMD Instinct MI210", memory_mb=65536,
            node="/dev/dri/renderD129"),)
    (tmp_path / "dev/kfd").unlink()
    assert amd_gpus(tmp_path, first=0) == ()


def test_a_container_gets_uuids_and_device_files_of_its_own_gpus_only():
    gpus = (Gpu(index=0, uuid="GPU-0", model="A100", memory_mb=1),
            Gpu(index=1, uuid="AMD-1", model="AMD", memory_mb=1, node="/dev/dri/renderD128"),
            Gpu(index=2, uuid="DECLARED-0", model="V100", memory_mb=1))
    machine = Machine(cpus=1, memory_mb=1, gpus=gpus, gpu_reason=None, host_ip="")
    assert given(machine, ()) == ((), ())
    assert given(machine, ("GPU-0", "DECLARED-0")) == (("GPU-0",), ())
    assert given(machine, ("AMD-1",)) == ((), ("/dev/kfd", "/dev/dri/renderD128"))


def test_declared_gpus_count_only_where_there_is_no_real_one(monkeypatch, nvml):
    declared = (Gpu(index=0, uuid="DECLARED-0", model="V100", memory_mb=1),)
    assert len(describe(cpus=1, memory_mb=1, host_ip="", declared=declared).gpus) == 2

    def init():
        raise pynvml.NVMLError_LibraryNotFound
    monkeypatch.setattr(pynvml, "nvmlInit", init)
    machine = describe(cpus=1, memory_mb=1, host_ip="", declared=declared)
    assert (machine.gpus, machine.gpu_reason) == (declared, None)
    assert machine.gpus[0].is_declared
