"""The HTTP API's routes about who one is: tokens, password, GitHub, image registries."""
from __future__ import annotations

from typing import Any

from registry.config import Secret
from registry.errors import InvalidInputError, Problem, UnauthorizedError
from registry.views import auth, github_access
from registry.views.api_openapi import Access, Api
from registry.views.models import account as models
from registry.views.programs import API_PREFIX
from registry.views.services import services

api = Api("api_account", API_PREFIX)


@api.route("POST", "/token", access=Access.PUBLIC, body=models.Credentials, status=201,
           result=models.Token, errors=(401, 429))
@auth.login_limit
def create_token(body: models.Credentials) -> dict[str, Any]:
    """Get an API token for a name and a password."""
    accounts = services().accounts
    user = accounts.verify_password(body.username, body.password)
    if user is None:
        raise UnauthorizedError("The name or the password is wrong.")
    return {"token": accounts.create_token(user, body.name), "username": user.name,
            "is_admin": user.is_admin}


@api.route("DELETE", "/token", status=204)
def revoke_token() -> None:
    """Revoke the token that this request carries."""
    auth.required_user()
    services().accounts.revoke_token(auth.bearer_token())


@api.route("GET", "/user", result=models.User)
def show_user() -> dict[str, Any]:
    """Who the token belongs to."""
    user = auth.required_user()
    return {"username": user.name, "is_admin": user.is_admin}


@api.route("PUT", "/user/password", body=models.NewPassword, status=204, errors=(429,))
@auth.login_limit
def change_password(body: models.NewPassword) -> None:
    """Change one's password; browsers that are logged in are logged out, tokens stay valid."""
    user, accounts = auth.required_user(), services().accounts
    if not accounts.verify_password(user.name, body.old_password):
        message = "The old password is wrong."
        raise InvalidInputError(message, [Problem(message=message, path="old_password")])
    accounts.set_password(user, body.new_password)


@api.route("GET", "/user/github", result=models.GitHubAccess)
def show_github() -> dict[str, Any]:
    """Whether one has connected GitHub, as whom, and what will not work with the token."""
    return github_access.as_json(auth.required_user())


@api.route("PUT", "/user/github", body=models.GitHubToken, result=models.GitHubAccess,
           errors=(403, 409, 429))
@github_access.limit
def connect_github(body: models.GitHubToken) -> dict[str, Any]:
    """Connect GitHub with a personal access token, in the place of an older one.

    GitHub is asked at once whose it is. The token is kept sealed and used for nobody else.
    """
    user = auth.required_user()
    services().github.connect(user.id, Secret(body.token.strip()))
    return github_access.as_json(user)


@api.route("DELETE", "/user/github", status=204)
def disconnect_github() -> None:
    """Delete the token here, and with it the sight of private repositories."""
    services().github.disconnect(auth.required_user().id)


@api.route("GET", "/user/registries", result=models.ImageLogins)
def list_registries() -> dict[str, Any]:
    """The image registries that one has a login to, without the secrets."""
    found = services().image_logins.of(auth.required_user().id)
    return {"logins": [vars(login) for login in found]}


@api.route("PUT", "/user/registries/<server>", body=models.ImageSecret, result=models.ImageLogin)
def put_registry(server: str, body: models.ImageSecret) -> dict[str, Any]:
    """Keep a login to an image registry, in the place of an older one.

    It is kept sealed, and goes along with one's own jobs whose images are of that registry.
    """
    user = auth.required_user()
    return vars(services().image_logins.keep(user.id, server, body.username, Secret(body.secret)))


@api.route("DELETE", "/user/registries/<server>", status=204, errors=(404,))
def remove_registry(server: str) -> None:
    """Delete a login to an image registry."""
    services().image_logins.forget(auth.required_user().id, server)
