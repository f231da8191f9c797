"""The pages of what a job's tasks wrote: their logs as one, their files, and one of these."""
from __future__ import annotations

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry.errors import NotFoundError, RunnerUnavailableError
from registry.views import auth
from registry.views.downloads import file_shown, numbers_shown
from registry.views.job_access import job_of
from registry.views.jobs import on_lost, on_missing
from registry.views.services import services
from registry.views.text import plain_log

PAGE_SIZE = 200
MAX_PLACE = 5000

blueprint = Blueprint("job_files", __name__, url_prefix="/jobs")
blueprint.register_error_handler(NotFoundError, on_missing)
blueprint.register_error_handler(RunnerUnavailableError, on_lost)


@blueprint.get("/<job_id>/log")
def log(job_id: str) -> ResponseReturnValue:
    """All tasks' lines in the order of time, a page of them; the page's script goes on."""
    job = job_of(auth.required_user(), job_id)
    cursor = request.args.get("cursor", "")[:MAX_PLACE]
    page = services().runner.merged_log(job["id"], cursor=cursor)
    lines = [{**line, "text": plain_log(line["text"])} for line in page["lines"]]
    return render_template("jobs/log.html", job=job, lines=lines, start=cursor,
                           cursor=page["cursor"], is_complete=page["is_complete"])


@blueprint.get("/<job_id>/tasks/<role>/<int:index>")
def task(job_id: str, role: str, index: int) -> ResponseReturnValue:
    """One task by its address: the page of the job with the log of that task."""
    return redirect(url_for("jobs.show", job_id=job_id, task=f"{role}-{index}",
                            attempt=request.args.get("attempt")))


@blueprint.get("/<job_id>/log.txt")
def text(job_id: str) -> ResponseReturnValue:
    """All tasks' lines as plain text."""
    return redirect(url_for("api_jobs.read_merged_text", job_id=job_id, times="true"))


@blueprint.get("/<job_id>/files")
def files(job_id: str) -> ResponseReturnValue:
    """The files that the tasks left, page by page."""
    job = job_of(auth.required_user(), job_id)
    page = services().runner.artifacts(job["id"], limit=PAGE_SIZE,
                                       after=request.args.get("after", "")[:MAX_PLACE])
    return render_template("jobs/files.html", job=job, page=page,
                           is_later=bool(request.args.get("after")))


@blueprint.get("/<job_id>/files/<int:attempt>/<role>/<int:index>/<path:path>")
def file(job_id: str, attempt: int, role: str, index: int, path: str) -> ResponseReturnValue:
    """One file: a picture, the begin of a text or a table, or only how large it is.

    With `?as=numbers` what its script draws of a table.
    """
    job = job_of(auth.required_user(), job_id)
    place = {"job_id": job["id"], "attempt": attempt, "role": role, "index": index, "path": path}
    if request.args.get("as") == "numbers":
        return jsonify(numbers_shown(**place))
    return render_template("jobs/file.html", job=job, place=place, shown=file_shown(**place))
