"""GitHub's REST routes about branches, tags, commits and what is said of them."""
from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, redirect, request

from tests.fakes.github.access import REPOSITORY, Access
from tests.fakes.github.answers import ApiError, counted_page_of, page_of
from tests.fakes.github.bodies import PREFIX, Bodies
from tests.fakes.github.records import Repository
from tests.fakes.github.repository import EMPTY_TREE
from tests.fakes.github.world import World

MAX_FILES = 300


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("commits", __name__, url_prefix=PREFIX)
    access = Access(world)
    _add_refs(api, world, bodies, access)
    _add_commits(api, world, bodies, access)
    _add_verdicts(api, bodies, access)
    return api


def _add_refs(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/branches")
    def branches(owner: str, name: str) -> Response:
        found = access.read(owner, name)
        return page_of(list(found.git.refs("refs/heads/").items()), lambda item:
                       bodies.short_branch(found, item[0].removeprefix("refs/heads/"), item[1]))

    @api.get(f"{REPOSITORY}/branches/<path:branch>")
    def one_branch(owner: str, name: str, branch: str) -> Response:
        found = access.read(owner, name)
        sha = world.visible_ref(found, f"refs/heads/{branch}")
        if sha is None:
            raise ApiError(404, "Branch not found")
        return jsonify(bodies.branch(found, branch, sha))

    @api.get(f"{REPOSITORY}/tags")
    def tags(owner: str, name: str) -> Response:
        found = access.read(owner, name)
        names = [each.removeprefix("refs/tags/") for each in found.git.refs("refs/tags/")]
        return page_of(names[::-1],
                       lambda each: bodies.tag(found, each, commit_of(found, f"tags/{each}")))

    @api.get(f"{REPOSITORY}/<any(tarball, zipball):kind>/<path:ref>")
    def archive(owner: str, name: str, kind: str, ref: str) -> Any:
        found = access.read(owner, name)
        return redirect(f"{request.host_url}_archive/{found.id}/{kind}/{commit_of(found, ref)}")


def _add_commits(api: Blueprint, world: World, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/commits")
    def commits(owner: str, name: str) -> Response:
        found = access.read(owner, name)
        start = commit_of(found, request.args.get("sha") or found.default_branch)
        shas = found.git.log(start, path=request.args.get("path", ""),
                             since=request.args.get("since"), until=request.args.get("until"))
        return page_of(shas, lambda sha: bodies.commit(found, sha))

    @api.get(f"{REPOSITORY}/commits/<path:ref>")
    def one_commit(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name)
        sha = commit_of(found, ref)
        before = (*found.git.commit(sha).parents, EMPTY_TREE)[0]
        return jsonify(bodies.commit_with_files(found, sha, found.git.changes(before, sha)))

    @api.get(f"{REPOSITORY}/compare/<path:basehead>")
    def compare(owner: str, name: str, basehead: str) -> Response:
        return jsonify(_comparison(world, bodies, access.read(owner, name), basehead))


def _add_verdicts(api: Blueprint, bodies: Bodies, access: Access) -> None:
    @api.get(f"{REPOSITORY}/commits/<path:ref>/status")
    def status(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name, "statuses")
        return jsonify(bodies.combined_status(found, commit_of(found, ref)))

    @api.get(f"{REPOSITORY}/commits/<path:ref>/check-runs")
    def check_runs(owner: str, name: str, ref: str) -> Response:
        found = access.read(owner, name, "checks")
        sha = commit_of(found, ref)
        wanted = request.args.get("check_name")
        return counted_page_of(
            "check_runs", [each for each in found.checks if each.sha == sha
                           and wanted in (None, each.name)],
            lambda check: bodies.check(found, check))


def _comparison(world: World, bodies: Bodies, found: Repository,
                basehead: str) -> dict[str, Any]:
    first, _, second = basehead.partition("...")
    base, head = _end(world, found, first), _end(world, found, second)
    merged = found.git.merge_base(base, head)
    if merged is None:
        raise ApiError(404, f"No common ancestor between {first} and {second}.")
    ahead, behind = found.git.count(base, head), found.git.count(head, base)
    states = {(False, False): "identical", (True, False): "ahead", (False, True): "behind",
              (True, True): "diverged"}
    shown = bodies.minimal_repository(found)
    html, files = f"{shown['html_url']}/compare/{basehead}", found.git.changes(merged, head)
    return {
        "url": f"{shown['url']}/compare/{basehead}", "html_url": html,
        "permalink_url": f"{shown['html_url']}/compare/{found.owner}:{base[:7]}...{head[:7]}",
        "diff_url": f"{html}.diff", "patch_url": f"{html}.patch",
        "base_commit": bodies.commit(found, base),
        "merge_base_commit": bodies.commit(found, merged),
        "status": states[ahead > 0, behind > 0], "ahead_by": ahead, "behind_by": behind,
        "total_commits": ahead,
        "commits": [bodies.commit(found, sha) for sha in found.git.between(base, head)],
        "files": [bodies.file(found, head, each) for each in files[:MAX_FILES]]}


def _end(world: World, found: Repository, text: str) -> str:
    """A branch, or `owner:branch` of a fork."""
    owner, _, name = text.rpartition(":")
    place = world.in_network(found, owner) if owner else found
    if place is None:
        raise ApiError(404, "Not Found")
    return commit_of(place, name)


def commit_of(found: Repository, name: str) -> str:
    """The commit that a name leads to; refused as GitHub does where there is none."""
    check_not_empty(found)
    sha = found.git.resolve(name)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {name}")
    return sha


def check_not_empty(found: Repository) -> None:
    if found.git.is_empty():
        raise ApiError(409, "Git Repository is empty.")


def check_ready(world: World, found: Repository) -> None:
    """A fork is answered before its content is there."""
    if not world.is_ready(found):
        raise ApiError(409, "Git Repository is empty.")
