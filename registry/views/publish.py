"""The pages of publishing: write or bring a component, look at what changes, agree, and follow."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry import publication as states
from registry.accounts import User
from registry.component import TYPES, parse
from registry.errors import ComponentError, ForbiddenError, InvalidInputError, Problem
from registry.line_diff import line_diff
from registry.preview import Wanted, may_confirm
from registry.publication import MAX_BODY, MAX_TITLE, Publication
from registry.views import auth
from registry.views.entries import find_entry
from registry.views.job_access import job_of
from registry.views.job_parts import Harvest, harvest
from registry.views.language import gettext as _
from registry.views.publications import (
    confirmed,
    errors_of,
    looked_again,
    overview_of,
    unified,
    view_of,
)
from registry.views.security import as_file
from registry.views.services import services

CONTEXT = 5
blueprint = Blueprint("publish", __name__, url_prefix="/publish")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What the editor's page holds; `number` None: no publication yet; `heading` empty: new.

    `harvest` is the job that it comes from, None: from none.
    """

    wanted: Wanted
    number: int | None = None
    heading: str = ""
    harvest: Harvest | None = None


@blueprint.get("")
def index() -> ResponseReturnValue:
    """One's publications; with `?job=ID` the editor on what that job ran, `part` of it apart."""
    user, publications = auth.required_user(), services().publications
    if "job" in request.args:
        return _of_job(user, request.args["job"], request.args.get("part", ""))
    is_all = user.is_admin and request.args.get("all") == "1"
    own = [] if is_all else [view_of(each) for each in publications.of_user(user.id)]
    return render_template("publish/index.html", types=TYPES, is_all=is_all, views=own,
                           everyone=map(overview_of, publications.overview() if is_all else ()))


@blueprint.get("/new")
def new() -> ResponseReturnValue:
    """The editor: on a component of the marketplace, or on a beginning of one type."""
    user, reference = auth.required_user(), request.args.get("component", "")
    if reference:
        entry = find_entry(reference)
        source = next((each for each in services().sources.visible(user_id=user.id)
                       if each.id == entry.source_id and each.repo_id), None)
        heading = _("Propose a change to %(name)s", name=entry.name)
        return _editor(Sheet(heading=heading, wanted=Wanted(
            repository=source.location if source else _usual(user.id), text=entry.text,
            path=entry.path if source else "")))
    type_name = request.args.get("type", "job")
    text = render_template(f"publish/new/{type_name if type_name in TYPES else 'job'}.yaml",
                           name=user.name)
    return _editor(Sheet(wanted=Wanted(repository=_usual(user.id), text=text)))


@blueprint.post("/new")
def begin() -> ResponseReturnValue:
    """From the submit page, or from the editor itself."""
    user, action = auth.required_user(), request.form.get("action", "preview")
    wanted = _wanted()
    if action == "publish":
        return _editor(Sheet(heading=_("Publish"), wanted=Wanted(
            repository=_usual(user.id), text=wanted.text)))
    if action == "import":
        file = request.files.get("file")
        text = file.read().decode("utf-8", "replace").removeprefix("\ufeff") if file else ""
        return _editor(Sheet(wanted=Wanted(repository=wanted.repository, path=wanted.path,
                                           text=_lines(text) or wanted.text)))
    return _drafted(Sheet(wanted=wanted))


@blueprint.get("/<int(max=2147483647):number>")
def show(number: int) -> ResponseReturnValue:
    publication = _own(number)
    if publication.state == states.DRAFT:
        return _preview(publication)
    return render_template("publish/show.html", view=view_of(publication))


@blueprint.get("/<int(max=2147483647):number>/live")
def live(number: int) -> ResponseReturnValue:
    """The parts of the page that change while it goes on, for the page's own script."""
    return render_template("publish/live.html", view=view_of(_own(number)))


@blueprint.get("/<int(max=2147483647):number>/patch")
def patch(number: int) -> ResponseReturnValue:
    """The change as a file for `git apply`: for who publishes it without this server."""
    found = _own(number)
    response = as_file(Response(unified(found), mimetype="text/x-diff"))
    response.headers.set("Content-Disposition", "attachment",
                         filename=f"{found.type}-{found.name}.patch")
    return response


@blueprint.get("/<int(max=2147483647):number>/edit")
def edit(number: int) -> ResponseReturnValue:
    """One that is over says so instead: what is typed for it could not be kept."""
    found = _own(number)
    if not states.may_follow(found.state, states.DRAFT):
        return redirect(url_for("publish.show", number=number), 303)
    return _editor(Sheet(number=number, heading=_heading(found), wanted=Wanted(
        repository=found.repository, text=found.text, path=found.path, title=found.title,
        body=found.body, is_signed_off=found.is_signed_off)))


@blueprint.post("/<int(max=2147483647):number>/edit")
def rewrite(number: int) -> ResponseReturnValue:
    found = _own(number)
    return _drafted(Sheet(number=number, heading=_heading(found), wanted=_wanted()))


