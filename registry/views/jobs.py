"""The pages of jobs: the list, and one job with its tasks, logs and artifacts."""
from __future__ import annotations

import logging
import secrets
from typing import Any, Mapping, Sequence

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry import receipts
from registry.accounts import User
from registry.entry import Entry
from registry.errors import GoneError, NotFoundError, RunnerUnavailableError
from registry.views import auth, submissions
from registry.views.comparison import compared, group_titles
from registry.views.downloads import is_image
from registry.views.errors import told_to_admins
from registry.views.failure import LAST_LINES, failure_of
from registry.views.job_access import (
    Task,
    found_in_log,
    job_of,
    job_to_stop,
    receipt_of,
    shown_jobs,
    task_of,
)
from registry.views.job_list import listing_of, page_of
from registry.views.language import gettext as _
from registry.views.language import ngettext
from registry.views.services import services
from registry.views.text import plain_log
from runner.spec import FAILED, FINAL_STATES, STAGES

FIRST_JOB = "bundled:job/digits_classifier"
MOST_CHOSEN = 200
LOG_READ_BYTES, LOG_READS, TAIL_LENGTH = 1 << 20, 8, 200_000
MAX_SEARCH_LENGTH = 200
RECENT = 5
MAX_PREVIEWS, MAX_PREVIEW_BYTES = 12, 5_000_000
MAX_FILES = 100  # on a job's page; the page of files has all

log = logging.getLogger(__name__)
blueprint = Blueprint("jobs", __name__, url_prefix="/jobs")


@blueprint.errorhandler(RunnerUnavailableError)
def on_lost(error: RunnerUnavailableError) -> ResponseReturnValue:
    """The runner does not answer: nobody knows how a job is, and the page says since when."""
    log.warning("request %s: %s", g.request_id, told_to_admins(error))
    return render_template("jobs/lost.html", error=error,
                           seen=services().runner.seen_at), error.status


def on_missing(error: NotFoundError) -> ResponseReturnValue:
    """There is no such job, task or file of one: one's own jobs are offered instead."""
    user = auth.required_user()
    try:
        recent = services().runner.jobs(user=user.name, limit=RECENT)["jobs"]
    except RunnerUnavailableError:
        recent = []
    return render_template("jobs/missing.html", error=error,
                           recent=shown_jobs(user, recent)), error.status


blueprint.register_error_handler(NotFoundError, on_missing)


@blueprint.get("")
def index() -> ResponseReturnValue:
    """The list; asked for by its own script, only what changes of it."""
    user = auth.required_user()
    page = page_of(user, listing_of(user, request.args), new=_number(request.args.get("new", "")))
    if "HX-Request" in request.headers:
        return render_template("jobs/_list.html", **page)
    return render_template("jobs/index.html", **page, key=secrets.token_urlsafe(16),
                           first=None if page["jobs"] else _first_job(user))


@blueprint.post("/chosen")
def chosen() -> ResponseReturnValue:
    """Stop or compare the jobs that were chosen in the list; before a stop they are named."""
    user, back = auth.required_user(), auth.safe_target(request.form.get("back"))
    action, ids = request.form.get("action", ""), request.form.getlist("job")[:MOST_CHOSEN]
    if action == "compare" and len(ids) == 2:
        return redirect(url_for("jobs.compare", first=ids[0], second=ids[1]), 303)
    found = [job_to_stop(user, id_) for id_ in ids] if action != "compare" else []
    live = [job for job in found if job["state"] not in FINAL_STATES]
    if not live:
        flash(_("Choose two jobs to compare.") if action == "compare"
              else _("Choose jobs that wait or run: what has ended cannot be stopped."))
        return redirect(back, 303)
    if action != "stop-now":
        return render_template("jobs/stop.html", jobs=shown_jobs(user, live),
                               ended=len(found) - len(live), back=back)
    for job in live:
        services().runner.stop(job["id"])
    flash(ngettext("%(num)d job was asked to stop.", "%(num)d jobs were asked to stop.", len(live),
                   num=len(live)))
    return redirect(back, 303)


