"""What a job takes and what is left: machine, quotas, types of GPUs."""
import pytest

from runner.devices import Gpu, Machine
from runner.room import MACHINE, Bounds, Needs, Room, is_of_type, needs_of, share_of, whole_of
from runner.spec import Image, JobSpec, PortRequest, Resources, TaskRoleSpec


def gpu(index, model="NVIDIA A100-SXM4-80GB", memory_mb=81920):
    return Gpu(index=index, uuid=f"GPU-{index}", model=model, memory_mb=memory_mb)


@pytest.mark.parametrize("model, gpu_type, fits", [
    ("NVIDIA A100-SXM4-80GB", "A100", True), ("NVIDIA A100-SXM4-80GB", "a100-sxm4", True),
    ("NVIDIA A100-SXM4-80GB", "A10", False), ("NVIDIA A100-SXM4-80GB", "SXM", False),
    ("NVIDIA TITAN X (Pascal)", "TITANX", True), ("Tesla K80", "K80", True),
    ("NVIDIA GeForce RTX 2080 Ti", "rtx2080ti", True), ("Tesla V100-PCIE-16GB", "", True)])
def test_a_type_is_found_in_the_name_of_a_model_as_whole_words(model, gpu_type, fits):
    assert is_of_type(model, gpu_type) is fits


def test_a_job_needs_what_all_its_tasks_need_together():
    roles = (TaskRoleSpec(name="ps", image=Image(uri="x"), commands=("true",), ports=(
                 PortRequest(label="a", begin_at=9000, count=2), PortRequest(label="b"))),
             TaskRoleSpec(name="worker", image=Image(uri="x"), commands=("true",), instances=3,
                          resources=Resources(cpu=2, memory_mb=500, gpu=1)))
    spec = JobSpec(name="j", user="ann", task_roles=roles, gpu_type="A100")
    assert needs_of(spec, ("user ann",)) == Needs(
        cpus=7, memory_mb=1600, gpus=3, gpu_type="A100", ports=frozenset({9000, 9001}),
        quotas=("user ann",))


def test_what_a_job_leaves_is_as_it_was_before():
    room = Room(cpus=8, memory_mb=800, gpus=frozenset({gpu(0), gpu(1)}),
                quotas={"vision": Bounds(jobs=2, gpus=1)})
    needs = Needs(cpus=2, memory_mb=100, gpus=1, ports=frozenset({8080}), quotas=("vision",))
    beside = room.less(needs, [gpu(0)])
    assert beside == Room(cpus=6, memory_mb=700, gpus=frozenset({gpu(1)}),
                          ports=frozenset({8080}), quotas={"vision": Bounds(jobs=1, gpus=0)})
    assert beside.plus(needs, [gpu(0)]) == room


def test_what_is_lacking_is_told_by_the_name_of_the_quota():
    room = Room(cpus=8, memory_mb=800, quotas={"vision": Bounds(cpus=4), "ann": Bounds(jobs=0)})
    small = Needs(cpus=1, memory_mb=1)
    assert room.lacks(small) == frozenset()
    assert room.lacks(Needs(cpus=5, memory_mb=1, quotas=("vision",))) == {"vision"}
    assert room.lacks(Needs(cpus=9, memory_mb=1, quotas=("vision", "ann"))) == {
        MACHINE, "vision", "ann"}


def test_gpus_of_another_type_are_no_help_and_the_smallest_is_taken_first():
    small, large = gpu(1, memory_mb=40960), gpu(0)
    other = gpu(2, model="Tesla V100")
    room = Room(cpus=8, memory_mb=800, gpus=frozenset({small, large, other}))
    assert room.fitting("A100") == [small, large]
    assert room.lacks(Needs(cpus=1, memory_mb=1, gpus=3, gpu_type="A100")) == {MACHINE}
    assert not room.lacks(Needs(cpus=1, memory_mb=1, gpus=3))


def test_the_share_of_a_job_is_what_it_takes_the_largest_part_of():
    machines = [Machine(cpus=5, memory_mb=500, gpus=(gpu(number),), gpu_reason=None, host_ip="")
                for number in range(2)]
    whole = whole_of(machines, {})
    assert share_of(Needs(cpus=1, memory_mb=200, gpus=1), whole) == 0.5
    assert share_of(Needs(cpus=9, memory_mb=200), whole) == 0.9
    assert whole.gpus == {gpu(0), gpu(1)}
