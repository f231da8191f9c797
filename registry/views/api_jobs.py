"""The HTTP API's routes about jobs: check, submit, list, follow, stop, and what they left."""
from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from flask import Response, request, url_for

from registry import receipts
from registry.conversion import convert
from registry.errors import ForbiddenError
from registry.views import auth, submissions
from registry.views.addresses import address_of
from registry.views.api_openapi import Access, Api
from registry.views.downloads import artifact_response, log_response, merged_log_response
from registry.views.job_access import (
    found_in_log,
    is_open,
    job_of,
    job_to_stop,
    receipt_of,
    shown_jobs,
    task_of,
    without_content,
)
from registry.views.models import jobs as models
from registry.views.models.machine import Pause, Queue
from registry.views.programs import API_PREFIX
from registry.views.services import services
from runner.spec import FINAL_STATES

KEY_HEADER = {"Idempotency-Key": "Any text that is yours alone. A second request with the same "
              "key finds the job of the first, so that a retry runs nothing twice."}
# Each waiting request holds a thread of the server; beyond this many, answers come soon.
WAITING_AT_ONCE = threading.BoundedSemaphore(12)
TURN_S = 0.5

api = Api("api_jobs", API_PREFIX)


@api.route("POST", "/resolve", body=models.JobRequest, result=models.Resolution,
           errors=(404, 409, 410))
def resolve(body: models.JobRequest) -> dict[str, Any]:
    """What a job would become, and whether this machine can run it, without running it."""
    made = submissions.resolved(auth.required_user(), _submission(body))
    return {"spec": made.spec.as_json(), "fit": submissions.fit_of(made.spec),
            "warnings": [problem.as_json() for problem in made.advice]}


@api.route("POST", "/convert", access=Access.PUBLIC, body=models.ConversionRequest,
           result=models.Converted)
def convert_job(body: models.ConversionRequest) -> dict[str, Any]:
    """A job of OpenPAI's other forms as the YAML that runs here; it is not run."""
    return _converted(body.text)


def _converted(text: str) -> dict[str, Any]:
    made = convert(text)
    if made is None:
        return {"form": None, "yaml": text, "notes": []}
    return {"form": made.form, "yaml": made.yaml, "notes": [each.as_json() for each in made.notes]}


@api.route("POST", "/fetch", body=models.FetchRequest, result=models.Converted)
def fetch_job(body: models.FetchRequest) -> dict[str, Any]:
    """A job from the web as the YAML that runs here, whatever its form; it is not run."""
    auth.required_user()
    return _converted(services().web.text(body.address))


@api.route("POST", "/outlook", body=models.JobRequest, result=models.Outlook,
           errors=(404, 409, 410, 503))
def outlook(body: models.JobRequest) -> dict[str, Any]:
    """What a job would find if it were submitted now: room, what is missing here, its start."""
    user, wanted = auth.required_user(), _submission(body)
    made = submissions.resolved(user, wanted)
    return {**submissions.outlook(user, made.spec, submissions.logins_of(wanted)),
            "warnings": [problem.as_json() for problem in made.advice]}


@api.route("POST", "/jobs", body=models.JobRequest, headers=KEY_HEADER, status=201,
           result=models.SubmittedJob, errors=(404, 409, 410, 503))
def submit_job(body: models.JobRequest) -> dict[str, Any]:
    """Run a job."""
    user = auth.required_user()
    made = submissions.resolved(user, _submission(body))
    key = request.headers.get("Idempotency-Key", "")
    job = submissions.submit(user, made.spec, f"api/{user.id}/{key}" if key else None,
                             submissions.logins_of(_submission(body)))
    return {**_with_url(job), "warnings": [problem.as_json() for problem in made.advice]}


@api.route("GET", "/jobs", query=models.JobsQuery, result=models.JobPage, errors=(403, 503))
def list_jobs(query: models.JobsQuery) -> dict[str, Any]:
    """One's own jobs, newest first."""
    user = auth.required_user()
    if query.all and not user.is_admin:
        raise ForbiddenError("Only an admin sees everyone's jobs. Leave `all` out to see yours.")
    page = services().runner.jobs(user=None if query.all else user.name, state=query.state,
                                  limit=query.limit, before=query.before)
    return {"jobs": [_with_url(job) for job in shown_jobs(user, page["jobs"])],
            "next": page["next"]}


