"""Who is asking: sessions for browsers, tokens for programs, log in and log out."""
from __future__ import annotations

import re
from datetime import timedelta

from flask import (
    Blueprint,
    Flask,
    Response,
    flash,
    g,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_login import LoginManager, UserMixin
from flask_login import current_user as visitor
from flask_login import login_user, logout_user
from flask_wtf.csrf import CSRFProtect

from registry.accounts import User
from registry.errors import ForbiddenError, NotFoundError, UnauthorizedError
from registry.views.language import gettext as _
from registry.views.programs import is_api
from registry.views.services import services
from runner.sentence import Sentence

SESSION_LIFETIME = timedelta(days=14)
FAILURES_ALLOWED = "10 per minute; 100 per day"
BEARER = "Bearer "
ADDRESS = "address"
_LOCAL_PATH = re.compile(r"/(?!/)[^\\\x00-\x20\x7f]*")

blueprint = Blueprint("auth", __name__)
csrf = CSRFProtect()
limiter = Limiter(get_remote_address, storage_uri="memory://")


class Visitor(UserMixin):
    """A user as the session knows it: a new password makes `get_id` another one."""

    def __init__(self, user: User) -> None:
        self.user = user

    def get_id(self) -> str:
        return f"{self.user.id}.{self.user.session_epoch}"


def is_refused(response: Response) -> bool:
    return response.status_code in (400, 401)


# One count for all places where a password can be guessed.
login_limit = limiter.shared_limit(FAILURES_ALLOWED, "passwords", methods=["POST", "PUT"],
                                   deduct_when=is_refused)


def register(app: Flask) -> None:
    app.config.update(
        SESSION_COOKIE_NAME="paishare", SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax", PERMANENT_SESSION_LIFETIME=SESSION_LIFETIME,
        WTF_CSRF_CHECK_DEFAULT=False, WTF_CSRF_TIME_LIMIT=None)
    manager = LoginManager(app)
    manager.user_loader(_visitor_of_session)
    csrf.init_app(app)
    limiter.init_app(app)
    app.before_request(_protect)
    app.context_processor(lambda: {"current_user": current_user})
    app.register_blueprint(blueprint)


def current_user() -> User | None:
    """The user who asks; None where nobody is logged in.

    A request with a token is the token's user, whatever cookie comes with it.
    Raises UnauthorizedError where the token is wrong.
    """
    if _bearer() is None:
        return visitor.user if visitor.is_authenticated else None
    if "token_user" not in g:
        g.token_user = services().accounts.user_of_token(_bearer() or "")
    if g.token_user is None:
        raise UnauthorizedError(Sentence(
            "This API token is unknown or revoked. Get one with `paishare login`, or on the page "
            "Settings."))
    return g.token_user


def required_user() -> User:
    """The user who asks; raises UnauthorizedError where nobody is logged in."""
    user = current_user()
    if user is None:
        raise UnauthorizedError(Sentence(
            "Log in first: send the header `Authorization: Bearer <token>` with a token from "
            "`paishare login` or from the page Settings."))
    return user


def required_admin(what: str) -> User:
    """The admin who asks; raises ForbiddenError saying that only an admin can do `what`."""
    user = required_user()
    if not user.is_admin:
        raise ForbiddenError(Sentence(
            "Only an admin can {what}. Ask one, or log in as one.", what=what))
    return user


def viewer_id() -> int | None:
    """Whose eyes a page is for; None is a visitor."""
    user = current_user()
    return user.id if user else None


def bearer_token() -> str:
    """The token of the request, empty where it has none."""
    return _bearer() or ""


def _bearer() -> str | None:
    header = request.headers.get("Authorization", "")
    if not is_api() or not header:
        return None
    is_bearer = header[:len(BEARER)].lower() == BEARER.lower()
    return header[len(BEARER):].strip() if is_bearer else ""


def _protect() -> None:
    """A browser sends its cookie along unasked, so every write with one must prove its origin."""
    is_program = is_api() and (_bearer() is not None or not visitor.is_authenticated)
    if not is_program:
        csrf.protect()


def _visitor_of_session(text: str) -> Visitor | None:
    """Nobody, where the cookie comes from another address than the login did.

    Browsers send a cookie to every port of a host, so also to what a job serves there.
    """
    if session.get(ADDRESS) != request.remote_addr:
        return None
    id_, _, epoch = text.partition(".")
    try:
        user = services().accounts.user(int(id_))
    except (NotFoundError, ValueError):
        return None
    return Visitor(user) if str(user.session_epoch) == epoch else None


def start_session(user: User) -> None:
    """Log the browser in under a fresh session, so that nothing of an older one stays."""
    session.clear()
    session.permanent = True
    session[ADDRESS] = request.remote_addr
    login_user(Visitor(user))


@blueprint.route("/login", methods=["GET", "POST"])
@login_limit
def login() -> ResponseReturnValue:
    target = safe_target(request.values.get("next"))
    if request.method == "GET" and current_user():
        return redirect(target)
    name = request.form.get("username", "").strip()
    if request.method == "POST":
        user = services().accounts.verify_password(name, request.form.get("password", ""))
        if user:
            start_session(user)
            return redirect(target, 303)
    is_wrong = request.method == "POST"
    return render_template("auth/login.html", target=target, name=name,
                           is_wrong=is_wrong), 401 if is_wrong else 200


@blueprint.post("/logout")
def logout() -> ResponseReturnValue:
    logout_user()
    session.clear()
    flash(_("You are logged out."))
    return redirect(url_for("marketplace.index"), 303)


def safe_target(text: str | None) -> str:
    """A path of this site to go to after the login; anything else becomes the front page."""
    return text if text and _LOCAL_PATH.fullmatch(text) else url_for("marketplace.index")
