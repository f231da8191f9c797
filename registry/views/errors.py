"""Exceptions become responses here: pages for people, JSON for programs, never a traceback."""
from __future__ import annotations

import errno
import logging
from typing import Any

from flask import Flask, g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException

from registry.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RegistryError,
    RunnerUnavailableError,
    UnauthorizedError,
)
from registry.github_errors import GitHubError
from registry.views.programs import is_api, is_openpai
from runner.sentence import Sentence, joined

OPENPAI_CODES = {400: "InvalidParametersError", 401: "UnauthorizedUserError",
                 403: "ForbiddenUserError", 404: "NoTemplateError", 409: "ConflictTemplateError",
                 410: "NoTemplateError"}
# Said by the route itself.
OPENPAI_OWN = frozenset({
    "NoApiError", "NoUserError", "NoJobError", "NoJobConfigError", "NoJobSshInfoError",
    "NoVirtualClusterError", "ConflictJobError", "ConflictUserError", "IncorrectPasswordError",
    "InvalidProtocolError", "RemoveAdminError"})
TEXTS = {
    400: Sentence("The request could not be understood. Go back, reload the page and try again."),
    404: Sentence("There is no such page. Check the address, or search the marketplace."),
    405: Sentence("This address does not take that kind of request."),
    413: Sentence("That is too large. A component has at most 256 KB."),
    415: Sentence("The body must be JSON, with the header Content-Type: application/json."),
    429: Sentence("Too many attempts. Wait a minute, then try again."),
}
CSRF_TEXT = Sentence(
    "This form is out of date, perhaps because you logged in or out in another window. Nothing was "
    "changed. Go back, reload the page and try again.")

log = logging.getLogger(__name__)


def register(app: Flask) -> None:
    app.register_error_handler(RegistryError, on_registry_error)
    app.register_error_handler(HTTPException, on_http_error)
    for kind in (RecursionError, UnicodeEncodeError):
        app.register_error_handler(kind, on_impossible_text)
    app.register_error_handler(Exception, on_unexpected)


def on_registry_error(error: RegistryError) -> ResponseReturnValue:
    if error.status >= 500:
        log.warning("request %s: %s (%s)", g.request_id, told_to_admins(error), error.__cause__)
    if isinstance(error, UnauthorizedError) and not is_api():
        return redirect(url_for("auth.login", next=_came_for()))
    return _respond(error)


def on_http_error(error: HTTPException) -> ResponseReturnValue:
    status = error.code or 500
    if status < 400:
        return error.get_response()
    text = CSRF_TEXT if isinstance(error, CSRFError) else TEXTS.get(status, error.description)
    wrapped = RegistryError(text or error.name)
    wrapped.code, wrapped.status = error.name.replace(" ", ""), status
    if is_openpai() and status == 404:
        wrapped.code = "NoApiError"
        wrapped.message = Sentence(
            "API {path} is not found.", path=request.path.removeprefix("/rest-server"))
    headers = {name: value for name, value in error.get_headers()
               if name in ("Allow", "Retry-After")}
    return *_respond(wrapped), headers


def on_impossible_text(_: Exception) -> ResponseReturnValue:
    return _respond(InvalidInputError(Sentence(
        "The request holds text that is no Unicode, or is nested too deeply. Correct what you "
        "send.")))


def on_unexpected(error: Exception) -> ResponseReturnValue:
    log.error("request %s: %s %s failed", g.request_id, request.method, request.path,
              exc_info=error)
    if "disk is full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC:
        return _respond(RegistryError(Sentence(
            "The disk of this server is full, so nothing was changed. Try again when its "
            "administrator has made room.")))
    return _respond(RegistryError(Sentence(
        "Something went wrong here, and it is not your fault. Try again; if it stays, tell the "
        "administrator this number: {request_id}.", request_id=g.request_id)))


def told_to_admins(error: RegistryError) -> str:
    """What happened and, of a runner that is away, what whoever runs the server may do."""
    remedy = error.remedy if isinstance(error, RunnerUnavailableError) else ""
    return joined(error.message, remedy)


def _came_for() -> str:
    """Where a login leads back to; a form that was sent is not sent again."""
    path = request.full_path.rstrip("?") if request.method in ("GET", "HEAD") else request.path
    return path if request.method in ("GET", "HEAD") else url_for("marketplace.index")


def _respond(error: RegistryError) -> tuple[Any, int]:
    nearest = error.nearest if isinstance(error, NotFoundError) else ()
    if is_openpai():
        code = error.code if error.code in OPENPAI_OWN else OPENPAI_CODES.get(
            error.status, "UnknownError")
        return jsonify(code=code, message=error.message), error.status
    if is_api():
        body: dict[str, Any] = {"code": error.code, "message": error.message,
                                "errors": [problem.as_json() for problem in error.problems]}
        if isinstance(error, GitHubError):
            body["retry_at"] = f"{error.retry_at.isoformat()}Z" if error.retry_at else None
            body["link"] = error.link
        if error.status == 404:
            body["nearest"] = list(nearest)
        if isinstance(error, ConflictError):
            body["choices"] = list(error.choices)
        return jsonify(body), error.status
    return render_template("errors/error.html", error=error, nearest=nearest), error.status
