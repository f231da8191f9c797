"""OpenPAI's job API, as its releases 0.9 to 0.14 had it: submit, list, look, stop."""
from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Mapping

from flask import Blueprint, Response, jsonify, request
from flask.typing import ResponseReturnValue

from registry import openpai_shapes as shapes
from registry.accounts import User
from registry.component import dump, load_yaml
from registry.conversion import Conversion, convert
from registry.dialects import component_text, form_values
from registry.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from registry.jobs_v1 import check_v1, converted_v1
from registry.views import auth, submissions
from registry.views.addresses import address_of
from registry.views.job_access import job_of, shown_jobs
from registry.views.openpai_account import open_to_other_pages
from registry.views.services import services

V1 = {"openpai_jobs_v1": "/api/v1", "openpai_jobs_v1_by_proxy": "/rest-server/api/v1"}
V2 = {"openpai_jobs_v2": "/api/v2", "openpai_jobs_v2_by_proxy": "/rest-server/api/v2"}
PREFIXES = {**V1, **V2}
LISTED = 200
YAML = ("text/yaml", "application/x-yaml", "application/yaml", "text/plain")

blueprint = Blueprint("openpai_jobs", __name__)
blueprint.after_request(open_to_other_pages)


@blueprint.get("/jobs")
@blueprint.get("/user/<username>/jobs")
def list_jobs(username: str = "") -> ResponseReturnValue:
    """One's own, or those of a user that an admin asks for, newest first."""
    user = auth.required_user()
    wanted = username or request.args.get("username", "") or ("" if user.is_admin else user.name)
    if not user.is_admin and wanted != user.name:
        raise ForbiddenError(f"User {user.name} is not allowed to list the jobs of {wanted}.")
    page = services().runner.jobs(user=wanted or None, limit=LISTED)
    return jsonify([shapes.list_item(job) for job in shown_jobs(user, page["jobs"])])


@blueprint.post("/jobs")
@blueprint.post("/user/<username>/jobs")
def submit(username: str = "") -> ResponseReturnValue:
    user = _own(username)
    return _submit(user, _given(), None)


@blueprint.put("/jobs/<name>")
@blueprint.put("/user/<username>/jobs/<name>")
def submit_as(name: str, username: str = "") -> ResponseReturnValue:
    """The name of the address is the job's."""
    user = _own(username)
    return _submit(user, _given(), name.partition("~")[2] or name)


@blueprint.get("/jobs/<name>")
@blueprint.get("/user/<username>/jobs/<name>")
def show(name: str, username: str = "") -> ResponseReturnValue:
    return jsonify(_detail(_job(auth.required_user(), username, name)))


@blueprint.put("/jobs/<name>/executionType")
@blueprint.put("/user/<username>/jobs/<name>/executionType")
def execute(name: str, username: str = "") -> ResponseReturnValue:
    """STOP stops it; START of a job that runs or has ended changes nothing."""
    job = _job(auth.required_user(), username, name)
    values = _values()
    if not isinstance(values, dict) or values.get("value") not in ("START", "STOP"):
        raise InvalidInputError(
            'child "value" fails because ["value" must be one of [START, STOP]]')
    if values["value"] == "STOP":
        services().runner.stop(job["id"])
    return jsonify(message=f"execute job {job['name']} successfully"), 202


@blueprint.delete("/jobs/<name>")
@blueprint.delete("/user/<username>/jobs/<name>")
def delete(name: str, username: str = "") -> ResponseReturnValue:
    """Jobs are kept: what one did can be looked up and run again."""
    job = _job(auth.required_user(), username, name)
    raise ForbiddenError(f"Job {job['name']} cannot be removed: jobs are kept here, with what they "
                         "wrote. Stop it with executionType.")


