"""The submit page: prepare a job, check it, run it. A link only ever fills it in."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import FileStorage

from registry.accounts import User
from registry.errors import ConflictError, InvalidInputError, NotFoundError, RunnerUnavailableError
from registry.views import auth, submissions
from registry.views.drafts import (
    PARAMETER,
    SHORT_PARAMETER,
    Check,
    Draft,
    check,
    converted,
    draft_of_file,
    draft_of_form,
    draft_of_job,
    fields_of,
)
from registry.views.entries import choices_page, find_entry
from registry.views.job_access import job_of
from registry.views.language import gettext as _
from registry.views.services import services
from runner.sentence import Sentence
from runner.spec import TaskRoleSpec

blueprint = Blueprint("submit", __name__)


@blueprint.get("/use/<rest>", defaults={"type_name": ""})
@blueprint.get("/use/<type_name>/<path:rest>")
def use(type_name: str, rest: str) -> ResponseReturnValue:
    """Fill the page with a job of the marketplace; `?p.epochs=3` sets a parameter."""
    reference = f"{type_name}/{rest}" if type_name else rest
    return _template(auth.required_user(), reference, request.args.get("source", ""))


@blueprint.get("/submit")
def index() -> ResponseReturnValue:
    """An empty page, one of a template (`use`), or of a job that was (`from_job`, `op`)."""
    user = auth.required_user()
    if wanted := request.args.get("use", ""):
        source, reference = _source_and_reference(wanted)
        return _template(user, reference, source)
    job = _job_before(user)
    if job is None:
        return _page(user, Draft())
    return _page(user, _with_known_reference(user, draft_of_job(job)), again=job["id"])


def _template(user: User, reference: str, source: str) -> ResponseReturnValue:
    values = {key.removeprefix(prefix): value for prefix in (PARAMETER, SHORT_PARAMETER)
              for key, value in request.args.items() if key.startswith(prefix)}
    try:
        entry = find_entry(reference, source)
    except ConflictError as error:
        return choices_page(error, "submit.use", {
            f"{SHORT_PARAMETER}{name}": value for name, value in values.items()})
    if entry.type != "job":
        raise InvalidInputError(Sentence(
            "{reference} is no job, so it cannot run by itself. Its page says how a job uses it.",
            reference=entry.reference))
    draft = Draft(reference=f"{entry.source}:{entry.type}/{entry.name}@{entry.files_commit}",
                  yaml=entry.text, values=values, linked=frozenset(values))
    return _page(user, draft)


def _source_and_reference(text: str) -> tuple[str, str]:
    """`source/type/name@version`, where a source may have `/` in its name, too; or a reference."""
    named, at, selector = text.partition("@")
    parts = named.split("/")
    if ":" in named or len(parts) < 3:
        return "", text
    return "/".join(parts[:-2]), f"{parts[-2]}/{parts[-1]}{at}{selector}"


def _job_before(user: User) -> Mapping[str, Any] | None:
    """The job that is to be submitted again; None: none. `op=resubmit` is how OpenPAI links to it.

    Raises NotFoundError.
    """
    job_id = request.args.get("from_job") or request.args.get("again")
    if job_id:
        return job_of(user, job_id)
    if request.args.get("op") != "resubmit":
        return None
    owner, _, name = request.args.get("jobname", "").rpartition("~")
    owner = request.args.get("user") or owner or user.name
    found = services().runner.jobs(user=owner, name=name, limit=1)["jobs"] if name else []
    try:
        return job_of(user, found[0]["id"] if found else name)
    except NotFoundError as error:
        raise NotFoundError(Sentence(
            "{owner} has no job called {name!r} that you may look at. The page Jobs lists yours.",
            owner=owner, name=name)) from error


@blueprint.post("/submit/check")
def check_text() -> ResponseReturnValue:
    """What the page's editor asks while one types: the page's own form, answered as JSON."""
    user = auth.required_user()
    found = check(user, draft_of_form(request.form))
    return jsonify(
        problems=[problem.as_json() for problem in (*found.problems, *found.advice)],
        roles=[_role_json(role) for role in found.spec.task_roles] if found.spec else [],
        fit=found.fit)


@blueprint.post("/submit")
def submit() -> ResponseReturnValue:
    user, action = auth.required_user(), request.form.get("action", "check")
    file = request.files.get("file")
    if action == "import":
        address = request.form.get("address", "").strip()
        return _imported(user, file, address) if file or address else _no_file(user)
    draft = converted(draft_of_form(request.form))
    found = check(user, draft)
    if action != "submit" or draft.conversion or found.errors or found.spec is None:
        return _page(user, draft, found=found), 400 if found.errors else 200
    try:
        job = submissions.submit(user, found.spec, draft.idempotency_key(user))
    except RunnerUnavailableError as error:
        return _page(user, draft, found=found, trouble=error.message), error.status
    return redirect(url_for("jobs.show", job_id=job["id"]), 303)


def _role_json(role: TaskRoleSpec) -> dict[str, Any]:
    """`cpus`, `memory_mb` and `gpus` are those of all its instances together."""
    each, count = role.resources, role.instances
    return {"name": role.name, "instances": count, "image": role.image.uri,
            "commands": role.commands, "cpus": count * each.cpu,
            "memory_mb": count * each.memory_mb, "gpus": count * each.gpu}


def _imported(user: User, file: FileStorage | None, address: str) -> ResponseReturnValue:
    if file:
        return _page(user, draft_of_file(file))
    try:
        return _page(user, Draft(yaml=services().web.text(address)))
    except InvalidInputError as error:
        return _page(user, draft_of_form(request.form), trouble=error.message), error.status


def _no_file(user: User) -> ResponseReturnValue:
    draft = draft_of_form(request.form)
    return _page(user, draft, trouble=_(
        "Choose a file or write an address, then press Import.")), 400


def _with_known_reference(user: User, draft: Draft) -> Draft:
    """Without the origin where its source is gone: the text alone may still run."""
    if draft.reference:
        try:
            services().catalog.get(draft.reference, user_id=user.id)
        except NotFoundError:
            return replace(draft, reference="")
    return draft


def _page(user: User, draft: Draft, *, found: Check | None = None, trouble: str = "",
          again: str = "") -> str:
    draft = converted(draft)
    found = check(user, draft) if found is None else found
    lines = [problem.line for problem in found.errors if problem.line]
    return render_template(
        "submit/index.html", draft=draft, found=found, fields=fields_of(draft, found),
        trouble=trouble, again=again, parameter=PARAMETER, marked=set(lines),
        lines=max(20, draft.yaml.count("\n") + 2),
        waits_for=lines[0] if lines and found.component is None else None)
