"""Who gets what: all tasks or none, and nothing twice."""
import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.devices import Gpu
from runner.room import Bounds, Room
from runner.scheduler import (
    Fit,
    Placement,
    TaskPlacement,
    both,
    explain,
    explain_quotas,
    place,
    placement_from_json,
    port_requests,
)
from runner.spec import Image, JobSpec, PortRequest, Resources, TaskRoleSpec

DYNAMIC = range(20000, 20020)
IMAGE = Image(uri="localhost/x")


def role(name="main", instances=1, cpu=1, memory_mb=100, gpu=0, ports=()):
    return TaskRoleSpec(name=name, image=IMAGE, commands=("true",), instances=instances,
                        resources=Resources(cpu=cpu, memory_mb=memory_mb, gpu=gpu),
                        ports=tuple(PortRequest(label=label, begin_at=at, count=count)
                                    for label, at, count in ports))


def job(*roles):
    return JobSpec(name="job", user="ann", task_roles=roles or (role(),))


def gpus_of(count, model="H200"):
    return frozenset(Gpu(index=i, uuid=f"GPU-{i}", model=model, memory_mb=1) for i in range(count))


def machine(cpus=4, memory_mb=4096, gpus=0, **quotas):
    return Room(cpus=cpus, memory_mb=memory_mb, gpus=gpus_of(gpus), quotas=quotas)


def try_place(spec, free=None, held=()):
    return place(spec, ip="10.0.0.1", free=free or machine(), ports=DYNAMIC,
                 is_port_free=lambda port: port not in held)


def reason(spec, *, of=None, free=None, held=(), ports=None, **more):
    fit = explain(spec, whole=of or machine(), free=free or machine(), ports=ports,
                  is_port_free=lambda port: port not in held,
                  gpu_reason="NVML is not installed", **more)
    return fit.fit, fit.reason


def test_a_small_job_is_placed_and_gets_an_http_port_that_nobody_asked_for():
    placement = try_place(job())
    assert placement == Placement(host_network=False, tasks=(
        TaskPlacement(role="main", index=0, ip="10.0.0.1", ports={"http": (20000,)}, gpus=()),))


def test_only_a_job_of_several_tasks_shares_the_network_of_the_machine():
    assert try_place(job(role(instances=2))).host_network
    assert not try_place(job(role(instances=1))).host_network


def test_a_role_that_asks_for_http_gets_no_second_one():
    asked = role(ports=[("http", 0, 2)])
    assert port_requests(asked) == asked.ports
    assert try_place(job(asked)).task("main", 0).ports == {"http": (20000, 20001)}


def test_fixed_ports_are_a_block_from_where_it_begins():
    task = try_place(job(role(ports=[("grpc", 9000, 3)]))).task("main", 0)
    assert task.ports == {"grpc": (9000, 9001, 9002), "http": (20000,)}


def test_any_port_skips_what_is_held_and_what_the_job_has_fixed():
    task = try_place(job(role(ports=[("a", 20001, 1), ("b", 0, 2)])), held={20000})
    assert task.task("main", 0).ports == {"a": (20001,), "b": (20002, 20003), "http": (20004,)}


def test_one_label_asked_for_twice_has_the_ports_of_both():
    task = try_place(job(role(ports=[("http", 9000, 1), ("http", 0, 1)]))).task("main", 0)
    assert task.ports == {"http": (9000, 20000)}


def test_all_tasks_or_none():
    assert try_place(job(role(instances=5))) is None
    assert try_place(job(role("a"), role("b", cpu=4))) is None


def test_gpus_are_dealt_by_uuid():
    placement = try_place(job(role("ps"), role("worker", instances=2, gpu=1)), machine(gpus=3))
    assert [task.gpus for task in placement.tasks] == [(), ("GPU-0",), ("GPU-1",)]


def test_an_unknown_task_is_an_error():
    with pytest.raises(KeyError):
        try_place(job()).task("main", 1)


def test_no_gpu_at_all_names_the_reason():
    assert reason(job(role(gpu=1))) == (
        "never", "Needs 1 GPU, but this machine has none (NVML is not installed).")