@blueprint.get("/jobs/<name>/config")
@blueprint.get("/user/<username>/jobs/<name>/config")
def show_config(name: str, username: str = "") -> ResponseReturnValue:
    """What was submitted, in its own form; JSON, or YAML for who accepts that first."""
    job = _job(auth.required_user(), username, name)
    text = job["spec"]["origin"].get(shapes.ORIGINAL) or job["spec"]["yaml"]
    if not text:
        raise _missing("NoJobConfigError", f"Config of job {job['name']} is not found.")
    value = load_yaml(text)
    best = request.accept_mimetypes.best_match(["application/json", "text/yaml"])
    if best == "text/yaml":
        return Response(dump(value), mimetype="text/yaml")
    return jsonify(value)


@blueprint.get("/jobs/<name>/ssh")
@blueprint.get("/user/<username>/jobs/<name>/ssh")
def show_ssh(name: str, username: str = "") -> ResponseReturnValue:
    job = _job(auth.required_user(), username, name)
    raise _missing("NoJobSshInfoError", f"SSH info of job {job['name']} is not found.")


# --- what is asked for ----------------------------------------------------------------------------

def _own(username: str) -> User:
    user = auth.required_user()
    if username not in ("", user.name):
        raise ForbiddenError(f"User {user.name} is not allowed to submit for {username}.")
    return user


def _job(user: User, username: str, name: str) -> dict[str, Any]:
    """The newest job of that name; `user~job` names both, and a bare name one's own."""
    owner, tilde, rest = name.partition("~")
    owner, name = (owner, rest) if tilde else (username or user.name, name)
    found = services().runner.jobs(user=owner, name=name, limit=1)["jobs"]
    try:
        return job_of(user, found[0]["id"] if found else name)
    except NotFoundError as error:
        raise _missing("NoJobError", f"Job {owner}~{name} is not found.") from error


def _missing(code: str, message: str) -> NotFoundError:
    error = NotFoundError(message)
    error.code = code
    return error


def _values() -> Any:
    if request.form:
        return form_values(request.form.items(multi=True))
    return request.get_json(silent=True)


def _given() -> str:
    """The job as it was sent: YAML as it is, a form or JSON as JSON."""
    if request.mimetype in YAML:
        return request.get_data(as_text=True)
    values = _values()
    if not isinstance(values, dict):
        raise InvalidInputError("Send a job as a JSON object, as a form, or as YAML with "
                                "Content-Type: text/yaml.")
    return json.dumps(values, ensure_ascii=False)


# --- submitting -----------------------------------------------------------------------------------

def _submit(user: User, text: str, name: str | None) -> ResponseReturnValue:
    yaml, wanted, form = _in_our_form(text, name)
    made = submissions.resolved(user, submissions.Submission(yaml=yaml, name=wanted))
    spec = replace(made.spec, origin={shapes.ORIGINAL: form and form.masked or text})
    if services().runner.jobs(user=user.name, name=spec.name, limit=1)["jobs"]:
        conflict = ConflictError(f"Job name {spec.name} already exists.")
        conflict.code = "ConflictJobError"
        raise conflict
    # The key lets one of two requests at once make the job, and both answer with it.
    job = submissions.submit(user, spec, f"openpai/{user.id}/{spec.name}",
                             form.logins if form else ())
    response = jsonify(_detail(services().runner.job(job["id"])))
    response.status_code = 201
    response.headers["Location"] = f"{request.base_url.removesuffix('/' + spec.name)}/{spec.name}"
    return response


def _in_our_form(text: str, name: str | None) -> tuple[str, str | None, Conversion | None]:
    """The YAML that runs, the name that the address gives it, and what else it was turned into."""
    value = load_yaml(text)
    if isinstance(value, dict) and isinstance(value.get("taskRoles"), list):
        value = check_v1({**value, "jobName": name or value.get("jobName")})
        return dump(converted_v1(value)[0]), name, None
    made = convert(text)
    if made:
        return made.yaml, name, made
    return component_text(
        {**value, "type": "job"} if isinstance(value, dict) else value), name, None


def _detail(job: Mapping[str, Any]) -> dict[str, Any]:
    def log_url(attempt: int, role: str, index: int) -> str:
        return address_of("jobs.show", job_id=job["id"], task=f"{role}-{index}", attempt=attempt)
    url = address_of("jobs.show", job_id=job["id"])
    return shapes.detail({**job, "url": url}, log_url)
