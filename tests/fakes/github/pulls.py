"""GitHub's REST routes about pull requests and forks that fall behind."""
from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, g, jsonify, request

from tests.fakes.github.access import NO_ACCESS, REPOSITORY, Access
from tests.fakes.github.answers import ApiError, body, page_of, require_login
from tests.fakes.github.bodies import PREFIX, Bodies, moment
from tests.fakes.github.records import Pull, Repository
from tests.fakes.github.repository import GitRepository
from tests.fakes.github.world import World

PULL = f"{REPOSITORY}/pulls/<int:number>"


def blueprint(world: World, bodies: Bodies) -> Blueprint:
    api = Blueprint("pulls", __name__, url_prefix=PREFIX)
    access = Access(world)
    routes = _Pulls(world, bodies, access)
    for rule, method, view in (
            (f"{REPOSITORY}/pulls", "GET", routes.find),
            (f"{REPOSITORY}/pulls", "POST", routes.open),
            (PULL, "GET", routes.show), (PULL, "PATCH", routes.change),
            (f"{PULL}/merge", "GET", routes.is_merged), (f"{PULL}/merge", "PUT", routes.merge),
            (f"{PULL}/reviews", "GET", routes.reviews), (f"{PULL}/files", "GET", routes.files),
            (f"{PULL}/commits", "GET", routes.commits),
            (f"{REPOSITORY}/merge-upstream", "POST", routes.merge_upstream)):
        api.add_url_rule(rule, f"{method} {rule}", view, methods=[method])
    return api


