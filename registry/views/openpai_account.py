"""OpenPAI's way to set one's GitHub token, as its releases 0.9 to 0.13 had it."""
from __future__ import annotations

from flask import Blueprint, Response, jsonify, request
from flask.typing import ResponseReturnValue

from registry.config import Secret
from registry.errors import ForbiddenError, InvalidInputError, NotFoundError
from registry.views import auth, github_access
from registry.views.services import services

PREFIXES = {"openpai_account": "/api/v1", "openpai_account_by_proxy": "/rest-server/api/v1"}

blueprint = Blueprint("openpai_account", __name__)


@blueprint.put("/user/<username>/githubPAT")
@github_access.limit
def set_github_token(username: str) -> ResponseReturnValue:
    """Empty takes it away. Nobody sets another's, unlike there: it is used in that user's name."""
    user = auth.required_user()
    if user.name != username:
        if user.is_admin:
            _require_user(username)
        raise ForbiddenError(f"Only {username} can set the GitHub token of {username}, because it "
                             "is used in that user's name.")
    token = _given_token()
    if token.reveal():
        services().github.connect(user.id, token)
    else:
        services().github.disconnect(user.id)
    return jsonify(message="update user github PAT successfully"), 201


@blueprint.after_request
def open_to_other_pages(response: Response) -> Response:
    """As OpenPAI's server did. Cookies are not sent along from there, tokens may be."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
    response.headers["Access-Control-Allow-Methods"] = "PUT, DELETE, OPTIONS"
    return response


def _require_user(name: str) -> None:
    try:
        services().accounts.user_named(name)
    except NotFoundError as error:
        unknown = NotFoundError(f"User {name} is not found.")
        unknown.code = "NoUserError"
        raise unknown from error


def _given_token() -> Secret:
    """From a form or from JSON."""
    values = request.form or request.get_json(silent=True)
    token = values.get("githubPAT") if isinstance(values, dict) else None
    if not isinstance(token, str):
        raise InvalidInputError('Send the token as "githubPAT", or an empty text to delete it.')
    return Secret(token.strip())