def test_too_many_cpus_at_once():
    assert reason(job(role(instances=2, cpu=4))) == (
        "never", "Needs 8 CPUs at once (2 tasks × 4), this machine has 4.")


def test_every_reason_is_named_at_once():
    assert reason(job(role("ps", cpu=1), role("worker", cpu=3, instances=3, memory_mb=2000))) == (
        "never", "Needs 10 CPUs at once (ps: 1 × 1, worker: 3 × 3), this machine has 4. Needs "
        "6100 MiB of memory at once (ps: 1 × 100, worker: 3 × 2000), this machine has 4096.")


def test_more_gpus_than_there_are():
    assert reason(job(role("ps"), role("worker", gpu=3)), of=machine(gpus=2)) == (
        "never", "Needs 3 GPUs, but this machine has 2.")


def test_what_is_in_use_is_waited_for():
    assert reason(job(role(cpu=2)), free=machine(cpus=1)) == (
        "later", "Waits for 2 CPUs: 1 of 4 is free.")
    assert reason(job(role(gpu=1)), of=machine(gpus=2)) == (
        "later", "Waits for 1 GPU: 0 of 2 are free.")


def test_a_held_fixed_port_is_waited_for():
    assert reason(job(role(ports=[("web", 8080, 2)])), held={8081}) == (
        "later", "Waits for port 8081: held by another job or program.")


def test_two_tasks_cannot_have_the_same_fixed_block():
    assert reason(job(role("web", instances=2, ports=[("http", 8080, 2)]))) == (
        "never", "Role web asks for ports 8080-8081 in each of its 2 tasks, which one machine has "
        "only once. Write beginAt: 0 to get any free ports.")


def test_two_roles_cannot_have_the_same_fixed_port():
    roles = role("a", ports=[("x", 8000, 3)]), role("b", ports=[("y", 8002, 1)])
    assert reason(job(*roles)) == (
        "never", "Port 8002 is asked for twice, which one machine has only once. Write beginAt: 0 "
        "to get any free port.")


def test_a_fixed_block_ends_with_the_last_port():
    assert reason(job(role(ports=[("x", 65535, 2)]))) == (
        "never", "Role main asks for ports 65535-65536, but the last port is 65535.")


def test_ports_of_any_number_can_run_out():
    assert reason(job(role(ports=[("x", 0, 3)])), ports=range(20000, 20003)) == (
        "later", "Waits for 4 free ports: 3 are left.")


def test_gpus_of_another_type_do_not_count():
    spec = dataclasses.replace(job(role(gpu=1)), gpu_type="A100")
    assert reason(spec, of=machine(gpus=2)) == (
        "never", "Needs 1 GPU of type A100, but this machine has none (it has 2 × H200).")
    fitting = dataclasses.replace(spec, gpu_type="h200")
    assert try_place(fitting, machine(gpus=1)).task("main", 0).gpus == ("GPU-0",)


def test_a_gpu_that_other_programs_use_is_told():
    assert reason(job(role(gpu=2)), of=machine(gpus=2), free=machine(gpus=1),
                  foreign=gpus_of(1)) == (
        "later", "Waits for 2 GPUs: 1 of 2 is free. 1 of the GPUs is used by programs that are no "
        "jobs of this runner.")


def test_a_quota_that_is_too_small_or_used_up_is_named():
    whole, left = Bounds(jobs=3, gpus=4), Bounds(jobs=0, gpus=1)
    rooms = machine(gpus=8, vision=whole), machine(gpus=8, vision=left)
    assert explain_quotas(job(role(gpu=5)), ["vision"], *rooms) == Fit(
        fit="never", reason="Needs 5 GPUs, but vision may use 4 at once.")
    assert explain_quotas(job(role(gpu=2)), ["vision"], *rooms) == Fit(
        fit="later", reason="Waits for 2 GPUs: 1 of 4 is free for vision. Waits until another job "
        "of vision has ended: 3 may run at once.")
    assert explain_quotas(job(role(gpu=2)), ["other"], *rooms).fit == "now"


def test_never_outweighs_later_and_later_now():
    never, later, now = (Fit(fit=each, reason=each.title()) for each in ("never", "later", "now"))
    assert both(now, later) == both(later, now) == later
    assert both(later, never) == never
    assert both(later, Fit(fit="later", reason="Too.")).reason == "Later Too."
    assert both(now, now) == now