@blueprint.get("/<job_id>")
def show(job_id: str) -> ResponseReturnValue:
    job = job_of(auth.required_user(), job_id)
    task = _chosen_task(job)
    records, offset, is_whole = _start_of_log(task)
    return render_template("jobs/show.html", **_facts(job), task=task, records=records,
                           offset=offset, is_whole=is_whole,
                           last_lines=_last_lines(records, is_whole)
                           if job["state"] == FAILED else [])


@blueprint.get("/<job_id>/live")
def live(job_id: str) -> ResponseReturnValue:
    """The parts of the page that change while the job runs, for the page's own script."""
    job = job_of(auth.required_user(), job_id)
    return live_parts(job, _chosen_task(job))


def live_parts(job: Mapping[str, Any], task: Task) -> str:
    """The parts of a job's page that change while it runs, as HTML."""
    return render_template("jobs/live.html", **_facts(job), task=task)


@blueprint.post("/<job_id>/stop")
def stop(job_id: str) -> ResponseReturnValue:
    user = auth.required_user()
    job = job_to_stop(user, job_id)
    services().runner.stop(job["id"])
    name, = (each["name"] for each in shown_jobs(user, [job]))
    if job["state"] not in FINAL_STATES:
        flash(_("Job %(name)s was asked to stop. Its logs and artifacts stay.", name=name))
    back = request.form.get("back")
    return redirect(auth.safe_target(back) if back else url_for("jobs.show", job_id=job["id"]), 303)


@blueprint.post("/<job_id>/release")
def release(job_id: str) -> ResponseReturnValue:
    job = job_of(auth.required_user(), job_id)
    services().runner.release(job["id"])
    flash(_("The kept containers are removed."))
    return redirect(url_for("jobs.show", job_id=job["id"]), 303)


@blueprint.get("/<job_id>/search")
def search(job_id: str) -> ResponseReturnValue:
    """The lines of one task's log that hold a text."""
    job = job_of(auth.required_user(), job_id)
    task, text = _chosen_task(job), request.args.get("text", "")[:MAX_SEARCH_LENGTH]
    nothing: dict[str, Any] = {"lines": [], "has_more": False}
    found = found_in_log(task, text) if text else nothing
    lines = [{**line, "text": plain_log(line["text"])} for line in found["lines"]]
    return render_template("jobs/search.html", job=job, task=task, text=text, lines=lines,
                           has_more=found["has_more"])


@blueprint.get("/<job_id>/receipt")
def receipt(job_id: str) -> ResponseReturnValue:
    """What one attempt truly ran with; `?with=ID` leads to the comparison of both jobs."""
    user = auth.required_user()
    job, other_id = job_of(user, job_id), request.args.get("with", "").strip()
    shown = receipt_of(job, _number(request.args.get("attempt", "")))
    wrong = ""
    try:
        if other_id:
            other = job_of(user, other_id)
            return redirect(url_for("jobs.compare", first=job["id"], second=other["id"]))
    except NotFoundError as error:
        wrong = error.message
    return render_template(
        "jobs/receipt.html", job=job, receipt=shown, facts=receipts.facts(shown),
        groups=group_titles(), other_id=other_id, wrong=wrong,
        key=secrets.token_urlsafe(16)), 404 if wrong else 200


@blueprint.get("/compare/<first>...<second>")
def compare(first: str, second: str) -> ResponseReturnValue:
    """Two jobs side by side; `?all=1` shows what is the same in both, too."""
    user = auth.required_user()
    jobs = [job_of(user, id_) for id_ in (first, second)]
    return render_template("jobs/compare.html", jobs=jobs, groups=group_titles(),
                           is_all=request.args.get("all") == "1", **compared(*jobs))


@blueprint.post("/<job_id>/again")
def again(job_id: str) -> ResponseReturnValue:
    """Run exactly what an attempt ran; the form carries a key, so that pressed twice it is once."""
    user = auth.required_user()
    job = job_of(user, job_id)
    shown = receipt_of(job, _number(request.form.get("attempt", "")))
    made = submissions.again(user, shown, f"form/{user.id}/{request.form.get('key', '')}")
    flash(_("Job %(name)s runs once more, with exactly what job %(id)s ran.", name=made["name"],
            id=job["id"]))
    return redirect(url_for("jobs.show", job_id=made["id"]), 303)