class _Pulls:
    def __init__(self, world: World, bodies: Bodies, access: Access) -> None:
        self._world, self._bodies, self._access = world, bodies, access

    def find(self, owner: str, name: str) -> Response:
        found = self._access.read(owner, name, "pull_requests")
        state, wanted = request.args.get("state", "open"), request.args
        pulls = [pull for pull in reversed(self._world.pulls_of(found))
                 if state in ("all", pull.state)
                 and wanted.get("head") in (None, f"{pull.head.owner}:{pull.head_branch}")
                 and wanted.get("base") in (None, pull.base_branch)]
        return page_of(pulls, self._bodies.simple_pull)

    def open(self, owner: str, name: str) -> tuple[Response, int]:
        base, wanted = self._access.read(owner, name, "pull_requests"), body()
        token = require_login()
        self._check_may_open(base)
        head, branch = self._head(base, str(wanted.get("head")), wanted.get("head_repo"))
        head_sha, base_sha = self._both(base, str(wanted.get("base")), head, branch)
        with self._world.lock:
            self._check_is_new(base, str(wanted["base"]), head, branch)
            pull = Pull(
                id=self._world.next_id(), number=len(self._world.pulls_of(base)) + 1, base=base,
                base_branch=wanted["base"], head=head, head_branch=branch, head_sha=head_sha,
                base_sha=base_sha, title=str(wanted.get("title") or ""), body=wanted.get("body"),
                user=token.user, created_at=self._world.now, updated_at=self._world.now,
                looks=self._world.mergeable_looks,
                may_maintainers_modify=bool(wanted.get("maintainer_can_modify", True)))
            self._world.pulls.append(pull)
        self._world.on_pull(pull, "opened", token.user)
        return jsonify(self._whole(pull)), 201

    def _check_may_open(self, base: Repository) -> None:
        g.needed = "pull_requests=write"
        if base.is_archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        if g.token.is_classic and not {"repo", "public_repo"} & g.token.scopes:
            raise ApiError(404, "Not Found")
        if not g.token.is_classic and not self._world.may(g.token, base, "write", "pull_requests"):
            raise ApiError(403, NO_ACCESS)

    def show(self, owner: str, name: str, number: int) -> Response:
        return jsonify(self._whole(self._pull(owner, name, number)))

    def change(self, owner: str, name: str, number: int) -> Response:
        pull, wanted = self._pull(owner, name, number), body()
        is_author = g.token is not None and g.token.user == pull.user
        if not is_author and not self._world.may(g.token, pull.base, "write", "pull_requests"):
            raise ApiError(403, "Must have admin rights to Repository.")
        pull.title, pull.body = wanted.get("title", pull.title), wanted.get("body", pull.body)
        if wanted.get("state") == "closed" and pull.state == "open":
            pull.state, pull.closed_at = "closed", self._world.now
            self._world.on_pull(pull, "closed", g.token.user)
        elif wanted.get("state") == "open" and pull.merged_at is None:
            pull.state, pull.closed_at = "open", None
            self._world.on_pull(pull, "reopened", g.token.user)
        pull.updated_at = self._world.now
        return jsonify(self._whole(pull))

    def is_merged(self, owner: str, name: str, number: int) -> tuple[str, int]:
        if self._pull(owner, name, number).merged_at is None:
            raise ApiError(404, "Not Found")
        return "", 204

    def merge(self, owner: str, name: str, number: int) -> Response:
        self._access.write(owner, name, "pull_requests")
        pull, wanted = self._pull(owner, name, number), request.get_json(silent=True) or {}
        if pull.state != "open":
            raise ApiError(405, "Pull Request is not mergeable")
        if self._bodies.is_blocked(pull):
            raise ApiError(405, "Repository rule violations found\n\nChanges were requested.\n\n")
        if wanted.get("sha", pull.head_sha) != pull.head_sha:
            raise ApiError(409, "Head branch was modified. Review and try the merge again.")
        sha = self._merged(pull, wanted.get("merge_method", "merge"))
        pull.state, pull.merge_sha, pull.merged_by = "closed", sha, g.token.user
        pull.merged_at = pull.closed_at = pull.updated_at = self._world.now
        before = pull.base.git.branch(pull.base_branch)
        pull.base.git.update_ref(f"refs/heads/{pull.base_branch}", sha)
        self._world.pushed(pull.base, f"refs/heads/{pull.base_branch}", before, sha, g.token.user)
        self._world.on_pull(pull, "closed", g.token.user)
        return jsonify(sha=sha, merged=True, message="Pull Request successfully merged")

    def files(self, owner: str, name: str, number: int) -> Response:
        pull = self._pull(owner, name, number)
        return page_of(self._changes(pull),
                       lambda change: self._bodies.file(pull.base, pull.head_sha, change))

    def reviews(self, owner: str, name: str, number: int) -> Response:
        pull = self._pull(owner, name, number)
        return page_of(pull.reviews, lambda review: self._bodies.review(pull, review))

    def commits(self, owner: str, name: str, number: int) -> Response:
        pull = self._pull(owner, name, number)
        return page_of(pull.base.git.between(pull.base_sha, pull.head_sha),
                       lambda sha: self._bodies.commit(pull.base, sha))

    def merge_upstream(self, owner: str, name: str) -> Response:
        fork, branch = self._access.write(owner, name), str(body().get("branch"))
        if fork.parent is None:
            raise ApiError(422, "This repository is not a fork.")
        ours, theirs = fork.git.branch(branch), fork.parent.git.branch(branch)
        if ours is None or theirs is None:
            raise ApiError(404, "Branch not found")
        base = f"{fork.parent.owner}:{branch}"
        merged = fork.git.merge_base(ours, theirs)
        if merged == theirs:
            return jsonify(message=f"This branch is not behind the upstream {base}.",
                           merge_type="none", base_branch=base)
        if merged != ours:
            raise ApiError(409, "There are merge conflicts")
        fork.git.update_ref(f"refs/heads/{branch}", theirs)
        self._world.pushed(fork, f"refs/heads/{branch}", ours, theirs, g.token.user)
        return jsonify(message=f"Successfully fetched and fast-forwarded from upstream {base}.",
                       merge_type="fast-forward", base_branch=base)

    # --- parts ----------------------------------------------------------------------------------

    def _pull(self, owner: str, name: str, number: int) -> Pull:
        found = self._access.read(owner, name, "pull_requests")
        for pull in self._world.pulls_of(found):
            if pull.number == number:
                return pull
        raise ApiError(404, "Not Found")

    def _head(self, base: Repository, text: str, name: str | None) -> tuple[Repository, str]:
        owner, _, branch = text.rpartition(":")
        found = self._world.in_network(base, owner or base.owner, name)
        if found is None:
            raise _invalid("head")
        return found, branch

    def _both(self, base: Repository, base_branch: str, head: Repository,
              branch: str) -> tuple[str, str]:
        shas = head.git.branch(branch), base.git.branch(base_branch)
        for sha, what in zip(shas, ("head", "base")):
            if sha is None:
                raise _invalid(what)
        head_sha, base_sha = shas
        assert head_sha and base_sha
        if base.git.merge_base(base_sha, head_sha) == head_sha:
            raise ApiError(422, "Validation Failed", [{
                "resource": "PullRequest", "code": "custom",
                "message": f"No commits between {base.owner}:{base_branch} and "
                           f"{head.owner}:{branch}"}])
        return head_sha, base_sha

    def _check_is_new(self, base: Repository, base_branch: str, head: Repository,
                      branch: str) -> None:
        for pull in self._world.pulls_of(base):
            if (pull.state, pull.base_branch, pull.head, pull.head_branch) == (
                    "open", base_branch, head, branch):
                raise ApiError(422, "Validation Failed", [{
                    "resource": "PullRequest", "code": "custom",
                    "message": f"A pull request already exists for {head.owner}:{branch}."}])

    def _whole(self, pull: Pull) -> dict[str, Any]:
        mergeable = None
        if pull.state == "open" and pull.looks <= 0:
            mergeable = self._try_merge(pull)
        pull.looks -= 1
        return self._bodies.pull(pull, mergeable, self._changes(pull),
                                 pull.base.git.count(pull.base_sha, pull.head_sha))

    def _try_merge(self, pull: Pull) -> bool:
        """Whether it merges; GitHub shows the commit of the try, merged or not."""
        git = pull.base.git
        tree = git.merge_tree(pull.base_sha, pull.head_sha)
        if tree:
            person = {"name": "GitHub", "email": "noreply@github.com",
                      "date": moment(pull.updated_at)}
            pull.merge_sha = git.write_commit(tree, [pull.base_sha, pull.head_sha], "Try", person,
                                              person)
        return tree is not None

    def _changes(self, pull: Pull) -> list[Any]:
        git = pull.base.git
        since = git.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
        return git.changes(since, pull.head_sha)

    def _merged(self, pull: Pull, method: str) -> str:
        git = pull.base.git
        base = git.branch(pull.base_branch) or pull.base_sha
        person = {"name": g.token.user.login, "email": g.token.user.email,
                  "date": moment(self._world.now)}
        tree = git.merge_tree(base, pull.head_sha)
        if tree is None:
            raise ApiError(405, "Pull Request is not mergeable")
        if method == "rebase":
            return self._rebased(git, base, pull.head_sha, person)
        if method == "squash":
            return git.write_commit(tree, [base], f"{pull.title} (#{pull.number})", person, person)
        title = f"Merge pull request #{pull.number} from {pull.head.owner}/{pull.head_branch}"
        return git.write_commit(tree, [base, pull.head_sha], title, person, person)

    def _rebased(self, git: GitRepository, base: str, head: str,
                 committer: dict[str, str]) -> str:
        """Each commit again on top of the base, with its author and message."""
        for sha in git.between(base, head):
            info = git.commit(sha)
            tree = git.reapply(base, sha)
            if tree is None:
                raise ApiError(405, "This branch can't be rebased")
            base = git.write_commit(tree, [base], info.message, info.author, committer)
        return base


def _invalid(field: str) -> ApiError:
    return ApiError(422, "Validation Failed",
                    [{"resource": "PullRequest", "field": field, "code": "invalid"}])
