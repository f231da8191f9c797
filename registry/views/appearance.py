"""How pages look to one reader: as the account has it; of who has none, as cookies do."""
from __future__ import annotations

import contextlib
from typing import Any, Mapping

from flask import Blueprint, Flask, g, redirect, request
from flask.typing import ResponseReturnValue

from registry.accounts import Preferences
from registry.errors import DatabaseUnavailableError, InvalidInputError, UnauthorizedError
from registry.views.auth import current_user, safe_target
from registry.views.language import COOKIE as LANGUAGE
from registry.views.language import LANGUAGES
from registry.views.language import gettext as _
from registry.views.programs import is_api
from registry.views.services import services

THEME = "theme"
THEMES = ("light", "dark", "system")
BOXES = ("has_keys", "has_reader_terminal", "has_less_motion")
YEAR_S = 365 * 86400

blueprint = Blueprint("appearance", __name__)


def register(app: Flask) -> None:
    app.register_blueprint(blueprint)
    app.before_request(_take_from_account)
    app.add_template_global(theme)
    app.add_template_global(preferences)


def preferences() -> Preferences:
    """What the reader has chosen on their account; what is usual where nobody is logged in."""
    return g.get("preferences") or Preferences()


def theme() -> str:
    """`light`, `dark`, or `system`: as the reader's system is."""
    found = preferences().theme or request.cookies.get(THEME)
    return found if found in THEMES else "system"


@blueprint.post("/appearance")
def choose() -> ResponseReturnValue:
    """Keep what the form says: on the account, and in cookies, which serve after the logout."""
    response = redirect(safe_target(request.form.get("back")), 303)
    user, chosen = current_user(), _chosen(request.form)
    if user:
        services().accounts.prefer(user, **chosen)
    for name in (LANGUAGE, THEME):
        if name in chosen:
            response.set_cookie(name, chosen[name], max_age=YEAR_S, samesite="Lax",
                                secure=request.is_secure)
    return response


def _take_from_account() -> None:
    """What was chosen there holds in every browser; an account that cannot be read stops none."""
    if request.endpoint == "static" or is_api():
        return
    with contextlib.suppress(UnauthorizedError, DatabaseUnavailableError):
        user = current_user()
        if user:
            g.preferences = user.preferences
            if user.preferences.language in LANGUAGES:
                g.language = user.preferences.language


def _chosen(form: Mapping[str, str]) -> dict[str, Any]:
    """What the form chooses; a box that is not ticked is not sent, so `boxes` names all."""
    found: dict[str, Any] = {}
    for name, values in ((LANGUAGE, tuple(LANGUAGES)), (THEME, THEMES)):
        value = form.get(name)
        if value is not None and value not in values:
            raise InvalidInputError(_("%(name)s is one of %(values)s.", name=name,
                                      values=", ".join(values)))
        if value is not None:
            found[name] = value
    boxes = form.get("boxes", "").split()
    return found | {name: name in form for name in BOXES if name in boxes}
