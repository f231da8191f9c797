"""GitHub's REST routes about users, repositories and their Git content, on real repositories."""
from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from flask import Blueprint, Response, g, jsonify, redirect, request

from tests.fakes.github.answers import ApiError, body, page_of, require_login
from tests.fakes.github.bodies import PREFIX, Bodies, moment
from tests.fakes.github.limits import Limits
from tests.fakes.github.records import Repository
from tests.fakes.github.repository import GitError, TreeEntry
from tests.fakes.github.world import World

REPOSITORY = "/repos/<owner>/<name>"
MAX_TREE = 100_000
RESOURCES = ("core", "search", "graphql", "integration_manifest", "source_import",
             "code_scanning_upload", "actions_runner_registration", "scim", "dependency_snapshots",
             "code_search", "code_scanning_autofix")
_REF = re.compile(r"refs/(heads|tags)/(?!-)[^\s~^:?*\[\\]+")


class Access:
    """Finds the repository of a request, or answers as if it were not there."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read(self, owner: str, name: str, permission: str = "contents") -> Repository:
        found = self._world.find(owner, name)
        if found is None or not self._world.may(g.token, found, "read", permission):
            raise ApiError(404, "Not Found")
        return found

    def write(self, owner: str, name: str, permission: str = "contents") -> Repository:
        """As `read`, and then 403 or 404 as GitHub gives them to one who may not write."""
        found = self.read(owner, name)
        token = require_login()
        if found.is_archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        if not self._world.may(token, found, "write", permission):
            if token.is_classic:
                raise ApiError(404, "Not Found")
            raise ApiError(403, "Resource not accessible by personal access token",
                           headers={"X-Accepted-GitHub-Permissions": f"{permission}=write"})
        return found


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("rest", __name__, url_prefix=PREFIX)
    access = Access(world)
    _add_users(api, world, bodies)
    _add_repositories(api, world, bodies, access)
    _add_history(api, bodies, access)
    _add_git_reads(api, world, bodies, access)
    _add_git_writes(api, world, bodies, access)
    _add_contents(api, world, bodies, access)
    return api


def _add_users(api: Blueprint, world: World, bodies: Bodies) -> None:
    @api.get("/user")
    def user() -> Response:
        return jsonify(bodies.private_user(require_login().user))

    @api.get("/users/<login>")
    def one_user(login: str) -> Response:
        found = world.users.get(login.lower())
        if found is None:
            raise ApiError(404, "Not Found")
        return jsonify(bodies.public_user(found))

    @api.get("/user/repos")
    def own_repositories() -> Response:
        token = require_login()
        found = [each for each in world.live() if world.may(token, each, "read")
                 and (each.owner == token.user.login or token.user.login in each.grants)]
        return page_of(found, lambda each: bodies.repository(each, token))

    @api.get("/rate_limit")
    def rate_limit() -> Response:
        rate = Limits(world).rate(g.token)
        return jsonify(rate=rate, resources={name: rate for name in RESOURCES})


def _add_repositories(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(REPOSITORY)
    def repository(owner: str, name: str) -> Response:
        return jsonify(bodies.full_repository(access.read(owner, name), g.token))

    @api.delete(REPOSITORY)
    def delete(owner: str, name: str) -> tuple[str, int]:
        found = access.write(owner, name, "administration")
        if not world.may(g.token, found, "admin", "administration"):
            raise ApiError(403, "Must have admin rights to Repository.")
        world.delete(found)
        return "", 204

    @api.get(f"{REPOSITORY}/forks")
    def forks(owner: str, name: str) -> Response:
        upstream = access.read(owner, name)
        return page_of([each for each in world.live() if each.parent is upstream],
                       lambda each: bodies.repository(each, g.token))

    @api.post(f"{REPOSITORY}/forks")
    def fork(owner: str, name: str) -> tuple[Response, int]:
        upstream, token = access.read(owner, name), require_login()
        if not upstream.allows_forks:
            raise ApiError(403, "The repository exists, but forking is disabled.")
        if token.is_classic and not {"repo", "public_repo"} & (token.scopes or frozenset()):
            raise ApiError(404, "Not Found")
        if not token.is_classic and token.permissions.get("administration") != "write":
            raise ApiError(403, "Resource not accessible by personal access token",
                           headers={"X-Accepted-GitHub-Permissions": "administration=write"})
        with world.lock:
            made = world.fork(upstream, token.user)
        return jsonify(bodies.full_repository(made, token)), 202

    @api.get(f"{REPOSITORY}/collaborators/<login>/permission")
    def permission(owner: str, name: str, login: str) -> Response:
        found, token = access.read(owner, name), require_login()
        if not world.may(token, found, "write", "metadata"):
            raise ApiError(403, "Must have push access to view collaborator permission.")
        role = world.role(world.users.get(login.lower()), found)
        who = world.users.get(login.lower())
        if who is None:
            raise ApiError(404, f"{login} is not a user")
        shown = {**bodies.user(who), "permissions": {
            "admin": role == "admin", "maintain": role == "admin", "triage": role != "read",
            "push": role in ("admin", "write"), "pull": role != "none"}, "role_name": role}
        return jsonify(permission=role, role_name=role, user=shown)

    @api.post(f"{REPOSITORY}/hooks")
    def create_hook(owner: str, name: str) -> tuple[Response, int]:
        found = access.write(owner, name, "repository_hooks")
        if not world.may(g.token, found, "admin", "repository_hooks"):
            raise ApiError(404, "Not Found")
        wanted = body()
        config = wanted.get("config") or {}
        hook = world.add_hook(found, config.get("url", ""), config.get("secret", ""),
                              wanted.get("events", ["push"]))
        return jsonify(bodies.hook(found, hook)), 201


def _add_history(api: Blueprint, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/branches")
    def branches(owner: str, name: str) -> Response:
        found = access.read(owner, name)
        return page_of(list(found.git.refs("refs/heads/").items()), lambda item:
                       bodies.short_branch(found, item[0].removeprefix("refs/heads/"), item[1]))

    @api.get(f"{REPOSITORY}/branches/<path:branch>")
    def one_branch(owner: str, name: str, branch: str) -> Response:
        found = access.read(owner, name)
        sha = found.git.refs().get(f"refs/heads/{branch}")
        if sha is None:
            raise ApiError(404, "Branch not found")
        return jsonify(bodies.branch(found, branch, sha))

    @api.get(f"{REPOSITORY}/tags")
    def tags(owner: str, name: str) -> Response:
        found = access.read(owner, name)
        names = [each.removeprefix("refs/tags/") for each in found.git.refs("refs/tags/")]
        return page_of(names, lambda each: bodies.tag(found, each, _commit(found, each)))

    @api.get(f"{REPOSITORY}/commits")
    def commits(owner: str, name: str) -> Response:
        found = access.read(owner, name)
        start = _commit(found, request.args.get("sha") or found.default_branch)
        return page_of(found.git.log(start, path=request.args.get("path", "")),
                       lambda sha: bodies.commit(found, sha))

    @api.get(f"{REPOSITORY}/commits/<path:ref>/status")
    def status(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name)
        sha, url = _commit(found, ref), bodies.minimal_repository(found)["url"]
        return jsonify(state="pending", statuses=[], sha=sha, total_count=0,
                       repository=bodies.minimal_repository(found),
                       commit_url=f"{url}/commits/{sha}", url=f"{url}/commits/{sha}/status")

    @api.get(f"{REPOSITORY}/commits/<path:ref>/check-runs")
    def check_runs(owner: str, name: str, ref: str) -> Response:
        _commit(access.read(owner, name), ref)
        return jsonify(total_count=0, check_runs=[])

    @api.get(f"{REPOSITORY}/commits/<path:ref>")
    def one_commit(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name)
        sha = _commit(found, ref)
        files = _changes_of(found, sha)
        return jsonify(bodies.commit_with_files(found, sha, files))

    @api.get(f"{REPOSITORY}/compare/<path:basehead>")
    def compare(owner: str, name: str, basehead: str) -> Response:
        return jsonify(_comparison(bodies, access.read(owner, name), basehead))


def _comparison(bodies: Bodies, found: Repository, basehead: str) -> dict[str, Any]:
    first, _, second = basehead.partition("...")
    base, head = _commit(found, first), _commit(found, second.rpartition(":")[2])
    merged = found.git.merge_base(base, head)
    if merged is None:
        raise ApiError(404, f"No common ancestor between {first} and {second}.")
    ahead, behind = found.git.count(base, head), found.git.count(head, base)
    states = {(False, False): "identical", (True, False): "ahead", (False, True): "behind",
              (True, True): "diverged"}
    shown = bodies.minimal_repository(found)
    html = f"{shown['html_url']}/compare/{basehead}"
    return {
        "url": f"{shown['url']}/compare/{basehead}", "html_url": html, "permalink_url": html,
        "diff_url": f"{html}.diff", "patch_url": f"{html}.patch",
        "base_commit": bodies.commit(found, base),
        "merge_base_commit": bodies.commit(found, merged),
        "status": states[ahead > 0, behind > 0], "ahead_by": ahead, "behind_by": behind,
        "total_commits": ahead,
        "commits": [bodies.commit(found, sha) for sha in found.git.between(base, head)],
        "files": [bodies.file(found, head, each) for each in found.git.changes(merged, head)][:300]}


def _add_git_reads(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/git/trees/<path:sha>")
    def tree(owner: str, name: str, sha: str) -> Response:
        found = access.read(owner, name)
        _check_not_empty(found)
        try:
            full = found.git.text("rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}")
        except GitError:
            full = None
        if full is None:
            raise ApiError(404, "Not Found")
        entries = found.git.tree(full, is_recursive="recursive" in request.args)
        return jsonify(bodies.tree(found, full, entries[:MAX_TREE],
                                   is_truncated=len(entries) > MAX_TREE))

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
        _check_ready(world, found)
        _check_not_empty(found)
        sha = found.git.refs().get(f"refs/{ref}")
        if sha is None:
            raise ApiError(404, "Not Found")
        return jsonify(bodies.ref(found, f"refs/{ref}", sha))

    @api.get(f"{REPOSITORY}/git/matching-refs/<path:ref>")
    def matching_refs(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name)
        return page_of(list(found.git.refs(f"refs/{ref}").items()),
                       lambda item: bodies.ref(found, *item))


def _add_git_writes(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.post(f"{REPOSITORY}/git/blobs")
    def create_blob(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        content = wanted.get("content", "")
        raw = _decoded(content) if wanted.get("encoding") == "base64" else content.encode()
        sha = found.git.write_blob(raw)
        url = bodies.minimal_repository(found)["url"]
        return jsonify(sha=sha, url=f"{url}/git/blobs/{sha}"), 201

    @api.post(f"{REPOSITORY}/git/trees")
    def create_tree(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        _check_ready(world, found)
        changes = [(each["path"], each.get("mode", "100644"), _blob_of(found, each))
                   for each in wanted.get("tree", ())]
        try:
            sha = found.git.write_tree(wanted.get("base_tree"), changes)
        except GitError as error:
            raise ApiError(422, "GitRPC::BadObjectState") from error
        entries = found.git.tree(sha, is_recursive=False)
        return jsonify(bodies.tree(found, sha, entries)), 201

    @api.post(f"{REPOSITORY}/git/commits")
    def create_commit(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        own = {"name": g.token.user.login, "email": g.token.user.email, "date": moment(world.now)}
        author = {**own, **(wanted.get("author") or {})}
        if not all(map(found.git.has, [wanted["tree"], *wanted.get("parents", ())])):
            raise ApiError(422, "Tree SHA does not exist")
        sha = found.git.write_commit(wanted["tree"], wanted.get("parents", ()), wanted["message"],
                                     author, {**author, **(wanted.get("committer") or {})})
        return jsonify(bodies.git_commit(found, found.git.commit(sha))), 201

    @api.post(f"{REPOSITORY}/git/refs")
    def create_ref(owner: str, name: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        _check_ready(world, found)
        full, sha = str(wanted.get("ref")), str(wanted.get("sha"))
        if not _REF.fullmatch(full):
            raise ApiError(422, f"Reference name '{full}' is invalid.")
        if full in found.git.refs():
            raise ApiError(422, "Reference already exists")
        _set_ref(found, full, sha)
        return jsonify(bodies.ref(found, full, sha)), 201

    @api.patch(f"{REPOSITORY}/git/refs/<path:ref>")
    def update_ref(owner: str, name: str, ref: str) -> Response:
        found, wanted = access.write(owner, name), body()
        full, sha = f"refs/{ref}", str(wanted.get("sha"))
        before = found.git.refs().get(full)
        if before is None:
            raise ApiError(422, "Reference does not exist")
        is_forward = found.git.merge_base(before, sha) == before
        if not is_forward and not wanted.get("force"):
            raise ApiError(422, "Update is not a fast forward")
        _set_ref(found, full, sha)
        return jsonify(bodies.ref(found, full, sha))

    @api.delete(f"{REPOSITORY}/git/refs/<path:ref>")
    def delete_ref(owner: str, name: str, ref: str) -> tuple[str, int]:
        found = access.write(owner, name)
        if f"refs/{ref}" not in found.git.refs():
            raise ApiError(422, "Reference does not exist")
        found.git.delete_ref(f"refs/{ref}")
        return "", 204

    def _set_ref(found: Repository, full: str, sha: str) -> None:
        if not found.git.has(f"{sha}^{{commit}}"):
            raise ApiError(422, "Object does not exist")
        if full.removeprefix("refs/heads/") in found.protected:
            raise ApiError(422, "Repository rule violations found")
        before = found.git.refs().get(full)
        found.git.update_ref(full, sha)
        world.pushed(found, full, before, sha, g.token.user)


def _add_contents(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/contents", defaults={"path": ""})
    @api.get(f"{REPOSITORY}/contents/", defaults={"path": ""})
    @api.get(f"{REPOSITORY}/contents/<path:path>")
    def contents(owner: str, name: str, path: str) -> Response:
        found = access.read(owner, name)
        ref = request.args.get("ref") or found.default_branch
        entry, listed = _look(found, _commit(found, ref), path.strip("/"))
        if listed is not None:
            return jsonify([bodies.content(found, ref, each, None) for each in listed[:1000]])
        return jsonify(bodies.content(found, ref, entry, found.git.blob(entry.sha)))

    @api.put(f"{REPOSITORY}/contents/<path:path>")
    def put_content(owner: str, name: str, path: str) -> tuple[Response, int]:
        found, wanted = access.write(owner, name), body()
        before = _entry_or_none(found, wanted.get("branch"), path)
        if before and wanted.get("sha") != before.sha:
            raise ApiError(409 if wanted.get("sha") else 422,
                           f"{path} does not match {wanted.get('sha', '')}")
        sha = found.git.write_blob(_decoded(wanted["content"]))
        made = _commit_file(found, wanted, path, sha)
        ref = wanted.get("branch") or found.default_branch
        entry = TreeEntry(mode="100644", type="blob", sha=sha, path=path,
                          size=len(found.git.blob(sha)))
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

    @api.get(f"{REPOSITORY}/<any(tarball, zipball):kind>/<path:ref>")
    def archive(owner: str, name: str, kind: str, ref: str) -> Any:
        found = access.read(owner, name)
        return redirect(f"{request.host_url}_archive/{found.id}/{kind}/{_commit(found, ref)}")

    def _commit_file(found: Repository, wanted: dict[str, Any], path: str,
                     sha: str | None) -> str:
        branch = wanted.get("branch") or found.default_branch
        if branch in found.protected:
            raise ApiError(409, "Repository rule violations found")
        head = found.git.resolve(branch)
        person = {"name": g.token.user.login, "email": g.token.user.email,
                  "date": moment(world.now), **(wanted.get("author") or {})}
        base = found.git.commit(head).tree if head else None
        tree = found.git.write_tree(base, [(path, "100644", sha)])
        made = found.git.write_commit(tree, [head] if head else [], wanted["message"], person,
                                      person)
        found.git.update_ref(f"refs/heads/{branch}", made)
        world.pushed(found, f"refs/heads/{branch}", head, made, g.token.user)
        return made


# --- finding things in a repository -------------------------------------------------------------


def _commit(found: Repository, name: str) -> str:
    _check_not_empty(found)
    sha = found.git.resolve(name)
    if sha is None:
        raise ApiError(422 if re.fullmatch("[0-9a-f]{40}", name) else 404,
                       f"No commit found for SHA: {name}")
    return sha


def _check_not_empty(found: Repository) -> None:
    if found.git.is_empty():
        raise ApiError(409, "Git Repository is empty.")


def _check_ready(world: World, found: Repository) -> None:
    """A fork is answered before its content is there."""
    if not world.is_ready(found):
        raise ApiError(409, "Git Repository is empty.")


def _changes_of(found: Repository, sha: str) -> list[Any]:
    parents = found.git.commit(sha).parents
    if parents:
        return found.git.changes(parents[0], sha)
    empty = found.git.write_tree(None, [])
    return found.git.changes(empty, sha)


def _look(found: Repository, commit: str, path: str) -> tuple[Any, list[TreeEntry] | None]:
    """The entry at a path, and what it lists where it is a folder."""
    if not path:
        return None, found.git.tree(commit, is_recursive=False)
    entry = _at(found, commit, path)
    if entry is None:
        raise ApiError(404, "Not Found")
    if entry.type != "tree":
        return entry, None
    inside = [TreeEntry(mode=each.mode, type=each.type, sha=each.sha, size=each.size,
                        path=f"{path}/{each.path}")
              for each in found.git.tree(entry.sha, is_recursive=False)]
    return entry, inside


def _at(found: Repository, commit: str, path: str) -> TreeEntry | None:
    everything = found.git.tree(commit, is_recursive=True)
    return next((each for each in everything if each.path == path), None)


def _entry_or_none(found: Repository, branch: str | None, path: str) -> TreeEntry | None:
    head = found.git.resolve(branch or found.default_branch)
    return _at(found, head, path) if head else None


def _blob_of(found: Repository, wanted: dict[str, Any]) -> str | None:
    if "content" in wanted:
        return found.git.write_blob(wanted["content"].encode())
    return wanted["sha"]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except binascii.Error as error:
        raise ApiError(422, "content is not valid Base64") from error
