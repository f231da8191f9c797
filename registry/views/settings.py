"""The page Settings: one's password, API tokens, access to GitHub and to image registries."""
from __future__ import annotations

import contextlib

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry.accounts import MIN_PASSWORD, User
from registry.config import Secret
from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.github_errors import GitHubError
from registry.views import auth, github_access
from registry.views.language import gettext as _
from registry.views.publications import looked_again
from registry.views.services import services

blueprint = Blueprint("settings", __name__, url_prefix="/settings")


@blueprint.get("")
def index() -> ResponseReturnValue:
    return _page()


@blueprint.post("/password")
@auth.login_limit
def change_password() -> ResponseReturnValue:
    user, form = auth.required_user(), request.form
    accounts = services().accounts
    if not accounts.verify_password(user.name, form.get("old_password", "")):
        return _page(wrong={"old_password": _(
            "This is not your password now. Type it again.")}), 400
    if form.get("new_password", "") != form.get("again", ""):
        return _page(wrong={"again": _(
            "The two new passwords differ. Type them again.")}), 400
    try:
        user = accounts.set_password(user, form.get("new_password", ""))
    except InvalidInputError as error:
        return _page(wrong={"new_password": error.message}), 400
    auth.start_session(user)
    flash(_("Your password is changed. Every other browser that was logged in is logged out."))
    return redirect(url_for("settings.index"), 303)


@blueprint.post("/tokens")
def create_token() -> ResponseReturnValue:
    token = services().accounts.create_token(
        auth.required_user(), request.form.get("name", ""))
    return _page(token=token)


@blueprint.post("/tokens/<int(max=2147483647):id_>/revoke")
def revoke_token(id_: int) -> ResponseReturnValue:
    services().accounts.revoke_token_numbered(auth.required_user(), id_)
    flash(_("The token is revoked. Programs that use it are locked out from now on."))
    return redirect(url_for("settings.index"), 303)


@blueprint.post("/github")
@github_access.limit
def connect_github() -> ResponseReturnValue:
    user, token = auth.required_user(), request.form.get("token", "").strip()
    try:
        account = services().github.connect(user.id, Secret(token))
    except (InvalidInputError, GitHubError) as error:
        return _page(wrong={"github": error.message}), error.status
    flash(_("GitHub is connected as %(login)s.", login=account.login))
    return redirect(_back(user), 303)


@blueprint.post("/github/disconnect")
def disconnect_github() -> ResponseReturnValue:
    services().github.disconnect(auth.required_user().id)
    flash(_("GitHub is disconnected, and the token is deleted here. Revoke it on GitHub, too, if "
            "nothing else uses it."))
    return redirect(url_for("settings.index", _anchor="github"), 303)


@blueprint.post("/registries")
def add_registry() -> ResponseReturnValue:
    user, form = auth.required_user(), request.form
    given = {name: form.get(name, "") for name in ("server", "username")}
    try:
        login = services().image_logins.keep(user.id, **given, secret=Secret(
            form.get("secret", "")))
    except InvalidInputError as error:
        wrong = {f"registry-{error.problems[0].path}": error.message}
        return _page(wrong=wrong, login=given), 400
    flash(_("Your jobs log in to %(server)s as %(name)s from now on.", server=login.server,
            name=login.username))
    return redirect(url_for("settings.index", _anchor="registries"), 303)


@blueprint.post("/registries/remove")
def remove_registry() -> ResponseReturnValue:
    server = request.form.get("server", "")
    services().image_logins.forget(auth.required_user().id, server)
    flash(_("The login to %(server)s is deleted. Jobs that are waiting keep it until their images "
            "are here.", server=server))
    return redirect(url_for("settings.index", _anchor="registries"), 303)


def _publication(user: User) -> int | None:
    """The number of the publication that its author came from, for want of a token."""
    number = request.values.get("publication", type=int)
    if number is None or not 0 < number < 1 << 31:
        return None
    with contextlib.suppress(NotFoundError):
        return services().publications.get(user.id, number).id
    return None


def _back(user: User) -> str:
    """The page of that publication, which goes on now; else this one."""
    number = _publication(user)
    if number is None:
        return url_for("settings.index", _anchor="github")
    with contextlib.suppress(ConflictError):  # it goes on by itself
        looked_again(services().publications.get(user.id, number))
    return url_for("publish.show", number=number)


def _page(*, wrong: dict[str, str] | None = None, token: str | None = None,
          login: dict[str, str] | None = None) -> str:
    return render_template("settings/index.html", wrong=wrong or {}, token=token,
                           login=login or {},
                           logins=services().image_logins.of(auth.required_user().id),
                           github=github_access.section(auth.required_user())
                           | {"publication": _publication(auth.required_user())},
                           tokens=services().accounts.tokens(auth.required_user()),
                           min_password=MIN_PASSWORD)
