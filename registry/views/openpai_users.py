"""OpenPAI's API of tokens, users and virtual clusters, as its releases 0.9 to 0.13 had it."""
from __future__ import annotations

from collections import Counter
from typing import Any

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from registry import openpai_shapes as shapes
from registry.accounts import User
from registry.dialects import form_values
from registry.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    RegistryError,
)
from registry.views import auth
from registry.views.departures import delete_user
from registry.views.openpai_account import open_to_other_pages
from registry.views.services import services

PREFIXES = {"openpai_users": "/api/v1", "openpai_users_by_proxy": "/rest-server/api/v1"}
TOKEN_NAME = "OpenPAI client"
ELSEWHERE = ("Virtual clusters and who may use them are set by the operator, in the runner's file "
             "of virtual clusters.")
LIVE, COUNTED = "WAITING,RUNNING", 200

blueprint = Blueprint("openpai_users", __name__)
blueprint.after_request(open_to_other_pages)


@blueprint.get("")
def welcome() -> ResponseReturnValue:
    return "<pre>PAI RESTful API</pre>"


@blueprint.post("/token")
@auth.login_limit
def create_token() -> ResponseReturnValue:
    """A token of ours; it lives until it is revoked on the page Settings."""
    values = _values("username", "password")
    accounts, name = services().accounts, values["username"]
    user = accounts.verify_password(name, values["password"])
    if user is None:
        raise _coded(InvalidInputError("Password is incorrect."), "IncorrectPasswordError")
    return jsonify(user=user.name, token=accounts.create_token(user, TOKEN_NAME),
                   admin=user.is_admin, hasGitHubPAT=_has_github(user))


@blueprint.get("/user")
def list_users() -> ResponseReturnValue:
    auth.required_admin("list users")
    return jsonify([_shown(user) for user in services().accounts.users()])


@blueprint.get("/user/<username>")
def show_user(username: str) -> ResponseReturnValue:
    asking = auth.required_user()
    if not asking.is_admin and asking.name != username:
        raise ForbiddenError(f"User {asking.name} is not allowed to see user {username}.")
    return jsonify(_shown(_user(username)))


@blueprint.put("/user")
def put_user() -> ResponseReturnValue:
    """Make a user, or change the password of one; for admins.

    Others change their own where the old one is asked for, which this API does not.
    """
    auth.required_admin("add users and change passwords by this API")
    values, accounts = _values("username", "password", "modify"), services().accounts
    name = values["username"]
    if values["modify"] in (True, "true"):
        accounts.set_password(_user(name), values["password"])
    else:
        try:
            accounts.create_user(name, values["password"],
                                 is_admin=values.get("admin") in (True, "true"))
        except ConflictError as error:
            taken = ConflictError(f"User name {name} already exists.")
            raise _coded(taken, "ConflictUserError") from error
    return jsonify(message="update successfully"), 201


@blueprint.delete("/user")
def remove_user() -> ResponseReturnValue:
    """For admins; an admin is not deleted so, as there."""
    admin = auth.required_admin("delete users")
    name = _values("username")["username"]
    user = _user(name)
    if user.is_admin:
        raise _coded(ForbiddenError(
            f"Admin {name} is not allowed to remove."), "RemoveAdminError")
    delete_user(admin, user)
    return jsonify(message="remove successfully")


@blueprint.get("/virtual-clusters")
def list_clusters() -> ResponseReturnValue:
    auth.required_user()
    return jsonify(_clusters())


@blueprint.get("/virtual-clusters/<name>")
def show_cluster(name: str) -> ResponseReturnValue:
    auth.required_user()
    found = _clusters()
    if name not in found:
        raise _coded(NotFoundError(f"Vc {name} not found"), "NoVirtualClusterError")
    return jsonify(found[name])


@blueprint.route("/virtual-clusters/<name>", methods=["PUT", "DELETE"])
@blueprint.put("/virtual-clusters/<name>/status")
@blueprint.put("/user/<name>/virtualClusters")
def change_cluster(name: str) -> ResponseReturnValue:
    auth.required_admin("change virtual clusters")
    raise ForbiddenError(ELSEWHERE)


def _clusters() -> dict[str, Any]:
    runner = services().runner
    jobs = runner.jobs(state=LIVE, limit=COUNTED)["jobs"]
    return {each["name"]: shapes.cluster(each, Counter(
        job["state"] for job in jobs if job["virtual_cluster"] == each["name"]))
        for each in runner.machine()["virtual_clusters"]}


def _values(*required: str) -> dict[str, Any]:
    """What a form or JSON says; raises InvalidInputError naming what is missing."""
    values = form_values(request.form.items(multi=True)) if request.form \
        else request.get_json(silent=True)
    for name in required:
        if not isinstance(values, dict) or values.get(name) is None:
            raise InvalidInputError(f'child "{name}" fails because ["{name}" is required]')
        if name != "modify" and not isinstance(values[name], str):
            raise InvalidInputError(f'child "{name}" fails because ["{name}" must be a string]')
    return values  # type: ignore[return-value]


def _user(name: str) -> User:
    try:
        return services().accounts.user_named(name)
    except NotFoundError as error:
        raise _coded(NotFoundError(f"User {name} is not found."), "NoUserError") from error


def _coded(error: RegistryError, code: str) -> RegistryError:
    error.code = code
    return error


def _shown(user: User) -> dict[str, Any]:
    return {"username": user.name, "admin": str(user.is_admin).lower(),
            "virtualCluster": "default", "hasGithubPAT": _has_github(user)}


def _has_github(user: User) -> bool:
    return services().github.of(user.id) is not None