@api.route("GET", "/jobs/<job_id>", result=models.Job, errors=(404, 503))
def show_job(job_id: str) -> dict[str, Any]:
    """One job with its attempts, tasks and events."""
    return _with_url(job_of(auth.required_user(), job_id))


@api.route("POST", "/jobs/<job_id>/stop", status=202, result=models.Job, errors=(404, 503))
def stop_job(job_id: str) -> dict[str, Any]:
    """Ask a job to stop; one that has ended stays as it is."""
    user = auth.required_user()
    job = services().runner.stop(job_to_stop(user, job_id)["id"])
    return _with_url(job if is_open(user, job) else without_content(job))


@api.route("POST", "/jobs/<job_id>/release", result=models.Job, errors=(404, 503))
def release_job(job_id: str) -> dict[str, Any]:
    """Remove the failed containers that were kept for debugging; none is no error."""
    return _with_url(services().runner.release(job_of(auth.required_user(), job_id)["id"]))


@api.route("GET", "/jobs/<job_id>/log", query=models.LogQuery, result=models.Log, errors=(404, 503))
def read_log(job_id: str, query: models.LogQuery) -> dict[str, Any]:
    """What a task wrote since `offset`."""
    job = job_of(auth.required_user(), job_id)
    task = task_of(job, role=query.role, index=query.index, attempt=query.attempt)
    where = {"attempt": task.attempt, "role": task.role, "index": task.index}
    if not task.is_started:
        is_over = job["state"] in FINAL_STATES
        return {"records": [], "offset": query.offset, "is_complete": is_over, **where}
    with _patience(query.wait_s) as wait_s:
        page = services().runner.log(*task.place, offset=query.offset, stream=query.stream,
                                     wait_s=wait_s)
    return {**page, **where}


@contextmanager
def _patience(wait_s: float) -> Iterator[float]:
    """How long this request may wait, as long as few others do."""
    is_patient = wait_s > 0 and WAITING_AT_ONCE.acquire(timeout=min(wait_s, TURN_S))
    try:
        yield wait_s if is_patient else 0
    finally:
        if is_patient:
            WAITING_AT_ONCE.release()


@api.route("GET", "/jobs/<job_id>/log/merged", query=models.MergedLogQuery,
           result=models.MergedLog, errors=(404, 503))
def read_merged_log(job_id: str, query: models.MergedLogQuery) -> dict[str, Any]:
    """What all tasks of a job wrote since `cursor`, line by line in the order of time."""
    job = job_of(auth.required_user(), job_id)
    with _patience(query.wait_s) as wait_s:
        return services().runner.merged_log(
            job["id"], attempt=query.attempt, role=query.role, stream=query.stream,
            cursor=query.cursor, limit=query.limit, wait_s=wait_s)


@api.route("GET", "/jobs/<job_id>/log/merged/raw", query=models.MergedTextQuery,
           media="text/plain", errors=(404, 503))
def read_merged_text(job_id: str, query: models.MergedTextQuery) -> Response:
    """What all tasks of a job wrote, as plain text with the task before each line."""
    job = job_of(auth.required_user(), job_id)
    return merged_log_response(job["id"], attempt=query.attempt, role=query.role,
                               stream=query.stream, has_times=query.times)


@api.route("GET", "/jobs/<job_id>/log/raw", query=models.RawLogQuery, media="text/plain",
           errors=(404, 503))
def read_raw_log(job_id: str, query: models.RawLogQuery) -> Response:
    """The whole log of a task as plain text."""
    job = job_of(auth.required_user(), job_id)
    task = task_of(job, role=query.role, index=query.index, attempt=query.attempt)
    return log_response(task, query.stream, has_times=query.times)


@api.route("GET", "/jobs/<job_id>/log/search", query=models.LogSearch, result=models.LogLines,
           errors=(404, 503))
def search_log(job_id: str, query: models.LogSearch) -> dict[str, Any]:
    """The lines of a task's log that hold a text, the first 200 of them."""
    job = job_of(auth.required_user(), job_id)
    return found_in_log(
        task_of(job, role=query.role, index=query.index, attempt=query.attempt), query.text)


@api.route("GET", "/jobs/<job_id>/metrics", query=models.OneTask, result=models.Metrics,
           errors=(404, 503))
