"""The runner's HTTP API: JSON in, JSON out, one route a noun."""
from __future__ import annotations

import errno
import hmac
import json
from typing import Any, Iterable, Mapping

from flask import Flask, Response, jsonify, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import HTTPException

from runner import file_routes, metrics, outcome, overview_routes, terminal_routes
from runner.errors import InvalidSpecError, NotFoundError, RunnerError
from runner.exposition import CONTENT_TYPE, exposition
from runner.file_routes import number
from runner.job_query import NEWEST, ORDERS, JobQuery
from runner.job_store import Job
from runner.logins import logins_from_json
from runner.quotas import cluster_name
from runner.room import Bounds, Room
from runner.scheduler import placement_from_json
from runner.sentence import Sentence, restored, told
from runner.spec import JOB_STATES, RUNNING, WAITING, job_spec_from_json
from runner.worker import Worker

MAX_BODY_BYTES = 4 << 20
MAX_REASON = 1000


def create_app(worker: Worker, token: str | None) -> Flask:
    """Join the worker and its API; with `token`, every request must carry it."""
    app = Flask("runner", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.json = _Json(app)

    @app.before_request
    def check_token() -> Response | None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token is not None and not hmac.compare_digest(given.encode(), token.encode()):
            return _error("Unauthorized", Sentence("The runner's token is missing or wrong."), 401)
        return None

    @app.errorhandler(RunnerError)
    def on_runner_error(error: RunnerError) -> Response:
        return _error(error.code, error.message, error.status, error.errors)

    @app.errorhandler(HTTPException)
    def on_http_error(error: HTTPException) -> Response:
        cause = getattr(error, "original_exception", None)
        if "disk is full" in str(cause) or getattr(cause, "errno", None) == errno.ENOSPC:
            return _error("DiskFull", Sentence("The disk is full. Make room, then try again."), 507)
        return _error(error.name.replace(" ", ""), error.description or "", error.code or 500)

    _add_machine_routes(app, worker)
    _add_job_routes(app, worker)
    file_routes.add(app, worker)
    overview_routes.add(app, worker)
    terminal_routes.add(app, worker)
    return app


class _Json(DefaultJSONProvider):
    """Answers have what their sentences are made of, so that pages can say them otherwise."""

    sort_keys = False

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return super().dumps(told(obj), **kwargs)


def _error(code: str, message: str, status: int, errors: Iterable[dict] = ()) -> Response:
    response = jsonify(code=code, message=message, errors=list(errors))
    response.status_code = status
    return response


def _add_machine_routes(app: Flask, worker: Worker) -> None:
    @app.get("/health")
    def health() -> Response:
        return jsonify(status="ok")

    @app.get("/metrics")
    def machine_metrics() -> Response:
        return Response(exposition(worker), content_type=CONTENT_TYPE)

    @app.get("/machine")
    def machine() -> Response:
        seen = worker.queue.look()
        free, whole, first = seen.free, seen.whole, seen.machines[0]
        return jsonify(
            cpus=whole.cpus, memory_mb=whole.memory_mb, gpu_reason=first.gpu_reason,
            host_ip=first.host_ip, gpus=[
                {"index": gpu.index, "model": gpu.model, "uuid": gpu.uuid,
                 "memory_mb": gpu.memory_mb, "is_free": gpu in free.gpus,
                 "is_foreign": gpu in seen.foreign, "is_declared": gpu.is_declared}
                for machine in seen.machines for gpu in machine.gpus],
            free=_amount(free),
            virtual_clusters=[
                {"name": name, "members": cluster.members and sorted(cluster.members),
                 "max_priority": cluster.max_priority, "time_limit_s": cluster.time_limit_s,
                 "quota": vars(whole.quotas.get(cluster_name(name), Bounds())),
                 "free": vars(free.quotas.get(cluster_name(name), Bounds()))}
                for name, cluster in seen.rules.clusters.items()],
            queue=_queue(worker))

    @app.get("/queue")
    def queue() -> Response:
        return jsonify(_queue(worker))

    @app.post("/queue/pause")
    def pause() -> Response:
        reason = _body().get("reason") or ""
        if not isinstance(reason, str) or len(reason) > MAX_REASON:
            raise InvalidSpecError(Sentence(
                "reason must be a text of at most {most} characters.", most=MAX_REASON))
        worker.pause(reason)
        return jsonify(_queue(worker))

    @app.post("/queue/resume")
    def resume() -> Response:
        worker.resume()
        return jsonify(_queue(worker))

    @app.post("/explain")
    def explain() -> Response:
        fit = worker.explain(job_spec_from_json(_body().get("spec")))
        return jsonify(fit=fit.fit, reason=fit.reason)

    @app.post("/outlook")
    def outlook() -> Response:
        found = worker.outlook(job_spec_from_json(_body().get("spec")),
                               logins_from_json(_body().get("logins")))
        seen = worker.queue.look()
        return jsonify(
            fit=found.fit.fit, reason=found.fit.reason, expected_start=found.expected_start,
            supplies=[vars(each) for each in found.supplies],
            whole=_amount(seen.whole), free=_amount(seen.free))


def _amount(room: Room) -> dict[str, int]:
    return {"cpus": room.cpus, "memory_mb": room.memory_mb, "gpus": len(room.gpus)}


def _queue(worker: Worker) -> dict[str, Any]:
    """`paused` is the sentence that people are told, None while jobs start."""
    counts = worker.store.count_by_state()
    return {"paused": worker.queue.pause_reason(), "waiting": counts[WAITING],
            "running": counts[RUNNING]}


def _add_job_routes(app: Flask, worker: Worker) -> None:
    @app.post("/jobs")
    def submit() -> tuple[Response, int]:
        spec = job_spec_from_json(_body().get("spec"))
        job, is_new = worker.submit(spec, request.headers.get("Idempotency-Key"),
                                    logins_from_json(_body().get("logins")))
        return jsonify(_whole(worker, job)), 201 if is_new else 200

    @app.get("/jobs")
    def jobs() -> Response:
        wanted = [name for name in request.args.get("state", "").split(",") if name]
        unknown = set(wanted) - set(JOB_STATES)
        if unknown:
            raise InvalidSpecError(Sentence(
                "There is no state {state!r}; the states are {states}.",
                state=sorted(unknown)[0], states=", ".join(JOB_STATES)))
        limit, offset = min(number("limit", 50), 200), number("offset", 0)
        query = _job_query(worker, wanted)
        found = worker.store.find(query, offset=offset, limit=limit + 1)
        following = found[limit - 1].id if len(found) > limit else None
        return jsonify(jobs=[_summary(worker, job) for job in found[:limit]], next=following,
                       counts=worker.store.counts(query))

    @app.get("/changes")
    def changes() -> Response:
        news = worker.changes.since(request.args.get("since", ""), min(number("wait_s", 0), 25))
        found = worker.store.some(news.jobs)
        return jsonify(mark=news.mark, is_all=news.is_all, logs=list(news.logs),
                       jobs=[_summary(worker, job) for job in found])

    @app.get("/jobs/<job_id>")
    def job(job_id: str) -> Response:
        return jsonify(_whole(worker, worker.store.get(job_id)))

    @app.post("/jobs/<job_id>/release")
    def release(job_id: str) -> Response:
        worker.kept.release(worker.store.get(job_id).id)
        return jsonify(_whole(worker, worker.store.get(job_id)))

    @app.post("/jobs/<job_id>/stop")
    def stop(job_id: str) -> tuple[Response, int]:
        return jsonify(_whole(worker, worker.stop(job_id))), 202


def _job_query(worker: Worker, wanted: list[str]) -> JobQuery:
    args = request.args
    user, before = args.get("user"), args.get("before")
    last = worker.store.get(before) if before else None
    if last and user not in (None, last.user):
        raise NotFoundError(Sentence("There is no job {before!r}.", before=before))
    sort = args.get("sort", NEWEST)
    if sort not in ORDERS:
        raise InvalidSpecError(Sentence(
            "There is no order {sort!r}; the orders are {orders}.", sort=sort,
            orders=", ".join(ORDERS)))
    return JobQuery(user=user, name=args.get("name"), states=tuple(wanted), sort=sort,
                    text=args.get("text", ""), template=args.get("template", ""),
                    reader=args.get("reader", ""), before=last.seq if last else None)


def _body() -> Mapping[str, Any]:
    body = request.get_json()
    if not isinstance(body, dict):
        raise InvalidSpecError(Sentence("The body must be a JSON object."))
    return body


def _summary(worker: Worker, job: Job) -> dict[str, Any]:
    """What a list shows; a job that waits for its turn has its place and the newest reason."""
    standing = worker.queue.standing(job.id) if job.state == WAITING else None
    if standing is None or job.stage != "queue":
        return {**job.as_json(), "position": None}
    return {**job.as_json(), "reason": standing.reason, "position": standing.position}


def _whole(worker: Worker, job: Job) -> dict[str, Any]:
    progress, summary = worker.progress.get(job.id), _summary(worker, job)
    return {
        **summary,
        "expected_start": worker.queue.expected_start(job.id) if summary["position"] else None,
        "spec": json.loads(job.spec_text),
        "events": worker.store.events(job.id),
        "progress": None if progress is None else vars(progress),
        "pulls": worker.engine.pulls(job.id),
        "attempts": [_attempt(worker, job, row) for row in worker.store.attempts(job.id)],
    }


def _usage(worker: Worker, job: Job, attempt: int, task: Any) -> dict[str, Any] | None:
    """The newest sample of a task, if it tells anything.

    What ran out of memory had its whole limit, seen or not.
    """
    found = metrics.last(worker.folders.metrics(job.id, attempt, task["role"], task["idx"]))
    if found is None or not metrics.is_telling(found, task["started_at"]):
        return None
    if task["oom_killed"]:
        role, = (each for each in job.spec.task_roles if each.name == task["role"])
        found["peak_memory"] = max(found["peak_memory"], role.resources.memory_mb << 20)
    return found


def _attempt(worker: Worker, job: Job, row: Any) -> dict[str, Any]:
    placement = placement_from_json(row["placement"])
    decision = json.loads(row["decision"] or "{}")
    tasks = []
    for task in worker.store.tasks(job.id, row["number"]):
        place = placement.task(task["role"], task["idx"])
        ports = placement.reachable_ports(job.spec, task["role"], task["idx"])
        tasks.append({
            "role": task["role"], "index": task["idx"], "state": task["state"],
            "ip": task["ip"], "ports": {label: list(block) for label, block in ports.items()},
            "gpus": list(place.gpus), "exit_code": task["exit_code"],
            "exit_text": task["exit_text"], "oom_killed": bool(task["oom_killed"]),
            "started_at": task["started_at"], "finished_at": task["finished_at"],
            "container": task["container"],
            "usage": _usage(worker, job, row["number"], task)})
    return {"number": row["number"], "state": row["state"],
            "cause": decision.get("cause", outcome.NO_CAUSE),
            "reason": restored(decision.get("reason", "")),
            "started_at": row["started_at"], "finished_at": row["finished_at"], "tasks": tasks,
            "kept": worker.kept.of((job.id, row["number"])) if job.spec.is_debug else None}
