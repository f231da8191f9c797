"""The runner's HTTP routes about what tasks wrote: their logs, metrics, receipts and artifacts."""
from __future__ import annotations

import os
import re
from bisect import bisect_right
from typing import Any

from flask import Flask, Response, jsonify, request, send_file

from runner import metrics, receipt
from runner.archive import zipped
from runner.artifacts import MAX_ARTIFACTS, Artifact, Choice
from runner.checksums import Checksums
from runner.errors import InvalidSpecError, NotFoundError
from runner.log_lines import search_log
from runner.logs import MergedQuery, TaskLine, iso, timed_text
from runner.sentence import Sentence
from runner.task_log import STREAMS, LogRecord, iter_log
from runner.worker import Worker

MAX_WAIT_S = 25.0
MAX_FOUND = 200  # lines of a search
MAX_LINES = 5000
MAX_FILES = 10_000  # of a page
MAX_DIGITS = 18  # what the file system and SQLite take
ATTEMPT = f"<int(max={10 ** MAX_DIGITS}):attempt>"
TASK = f"/jobs/<job_id>/attempts/{ATTEMPT}/tasks/<role>/<int:index>"


def add(app: Flask, worker: Worker) -> None:
    """Join the routes to the runner's API."""
    _add_log_routes(app, worker)
    _add_merged_routes(app, worker)
    _add_left_routes(app, worker)
    _add_artifact_routes(app, worker)


def number(name: str, default: int) -> int:
    """A whole number of the request's query; raises InvalidSpecError for anything else."""
    text = request.args.get(name, "")
    if text and not (text.isdecimal() and len(text) <= MAX_DIGITS):
        raise InvalidSpecError(Sentence(
            "{name} must be a whole number, not {text!r}.", name=name, text=text[:80]))
    return int(text or default)


def _add_log_routes(app: Flask, worker: Worker) -> None:
    @app.get(f"{TASK}/log")
    def log(job_id: str, attempt: int, role: str, index: int) -> Response:
        _check_task(worker, job_id, attempt, role, index)
        records, offset, is_complete = worker.logs.read(
            job_id, attempt, role, index, offset=number("offset", 0),
            limit=min(number("limit", 1 << 18), 1 << 22), wait_s=_wait_s())
        return jsonify(records=_joined(records, _stream()), offset=offset, is_complete=is_complete)

    @app.get(f"{TASK}/log/raw")
    def raw_log(job_id: str, attempt: int, role: str, index: int) -> Response:
        _check_task(worker, job_id, attempt, role, index)
        path = worker.folders.log(job_id, attempt, role, index)
        chunks = timed_text(path, _stream()) if _has_times() else iter_log(path, _stream() or None)
        return Response(chunks, mimetype="text/plain")

    @app.get(f"{TASK}/log/search")
    def search(job_id: str, attempt: int, role: str, index: int) -> Response:
        _check_task(worker, job_id, attempt, role, index)
        found, has_more = search_log(worker.folders.log(job_id, attempt, role, index),
                                     request.args.get("text", ""), MAX_FOUND)
        return jsonify(has_more=has_more, lines=[{
            "number": line.number, "stream": line.stream, "time": iso(line.time),
            "text": line.text.decode("utf-8", "replace")} for line in found])


def _add_merged_routes(app: Flask, worker: Worker) -> None:
    def query(job_id: str) -> MergedQuery:
        return MergedQuery(
            job_id=job_id, attempt=number("attempt", 0), role=request.args.get("role", ""),
            stream=_stream(), cursor=request.args.get("cursor", ""),
            limit=max(1, min(number("limit", 1000), MAX_LINES)))

    @app.get("/jobs/<job_id>/log")
    def merged_log(job_id: str) -> Response:
        page = worker.logs.read_merged(query(job_id), _wait_s())
        return jsonify(lines=[_line(each) for each in page.lines], cursor=page.cursor,
                       is_complete=page.is_complete)

    @app.get("/jobs/<job_id>/log/raw")
    def merged_text(job_id: str) -> Response:
        worker.store.get(job_id)
        return Response(worker.logs.text(query(job_id), has_times=_has_times()),
                        mimetype="text/plain")


def _add_left_routes(app: Flask, worker: Worker) -> None:
    @app.get(f"{TASK}/metrics")
    def task_metrics(job_id: str, attempt: int, role: str, index: int) -> Response:
        _check_task(worker, job_id, attempt, role, index)
        return jsonify(samples=metrics.read(worker.folders.metrics(job_id, attempt, role, index)))

    @app.get(f"/jobs/<job_id>/attempts/{ATTEMPT}/receipt")
    def attempt_receipt(job_id: str, attempt: int) -> Response:
        return jsonify(receipt.read(worker.folders, worker.store.get(job_id).id, attempt))


