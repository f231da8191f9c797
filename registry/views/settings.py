"""The pages of settings: one's password, tokens, access to GitHub and images, how pages look."""
from __future__ import annotations

import contextlib
from typing import Mapping

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
    return redirect(url_for("settings.profile"))


@blueprint.get("/profile")
def profile(*, wrong: Mapping[str, str] = {}) -> str:
    return render_template("settings/profile.html", user=auth.required_user(), wrong=wrong,
                           min_password=MIN_PASSWORD)


@blueprint.get("/github")
def github(*, wrong: str = "") -> str:
    user = auth.required_user()
    return render_template("settings/github.html", wrong=wrong, github=github_access.section(user)
                           | {"publication": _publication(user)})


@blueprint.get("/tokens")
def tokens(*, token: str | None = None) -> str:
    return render_template("settings/tokens.html", token=token,
                           tokens=services().accounts.tokens(auth.required_user()))


@blueprint.get("/registries")
def registries(*, wrong: Mapping[str, str] = {}, given: Mapping[str, str] = {}) -> str:
    return render_template("settings/registries.html", wrong=wrong, given=given,
                           logins=services().image_logins.of(auth.required_user().id))


@blueprint.get("/appearance")
def appearance() -> str:
    return render_template("settings/appearance.html", user=auth.required_user())


@blueprint.get("/notifications")
def notifications() -> str:
    return render_template("settings/notifications.html", user=auth.required_user())


@blueprint.post("/password")
@auth.login_limit
def change_password() -> ResponseReturnValue:
    user, form = auth.required_user(), request.form
    accounts = services().accounts
    if not accounts.verify_password(user.name, form.get("old_password", "")):
        return profile(wrong={"old_password": _(
            "This is not your password now. Type it again.")}), 400
    if form.get("new_password", "") != form.get("again", ""):
        return profile(wrong={"again": _(
            "The two new passwords differ. Type them again.")}), 400
    try:
        user = accounts.set_password(user, form.get("new_password", ""))
    except InvalidInputError as error:
        return profile(wrong={"new_password": error.message}), 400
    auth.start_session(user)
    flash(_("Your password is changed. Every other browser that was logged in is logged out."))
    return redirect(url_for("settings.profile"), 303)


@blueprint.post("/tokens")
def create_token() -> ResponseReturnValue:
    token = services().accounts.create_token(
        auth.required_user(), request.form.get("name", ""))
    return tokens(token=token)


@blueprint.post("/tokens/<int(max=2147483647):id_>/revoke")
def revoke_token(id_: int) -> ResponseReturnValue:
    services().accounts.revoke_token_numbered(auth.required_user(), id_)
    flash(_("The token is revoked. Programs that use it are locked out from now on."))
    return redirect(url_for("settings.tokens"), 303)


@blueprint.post("/github")
@github_access.limit
def connect_github() -> ResponseReturnValue:
    user, token = auth.required_user(), request.form.get("token", "").strip()
    try:
        account = services().github.connect(user.id, Secret(token))
    except (InvalidInputError, GitHubError) as error:
        return github(wrong=error.message), error.status
    flash(_("GitHub is connected as %(login)s.", login=account.login))
    return redirect(_back(user), 303)


@blueprint.post("/github/verify")
@github_access.limit
def verify_github() -> ResponseReturnValue:
    user = auth.required_user()
    try:
        services().github.verify(user.id)
    except GitHubError as error:
        return github(wrong=error.message), error.status
    flash(_("GitHub accepts the token. What it may do stands below."))
    return redirect(url_for("settings.github"), 303)


@blueprint.post("/github/disconnect")
def disconnect_github() -> ResponseReturnValue:
    services().github.disconnect(auth.required_user().id)
    flash(_("GitHub is disconnected, and the token is deleted here. Revoke it on GitHub, too, if "
            "nothing else uses it."))
    return redirect(url_for("settings.github"), 303)


@blueprint.post("/registries")
def add_registry() -> ResponseReturnValue:
    user, form = auth.required_user(), request.form
    given = {name: form.get(name, "") for name in ("server", "username")}
    try:
        login = services().image_logins.keep(user.id, **given, secret=Secret(
            form.get("secret", "")))
    except InvalidInputError as error:
        wrong = {f"registry-{error.problems[0].path}": error.message}
        return registries(wrong=wrong, given=given), 400
    flash(_("Your jobs log in to %(server)s as %(name)s from now on.", server=login.server,
            name=login.username))
    return redirect(url_for("settings.registries"), 303)


@blueprint.post("/registries/remove")
def remove_registry() -> ResponseReturnValue:
    server = request.form.get("server", "")
    services().image_logins.forget(auth.required_user().id, server)
    flash(_("The login to %(server)s is deleted. Jobs that are waiting keep it until their images "
            "are here.", server=server))
    return redirect(url_for("settings.registries"), 303)


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
        return url_for("settings.github")
    with contextlib.suppress(ConflictError):  # it goes on by itself
        looked_again(services().publications.get(user.id, number))
    return url_for("publish.show", number=number)
