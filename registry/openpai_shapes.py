"""Jobs and virtual clusters as OpenPAI's releases 0.9 to 0.14 showed them, from ours. Pure."""
from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping

from runner.spec import FAILED, FINAL_STATES, RUNNING, STOPPED, SUCCEEDED

ORIGINAL = "openpai"  # in a job's origin: the text that was submitted, in its own form
STOPPED_CODE, FAILED_CODE = 214, 255
_EXIT_CODES = {SUCCEEDED: 0, STOPPED: STOPPED_CODE, FAILED: FAILED_CODE}
_TASK_STATES = {"WAITING": "WAITING", RUNNING: RUNNING, SUCCEEDED: SUCCEEDED, FAILED: FAILED,
                STOPPED: STOPPED}


def list_item(job: Mapping[str, Any]) -> dict[str, Any]:
    """One row of a list of jobs."""
    return {
        "name": job["name"], "username": job["user"], "state": job["state"],
        "subState": _sub_state(job), "executionType": "STOP" if _is_stopped(job) else "START",
        "retries": job["retries"],
        "retryDetails": {"user": job["retries"], "platform": 0, "resource": 0},
        "createdTime": _millis(job["created_at"]), "completedTime": _millis(job["finished_at"]),
        "appExitCode": _EXIT_CODES.get(job["state"]), "virtualCluster": job["virtual_cluster"]}


def detail(job: Mapping[str, Any], log_url: Any) -> dict[str, Any]:
    """One job with its tasks; `log_url(attempt, role, index)` is where a task's log is read."""
    attempt = job["attempts"][-1] if job["attempts"] else None
    row = list_item(job)
    return {
        "name": job["name"],
        "jobStatus": {
            **{key: row[key] for key in (
                "username", "virtualCluster", "state", "subState", "executionType", "retries",
                "retryDetails", "createdTime", "completedTime", "appExitCode")},
            "name": f"{job['user']}~{job['name']}", "appId": job["id"], "appProgress":
            1 if job["state"] in FINAL_STATES else 0, "appTrackingUrl": job["url"],
            "appLaunchedTime": _millis(job["started_at"]),
            "appCompletedTime": _millis(job["finished_at"]),
            "appExitDiagnostics": job["reason"] if job["state"] in FINAL_STATES else "",
            "appExitType": _exit_type(attempt, job["state"])},
        "taskRoles": {role["name"]: _role(job, role["name"], attempt, log_url)
                      for role in job["spec"]["task_roles"]}}


def _role(job: Mapping[str, Any], name: str, attempt: Mapping[str, Any] | None, log_url: Any
          ) -> dict[str, Any]:
    tasks = [task for task in (attempt["tasks"] if attempt else ()) if task["role"] == name]
    return {"taskRoleStatus": {"name": name}, "taskStatuses": [{
        "taskIndex": task["index"], "taskState": _TASK_STATES[task["state"]],
        "containerId": task["container"], "containerIp": task["ip"],
        "containerPorts": {label: ",".join(map(str, ports))
                           for label, ports in task["ports"].items()},
        "containerGpus": (1 << len(task["gpus"])) - 1,
        "containerLog": log_url(attempt and attempt["number"], name, task["index"]),
        "containerExitCode": task["exit_code"]} for task in tasks]}


def cluster(found: Mapping[str, Any], jobs: Mapping[str, int]) -> dict[str, Any]:
    """One virtual cluster; capacities in percent, what has no limit counts as the whole."""
    used = {"memory": _used(found, "memory_mb"), "vCores": _used(found, "cpus"),
            "GPUs": _used(found, "gpus")}
    return {"capacity": 100, "maxCapacity": 100, "usedCapacity": 0, "status": "RUNNING",
            "numActiveJobs": jobs.get("RUNNING", 0), "numPendingJobs": jobs.get("WAITING", 0),
            "numJobs": sum(jobs.values()), "resourcesUsed": used}


def _used(found: Mapping[str, Any], name: str) -> int:
    quota, free = found["quota"][name], found["free"][name]
    return 0 if quota is None or free is None else quota - free


def _sub_state(job: Mapping[str, Any]) -> str:
    if job["state"] in FINAL_STATES:
        return "FRAMEWORK_COMPLETED"
    return "APPLICATION_RUNNING" if job["state"] == RUNNING else "FRAMEWORK_WAITING"


def _is_stopped(job: Mapping[str, Any]) -> bool:
    return bool(job["stop_requested"]) or job["state"] == STOPPED


def _exit_type(attempt: Mapping[str, Any] | None, state: str) -> str | None:
    if state not in FINAL_STATES:
        return None
    if state != FAILED:
        return "USER_SUCCESS" if state == SUCCEEDED else "USER_STOP"
    is_user = attempt is not None and attempt["cause"] in ("user", "oom", "time")
    return "USER_FAILURE" if is_user else "PLATFORM_FAILURE"


def _millis(moment: str | None) -> int | None:
    if moment is None:
        return None
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
