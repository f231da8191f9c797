"""The JSON that GitHub's REST API answers with, of what the stand-in knows."""
from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from tests.fakes.github.records import Check, Hook, Pull, Repository, Review, Status, Token, User
from tests.fakes.github.repository import CommitInfo, FileChange, TreeEntry
from tests.fakes.github.world import World

PREFIX = "/api/v3"
_USER_LINKS = {
    "events_url": "/events{/privacy}", "followers_url": "/followers",
    "following_url": "/following{/other_user}", "gists_url": "/gists{/gist_id}",
    "organizations_url": "/orgs", "received_events_url": "/received_events",
    "repos_url": "/repos", "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions"}
_REPOSITORY_LINKS = {
    "archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}", "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}", "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}", "contributors_url": "/contributors",
    "deployments_url": "/deployments", "downloads_url": "/downloads", "events_url": "/events",
    "forks_url": "/forks", "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}", "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}",
    "languages_url": "/languages", "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}", "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}", "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}", "subscribers_url": "/subscribers",
    "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}"}


class Bodies:
    """Shapes for one server; `origin` is its scheme, host and port."""

    def __init__(self, world: World, origin: str) -> None:
        self._world, self._origin = world, origin
        self._api = origin + PREFIX

    # --- users ----------------------------------------------------------------------------------

    def user(self, user: User) -> dict[str, Any]:
        url = f"{self._api}/users/{user.login}"
        return {
            "login": user.login, "id": user.id, "node_id": f"U_{user.id}", "url": url,
            "avatar_url": f"{self._origin}/avatars/{user.id}", "gravatar_id": "",
            "html_url": f"{self._origin}/{user.login}", "type": user.type, "site_admin": False,
            "user_view_type": "public",
            **{key: f"{url}{tail}" for key, tail in _USER_LINKS.items()}}

    def public_user(self, user: User) -> dict[str, Any]:
        own = [each for each in self._world.live() if each.owner == user.login]
        return {
            **self.user(user), "name": user.login.title(), "company": None, "blog": "",
            "location": None, "email": None, "hireable": None, "bio": None,
            "twitter_username": None, "public_gists": 0, "followers": 0, "following": 0,
            "public_repos": sum(not each.is_private for each in own),
            "created_at": moment(user.created_at), "updated_at": moment(user.created_at)}

    def private_user(self, user: User) -> dict[str, Any]:
        own = [each for each in self._world.live() if each.owner == user.login]
        private = sum(each.is_private for each in own)
        return {
            **self.public_user(user), "email": user.email, "private_gists": 0,
            "total_private_repos": private, "owned_private_repos": private, "disk_usage": 0,
            "collaborators": 0, "two_factor_authentication": True}

    # --- repositories ---------------------------------------------------------------------------

    def minimal_repository(self, repository: Repository) -> dict[str, Any]:
        url = f"{self._api}/repos/{repository.full_name}"
        return {
            "id": repository.id, "node_id": f"R_{repository.id}", "name": repository.name,
            "full_name": repository.full_name, "private": repository.is_private,
            "owner": self.user(self._world.users[repository.owner.lower()]),
            "html_url": f"{self._origin}/{repository.full_name}", "description": None,
            "fork": repository.parent is not None, "url": url,
            **{key: f"{url}{tail}" for key, tail in _REPOSITORY_LINKS.items()}}

    def repository(self, repository: Repository, token: Token | None) -> dict[str, Any]:
        """As in lists: with what the asking person may do there."""
        role = self._world.role(token.user if token else None, repository)
        return {**self.inner_repository(repository), "permissions": {
            "admin": role == "admin", "maintain": role == "admin",
            "push": role in ("admin", "write"), "triage": role in ("admin", "write"),
            "pull": role != "none"}}

    def inner_repository(self, repository: Repository) -> dict[str, Any]:
        """As inside of pulls, and of a fork its parent."""
        path = repository.full_name
        forks = sum(each.parent is repository for each in self._world.live())
        return {
            **self.minimal_repository(repository),
            "created_at": moment(repository.created_at),
            "updated_at": moment(repository.pushed_at), "pushed_at": moment(repository.pushed_at),
            "git_url": f"{self._origin.replace('http', 'git', 1)}/{path}.git",
            "ssh_url": f"git@{self._origin.partition('://')[2]}:{path}.git",
            "clone_url": f"{self._origin}/{path}.git", "svn_url": f"{self._origin}/{path}",
            "homepage": None, "size": 1, "stargazers_count": 0, "watchers_count": 0,
            "language": None, "has_issues": True, "has_projects": True, "has_downloads": True,
            "has_wiki": True, "has_pages": False, "has_discussions": False,
            "forks_count": forks, "mirror_url": None, "archived": repository.is_archived,
            "disabled": False, "open_issues_count": 0, "license": None,
            "allow_forking": repository.allows_forks, "is_template": False,
            "web_commit_signoff_required": False, "topics": [],
            "visibility": repository.visibility,
            "forks": forks, "open_issues": 0, "watchers": 0,
            "default_branch": repository.default_branch}

    def full_repository(self, repository: Repository, token: Token | None) -> dict[str, Any]:
        found = {**self.repository(repository, token), "network_count": 0, "subscribers_count": 0}
        if repository.parent and repository.source and not repository.parent.is_deleted:
            found["parent"] = self.inner_repository(repository.parent)
            found["source"] = self.inner_repository(repository.source)
        return found

    def hook(self, repository: Repository, hook: Hook) -> dict[str, Any]:
        url = f"{self._api}/repos/{repository.full_name}/hooks/{hook.id}"
        return {
            "type": "Repository", "id": hook.id, "name": "web", "active": True,
            "events": list(hook.events), "url": url, "test_url": f"{url}/test",
            "ping_url": f"{url}/pings", "deliveries_url": f"{url}/deliveries",
            "config": {"url": hook.url, "content_type": "json", "insecure_ssl": "0",
                       "secret": "********"},
            "created_at": moment(hook.created_at), "updated_at": moment(hook.created_at),
            "last_response": {"code": None, "status": "unused", "message": None}}

    # --- Git ------------------------------------------------------------------------------------

    def short_branch(self, repository: Repository, name: str, sha: str) -> dict[str, Any]:
        return {"name": name, "protected": name in repository.protected, "commit": {
            "sha": sha, "url": f"{self._url(repository)}/commits/{sha}"}}

    def branch(self, repository: Repository, name: str, sha: str) -> dict[str, Any]:
        url = f"{self._url(repository)}/branches/{name}"
        return {
            "name": name, "commit": self.commit(repository, sha),
            "_links": {"self": url,
                       "html": f"{self._origin}/{repository.full_name}/tree/{name}"},
            "protected": name in repository.protected, "protection_url": f"{url}/protection",
            "protection": {"enabled": name in repository.protected,
                           "required_status_checks": {"enforcement_level": "off", "contexts": [],
                                                      "checks": []}}}

    def tag(self, repository: Repository, name: str, sha: str) -> dict[str, Any]:
        url = self._url(repository)
        return {
            "name": name, "node_id": f"REF_{name}",
            "zipball_url": f"{url}/zipball/refs/tags/{name}",
            "tarball_url": f"{url}/tarball/refs/tags/{name}",
            "commit": {"sha": sha, "url": f"{url}/commits/{sha}"}}

    def commit(self, repository: Repository, sha: str) -> dict[str, Any]:
        """As in lists; `commit_with_files` is one alone."""
        info = repository.git.commit(sha)
        url, html = self._url(repository), f"{self._origin}/{repository.full_name}"
        return {
            "sha": sha, "node_id": f"C_{sha}", "url": f"{url}/commits/{sha}",
            "html_url": f"{html}/commit/{sha}", "comments_url": f"{url}/commits/{sha}/comments",
            "author": self._person(info.author), "committer": self._person(info.committer),
            "commit": {
                "author": info.author, "committer": info.committer, "message": info.message,
                "tree": {"sha": info.tree, "url": f"{url}/git/trees/{info.tree}"},
                "url": f"{url}/git/commits/{sha}", "comment_count": 0,
                "verification": _UNSIGNED},
            "parents": [{"sha": parent, "url": f"{url}/commits/{parent}",
                         "html_url": f"{html}/commit/{parent}"} for parent in info.parents]}

    def commit_with_files(self, repository: Repository, sha: str,
                          files: list[FileChange]) -> dict[str, Any]:
        additions, deletions = (sum(getattr(each, name) for each in files)
                                for name in ("additions", "deletions"))
        return {
            **self.commit(repository, sha),
            "stats": {"total": additions + deletions, "additions": additions,
                      "deletions": deletions},
            "files": [self.file(repository, sha, each) for each in files]}

    def file(self, repository: Repository, sha: str, change: FileChange) -> dict[str, Any]:
        html = f"{self._origin}/{repository.full_name}"
        found = {
            "sha": change.sha, "filename": change.path, "status": change.status,
            "additions": change.additions, "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "blob_url": f"{html}/blob/{sha}/{change.path}",
            "raw_url": f"{html}/raw/{sha}/{change.path}",
            "contents_url": f"{self._url(repository)}/contents/{change.path}?ref={sha}",
            "patch": change.patch}
        return {**found, "previous_filename": change.before} if change.before else found

    def git_commit(self, repository: Repository, info: CommitInfo) -> dict[str, Any]:
        url, html = self._url(repository), f"{self._origin}/{repository.full_name}"
        return {
            "sha": info.sha, "node_id": f"C_{info.sha}", "url": f"{url}/git/commits/{info.sha}",
            "html_url": f"{html}/commit/{info.sha}", "author": info.author,
            "committer": info.committer, "message": info.message,
            "tree": {"sha": info.tree, "url": f"{url}/git/trees/{info.tree}"},
            "parents": [{"sha": parent, "url": f"{url}/git/commits/{parent}",
                         "html_url": f"{html}/commit/{parent}"} for parent in info.parents],
            "verification": _UNSIGNED}

    def tree(self, repository: Repository, sha: str, entries: list[TreeEntry], *,
             is_truncated: bool = False) -> dict[str, Any]:
        url = self._url(repository)
        return {"sha": sha, "url": f"{url}/git/trees/{sha}", "truncated": is_truncated,
                "tree": [self._tree_entry(url, entry) for entry in entries]}

    def _tree_entry(self, url: str, entry: TreeEntry) -> dict[str, Any]:
        kind = {"blob": "blobs", "tree": "trees", "commit": "commits"}[entry.type]
        found = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha,
                 "url": f"{url}/git/{kind}/{entry.sha}"}
        return found if entry.size is None else {**found, "size": entry.size}

    def ref(self, repository: Repository, name: str, sha: str) -> dict[str, Any]:
        url = self._url(repository)
        return {"ref": name, "node_id": f"REF_{name}", "url": f"{url}/git/{name}",
                "object": {"type": "commit", "sha": sha, "url": f"{url}/git/commits/{sha}"}}

    def blob(self, repository: Repository, sha: str, content: bytes) -> dict[str, Any]:
        return {"sha": sha, "node_id": f"B_{sha}", "size": len(content), "encoding": "base64",
                "url": f"{self._url(repository)}/git/blobs/{sha}",
                "content": base64.encodebytes(content).decode()}

    def content(self, repository: Repository, ref: str, entry: TreeEntry,
                content: bytes | None) -> dict[str, Any]:
        """One entry of a folder; with `content`, the file itself."""
        url, html = self._url(repository), f"{self._origin}/{repository.full_name}"
        own = f"{url}/contents/{entry.path}?ref={ref}"
        git = f"{url}/git/{'trees' if entry.type == 'tree' else 'blobs'}/{entry.sha}"
        page = f"{html}/{'tree' if entry.type == 'tree' else 'blob'}/{ref}/{entry.path}"
        found = {
            "name": entry.path.rpartition("/")[2], "path": entry.path, "sha": entry.sha,
            "size": entry.size or 0, "url": own, "html_url": page, "git_url": git,
            "download_url": None if entry.type == "tree" else page.replace("/blob/", "/raw/"),
            "type": "symlink" if entry.mode == "120000" and content is None else
            {"blob": "file", "tree": "dir", "commit": "file"}[entry.type],
            "_links": {"self": own, "git": git, "html": page}}
        if content is None:
            return found
        if entry.type == "commit":
            return {**found, "type": "submodule", "submodule_git_url": None}
        is_large = len(content) > 1 << 20
        return {**found, "encoding": "none" if is_large else "base64",
                "content": "" if is_large else base64.encodebytes(content).decode()}

    # --- verdicts -------------------------------------------------------------------------------

    def combined_status(self, repository: Repository, sha: str) -> dict[str, Any]:
        newest = {each.context: each for each in repository.statuses if each.sha == sha}
        states = {each.state for each in newest.values()}
        url = f"{self._url(repository)}/commits/{sha}"
        return {
            "state": "failure" if states & {"failure", "error"} else
                     "pending" if "pending" in states or not states else "success",
            "statuses": [self._status(repository, each) for each in newest.values()], "sha": sha,
            "total_count": len(newest), "repository": self.minimal_repository(repository),
            "commit_url": url, "url": f"{url}/status"}

    def _status(self, repository: Repository, status: Status) -> dict[str, Any]:
        return {
            "url": f"{self._url(repository)}/statuses/{status.sha}",
            "avatar_url": f"{self._origin}/avatars/{status.user.id}", "id": status.id,
            "node_id": f"SC_{status.id}", "state": status.state, "context": status.context,
            "description": status.description, "target_url": status.url,
            "created_at": moment(status.at), "updated_at": moment(status.at)}

    def check(self, repository: Repository, check: Check) -> dict[str, Any]:
        url = f"{self._url(repository)}/check-runs/{check.id}"
        return {
            "id": check.id, "name": check.name, "node_id": f"CR_{check.id}", "external_id": "",
            "head_sha": check.sha, "url": url, "details_url": check.details_url,
            "html_url": f"{self._origin}/{repository.full_name}/runs/{check.id}",
            "status": "completed" if check.conclusion else "in_progress",
            "conclusion": check.conclusion, "started_at": moment(check.at),
            "completed_at": moment(check.at) if check.conclusion else None,
            "output": {"title": check.title, "summary": check.summary, "text": None,
                       "annotations_count": 0, "annotations_url": f"{url}/annotations"},
            "check_suite": {"id": check.id}, "app": None, "pull_requests": []}

    # --- pulls ----------------------------------------------------------------------------------

    def simple_pull(self, pull: Pull) -> dict[str, Any]:
        url = f"{self._url(pull.base)}/pulls/{pull.number}"
        issue = f"{self._url(pull.base)}/issues/{pull.number}"
        html = f"{self._origin}/{pull.base.full_name}/pull/{pull.number}"
        statuses = f"{self._url(pull.base)}/statuses/{pull.head_sha}"
        links = {"self": url, "html": html, "issue": issue, "comments": f"{issue}/comments",
                 "review_comments": f"{url}/comments",
                 "review_comment": f"{self._url(pull.base)}/pulls/comments{{/number}}",
                 "commits": f"{url}/commits", "statuses": statuses}
        return {
            "url": url, "id": pull.id, "node_id": f"PR_{pull.id}", "number": pull.number,
            "html_url": html, "diff_url": f"{html}.diff", "patch_url": f"{html}.patch",
            "issue_url": issue, "state": pull.state, "locked": False, "title": pull.title,
            "user": self.user(pull.user), "body": pull.body,
            "created_at": moment(pull.created_at), "updated_at": moment(pull.updated_at),
            "closed_at": _moment_or_none(pull.closed_at),
            "merged_at": _moment_or_none(pull.merged_at), "merge_commit_sha": pull.merge_sha,
            "assignee": None, "assignees": [], "requested_reviewers": [], "requested_teams": [],
            "labels": [], "milestone": None, "draft": False, "active_lock_reason": None,
            "commits_url": links["commits"], "review_comments_url": links["review_comments"],
            "review_comment_url": links["review_comment"], "comments_url": links["comments"],
            "statuses_url": statuses, "author_association": "NONE", "auto_merge": None,
            "head": self._side(pull.head, pull.head_branch, pull.head_sha),
            "base": self._side(pull.base, pull.base_branch, pull.base_sha),
            "_links": {name: {"href": href} for name, href in links.items()}}

    def pull(self, pull: Pull, mergeable: bool | None, changes: list[FileChange],
             commits: int) -> dict[str, Any]:
        state = {None: "unknown", True: self._readiness(pull), False: "dirty"}[mergeable]
        return {
            **self.simple_pull(pull), "merged": pull.merged_at is not None,
            "mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": state,
            "merged_by": self.user(pull.merged_by) if pull.merged_by else None, "comments": 0,
            "review_comments": 0, "maintainer_can_modify": pull.may_maintainers_modify,
            "commits": commits, "additions": sum(each.additions for each in changes),
            "deletions": sum(each.deletions for each in changes), "changed_files": len(changes)}

    def _readiness(self, pull: Pull) -> str:
        """Of one without conflicts: blocked by a review, unstable by a red check, or clean."""
        if self.is_blocked(pull):
            return "blocked"
        verdicts = [each.conclusion not in (None, "success", "neutral", "skipped")
                    for each in (*pull.base.checks, *pull.head.checks)
                    if each.sha == pull.head_sha]
        is_red = self.combined_status(pull.base, pull.head_sha)["state"] == "failure"
        return "unstable" if is_red or any(verdicts) else "clean"

    def is_blocked(self, pull: Pull) -> bool:
        """Whether a review asks for changes where the branch is protected."""
        newest = {each.user.login: each.state for each in pull.reviews}
        return pull.base_branch in pull.base.protected and \
            "CHANGES_REQUESTED" in newest.values()

    def review(self, pull: Pull, review: Review) -> dict[str, Any]:
        url = f"{self._url(pull.base)}/pulls/{pull.number}"
        html = f"{self._origin}/{pull.base.full_name}/pull/{pull.number}" \
               f"#pullrequestreview-{review.id}"
        return {
            "id": review.id, "node_id": f"PRR_{review.id}", "user": self.user(review.user),
            "body": review.body, "state": review.state, "html_url": html, "pull_request_url": url,
            "author_association": "MEMBER", "submitted_at": moment(review.at),
            "commit_id": review.sha,
            "_links": {"html": {"href": html}, "pull_request": {"href": url}}}

    def _side(self, repository: Repository, branch: str, sha: str) -> dict[str, Any]:
        if repository.is_deleted:
            return {"label": None, "ref": branch, "sha": sha, "user": None, "repo": None}
        owner = self._world.users[repository.owner.lower()]
        return {"label": f"{owner.login}:{branch}", "ref": branch, "sha": sha,
                "user": self.user(owner), "repo": self.inner_repository(repository)}

    # --- the rest -------------------------------------------------------------------------------

    def _url(self, repository: Repository) -> str:
        return f"{self._api}/repos/{repository.full_name}"

    def _person(self, signature: Any) -> dict[str, Any] | None:
        found = [user for user in self._world.users.values()
                 if user.email == signature["email"]
                 or signature["email"] == f"{user.id}+{user.login}@users.noreply.github.com"]
        return self.user(found[0]) if found else None


_UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None,
             "verified_at": None}


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment_or_none(at: datetime | None) -> str | None:
    return moment(at) if at else None
