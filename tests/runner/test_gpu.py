"""What only a machine with an NVIDIA GPU can show."""
import pynvml
import pytest

from runner.devices import ForeignGpus, describe, gpu_driver


@pytest.fixture(scope="module")
def gpus():
    machine = describe(cpus=1, memory_mb=1, host_ip="::1")
    found = tuple(gpu for gpu in machine.gpus if not gpu.node)
    if not found:
        pytest.skip(f"NO GPU TEST WAS RUN: {machine.gpu_reason}")
    return found


def test_every_gpu_has_a_uuid_that_nvml_finds_it_by(gpus):
    pynvml.nvmlInit()
    for gpu in gpus:
        assert pynvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        assert gpu.memory_mb > 0 and gpu.model
    pynvml.nvmlShutdown()
    assert gpu_driver()


def test_a_gpu_that_nobody_uses_is_not_foreign(gpus):
    busy = ForeignGpus().among(frozenset(gpus))
    assert busy <= frozenset(gpus)
