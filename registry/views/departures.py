"""Deleting a user, for an admin: first what goes and what stays is told, then it is done."""
from __future__ import annotations

from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry.accounts import User
from registry.errors import ConflictError, RunnerUnavailableError
from registry.sources import Source
from registry.views.admin import required_admin
from registry.views.language import gettext as _
from registry.views.language import ngettext
from registry.views.services import services
from runner.sentence import Sentence

LIVE, AT_ONCE = "WAITING,RUNNING", 200
blueprint = Blueprint("departures", __name__, url_prefix="/admin/users/<name>/delete")


@blueprint.get("")
def ask(name: str) -> str:
    return _page(required_admin(), services().accounts.user_named(name))


@blueprint.post("")
def delete(name: str) -> ResponseReturnValue:
    admin = required_admin()
    user = services().accounts.user_named(name)
    try:
        delete_user(admin, user)
    except ConflictError as error:
        return _page(admin, user, wrong=error.message), error.status
    flash(_("%(name)s is deleted. What was published stays.", name=name))
    if "stop_jobs" in request.form:
        flash(_stop_jobs(name))
    return redirect(url_for("admin.users"), 303)


def delete_user(admin: User, user: User) -> None:
    """Raises ConflictError for oneself, and where no admin would be left."""
    if user.id == admin.id:
        raise ConflictError(Sentence(
            "You cannot delete your own account, for nobody could undo it. Ask another admin."))
    services().accounts.delete(user)


def _page(admin: User, user: User, *, wrong: str = "") -> str:
    sources = [*services().sources.visible(user_id=admin.id),
               *services().sources.hidden(user_id=admin.id)]
    return render_template(
        "admin/delete_user.html", person=user, wrong=wrong, is_self=user.id == admin.id,
        belongings=services().accounts.belongings(user), live=_live(user.name),
        owned=_named(sources, "owner_id", user), sponsored=_named(sources, "sponsor_id", user))


def _named(sources: list[Source], field: str, user: User) -> list[str]:
    return sorted(each.name for each in sources if getattr(each, field) == user.id)


def _live(name: str) -> int | None:
    """How many of the user's jobs wait or run; None: the runner does not say."""
    try:
        counts: dict[str, Any] = services().runner.jobs(user=name, limit=1)["counts"]
    except RunnerUnavailableError:
        return None
    return sum(counts.get(state, 0) for state in LIVE.split(","))


def _stop_jobs(name: str) -> str:
    """Stop all that wait or run; a sentence that says how many."""
    found: list[str] = []
    try:
        while page := services().runner.jobs(
                user=name, state=LIVE, limit=AT_ONCE, offset=len(found))["jobs"]:
            found += (job["id"] for job in page)
        for id_ in found:
            services().runner.stop(id_)
    except RunnerUnavailableError:
        return _("The runner does not answer, so jobs of %(name)s may run still. Stop them on the "
                 "page Jobs when it is back.", name=name)
    return ngettext("%(num)d job was asked to stop.", "%(num)d jobs were asked to stop.",
                    len(found), num=len(found))
