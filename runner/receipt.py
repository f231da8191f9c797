"""What an attempt truly ran with and how it ended: one JSON file that stays with the job."""
from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Mapping, Sequence

from runner import clock, metrics
from runner.artifacts import JobFolders
from runner.devices import Machine
from runner.errors import NotFoundError
from runner.outcome import Decision
from runner.scheduler import Placement
from runner.sentence import Sentence, told
from runner.spec import JobSpec

FORMAT = 1


def leave(folders: JobFolders, job_id: str, attempt: int, content: Mapping[str, Any]) -> None:
    """Write a receipt, once: one that is there stays, so that a kill in between changes nothing."""
    path = _path(folders, job_id, attempt)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".new")
    aside.write_text(json.dumps(told(content), indent=2, ensure_ascii=False) + "\n", "utf-8")
    os.replace(aside, path)


def read(folders: JobFolders, job_id: str, attempt: int) -> dict[str, Any]:
    """The receipt of an attempt that has ended; raises NotFoundError."""
    try:
        return json.loads(_path(folders, job_id, attempt).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        raise NotFoundError(Sentence(
            "Attempt {attempt} of job {job_id} has left no receipt. One is written when an attempt "
            "ends.", attempt=attempt, job_id=job_id)) from None


def write_out(folders: JobFolders, spec: JobSpec, job_id: str, attempt: int, *,
              row: Mapping[str, Any], placement: Placement, machines: Sequence[Machine],
              versions: Mapping[str, str | None], tasks: Sequence[Mapping[str, Any]],
              decision: Decision) -> dict[str, Any]:
    """The content of a receipt: `spec` with everything pinned, `row` and `tasks` of the store.

    `versions` are those of engine, kernel and GPU driver, as far as they are known.

    Times are as the store writes them, durations in seconds, memory in bytes; None: not measured.
    """
    lasted = [_seconds(row, task) for task in tasks]
    samples = {(task["role"], task["idx"]): metrics.read(folders.metrics(
        job_id, attempt, task["role"], task["idx"])) for task in tasks}
    limits = {role.name: role.resources.memory_mb for role in spec.task_roles}
    finished_at = max((task["finished_at"] or "" for task in tasks), default="") or None
    return {
        "format": FORMAT, "job": job_id, "attempt": attempt, "state": decision.state,
        "cause": decision.cause, "reason": decision.reason,
        "started_at": row["started_at"], "finished_at": finished_at,
        "wall_s": max((each for each in lasted if each is not None), default=None),
        "machine": {"cpus": sum(each.cpus for each in machines),
                    "memory_mb": sum(each.memory_mb for each in machines), **versions},
        "tasks": [{**_task(task, samples[task["role"], task["idx"]], limits[task["role"]]),
                   "gpus": _gpus(samples[task["role"], task["idx"]], machines,
                                 placement.task(task["role"], task["idx"]).gpus)}
                  for task in tasks],
        "spec": spec.as_json(),
    }


def _task(task: Mapping[str, Any], samples: Sequence[Mapping[str, Any]], memory_mb: int,
          ) -> dict[str, Any]:
    """What was killed for its memory had its whole limit, whatever the last look saw."""
    last = samples[-1] if samples else None
    newest = last if last and metrics.is_telling(last, task["started_at"]) else None
    peak = newest["peak_memory"] if newest else None
    return {
        "role": task["role"], "index": task["idx"], "state": task["state"],
        "exit_code": task["exit_code"], "exit_text": task["exit_text"],
        "oom_killed": bool(task["oom_killed"]), "started_at": task["started_at"],
        "finished_at": task["finished_at"],
        "wall_s": _seconds(task, task),
        "cpu_s": newest["cpu_s"] if newest else None,
        "peak_memory": memory_mb << 20 if task["oom_killed"] else peak}


def _gpus(samples: Sequence[Mapping[str, Any]], machines: Sequence[Machine],
          given: Sequence[str]) -> list[dict[str, Any]]:
    return [{**asdict(gpu), "peak_memory": _peak(samples, gpu.uuid)}
            for machine in machines for gpu in machine.gpus if gpu.uuid in given]


def _peak(samples: Sequence[Mapping[str, Any]], uuid: str) -> int | None:
    return max((gpu["memory"] for sample in samples for gpu in sample["gpus"]
                if gpu["uuid"] == uuid), default=None)


def _seconds(first: Mapping[str, Any], last: Mapping[str, Any]) -> float | None:
    """From the begin of one row to the end of another."""
    return clock.seconds(first["began"], last["ended"],
                         written=(first["started_at"], last["finished_at"]))


def _path(folders: JobFolders, job_id: str, attempt: int) -> Path:
    return folders.root / job_id / str(attempt) / "receipt.json"