def _first_job(user: User) -> Entry | None:
    """The job of those that come along which one should run first."""
    try:
        return services().catalog.get(FIRST_JOB, user_id=user.id)
    except (NotFoundError, GoneError):
        return None


def _facts(job: Mapping[str, Any]) -> dict[str, Any]:
    """What both the page and its changing parts show."""
    files = (services().runner.artifacts(job["id"], limit=MAX_FILES) if job["attempts"]
             else {"artifacts": [], "count": 0, "notice": None})
    previews = [item for item in files["artifacts"]
                if is_image(item["path"]) and item["size"] <= MAX_PREVIEW_BYTES]
    return {"job": job, "is_final": job["state"] in FINAL_STATES, "files": files,
            "stages": _stages(job), "failure": failure_of(job),
            "artifacts": files["artifacts"], "previews": previews[-MAX_PREVIEWS:]}


def _stages(job: Mapping[str, Any]) -> list[dict[str, str]]:
    """The stages of a job's newest attempt: each `done`, `now`, `next` or `failed`."""
    at = max(0, STAGES.index(job["stage"]) - 1) if job["stage"] in STAGES else 0
    if job["state"] == "RUNNING":
        at = STAGES.index("run") - 1
    elif job["state"] in FINAL_STATES:
        at = len(STAGES) if job["attempts"] else _last_stage(job)
    stages = [{"name": name, "state": "done" if number < at else "now" if number == at else "next"}
              for number, name in enumerate(STAGES[1:])]
    if job["state"] in FINAL_STATES and at < len(stages):
        stages[at]["state"] = "failed" if job["state"] == FAILED else "next"
    elif job["state"] == FAILED:
        stages[-1]["state"] = "failed"
    return stages


def _last_stage(job: Mapping[str, Any]) -> int:
    """How many stages a job was through when it ended without having run."""
    told = [event["stage"] for event in job["events"] if event["stage"] in STAGES[1:-1]]
    return STAGES.index(told[-1]) - 1 if told else 0


def _chosen_task(job: Mapping[str, Any]) -> Task:
    """The task whose log is shown: `?task=worker-0&attempt=1`, else the first of the newest.

    Of a job that failed the one that failed first.
    """
    text, failure = request.args.get("task", ""), failure_of(job)
    if not text and failure and "attempt" not in request.args:
        text = f"{failure.role}-{failure.index}"
    role, _dash, index = text.rpartition("-")
    return task_of(job, role=role or text, index=_number(index),
                   attempt=_number(request.args.get("attempt", "")))


def _last_lines(records: Sequence[Mapping[str, str]], is_whole: bool) -> list[dict[str, str]]:
    """The end of a log, a line each, with its stream; none of a log that is in sight as a whole."""
    lines: list[dict[str, str]] = []
    for record in reversed(records):
        found = record["text"].rstrip("\n").split("\n")[-LAST_LINES - 1:]
        lines[:0] = [{"stream": record["stream"], "text": text} for text in found]
        if len(lines) > LAST_LINES:
            break
    return [] if is_whole and len(lines) <= LAST_LINES else lines[-LAST_LINES:]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _start_of_log(task: Task) -> tuple[list[dict[str, str]], int, bool]:
    """The end of what the log holds by now, where to go on, and whether nothing was left out.

    A log that is longer than a page should wait for is read in part; the page's script goes on.
    """
    records: list[dict[str, str]] = []
    offset = length = 0
    is_whole = True
    for _reading in range(LOG_READS if task.is_started else 0):
        page = services().runner.log(*task.place, offset=offset, limit=LOG_READ_BYTES)
        found = [{"stream": each["stream"], "text": plain_log(each["text"])}
                 for each in page["records"]]
        records += found
        length += sum(len(each["text"]) for each in found)
        while length > TAIL_LENGTH and len(records) > 1:
            length -= len(records.pop(0)["text"])
            is_whole = False
        if page["offset"] == offset or page["is_complete"]:
            return records, page["offset"], is_whole
        offset = page["offset"]
    return records, offset, not task.is_started
