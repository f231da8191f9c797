"""GitHub's REST routes about users, what they can read, and their limits."""
from __future__ import annotations

from flask import Blueprint, Response, g, jsonify, request

from tests.fakes.github.access import is_sso_missing
from tests.fakes.github.answers import ApiError, page_of, require_login
from tests.fakes.github.bodies import PREFIX, Bodies
from tests.fakes.github.limits import Limits
from tests.fakes.github.records import Organisation, Repository, Token
from tests.fakes.github.world import World

RESOURCES = (
    "core", "search", "graphql", "integration_manifest", "source_import", "code_scanning_upload",
    "actions_runner_registration", "scim", "dependency_snapshots", "code_search",
    "code_scanning_autofix", "audit_log", "audit_log_streaming")


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("users", __name__, url_prefix=PREFIX)

    @api.get("/user")
    def user() -> Response:
        token = require_login()
        is_whole = token.scopes is not None and "user" in token.scopes
        shape = bodies.private_user if is_whole else bodies.public_user
        return jsonify(shape(token.user))

    @api.get("/users/<login>")
    def one_user(login: str) -> Response:
        found = world.users.get(login.lower())
        if found is None:
            raise ApiError(404, "Not Found")
        return jsonify(bodies.public_user(found))

    @api.get("/user/repos")
    def own_repositories() -> Response:
        token = require_login()
        g.needed = "metadata=read"
        found = [each for each in world.live() if _is_listed(world, each, token)]
        hidden = {owner.id for each in found for owner in [_closed(world, each, token)] if owner}
        if hidden:
            g.headers["X-GitHub-SSO"] = \
                f"partial-results; organizations={','.join(map(str, sorted(hidden)))}"
        return page_of([each for each in found if not _closed(world, each, token)],
                       lambda each: bodies.repository(each, token))

    @api.get("/rate_limit")
    def rate_limit() -> Response:
        rate = Limits(world).rate(g.token)
        if rate is None:
            raise ApiError(404, "Rate limiting is not enabled.")
        return jsonify(rate=rate, resources={name: rate for name in RESOURCES})

    return api


def _is_listed(world: World, repository: Repository, token: Token) -> bool:
    """Only what the person has a right of their own to, not all that is public."""
    owner, login = world.users[repository.owner.lower()], token.user.login
    affiliations = set(request.args.get(
        "affiliation", "owner,collaborator,organization_member").split(","))
    is_own = {"owner": repository.owner == login, "collaborator": login in repository.grants,
              "organization_member": isinstance(owner, Organisation) and login in owner.members}
    return (any(is_own[each] for each in affiliations & is_own.keys())
            and request.args.get("visibility", "all") in ("all", repository.visibility)
            and world.may(token, repository, "read", "metadata"))


def _closed(world: World, repository: Repository, token: Token) -> Organisation | None:
    """The organisation that keeps the token from this repository."""
    owner = world.users[repository.owner.lower()]
    is_closed = isinstance(owner, Organisation) and repository.is_private and (
        is_sso_missing(owner, token) or (owner.forbids_classic and token.is_classic))
    return owner if is_closed else None  # type: ignore[return-value]
