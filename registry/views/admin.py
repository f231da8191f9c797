"""The pages of admins: users, limits, and the system with its queue and its logs."""
from __future__ import annotations

import secrets
from typing import Any, Callable, Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry.accounts import MIN_PASSWORD, User
from registry.errors import ConflictError, ForbiddenError, InvalidInputError, RunnerUnavailableError
from registry.parts import LOGS
from registry.views import auth
from registry.views.errors import told_to_admins
from registry.views.language import gettext as _
from registry.views.machine import machine_of
from registry.views.services import services
from registry.views.source_list import is_wanted, paged

MAX_REASON = 1000
PASSWORD_BYTES = 12
blueprint = Blueprint("admin", __name__, url_prefix="/admin")


def required_admin() -> User:
    """The admin who asks; raises ForbiddenError naming whom to ask."""
    user = auth.required_user()
    if not user.is_admin:
        admins = [each.name for each in services().accounts.users()
                  if each.is_admin and not each.locked_at]
        raise ForbiddenError(_("This page is for admins. Ask one of them: %(names)s.",
                               names=", ".join(admins)))
    return user


@blueprint.get("")
def index() -> ResponseReturnValue:
    required_admin()
    return redirect(url_for("admin_sources.index"))


# --- users ----------------------------------------------------------------------------------------

@blueprint.get("/users")
def users() -> str:
    return _users()


@blueprint.post("/users")
def create_user() -> ResponseReturnValue:
    required_admin()
    name, password = request.form.get("name", "").strip(), request.form.get("password", "")
    given = password or secrets.token_urlsafe(PASSWORD_BYTES)
    try:
        services().accounts.create_user(name, given, is_admin="is_admin" in request.form)
    except (InvalidInputError, ConflictError) as error:
        return _users(wrong=error.message, given=request.form), error.status
    return _users(made=name, password=None if password else given)


@blueprint.post("/users/<name>/password")
def set_password(name: str) -> ResponseReturnValue:
    """A new password that is made here and shown once, so that nobody has to think one up."""
    required_admin()
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    services().accounts.set_password(services().accounts.user_named(name), password)
    return _users(made=name, password=password)


@blueprint.post("/users/<name>/admin")
def set_admin(name: str) -> ResponseReturnValue:
    is_admin = request.form.get("is_admin") == "1"
    return _changed(name, lambda user: services().accounts.set_admin(user, is_admin),
                    _("%(name)s is an admin now.", name=name) if is_admin else
                    _("%(name)s is no admin any more.", name=name))


@blueprint.post("/users/<name>/lock")
def lock(name: str) -> ResponseReturnValue:
    return _changed(name, services().accounts.lock, _(
        "%(name)s is locked out: logins, sessions and tokens do not work. Jobs go on.", name=name))


@blueprint.post("/users/<name>/unlock")
def unlock(name: str) -> ResponseReturnValue:
    return _changed(name, _let_in,
                    _("%(name)s may log in again, and the tokens work.", name=name))


def _let_in(user: User) -> None:
    services().accounts.unlock(user)
    services().sources.request_sponsored(user.id)


@blueprint.post("/users/<name>/tokens/<int(max=2147483647):id_>/revoke")
def revoke_token(name: str, id_: int) -> ResponseReturnValue:
    return _changed(name, lambda user: services().accounts.revoke_token_numbered(user, id_),
                    _("The token is revoked. Programs that use it are locked out from now on."))


def _changed(name: str, act: Callable[[User], object], text: str) -> ResponseReturnValue:
    required_admin()
    try:
        act(services().accounts.user_named(name))
    except ConflictError as error:
        return _users(wrong=error.message), error.status
    flash(text)
    return redirect(url_for("admin.users"), 303)


def _users(*, wrong: str = "", given: Mapping[str, str] = {}, made: str = "",
           password: str | None = None) -> str:
    viewer, accounts = required_admin(), services().accounts
    users = accounts.users()
    shown = {**paged([user for user in users if is_wanted(user.name)]), "total": len(users)}
    rows = [{"user": user, "tokens": accounts.tokens(user)} for user in shown["listed"]]
    return render_template(
        "admin/users.html", rows=rows, shown=shown, viewer=viewer, wrong=wrong, given=given,
        made=made, password=password, min_password=MIN_PASSWORD)


# --- limits ---------------------------------------------------------------------------------------

@blueprint.get("/limits")
def limits() -> str:
    return _limits()


@blueprint.post("/limits")
def change_limits() -> ResponseReturnValue:
    required_admin()
    text = request.form.get("text", "").replace("\r\n", "\n")
    try:
        services().runner.change_limits(text)
    except InvalidInputError as error:
        return _limits(wrong=error.message, text=text), error.status
    flash(_("The limits hold from now on. Jobs that run already go on."))
    return redirect(url_for("admin.limits"), 303)


def _limits(*, wrong: str = "", text: str | None = None) -> str:
    required_admin()
    found = services().runner.limits()
    return render_template("admin/limits.html", machine=services().runner.machine(), limits=found,
                           text=found["text"] if text is None else text, wrong=wrong)


# --- system ---------------------------------------------------------------------------------------

@blueprint.get("/system")
def system() -> str:
    user, parts = required_admin(), services().parts
    name = request.args.get("log", LOGS[0])
    return render_template(
        "admin/system.html", disk=parts.disk(), versions=parts.versions(), logs=LOGS, log_name=name,
        log=parts.log(name), is_github_up=services().is_github_up(),
        is_sync_up=parts.is_sync_up(), **_machine(user))


@blueprint.post("/system/pause")
def pause() -> ResponseReturnValue:
    """Start no more jobs; the machine is empty once those that run have ended."""
    required_admin()
    services().runner.pause(request.form.get("reason", "").strip()[:MAX_REASON])
    flash(_("No more jobs start. Those that run go on."))
    return redirect(url_for("admin.system"), 303)


@blueprint.post("/system/resume")
def resume() -> ResponseReturnValue:
    required_admin()
    services().runner.resume()
    flash(_("Jobs start again."))
    return redirect(url_for("admin.system"), 303)


def _machine(user: User) -> dict[str, Any]:
    """What the runner tells; `away` says why it does not."""
    try:
        return {**machine_of(user), "away": None}
    except RunnerUnavailableError as error:
        return {"away": told_to_admins(error)}