def read_metrics(job_id: str, query: models.OneTask) -> dict[str, Any]:
    """CPU time, memory, disk, network and GPUs of a task, sampled while it ran."""
    job = job_of(auth.required_user(), job_id)
    task = task_of(job, role=query.role, index=query.index, attempt=query.attempt)
    samples = services().runner.metrics(*task.place) if task.is_started else []
    return {"samples": samples, "attempt": task.attempt, "role": task.role, "index": task.index}


@api.route("GET", "/jobs/<job_id>/receipt", query=models.OneAttempt, result=models.Receipt,
           errors=(404, 503))
def show_receipt(job_id: str, query: models.OneAttempt) -> dict[str, Any]:
    """What an attempt truly ran with and how it ended; there once the attempt has ended."""
    return receipt_of(job_of(auth.required_user(), job_id), query.attempt)


@api.route("GET", "/jobs/<job_id>/receipt/differences", query=models.TwoAttempts,
           result=models.ReceiptDifferences, errors=(404, 503))
def compare_receipts(job_id: str, query: models.TwoAttempts) -> dict[str, Any]:
    """In what two attempts differ: what they ran with, where, and how they ended."""
    user = auth.required_user()
    first = receipt_of(job_of(user, job_id), query.attempt)
    second = receipt_of(job_of(user, query.other), query.other_attempt)
    return {"differences": [vars(each) for each in receipts.differences(first, second)]}


@api.route("POST", "/jobs/<job_id>/again", query=models.OneAttempt, headers=KEY_HEADER, status=201,
           result=models.Job, errors=(404, 503))
def run_again(job_id: str, query: models.OneAttempt) -> dict[str, Any]:
    """Run exactly what an attempt ran: the same images and inputs, bit by bit.

    Where one of them is gone, the new job fails and says which.
    """
    user = auth.required_user()
    receipt = receipt_of(job_of(user, job_id), query.attempt)
    key = request.headers.get("Idempotency-Key", "")
    return _with_url(submissions.again(user, receipt, f"api/{user.id}/{key}" if key else None))


@api.route("GET", "/jobs/<job_id>/artifacts", query=models.ArtifactsQuery,
           result=models.Artifacts, errors=(404, 503))
def list_artifacts(job_id: str, query: models.ArtifactsQuery) -> dict[str, Any]:
    """The files that the tasks left in their output folders, page by page."""
    job = job_of(auth.required_user(), job_id)
    page = services().runner.artifacts(
        job["id"], **{**query.model_dump(), "checksums": int(query.checksums)})
    return {**page, "artifacts": [
        {**item, "url": url_for("api_jobs.get_artifact", job_id=job["id"], attempt=item["attempt"],
                                role=item["role"], index=item["index"], path=item["path"])}
        for item in page["artifacts"]]}


@api.route("GET", "/jobs/<job_id>/artifacts/<int:attempt>/<role>/<int:index>/<path:path>",
           media="application/octet-stream", errors=(404, 503))
def get_artifact(job_id: str, attempt: int, role: str, index: int, path: str) -> Response:
    """The bytes of one file."""
    job = job_of(auth.required_user(), job_id)
    return artifact_response(job["id"], attempt, role, index, path)


def _submission(body: models.JobRequest) -> submissions.Submission:
    return submissions.Submission(reference=body.reference, yaml=body.yaml,
                                  parameters=body.parameters, name=body.name)


@api.route("GET", "/queue", result=Queue, errors=(503,))
def show_queue() -> dict[str, Any]:
    """How many jobs wait and run, and whether the queue is paused."""
    auth.required_user()
    return services().runner.queue()


@api.route("POST", "/queue/pause", body=Pause, result=Queue, errors=(403, 503))
def pause_queue(body: Pause) -> dict[str, Any]:
    """Start no more jobs, until the queue is resumed; running ones go on. For an admin."""
    auth.required_admin("pause the queue")
    return services().runner.pause(body.reason)


@api.route("POST", "/queue/resume", result=Queue, errors=(403, 503))
def resume_queue() -> dict[str, Any]:
    """Let jobs start again. For an admin."""
    auth.required_admin("resume the queue")
    return services().runner.resume()


def _with_url(job: Mapping[str, Any]) -> dict[str, Any]:
    return {**job, "url": address_of("jobs.show", job_id=job["id"])}
