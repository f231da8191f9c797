"""Why a job failed, for whoever mends it: the task that failed first, and what may help."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from runner.spec import FAILED

LAST_LINES = 20


@dataclass(frozen=True, kw_only=True)
class Failure:
    """`exit` says how the task ended; `is_memory`: it had too little; `memory_mb` is what it had.

    `focus` names the field of the submit page that says how much memory it gets.
    """

    role: str
    index: int
    exit: str
    is_memory: bool
    memory_mb: int
    focus: str


def failure_of(job: Mapping[str, Any]) -> Failure | None:
    """What failed in the newest attempt; None: the job has not failed, or none of its tasks did."""
    if job["state"] != FAILED or not job["attempts"]:
        return None
    failed = [task for task in job["attempts"][-1]["tasks"] if task["state"] == FAILED]
    task = min(failed, key=lambda each: each["finished_at"] or "", default=None)
    if task is None:
        return None
    role = next(each for each in job["spec"]["task_roles"] if each["name"] == task["role"])
    return Failure(
        role=task["role"], index=task["index"], exit=task["exit_text"],
        is_memory=task["oom_killed"], memory_mb=role["resources"]["memory_mb"],
        focus=f"taskRoles.{task['role']}.resourcePerInstance.memoryMB")
