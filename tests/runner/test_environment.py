"""The variables that a task finds in its container."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.devices import Gpu
from runner.environment import environment
from runner.room import Room
from runner.scheduler import place
from runner.spec import Image, JobSpec, PortRequest, Resources, TaskRoleSpec

IMAGE = Image(uri="localhost/x")
PS = TaskRoleSpec(
    name="ps_server", image=IMAGE, commands=("true",), min_failed_task_count=None,
    resources=Resources(cpu=1, memory_mb=512, shm_mb=64, gpu=0))
WORKER = TaskRoleSpec(
    name="worker", image=IMAGE, commands=("true",), instances=2, min_succeeded_task_count=2,
    resources=Resources(cpu=2, memory_mb=2048, shm_mb=128, gpu=1),
    ports=(PortRequest(label="grpc", begin_at=0, count=2), PortRequest(label="http")))
SPEC = JobSpec(name="digits", user="ann", virtual_cluster="vc1", task_roles=(PS, WORKER))


def variables(spec=SPEC, role="worker", index=1, gpus=("GPU-a", "GPU-b")):
    placement = place(spec, ip="10.0.0.1", free=Room(cpus=99, memory_mb=99999, gpus=frozenset(
                          Gpu(index=index, uuid=uuid, model="A100", memory_mb=1)
                          for index, uuid in enumerate(gpus))),
                      ports=range(20000, 30000), is_port_free=lambda _: True)
    return environment(spec, placement, role, index, work_dir="/work",
                       output_dir="/out")


def test_the_whole_environment_of_a_worker():
    assert variables() == {
        "PAI_WORK_DIR": "/work",
        "PAI_CURRENT_DIR": "/work",
        "PAI_OUTPUT_DIR": "/out",
        "PAI_DEFAULT_FS_URI": "file:///out",
        "PAI_JOB_NAME": "digits",
        "PAI_JOB_VC_NAME": "vc1",
        "PAI_USER_NAME": "ann",
        "PAI_CURRENT_TASK_ROLE_NAME": "worker",
        "PAI_CURRENT_TASK_ROLE_TASK_COUNT": "2",
        "PAI_CURRENT_TASK_ROLE_CPU_COUNT": "2",
        "PAI_CURRENT_TASK_ROLE_MEM_MB": "2048",
        "PAI_CURRENT_TASK_ROLE_SHM_MB": "128",
        "PAI_CURRENT_TASK_ROLE_GPU_COUNT": "1",
        "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT": "1",
        "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT": "2",
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": "1",
        "PAI_JOB_TASK_COUNT": "3",
        "PAI_JOB_TASK_ROLE_COUNT": "2",
        "PAI_JOB_TASK_ROLE_LIST": "ps_server,worker",
        "PAI_CONTAINER_HOST_IP": "10.0.0.1",
        "PAI_CONTAINER_HOST_PORT_LIST": "grpc:20004,20005;http:20006",
        "PAI_CONTAINER_HOST_grpc_PORT_LIST": "20004,20005",
        "PAI_CONTAINER_HOST_http_PORT_LIST": "20006",
        "PAI_TASK_ROLE_ps_server_HOST_LIST": "10.0.0.1:20000",
        "PAI_TASK_ROLE_worker_HOST_LIST": "10.0.0.1:20003,10.0.0.1:20006",
        "PAI_HOST_IP_ps_server_0": "10.0.0.1",
        "PAI_HOST_IP_worker_0": "10.0.0.1",
        "PAI_HOST_IP_worker_1": "10.0.0.1",
        "PAI_PORT_LIST_ps_server_0_http": "20000",
        "PAI_PORT_LIST_worker_0_grpc": "20001,20002",
        "PAI_PORT_LIST_worker_0_http": "20003",
        "PAI_PORT_LIST_worker_1_grpc": "20004,20005",
        "PAI_PORT_LIST_worker_1_http": "20006",
        "PAI_TASK_ROLE_COUNT": "2",
        "PAI_TASK_ROLE_LIST": "ps_server,worker",
        "PAI_TASK_ROLE_TASK_COUNT_ps_server": "1",
        "PAI_TASK_ROLE_TASK_COUNT_worker": "2",
        "PAI_RESOURCE_ps_server": "0,1,512,64",
        "PAI_RESOURCE_worker": "1,2,2048,128",
        "PAI_MIN_FAILED_TASK_COUNT_ps_server": "",
        "PAI_MIN_FAILED_TASK_COUNT_worker": "1",
        "PAI_MIN_SUCCEEDED_TASK_COUNT_ps_server": "",
        "PAI_MIN_SUCCEEDED_TASK_COUNT_worker": "2",
        "OMP_NUM_THREADS": "2",
        "NVIDIA_VISIBLE_DEVICES": "GPU-b",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }


def test_a_task_without_gpu_sees_none():
    assert variables(role="ps_server", index=0)["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_null_counts_are_empty():
    found = variables(role="ps_server", index=0)
    assert found["PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT"] == ""
    assert found["PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT"] == ""


def test_several_gpus_are_listed_by_uuid():
    role = TaskRoleSpec(name="main", image=IMAGE, commands=("true",), resources=Resources(gpu=2))
    found = variables(JobSpec(name="j", user="u", task_roles=(role,)), "main", 0)
    assert found["NVIDIA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"


def test_ten_tasks_and_more_are_listed_by_number_not_by_text():
    role = TaskRoleSpec(name="w", image=IMAGE, commands=("true",), instances=12)
    hosts = variables(JobSpec(name="j", user="u", task_roles=(role,)), "w", 0)
    assert hosts["PAI_TASK_ROLE_w_HOST_LIST"].split(",") == [
        f"10.0.0.1:{port}" for port in range(20000, 20012)]


def test_an_unknown_task_is_an_error():
    with pytest.raises(KeyError):
        variables(index=2)


NAMES = st.from_regex(r"\A[A-Za-z0-9._~]{1,8}\Z")
ROLES = st.lists(st.builds(
    TaskRoleSpec, name=NAMES, image=st.just(IMAGE), commands=st.just(("true",)),
    instances=st.integers(1, 3), ports=st.lists(
        st.builds(PortRequest, label=NAMES, count=st.integers(1, 3)), max_size=3).map(tuple)),
    min_size=1, max_size=3, unique_by=lambda role: role.name)


@settings(deadline=None)
@given(ROLES)
def test_host_lists_and_port_lists_agree_for_every_task(roles):
    spec = JobSpec(name="j", user="u", task_roles=tuple(roles))
    for role in roles:
        for index in range(role.instances):
            found = variables(spec, role.name, index)
            assert all(isinstance(value, str) for value in found.values())
            listed = dict(part.split(":") for part in
                          found["PAI_CONTAINER_HOST_PORT_LIST"].split(";"))
            own = found[f"PAI_TASK_ROLE_{role.name}_HOST_LIST"].split(",")[index]
            assert own == f"10.0.0.1:{listed['http'].split(',')[0]}"
            for label, ports in listed.items():
                assert found[f"PAI_CONTAINER_HOST_{label}_PORT_LIST"] == ports


@pytest.mark.parametrize("gpus, seen", [
    (("GPU-a", "GPU-b"), "GPU-b"), (("AMD-0", "AMD-1"), "void"),
    (("DECLARED-0", "DECLARED-1"), "void")])
def test_only_gpus_that_nvidia_knows_are_told_to_its_runtime(gpus, seen):
    assert variables(gpus=gpus)["NVIDIA_VISIBLE_DEVICES"] == seen
