"""GitHub's REST routes about repositories as a whole: reading, forks, rights and hooks."""
from __future__ import annotations

from flask import Blueprint, Response, g, jsonify, request

from tests.fakes.github.access import NO_ACCESS, REPOSITORY, Access
from tests.fakes.github.answers import ApiError, body, page_of, require_login
from tests.fakes.github.bodies import PREFIX, Bodies
from tests.fakes.github.records import Organisation, Repository, Token
from tests.fakes.github.world import World


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("repositories", __name__, url_prefix=PREFIX)
    access = Access(world)
    _add_reads(api, world, bodies, access)
    _add_forks(api, world, bodies, access)
    _add_hooks(api, world, bodies, access)
    return api


def _add_reads(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(REPOSITORY)
    def repository(owner: str, name: str) -> Response:
        return jsonify(bodies.full_repository(access.read(owner, name, "metadata"), g.token))

    @api.post("/orgs/<owner>/repos")
    def create(owner: str) -> tuple[Response, int]:
        token, wanted, home = require_login(), body(), world.users.get(owner.lower())
        if not isinstance(home, Organisation) or home.members.get(token.user.login) != "admin":
            raise ApiError(404, "Not Found")
        if world.find(owner, wanted["name"]):
            raise ApiError(422, "Repository creation failed.", [{
                "resource": "Repository", "code": "custom", "field": "name",
                "message": "name already exists on this account"}])
        files = {"README.md": f"# {wanted['name']}"} if wanted.get("auto_init") else None
        made = world.create(home, wanted["name"], files, is_private=bool(wanted.get("private")))
        return jsonify(bodies.full_repository(made, token)), 201

    @api.patch(REPOSITORY)
    def change(owner: str, name: str) -> Response:
        found, wanted = access.write(owner, name, "administration", "admin"), body()
        if wanted.get("name", found.name) != found.name:
            world.move(found, name=wanted["name"])
        if wanted.get("private", found.is_private) != found.is_private:
            world.show(found, is_private=bool(wanted["private"]))
        found.is_archived = bool(wanted.get("archived", found.is_archived))
        found.allows_forks = bool(wanted.get("allow_forking", found.allows_forks))
        return jsonify(bodies.full_repository(found, g.token))

    @api.delete(REPOSITORY)
    def delete(owner: str, name: str) -> tuple[str, int]:
        found = access.read(owner, name, "metadata")
        if not world.may(require_login(), found, "admin", "administration"):
            raise ApiError(403, "Must have admin rights to Repository.")
        world.delete(found)
        return "", 204

    @api.get(f"{REPOSITORY}/collaborators/<login>/permission")
    def permission(owner: str, name: str, login: str) -> Response:
        found, token = access.read(owner, name, "metadata"), require_login()
        if not world.may(token, found, "write", "metadata"):
            raise ApiError(403, "Must have push access to view collaborator permission.")
        who = world.users.get(login.lower())
        if who is None:
            raise ApiError(404, f"{login} is not a user")
        role = world.role(who, found)
        shown = {**bodies.user(who), "permissions": {
            "admin": role == "admin", "maintain": role == "admin",
            "triage": role in ("admin", "write"), "push": role in ("admin", "write"),
            "pull": role != "none"}, "role_name": role}
        return jsonify(permission=role, role_name=role, user=shown)


def _add_forks(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/forks")
    def forks(owner: str, name: str) -> Response:
        upstream = access.read(owner, name)
        return page_of([each for each in world.live() if each.parent is upstream
                        and world.may(g.token, each, "read", "metadata")],
                       lambda each: bodies.repository(each, g.token))

    @api.post(f"{REPOSITORY}/forks")
    def fork(owner: str, name: str) -> tuple[Response, int]:
        upstream, token = access.read(owner, name), require_login()
        g.needed = "administration=write; contents=read"
        _check_may_fork(upstream, token)
        wanted = request.get_json(silent=True) or {}
        made = world.fork(upstream, token.user, name=wanted.get("name"),
                          is_whole=not wanted.get("default_branch_only"))
        return jsonify(bodies.full_repository(made, token)), 202


def _check_may_fork(upstream: Repository, token: Token) -> None:
    if token.is_classic and not {"repo", "public_repo"} & (token.scopes or frozenset()):
        raise ApiError(404, "Not Found")
    if not token.is_classic and token.permissions.get("administration") != "write":
        raise ApiError(403, NO_ACCESS)
    if not upstream.allows_forks:
        raise ApiError(403, "The repository exists, but forking is disabled.")
    if upstream.git.is_empty():
        raise ApiError(403, "The repository exists, but it contains no Git content. Empty "
                            "repositories cannot be forked.")


def _add_hooks(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    def administered(owner: str, name: str) -> Repository:
        found = access.write(owner, name, "repository_hooks", "admin")
        scopes = g.token.scopes
        if scopes is not None and not {"repo", "admin:repo_hook", "write:repo_hook"} & scopes:
            raise ApiError(404, "Not Found")
        return found

    @api.get(f"{REPOSITORY}/hooks")
    def hooks(owner: str, name: str) -> Response:
        found = administered(owner, name)
        return page_of(found.hooks, lambda hook: bodies.hook(found, hook))

    @api.post(f"{REPOSITORY}/hooks")
    def create_hook(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = administered(owner, name), body()
        config = wanted.get("config") or {}
        if any(hook.url == config.get("url") for hook in found.hooks):
            raise ApiError(422, "Validation Failed", [{
                "resource": "Hook", "code": "custom",
                "message": "Hook already exists on this repository"}])
        hook = world.add_hook(found, config.get("url", ""), config.get("secret", ""),
                              wanted.get("events", ["push"]))
        world.on_event(found, "ping", {"zen": "Keep it logically awesome.", "hook_id": hook.id},
                       g.token.user)
        return jsonify(bodies.hook(found, hook)), 201

    @api.delete(f"{REPOSITORY}/hooks/<int:number>")
    def delete_hook(owner: str, name: str, number: int) -> tuple[str, int]:
        found = administered(owner, name)
        if all(hook.id != number for hook in found.hooks):
            raise ApiError(404, "Not Found")
        found.hooks = [hook for hook in found.hooks if hook.id != number]
        return "", 204
