"""GitHub's REST routes about files and folders, read and written one at a time."""
from __future__ import annotations

import base64
import binascii
import posixpath
from typing import Any

from flask import Blueprint, Response, g, jsonify, request

from tests.fakes.github.access import REPOSITORY, Access
from tests.fakes.github.answers import ApiError, body
from tests.fakes.github.bodies import PREFIX, Bodies, moment
from tests.fakes.github.commits import check_not_empty, check_ready
from tests.fakes.github.history import SYMLINK
from tests.fakes.github.records import Repository
from tests.fakes.github.repository import TreeEntry
from tests.fakes.github.world import World

MAX_LISTED = 1000
MAX_CONTENT = 100 << 20


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("contents", __name__, url_prefix=PREFIX)
    access = Access(world)
    _add_reads(api, bodies, access)
    _add_writes(api, world, bodies, access)
    return api


def _add_reads(api: Blueprint, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/contents/", defaults={"path": ""}, strict_slashes=False)
    @api.get(f"{REPOSITORY}/contents/<path:path>")
    def contents(owner: str, name: str, path: str) -> Response:
        found = access.read(owner, name)
        ref = request.args.get("ref") or found.default_branch
        check_not_empty(found)
        commit = found.git.resolve(ref)
        if commit is None:
            raise ApiError(404, f"No commit found for the ref {ref}")
        entry = _followed(found, commit, path.strip("/"))
        if entry is None or entry.type == "tree":
            listed = _listed(found, commit, entry)
            return jsonify([bodies.content(found, ref, each, None) for each in listed[:MAX_LISTED]])
        if entry.type == "commit":
            return jsonify(bodies.content(found, ref, entry, b""))
        if (entry.size or 0) > MAX_CONTENT:
            raise ApiError(403, "This API returns blobs up to 100 MB in size. The requested blob "
                                "is too large to fetch via the API", [
                                    {"resource": "Blob", "field": "data", "code": "too_large"}])
        return jsonify(bodies.content(found, ref, entry, found.git.blob(entry.sha)))


def _add_writes(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.put(f"{REPOSITORY}/contents/<path:path>")
    def put_content(owner: str, name: str, path: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        check_ready(world, found)
        before = _entry_or_none(found, wanted.get("branch"), path)
        if before and not wanted.get("sha"):
            raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
        if before and wanted["sha"] != before.sha:
            raise ApiError(409, f"{path} does not match {wanted['sha']}")
        raw = decoded(wanted["content"])
        sha = found.git.write_blob(raw)
        made = _commit_file(found, wanted, path, sha)
        ref = wanted.get("branch") or found.default_branch
        entry = TreeEntry(mode="100644", type="blob", sha=sha, path=path, size=len(raw))
        return jsonify(content=bodies.content(found, ref, entry, None),
                       commit=bodies.git_commit(found, found.git.commit(made))), \
            200 if before else 201

    @api.delete(f"{REPOSITORY}/contents/<path:path>")
    def delete_content(owner: str, name: str, path: str) -> Response:
        found = access.write(owner, name)
        wanted = {**request.args, **(request.get_json(silent=True) or {})}
        before = _entry_or_none(found, wanted.get("branch"), path)
        if before is None:
            raise ApiError(404, "Not Found")
        if wanted.get("sha") != before.sha:
            raise ApiError(409, f"{path} does not match {wanted.get('sha', '')}")
        made = _commit_file(found, wanted, path, None)
        return jsonify(content=None, commit=bodies.git_commit(found, found.git.commit(made)))

    def _commit_file(found: Repository, wanted: dict[str, Any], path: str,
                     sha: str | None) -> str:
        branch = wanted.get("branch") or found.default_branch
        if branch in found.protected:
            raise ApiError(409, "Repository rule violations found\n\nChanges must be made through "
                                "a pull request.\n\n")
        head = found.git.branch(branch)
        if head is None and not found.git.is_empty():
            raise ApiError(404, f"Branch {branch} not found")
        person = {"name": g.token.user.login, "email": g.token.user.email,
                  "date": moment(world.now), **(wanted.get("author") or {})}
        base = found.git.commit(head).tree if head else None
        tree = found.git.write_tree(base, [(path, "100644", sha)])
        made = found.git.write_commit(tree, [head] if head else [], wanted["message"], person,
                                      person)
        found.git.update_ref(f"refs/heads/{branch}", made)
        world.pushed(found, f"refs/heads/{branch}", head, made, g.token.user)
        return made


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except binascii.Error as error:
        raise ApiError(422, "content is not valid Base64") from error


def _followed(found: Repository, commit: str, path: str) -> TreeEntry | None:
    """What is at a path, links followed; None for the top."""
    if not path:
        return None
    entry = found.git.at(commit, path)
    if entry is None:
        raise ApiError(404, "Not Found")
    if entry.mode != SYMLINK:
        return entry
    target = posixpath.normpath(posixpath.join(
        posixpath.dirname(path), found.git.blob(entry.sha).decode(errors="replace")))
    is_inside = not target.startswith(("/", "..")) and target != path
    return (found.git.at(commit, target) if is_inside else None) or entry


def _listed(found: Repository, commit: str, folder: TreeEntry | None) -> list[TreeEntry]:
    top = f"{folder.path}/" if folder else ""
    return [TreeEntry(mode=each.mode, type=each.type, sha=each.sha, size=each.size,
                      path=top + each.path)
            for each in found.git.tree(folder.sha if folder else commit, is_recursive=False)]


def _entry_or_none(found: Repository, branch: str | None, path: str) -> TreeEntry | None:
    head = found.git.branch(branch or found.default_branch)
    return found.git.at(head, path) if head else None
