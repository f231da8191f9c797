"""Where the tasks of a job find each other: the environment variables that PAIShare sets."""
from __future__ import annotations

import os


def hosts(role: str) -> list[tuple[str, int]]:
    """Address and port of each task of a role, in the order of their index."""
    name = f"PAI_TASK_ROLE_{role}_HOST_LIST"
    entries = _variable(name).split(",")
    pairs = [entry.rpartition(":") for entry in entries]
    if not all(ip and port.isdecimal() for ip, _, port in pairs):
        raise SystemExit(f"{name} must look like 10.0.0.1:4000,10.0.0.2:4000.")
    return [(ip, int(port)) for ip, _, port in pairs]


def index() -> int:
    """The number of this task within its role, from 0."""
    return int(_variable("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"))


def port(label: str) -> int:
    """The first port that this task was given under a label of its `portList`."""
    return int(_variable(f"PAI_CONTAINER_HOST_{label}_PORT_LIST").split(",")[0])


def host_ip() -> str:
    """The address under which others reach this task."""
    return _variable("PAI_CONTAINER_HOST_IP")


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise SystemExit(f"{name} is not set. PAIShare sets it in each task of a job; "
                         "to try this program by hand, set it yourself.")
    return value
