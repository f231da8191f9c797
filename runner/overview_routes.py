"""The runner's HTTP routes about the whole machine: who holds what, who waits, and its limits."""
from __future__ import annotations

import shutil
from typing import Any

from flask import Flask, Response, jsonify, request

from runner.errors import EngineError, InvalidSpecError, RunnerError
from runner.job_query import JobQuery
from runner.job_store import Job
from runner.sentence import Sentence
from runner.spec import RUNNING, WAITING
from runner.worker import Worker

MAX_JOBS = 200


def add(app: Flask, worker: Worker) -> None:
    @app.get("/overview")
    def overview() -> Response:
        return jsonify(_jobs(worker) | _parts(worker))

    @app.get("/limits")
    def limits() -> Response:
        return jsonify(_limits(worker))

    @app.put("/limits")
    def change_limits() -> Response:
        text = (request.get_json() or {}).get("text")
        if not isinstance(text, str):
            raise InvalidSpecError(Sentence("Send the limits as a text of JSON."))
        try:
            worker.queue.rules.write(text)
        except RunnerError as error:
            raise InvalidSpecError(error.message) from error
        return jsonify(_limits(worker))


def _limits(worker: Worker) -> dict[str, Any]:
    """The limits as they hold, and the file that says so."""
    rules = worker.queue.rules.rules()
    return {"file": str(worker.queue.rules.path), "text": worker.queue.rules.text(),
            "per_user": vars(rules.per_user),
            "users": {name: vars(bounds) for name, bounds in sorted(rules.users.items())}}


def _jobs(worker: Worker) -> dict[str, Any]:
    """Which job holds what, and when those that wait may start, in their order."""
    scene, found = worker.queue.look(), worker.store.find(JobQuery(states=(RUNNING,)),
                                                          limit=MAX_JOBS)
    promised = {job_id: each for (job_id, _), each in scene.promises.items()}
    running = [job.as_json() | {"needs": {
        key: getattr(promised[job.id].known.needs, key) for key in ("cpus", "memory_mb", "gpus")}
        if job.id in promised else None} for job in found]
    waiting = [_waiting(worker, job) for job in worker.store.find(JobQuery(states=(WAITING,)),
                                                                  limit=MAX_JOBS)]
    waiting.sort(key=lambda each: (each["position"] or MAX_JOBS + 1, each["created_at"]))
    return {"running": running, "waiting": waiting, "gpu_jobs": {
        gpu.uuid: job_id for job_id, each in promised.items() for gpu in each.gpus}}


def _waiting(worker: Worker, job: Job) -> dict[str, Any]:
    standing = worker.queue.standing(job.id)
    if standing is None:
        return job.as_json() | {"position": None, "expected_start": None}
    return job.as_json() | {"position": standing.position, "reason": standing.reason,
                            "expected_start": worker.queue.expected_start(job.id)}


def _parts(worker: Worker) -> dict[str, Any]:
    """The disk of the jobs in bytes, and the versions of what runs them, or why they are away."""
    disk = shutil.disk_usage(worker.folders.root.parent)  # the folder is made by the first job
    try:
        versions, problem = dict(worker.engine.versions()), None
    except EngineError as error:
        versions, problem = {}, error.message
    return {"disk": {"total": disk.total, "free": disk.free},
            "versions": versions, "engine_problem": problem}
