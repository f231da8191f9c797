"""The variables that a task finds in its container. Pure."""
from __future__ import annotations

from runner.devices import AMD, DECLARED
from runner.scheduler import HTTP_LABEL, Placement, TaskPlacement
from runner.spec import JobSpec, TaskRoleSpec


def environment(spec: JobSpec, placement: Placement, role: str, index: int, *, work_dir: str,
                output_dir: str) -> dict[str, str]:
    """Everything that task `index` of `role` is told; both folders as the container sees them.

    A null of the job is an empty string here. `PAI_DEFAULT_FS_URI` is the output folder as a
    `file://` URI: the one place of a task that is kept, as the default file system was.
    Raises KeyError where the job has no such task.
    """
    own = placement.task(role, index)
    role_spec = next(each for each in spec.task_roles if each.name == role)
    return {
        **_every_task(placement),
        **_every_role(spec),
        **_job(spec),
        **_host_lists(spec, placement),
        **_current_role(role_spec),
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": str(index),
        "PAI_WORK_DIR": work_dir,
        "PAI_CURRENT_DIR": work_dir,
        "PAI_OUTPUT_DIR": output_dir,
        "PAI_DEFAULT_FS_URI": f"file://{output_dir}",
        **_container(own),
        **_devices(role_spec, own),
    }


def _job(spec: JobSpec) -> dict[str, str]:
    names = ",".join(role.name for role in spec.task_roles)
    count = str(len(spec.task_roles))
    return {
        "PAI_JOB_NAME": spec.name,
        "PAI_JOB_VC_NAME": spec.virtual_cluster,
        "PAI_USER_NAME": spec.user,
        "PAI_JOB_TASK_COUNT": str(spec.task_count),
        "PAI_JOB_TASK_ROLE_COUNT": count,
        "PAI_JOB_TASK_ROLE_LIST": names,
        "PAI_TASK_ROLE_COUNT": count,
        "PAI_TASK_ROLE_LIST": names,
    }


def _current_role(role: TaskRoleSpec) -> dict[str, str]:
    prefix, resources = "PAI_CURRENT_TASK_ROLE", role.resources
    return {
        f"{prefix}_NAME": role.name,
        f"{prefix}_TASK_COUNT": str(role.instances),
        f"{prefix}_CPU_COUNT": str(resources.cpu),
        f"{prefix}_MEM_MB": str(resources.memory_mb),
        f"{prefix}_SHM_MB": str(resources.shm_mb),
        f"{prefix}_GPU_COUNT": str(resources.gpu),
        f"{prefix}_MIN_FAILED_TASK_COUNT": _or_empty(role.min_failed_task_count),
        f"{prefix}_MIN_SUCCEEDED_TASK_COUNT": _or_empty(role.min_succeeded_task_count),
    }


def _container(own: TaskPlacement) -> dict[str, str]:
    lists = {label: _comma(block) for label, block in own.ports.items()}
    return {
        "PAI_CONTAINER_HOST_IP": own.ip,
        **{f"PAI_CONTAINER_HOST_{label}_PORT_LIST": ports for label, ports in lists.items()},
        "PAI_CONTAINER_HOST_PORT_LIST": ";".join(
            f"{label}:{ports}" for label, ports in lists.items()),
    }


def _host_lists(spec: JobSpec, placement: Placement) -> dict[str, str]:
    """Where to reach each role: the first `http` port of its tasks, in the order of their index."""
    hosts: dict[str, list[str]] = {role.name: [] for role in spec.task_roles}
    for task in sorted(placement.tasks, key=lambda task: task.index):
        hosts[task.role].append(f"{task.ip}:{task.ports[HTTP_LABEL][0]}")
    return {f"PAI_TASK_ROLE_{name}_HOST_LIST": ",".join(items) for name, items in hosts.items()}


def _devices(role: TaskRoleSpec, own: TaskPlacement) -> dict[str, str]:
    """What the libraries in the container need to keep to their share.

    A container sees all cores of the machine, and an image may say that it wants all GPUs.
    """
    nvidia = [uuid for uuid in own.gpus if not uuid.startswith((AMD, DECLARED))]
    return {
        "OMP_NUM_THREADS": str(role.resources.cpu),
        "NVIDIA_VISIBLE_DEVICES": ",".join(nvidia) or "void",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }


def _every_task(placement: Placement) -> dict[str, str]:
    """Address and ports of each task, by the names that later releases of the format use."""
    found: dict[str, str] = {}
    for task in placement.tasks:
        place = f"{task.role}_{task.index}"
        found[f"PAI_HOST_IP_{place}"] = task.ip
        for label, block in task.ports.items():
            found[f"PAI_PORT_LIST_{place}_{label}"] = _comma(block)
    return found


def _every_role(spec: JobSpec) -> dict[str, str]:
    """What each role asks for, by the names that later releases of the format use."""
    found: dict[str, str] = {}
    for role in spec.task_roles:
        needs = role.resources
        found |= {
            f"PAI_TASK_ROLE_TASK_COUNT_{role.name}": str(role.instances),
            f"PAI_RESOURCE_{role.name}":
                f"{needs.gpu},{needs.cpu},{needs.memory_mb},{needs.shm_mb}",
            f"PAI_MIN_FAILED_TASK_COUNT_{role.name}": _or_empty(role.min_failed_task_count),
            f"PAI_MIN_SUCCEEDED_TASK_COUNT_{role.name}": _or_empty(role.min_succeeded_task_count),
        }
    return found


def _comma(ports: tuple[int, ...]) -> str:
    return ",".join(map(str, ports))


def _or_empty(count: int | None) -> str:
    return "" if count is None else str(count)
