"""GitHub's REST routes about trees, blobs, commits and refs as Git has them."""
from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

from flask import Blueprint, Response, g, jsonify, request

from tests.fakes.github.access import REPOSITORY, Access
from tests.fakes.github.answers import ApiError, body, page_of
from tests.fakes.github.bodies import PREFIX, Bodies, moment
from tests.fakes.github.commits import check_not_empty, check_ready
from tests.fakes.github.contents import decoded
from tests.fakes.github.records import Repository
from tests.fakes.github.repository import GitError
from tests.fakes.github.world import World

WORKFLOWS = ".github/workflows/"
_REF = re.compile(r"refs/(heads|tags)/(?!-)[^\s~^:?*\[\\]+")


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("git_data", __name__, url_prefix=PREFIX)
    access = Access(world)
    _add_reads(api, world, bodies, access)
    _add_objects(api, world, bodies, access)
    _add_refs(api, world, bodies, access)
    return api


def _add_reads(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/git/trees/<path:sha>")
    def tree(owner: str, name: str, sha: str) -> Response:
        found = access.read(owner, name)
        check_not_empty(found)
        try:
            full = found.git.text("rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}")
        except GitError as error:
            raise ApiError(404, "Not Found") from error
        entries = found.git.tree(full, is_recursive="recursive" in request.args)
        return jsonify(bodies.tree(found, full, entries[:world.max_tree],
                                   is_truncated=len(entries) > world.max_tree))

    @api.get(f"{REPOSITORY}/git/blobs/<sha>")
    def blob(owner: str, name: str, sha: str) -> Response:
        found = access.read(owner, name)
        try:
            return jsonify(bodies.blob(found, sha, found.git.blob(sha)))
        except GitError as error:
            raise ApiError(404, "Not Found") from error

    @api.get(f"{REPOSITORY}/git/commits/<sha>")
    def git_commit(owner: str, name: str, sha: str) -> Response:
        found = access.read(owner, name)
        if not found.git.has(f"{sha}^{{commit}}"):
            raise ApiError(404, "Not Found")
        return jsonify(bodies.git_commit(found, found.git.commit(sha)))

    @api.get(f"{REPOSITORY}/git/ref/<path:ref>")
    def ref(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name)
        check_ready(world, found)
        check_not_empty(found)
        sha = world.visible_ref(found, f"refs/{ref}")
        if sha is None:
            raise ApiError(404, "Not Found")
        return jsonify(bodies.ref(found, f"refs/{ref}", sha))

    @api.get(f"{REPOSITORY}/git/matching-refs/<path:ref>")
    def matching_refs(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name)
        return page_of(list(found.git.refs(f"refs/{ref}").items()),
                       lambda item: bodies.ref(found, *item))


def _add_objects(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.post(f"{REPOSITORY}/git/blobs")
    def create_blob(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        check_ready(world, found)
        content = wanted.get("content", "")
        raw = decoded(content) if wanted.get("encoding") == "base64" else content.encode()
        sha = found.git.write_blob(raw)
        url = bodies.minimal_repository(found)["url"]
        return jsonify(sha=sha, url=f"{url}/git/blobs/{sha}"), 201

    @api.post(f"{REPOSITORY}/git/trees")
    def create_tree(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        check_ready(world, found)
        changes = [(each["path"], each.get("mode", "100644"), _blob_of(found, each))
                   for each in wanted.get("tree", ())]
        if _lacks_workflow() and any(path.startswith(WORKFLOWS) for path, _, _ in changes):
            raise ApiError(404, "Not Found")
        try:
            sha = found.git.write_tree(wanted.get("base_tree"), changes)
        except GitError as error:
            raise ApiError(422, "GitRPC::BadObjectState") from error
        entries = found.git.tree(sha, is_recursive=False)
        return jsonify(bodies.tree(found, sha, entries)), 201

    @api.post(f"{REPOSITORY}/git/commits")
    def create_commit(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        check_ready(world, found)
        own = {"name": g.token.user.login, "email": g.token.user.email, "date": moment(world.now)}
        author = {**own, **(wanted.get("author") or {})}
        if not found.git.has(f"{wanted['tree']}^{{tree}}"):
            raise ApiError(422, "Tree SHA does not exist")
        if not all(found.git.has(f"{sha}^{{commit}}") for sha in wanted.get("parents", ())):
            raise ApiError(422, "Parent SHA does not exist or is not a commit object")
        sha = found.git.write_commit(wanted["tree"], wanted.get("parents", ()), wanted["message"],
                                     author, {**author, **(wanted.get("committer") or {})})
        return jsonify(bodies.git_commit(found, found.git.commit(sha))), 201


def _add_refs(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.post(f"{REPOSITORY}/git/refs")
    def create_ref(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        check_ready(world, found)
        full, sha = str(wanted.get("ref")), str(wanted.get("sha"))
        if not _REF.fullmatch(full):
            raise ApiError(422, f"Reference name '{full}' is invalid.")
        with world.lock:
            if found.git.ref(full):
                raise ApiError(422, "Reference already exists")
            if any(fnmatchcase(full.removeprefix("refs/heads/"), rule) for rule in found.rules):
                raise _violation("Cannot create ref due to creations being restricted.")
            _set_ref(found, full, sha)
        world.unseen[found.id, full] = world.lag
        return jsonify(bodies.ref(found, full, sha)), 201

    @api.patch(f"{REPOSITORY}/git/refs/<path:ref>")
    def update_ref(owner: str, name: str, ref: str) -> Response:
        found, wanted = access.write(owner, name), body()
        full, sha = f"refs/{ref}", str(wanted.get("sha"))
        with world.lock:
            before = found.git.ref(full)
            if before is None:
                raise ApiError(422, "Reference does not exist")
            is_forward = found.git.has(sha) and found.git.merge_base(before, sha) == before
            if found.git.has(sha) and not is_forward and not wanted.get("force"):
                raise ApiError(422, "Update is not a fast forward")
            _set_ref(found, full, sha)
        return jsonify(bodies.ref(found, full, sha))

    @api.delete(f"{REPOSITORY}/git/refs/<path:ref>")
    def delete_ref(owner: str, name: str, ref: str) -> tuple[str, int]:
        found = access.write(owner, name)
        if found.git.ref(f"refs/{ref}") is None:
            raise ApiError(422, "Reference does not exist")
        if ref.removeprefix("heads/") in found.protected:
            raise _violation("Cannot delete this protected ref.")
        world.point(found, ref, None)
        return "", 204

    def _set_ref(found: Repository, full: str, sha: str) -> None:
        if not found.git.has(f"{sha}^{{commit}}"):
            raise ApiError(422, "Object does not exist")
        if full.removeprefix("refs/heads/") in found.protected:
            raise _violation("Changes must be made through a pull request.")
        _check_workflows(world, found, sha)
        before = found.git.ref(full)
        found.git.update_ref(full, sha)
        world.pushed(found, full, before, sha, g.token.user)


def _check_workflows(world: World, found: Repository, sha: str) -> None:
    """Commits new to this repository that touch workflows need a scope of their own."""
    if _lacks_workflow() and found.git.text("rev-list", "-1", sha, "--not", "--all", "--",
                                            WORKFLOWS):
        raise ApiError(world.workflow_status, "Not Found" if world.workflow_status == 404 else
                       "refusing to allow a Personal Access Token to create or update workflow "
                       f"`{WORKFLOWS}ci.yml` without `workflow` scope")


def _lacks_workflow() -> bool:
    if g.token.scopes is not None:
        return "workflow" not in g.token.scopes
    return g.token.permissions.get("workflows") != "write"


def _violation(what: str) -> ApiError:
    return ApiError(422, f"Repository rule violations found\n\n{what}\n\n")


def _blob_of(found: Repository, wanted: dict[str, Any]) -> str | None:
    if "content" in wanted:
        return found.git.write_blob(wanted["content"].encode())
    return wanted["sha"]