def _add_artifact_routes(app: Flask, worker: Worker) -> None:
    checksums = Checksums()

    def chosen(job_id: str) -> list[Artifact]:
        choice = Choice(
            attempt=number("attempt", 0), role=request.args.get("role", ""),
            index=number("index", 0) if request.args.get("index") else None,
            folder=request.args.get("folder", ""))
        return list(filter(choice.has, worker.folders.artifacts(worker.store.get(job_id).id)))

    @app.get("/jobs/<job_id>/artifacts")
    def artifacts(job_id: str) -> Response:
        found, limit = chosen(job_id), max(1, min(number("limit", 1000), MAX_FILES))
        begin = bisect_right(found, _order(request.args.get("after", "")), key=Artifact.order)
        page = found[begin:begin + limit]
        sums = (checksums.of(worker.folders, job_id, page) if number("checksums", 0)
                else [None] * len(page))
        return jsonify(
            artifacts=[_file(item, digest) for item, digest in zip(page, sums, strict=True)],
            next=page[-1].place if len(found) > begin + limit else None,
            count=len(found), size=sum(item.size for item in found),
            is_cut=len(found) >= MAX_ARTIFACTS, notice=worker.folders.notice(job_id))

    @app.get("/jobs/<job_id>/archive")
    def archive(job_id: str) -> Response:
        return Response(zipped(worker.folders, job_id, chosen(job_id)),
                        mimetype="application/zip")

    @app.get(f"/jobs/<job_id>/artifacts/{ATTEMPT}/<role>/<int:index>/<path:path>")
    def artifact(job_id: str, attempt: int, role: str, index: int, path: str) -> Response:
        _check_task(worker, job_id, attempt, role, index)
        file = worker.folders.artifact(job_id, attempt, role, index, path)
        response = send_file(file, mimetype="application/octet-stream")
        response.content_length = os.fstat(file.fileno()).st_size
        return response


def _file(item: Artifact, digest: str | None) -> dict[str, Any]:
    return {"attempt": item.attempt, "role": item.role, "index": item.index, "path": item.path,
            "size": item.size, "modified": item.modified.isoformat().replace("+00:00", "Z"),
            "sha256": digest}


def _order(place: str) -> tuple[int, str, int, str]:
    """Where a file stands among the others; raises InvalidSpecError for what names none."""
    found = re.fullmatch(r"(\d{1,18})/([^/]*)-(\d{1,9})/(.+)", place, re.DOTALL)
    if place and not found:
        raise InvalidSpecError(Sentence("after must be what an earlier answer said as `next`."))
    return (int(found[1]), found[2], int(found[3]), found[4]) if found else (0, "", 0, "")


def _wait_s() -> float:
    return min(number("wait_s", 0), MAX_WAIT_S)


def _has_times() -> bool:
    return bool(number("times", 0))


def _stream() -> str:
    """One of STREAMS, or empty for both."""
    stream = request.args.get("stream", "")
    if stream not in ("", *STREAMS):
        raise InvalidSpecError(Sentence(
            "stream must be one of {streams}, or left out.", streams=", ".join(STREAMS)))
    return stream


def _check_task(worker: Worker, job_id: str, attempt: int, role: str, index: int) -> None:
    rows = worker.store.tasks(worker.store.get(job_id).id, attempt)
    if (role, index) not in {(row["role"], row["idx"]) for row in rows}:
        raise NotFoundError(Sentence(
            "Attempt {attempt} of job {job_id} has no task {role}-{index}.", attempt=attempt,
            job_id=job_id, role=role, index=index))


def _joined(records: list[LogRecord], stream: str) -> list[dict[str, str]]:
    """Neighbouring records of one stream as one, as text."""
    joined: list[dict[str, str]] = []
    for record in records:
        text = record.data.decode("utf-8", "replace")
        if stream and record.stream != stream:
            continue
        if joined and joined[-1]["stream"] == record.stream:
            joined[-1]["text"] += text
        else:
            joined.append({"stream": record.stream, "text": text, "time": iso(record.time)})
    return joined


def _line(each: TaskLine) -> dict[str, Any]:
    return {"attempt": each.attempt, "role": each.role, "index": each.index,
            "stream": each.line.stream, "time": iso(each.line.time),
            "text": each.line.text.decode("utf-8", "replace")}
