"""The API's bodies about the server and the machine that runs the jobs."""
from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from registry.views.models.base import Answer, Given


class LastSync(Answer):
    last: datetime | None


class Health(Answer):
    status: Literal["ok", "degraded"] = Field(description="`degraded`: one of them is down.")
    web: bool
    runner: bool
    github: bool = Field(description="The process that speaks to GitHub for users runs.")
    sync: LastSync


class Gpu(Answer):
    index: int
    model: str
    uuid: str
    memory_mb: int
    is_free: bool = True
    is_foreign: bool = Field(default=False, description="Programs that are no jobs use it.")
    is_declared: bool = Field(default=False, description="It is only said to be there.")


class FreeMachine(Answer):
    cpus: int
    memory_mb: int
    gpus: int


class Quota(Answer):
    """What jobs may hold together at once; null: no limit."""

    jobs: int | None
    cpus: int | None
    memory_mb: int | None
    gpus: int | None


class VirtualCluster(Answer):
    name: str
    members: list[str] | None = Field(description="Who may use it; null: everybody.")
    max_priority: int
    time_limit_s: int | None = Field(description="How long a job may run there; null: no end.")
    quota: Quota
    free: Quota = Field(description="What is left of the quota.")


class Queue(Answer):
    paused: str | None = Field(description="Why no job starts; null while jobs start.")
    waiting: int
    running: int


class Pause(Given):
    reason: str = Field(default="", max_length=1000, description="What people are told.")


class Machine(Answer):
    cpus: int
    memory_mb: int
    gpus: list[Gpu]
    free: FreeMachine
    gpu_reason: str | None = Field(description="Why there is no GPU; null where there is one.")
    host_ip: str
    virtual_clusters: list[VirtualCluster] = []
    queue: Queue | None = None