def test_a_job_that_fits_can_start_now():
    assert reason(job(), ports=DYNAMIC) == ("now", "Can start now.")


# -- properties -----------------------------------------------------------------------------------

PORTS = st.tuples(st.sampled_from(["http", "a", "b"]),
                  st.sampled_from([0, 0, 0, 9000, 9001, 20003]), st.integers(1, 3))
ROLE = st.builds(role, instances=st.integers(1, 3), cpu=st.integers(1, 3),
                 memory_mb=st.integers(100, 2000), gpu=st.integers(0, 2),
                 ports=st.lists(PORTS, max_size=2))
JOB = st.lists(ROLE, min_size=1, max_size=3).map(lambda roles: job(*(
    dataclasses.replace(each, name=f"role{i}") for i, each in enumerate(roles))))
STREAM = st.lists(st.tuples(st.sampled_from(["submit", "submit", "finish"]), JOB), max_size=12)
MACHINE = machine(cpus=6, memory_mb=6000, gpus=3)


class Ledger:
    """Keeps placements of running jobs, as the worker does."""

    def __init__(self):
        self.running = []

    def tasks(self):
        return [task for _, placement in self.running for task in placement.tasks]

    def free(self):
        roles = [each for spec, _ in self.running for each in spec.task_roles]
        taken = {uuid for task in self.tasks() for uuid in task.gpus}
        return dataclasses.replace(
            MACHINE,
            cpus=MACHINE.cpus - sum(r.resources.cpu * r.instances for r in roles),
            memory_mb=MACHINE.memory_mb - sum(r.resources.memory_mb * r.instances for r in roles),
            gpus=frozenset(gpu for gpu in MACHINE.gpus if gpu.uuid not in taken))

    def ports(self):
        return [port for task in self.tasks() for block in task.ports.values() for port in block]


@settings(deadline=None, max_examples=300)
@given(STREAM)
def test_nothing_is_promised_twice_and_explain_agrees(stream):
    ledger = Ledger()
    for action, spec in stream:
        if action == "finish":
            ledger.running[:1] = []
            continue
        free, held = ledger.free(), set(ledger.ports())
        placement = place(spec, ip="10.0.0.1", free=free, ports=DYNAMIC,
                          is_port_free=lambda p: p not in held)
        fit = explain(spec, whole=MACHINE, free=free, ports=DYNAMIC,
                      is_port_free=lambda p: p not in held)
        assert (placement is not None) == (fit.fit == "now")
        if placement:
            ledger.running.append((spec, placement))
            check_is_whole(spec, placement)
        check_is_sound(ledger)


def check_is_whole(spec, placement):
    assert len(placement.tasks) == spec.task_count
    for each in spec.task_roles:
        for index in range(each.instances):
            task = placement.task(each.name, index)
            assert len(task.gpus) == each.resources.gpu
            assert sum(map(len, task.ports.values())) == sum(r.count for r in port_requests(each))
            assert task.ports["http"]


def check_is_sound(ledger):
    free, ports = ledger.free(), ledger.ports()
    gpus = [uuid for task in ledger.tasks() for uuid in task.gpus]
    assert free.cpus >= 0 and free.memory_mb >= 0
    assert len(set(gpus)) == len(gpus)
    assert len(set(ports)) == len(ports)


@settings(deadline=None)
@given(JOB)
def test_a_job_that_never_fits_is_never_placed_even_on_an_empty_machine(spec):
    empty = Ledger().free()
    fit = explain(spec, whole=MACHINE, free=empty, ports=range(30000, 31000),
                  is_port_free=lambda _: True)
    placed = place(spec, ip="10.0.0.1", free=empty, ports=range(30000, 31000),
                   is_port_free=lambda _: True)
    assert fit.fit == ("now" if placed else "never")


@settings(deadline=None)
@given(JOB)
def test_a_placement_survives_json(spec):
    placement = try_place(spec, machine(cpus=99, memory_mb=99999, gpus=99))
    if placement:
        text = json.dumps(placement.as_json())
        assert placement_from_json(text) == placement_from_json(json.loads(text)) == placement