@blueprint.post("/<int(max=2147483647):number>/confirm")
def confirm(number: int) -> ResponseReturnValue:
    draft, form = _own(number), request.form
    words: dict[str, Any] = {
        "is_signed_off": "is_signed_off" in form,
        "title": " ".join(form.get("title", "").split())[:MAX_TITLE] or draft.title,
        "body": _lines(form.get("body", draft.body))[:MAX_BODY]}
    try:
        confirmed(draft, seen=form.get("seen", ""), **words)
    except (InvalidInputError, ForbiddenError) as error:
        return _preview(_own(number), trouble=error.message), error.status
    return redirect(url_for("publish.show", number=number), 303)


@blueprint.post("/<int(max=2147483647):number>/retry")
def retry(number: int) -> ResponseReturnValue:
    looked_again(_own(number))
    return redirect(url_for("publish.show", number=number), 303)


@blueprint.post("/<int(max=2147483647):number>/rebuild")
def rebuild(number: int) -> ResponseReturnValue:
    services().drafts.rebuild(_own(number))
    return redirect(url_for("publish.show", number=number), 303)


@blueprint.post("/<int(max=2147483647):number>/version")
def raise_version(number: int) -> ResponseReturnValue:
    """Give the draft the version that its changes ask for, where its own says less."""
    found = _own(number)
    if services().drafts.raised(found):
        services().drafts.raise_version(found)
    return redirect(url_for("publish.show", number=number), 303)


@blueprint.post("/<int(max=2147483647):number>/withdraw")
def withdraw(number: int) -> ResponseReturnValue:
    done = services().publications.withdraw(_own(number))
    if done.state == states.WITHDRAWN:
        flash(_("%(name)s is withdrawn. What is on GitHub already stays there.",
                name=done.reference))
        return redirect(url_for("publish.index"), 303)
    return redirect(url_for("publish.show", number=number), 303)


def _of_job(user: User, job_id: str, part: str) -> str:
    found = harvest(job_of(user, job_id), part, user_id=user.id)
    return _editor(Sheet(
        heading=_("Publish what job %(name)s ran", name=found.job["name"]), harvest=found,
        wanted=Wanted(repository=found.repository or _usual(user.id), text=found.text)))


def _heading(publication: Publication) -> str:
    return _("Edit %(name)s", name=publication.reference)


def _drafted(sheet: Sheet) -> ResponseReturnValue:
    """Make the draft and show it; what is wrong with it is shown beside the text."""
    user = auth.required_user()
    try:
        draft = services().drafts.make(user.id, sheet.wanted, id_=sheet.number)
    except ComponentError as error:
        return _editor(sheet, problems=error.problems), error.status
    except (InvalidInputError, ForbiddenError) as error:
        return _editor(sheet, trouble=error.message), error.status
    return redirect(url_for("publish.show", number=draft.id), 303)


def _editor(sheet: Sheet, *, problems: tuple[Problem, ...] = (), trouble: str = "") -> str:
    errors = errors_of(problems)
    return render_template(
        "publish/edit.html", sheet=sheet, wanted=sheet.wanted, problems=problems, errors=errors,
        trouble=trouble, types=TYPES, marked={problem.line for problem in errors},
        lines=max(20, sheet.wanted.text.count("\n") + 2), known=_known_repositories())


def _preview(draft: Publication, *, trouble: str = "") -> str:
    checks = services().drafts.checks(draft)
    lines = None if draft.before is None else line_diff(draft.before, draft.text, CONTEXT)
    return render_template(
        "publish/preview.html", view=view_of(draft), draft=draft, checks=checks, lines=lines,
        errors=errors_of(checks), difference=services().drafts.difference(draft),
        raised=services().drafts.raised(draft),
        may_confirm=may_confirm(draft, checks), component=_component(draft), trouble=trouble,
        max_title=MAX_TITLE, max_body=MAX_BODY)


def _component(draft: Publication) -> Any:
    try:
        return parse(draft.text)
    except ComponentError:
        return None


def _own(number: int) -> Publication:
    return services().publications.get(auth.required_user().id, number)


def _wanted() -> Wanted:
    form = request.form
    return Wanted(repository=form.get("repository", ""), text=_lines(form.get("yaml", "")),
                  path=form.get("path", ""), title=form.get("title", ""),
                  body=_lines(form.get("body", "")), is_signed_off="is_signed_off" in form)


def _usual(user_id: int) -> str:
    """Where the user published last, else the only repository that is a source here."""
    last = services().publications.of_user(user_id, limit=1)
    known = _known_repositories()
    return last[0].repository if last else known[0] if len(known) == 1 else ""


def _known_repositories() -> list[str]:
    user = auth.required_user()
    return [source.location for source in services().sources.visible(user_id=user.id)
            if source.repo_id]


def _lines(text: str) -> str:
    """Line ends as YAML files have them: browsers send each as two characters."""
    return text.replace("\r\n", "\n")
