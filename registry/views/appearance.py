"""How pages look to one reader: language and theme, kept in cookies."""
from __future__ import annotations

from flask import Blueprint, Flask, redirect, request
from flask.typing import ResponseReturnValue

from registry.errors import InvalidInputError
from registry.views.auth import safe_target
from registry.views.language import COOKIE as LANGUAGE
from registry.views.language import LANGUAGES
from registry.views.language import gettext as _

THEME = "theme"
THEMES = ("light", "dark", "system")
YEAR_S = 365 * 86400

blueprint = Blueprint("appearance", __name__)


def register(app: Flask) -> None:
    app.register_blueprint(blueprint)
    app.add_template_global(theme)


def theme() -> str:
    """`light`, `dark`, or `system`: as the reader's system is."""
    found = request.cookies.get(THEME)
    return found if found in THEMES else "system"


@blueprint.post("/appearance")
def choose() -> ResponseReturnValue:
    response = redirect(safe_target(request.form.get("back")), 303)
    for name, values in ((LANGUAGE, LANGUAGES), (THEME, THEMES)):
        value = request.form.get(name)
        if value is None:
            continue
        if value not in values:
            raise InvalidInputError(_("%(name)s is one of %(values)s.", name=name,
                                      values=", ".join(values)))
        response.set_cookie(name, value, max_age=YEAR_S, samesite="Lax", secure=request.is_secure)
    return response
