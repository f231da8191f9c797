"""GitHub's REST API in our words: identity, repositories, commits, pull requests."""
from __future__ import annotations

import base64
import contextlib
import json
import logging
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Callable, ContextManager, Mapping, Sequence, TypeVar
from urllib.parse import quote

import requests
from github import Auth, Github, GithubException

from registry import github_records as records
from registry.config import Secret, Settings
from registry.errors import InvalidInputError, RegistryError
from registry.github_errors import (
    SSO,
    Action,
    Code,
    GitHubError,
    Refusal,
    error_of,
    made,
    sso_link,
)
from registry.github_parts import UNCHANGED, Answer, Parts
from registry.github_records import (
    Author,
    Head,
    Identity,
    PullInfo,
    RepositoryInfo,
)
from registry.github_transport import MOVED_TO, Connection
from registry.lock import BusyError
from registry.redaction import redacted
from runner.sentence import Sentence

API_VERSION = "2022-11-28"  # the next one takes away fields that are read here
USER_AGENT = "PAIShare"
TIMEOUT_S, HURRIED_S = 10.0, 5.0
SECONDS_BETWEEN_WRITES = 0.25
NEXT_TURN = timedelta(minutes=1)  # where another request of the user does not end
PER_PAGE, MAX_PAGES = 100, 100
MOVED = (301, 302, 307, 308)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/"  # `_`: managed users of an enterprise
                   r"(?!\.{1,2}$)(?![^/]*\.git$)[A-Za-z0-9._-]{1,100}", re.I)
_T = TypeVar("_T")
_SHA = re.compile(r"[0-9a-f]{40}")
_BY_ID = re.compile(r"/repositories/([0-9]{1,18})$")


def check_python() -> None:
    """Raises RegistryError where Python leaves out `assert`, with which PyGithub checks hosts."""
    if not __debug__:
        raise RegistryError(Sentence(
            "PAIShare does not run under `python -O`: checks that keep tokens of GitHub safe are "
            "left out there. Start it without -O and without PYTHONOPTIMIZE."))


def check_name(name: str) -> str:
    """`owner/name` as it may be sent; raises InvalidInputError for anything else."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError(Sentence(
            "`{name}` is no repository of GitHub. Write owner/name, such as microsoft/pai.",
            name=redacted(name)[:200]))
    return name


class GitHubApi:
    """GitHub as one user's token sees it; for one job in one thread, then closed.

    `token` None asks as nobody. With `is_hurried` an answer that takes more than 5 s is an error,
    as on a page that somebody waits for. Every method raises GitHubError, and nothing else, for
    what GitHub refuses or does not answer. No method waits for a limit to pass. `met` is the last
    refusal that is about the token as a whole: TOKEN_DEAD or LATER. `asks_sso`: an organization
    wants the token authorized, at `sso_url` where GitHub said it. `turn` is held during each
    request; where it raises BusyError nothing is sent, and the error is LATER. `unchanged` counts
    the requests of which GitHub said that, and which it does not count.
    """

    def __init__(self, settings: Settings, token: Secret | None, *, is_hurried: bool = False,
                 now: Callable[[], datetime] | None = None,
                 turn: Callable[[], ContextManager[None]] = contextlib.nullcontext) -> None:
        check_python()
        self._turn = turn
        logging.getLogger("github").setLevel(logging.INFO)  # DEBUG would log private texts
        self.met: GitHubError | None = None
        self.unchanged = 0
        self.asks_sso = False
        self.sso_url: str | None = None
        self._url, self._token, self._now = settings.github_url, token, now or _utc_now
        self._github = Github(
            auth=Auth.Token(token.reveal()) if token else None, base_url=settings.github_api_url,
            user_agent=USER_AGENT, api_version=API_VERSION, per_page=PER_PAGE, retry=None,
            seconds_between_requests=0, seconds_between_writes=SECONDS_BETWEEN_WRITES)
        self._connection = Connection(
            settings.github_api_url, is_hurried=is_hurried,
            timeout_s=HURRIED_S if is_hurried else TIMEOUT_S)

    def __enter__(self) -> GitHubApi:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._github.close()

    @property
    def requests(self) -> int:
        """How many were sent, with those that were tried again."""
        return self._connection.sent

    @property
    def remaining(self) -> int | None:
        """Requests left in this hour, as the last answer said; None where none said it."""
        left = self._github.requester.rate_limiting[0]
        return None if left < 0 else left

    @property
    def resets_at(self) -> datetime | None:
        """When that hour is over, in UTC; None where no answer said it."""
        at = self._github.requester.rate_limiting_resettime
        return datetime.fromtimestamp(at, UTC).replace(tzinfo=None) if at else None

    # --- who and what ---------------------------------------------------------------------------

    def whoami(self) -> Identity:
        """Whose token this is. Raises GitHubError TOKEN_DEAD for one that is not accepted."""
        answer = self._ask("GET", "/user")
        return self._read(records.identity, answer.body, answer.headers,
                          self._token.reveal() if self._token else "")

    def repository(self, key: int | str) -> RepositoryInfo:
        """By its number or its owner/name; an old name leads to the repository of now."""
        found = self._repository(key, None)
        assert found  # without an ETag nothing is unchanged
        return found

    def repository_since(self, id_: int, etag: str | None) -> RepositoryInfo | None:
        """The same; None where nothing changed since the answer that had this ETag."""
        return self._repository(id_, etag)

    def repositories(self) -> list[RepositoryInfo]:
        """Everything that the token's user was given a right on; public ones of others are not."""
        return [self._read(records.repository, body) for body in self._all("/user/repos")]

    def _repository(self, key: int | str, etag: str | None) -> RepositoryInfo | None:
        path = f"/repositories/{key}" if isinstance(key, int) else f"/repos/{check_name(key)}"
        answer = self._ask("GET", path, etag=etag, may_be_moved=isinstance(key, str))
        if answer.is_unchanged:
            return None
        if answer.status in MOVED:
            return self._repository(self._read(_id_in, answer.headers.get(MOVED_TO, "")), None)
        return self._read(records.repository, answer.body, answer.headers)

    def fork(self, upstream: RepositoryInfo) -> RepositoryInfo:
        """The user's own fork of it, made now if there is none; it fills up a little later.

        Its name is what GitHub says: it may differ from the upstream's.
        """
        answer = self._write("POST", f"/repositories/{upstream.id}/forks", Action.FORK,
                             {"default_branch_only": True}, "id")
        fork = self._read(records.repository, answer.body)
        if upstream.id not in (fork.parent_id, fork.network_id):
            raise made(Code.UNKNOWN, self._url, self._now(),
                       detail=Sentence(
                           "{name} is no fork of {upstream}", name=fork.full_name,
                           upstream=upstream.full_name))
        return fork

    # --- branches and commits -------------------------------------------------------------------

    def head(self, repo_id: int, branch: str) -> Head | None:
        """The branch's newest commit with its tree; None: no such branch, or nothing in it yet."""
        answer = self._look(f"/repositories/{repo_id}/branches/{_quoted(branch)}")
        if answer is None:
            return None
        return self._read(records.head, answer.body)

    def ref(self, repo_id: int, branch: str) -> str | None:
        """The branch's newest commit; None: no such branch, or nothing in it yet."""
        answer = self._look(f"/repositories/{repo_id}/git/ref/heads/{_quoted(branch)}")
        return None if answer is None else self._at(answer.body, "object", "sha")

    def tree_of(self, repo_id: int, commit: str) -> str:
        answer = self._ask("GET", f"/repositories/{repo_id}/git/commits/{_sha(commit)}")
        return self._at(answer.body, "tree", "sha")

    def write_tree(self, repo_id: int, base_tree: str, files: Mapping[str, str | None]) -> str:
        """A tree like `base_tree` with these files; a text of None takes a file out."""
        return self._write("POST", f"/repositories/{repo_id}/git/trees", Action.WRITE, {
            "base_tree": _sha(base_tree),
            "tree": [_tree_item(path, text) for path, text in files.items()]}, "sha").body["sha"]

    def write_commit(self, repo_id: int, tree: str, parents: Sequence[str], message: str,
                     author: Author) -> str:
        """A commit on no branch yet; the same each time where the author says when it was."""
        who = {"name": author.name, "email": author.email}
        if author.at:
            who["date"] = f"{author.at.replace(microsecond=0).isoformat()}Z"
        return self._write("POST", f"/repositories/{repo_id}/git/commits", Action.WRITE, {
            "message": message, "tree": _sha(tree), "parents": list(map(_sha, parents)),
            "author": who, "committer": who}, "sha").body["sha"]

    def file(self, repo_id: int, commit: str, path: str) -> str | None:
        """The text of a file as of a commit; None: there is none, or it is no text."""
        answer = self._look(f"/repositories/{repo_id}/contents/{_quoted(path)}",
                            {"ref": _sha(commit)})
        body = answer.body if answer and isinstance(answer.body, dict) else {}
        if body.get("type") != "file" or body.get("encoding") != "base64":
            return None
        return self._read(base64.b64decode, body.get("content")).decode("utf-8", "replace")

    def merge_base(self, repo_id: int, base: str, head: str) -> str:
        """The commit from which two branches went apart; that of a fork is `user:branch`."""
        answer = self._ask("GET", f"/repositories/{repo_id}/compare/{_quoted(base)}..."
                                  f"{_quoted(head)}")
        return self._at(answer.body, "merge_base_commit", "sha")

    def create_branch(self, repo_id: int, branch: str, sha: str) -> None:
        """Raises GitHubError EXISTS where a branch of this name is there.

        WORKFLOW_SCOPE: GitHub may also say that as if the repository were not there.
        """
        try:
            self._write("POST", f"/repositories/{repo_id}/git/refs", Action.WRITE,
                        {"ref": f"refs/heads/{branch}", "sha": _sha(sha)}, "object")
        except GitHubError as error:
            if error.code is Code.GONE and self._has_commit(repo_id, sha):
                raise made(Code.WORKFLOW_SCOPE, self._url, detail=error.detail) from error
            raise

    def move_branch(self, repo_id: int, branch: str, sha: str) -> None:
        """Forward only, never by force; raises GitHubError NOT_FAST_FORWARD."""
        self._write("PATCH", f"/repositories/{repo_id}/git/refs/heads/{_quoted(branch)}",
                    Action.WRITE, {"sha": _sha(sha), "force": False}, "object")

    def _has_commit(self, repo_id: int, sha: str) -> bool:
        return self._look(f"/repositories/{repo_id}/git/commits/{_sha(sha)}") is not None

    # --- pull requests --------------------------------------------------------------------------

    def find_pulls(self, upstream_id: int, head: str, base: str | None = None) -> list[PullInfo]:
        """Every pull request from `user:branch`, open or not, newest first."""
        return [self._read(records.pull, body) for body in self._all(
            f"/repositories/{upstream_id}/pulls",
            {"state": "all", "head": head} | ({"base": base} if base else {}))]

    def open_pull(self, upstream_id: int, *, head: str, base: str, title: str, body: str,
                  may_maintainers_modify: bool = True) -> PullInfo:
        """Raises GitHubError PULL_EXISTS, NO_COMMITS, or FINISH_ON_GITHUB for a narrow token."""
        return self._read(records.pull, self._write(
            "POST", f"/repositories/{upstream_id}/pulls", Action.PULL,
            {"head": head, "base": base, "title": title, "body": body,
             "maintainer_can_modify": may_maintainers_modify}, "number").body)

    def change_pull(self, upstream_id: int, number: int, *, title: str, body: str) -> None:
        """Another title and text for it."""
        self._write("PATCH", f"/repositories/{upstream_id}/pulls/{number:d}", Action.WRITE,
                    {"title": title, "body": body}, "number")

    def pull(self, upstream_id: int, number: int, known: PullInfo | None = None) -> PullInfo:
        """With its checks and reviews; four requests, and what is as `known` costs nothing.

        Whether it can be merged GitHub finds out when it is asked, so until then it is asked.
        """
        path, etags = f"/repositories/{upstream_id}", dict(known.etags if known else {})
        if known is None or known.is_mergeable is None:
            etags.pop("pull", None)
        answer = self._ask("GET", f"{path}/pulls/{number:d}", etag=etags.pop("pull", None))
        found = known if known and answer.is_unchanged else self._read(
            records.pull, answer.body)
        parts = Parts(self._allowed, known, etags)
        etag = answer.headers.get("etag")
        return replace(
            found, checks=self._read(parts.checks, path, found.head_sha and _sha(found.head_sha)),
            reviews=self._read(parts.reviews, f"{path}/pulls/{number:d}/reviews"),
            etags={**parts.seen, **({"pull": etag} if etag else {})})

    def create_hook(self, repo_id: int, url: str, secret: Secret,
                    events: Sequence[str] = ("push",)) -> int:
        """Have GitHub tell `url` of pushes; gives the hook's number."""
        return self._write("POST", f"/repositories/{repo_id}/hooks", Action.WRITE, {
            "name": "web", "active": True, "events": list(events),
            "config": {"url": url, "content_type": "json", "secret": secret.reveal()}},
            "id").body["id"]

    # --- one request ----------------------------------------------------------------------------

    def _all(self, path: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Page by page, by number: no address out of an answer is ever followed."""
        found: list[Any] = []
        for page in range(1, MAX_PAGES + 1):
            answer = self._ask("GET", path, parameters={
                **(parameters or {}), "per_page": PER_PAGE, "page": page})
            found += self._read(list, answer.body)
            if 'rel="next"' not in answer.headers.get("link", ""):
                break
        return found

    def _look(self, path: str, parameters: Mapping[str, Any] | None = None) -> Answer | None:
        """None where there is nothing, as shortly after a write, or in an empty repository."""
        try:
            return self._ask("GET", path, parameters=parameters)
        except GitHubError as error:
            if error.code in (Code.GONE, Code.EMPTY):
                return None
            raise

    def _allowed(self, path: str, etag: str | None = None) -> Answer | None:
        """What is there; None where the token may not read it."""
        try:
            return self._ask("GET", path, parameters={"per_page": PER_PAGE}, etag=etag)
        except GitHubError as error:
            if error.code in (Code.GONE, Code.FORBIDDEN):
                return None
            raise

    def _write(self, verb: str, path: str, action: Action, body: Any, needed: str) -> Answer:
        """A write; an answer without what it must hold is no success, whatever its status."""
        answer = self._ask(verb, path, action=action, body=body)
        if not isinstance(answer.body, dict) or needed not in answer.body:
            raise made(Code.UNKNOWN, self._url, self._now(),
                       detail=Sentence(
                           "{status} without {needed}", status=answer.status, needed=needed))
        return answer

    def _ask(self, verb: str, path: str, *, action: Action = Action.READ,
             parameters: Mapping[str, Any] | None = None, body: Any = None,
             etag: str | None = None, may_be_moved: bool = False) -> Answer:
        try:
            with self._turn():
                status, headers, text = self._github.requester.requestJson(
                    verb, path, dict(parameters or {}), {"If-None-Match": etag} if etag else {},
                    body, self._connection)  # type: ignore[arg-type]
        except BusyError:
            raise made(Code.LATER, self._url, self._now() + NEXT_TURN) from None
        except (requests.RequestException, GithubException, OSError, RuntimeError) as error:
            raise self._unanswered(action, error) from None  # its chain holds the whole request
        answer = Answer(status=status, headers=headers, body=_json(text))
        self.unchanged += status == UNCHANGED
        if SSO in headers:
            self.asks_sso, self.sso_url = True, sso_link(headers, self._url) or self.sso_url
        if status >= 400:
            refused = error_of(Refusal(status=status, headers=headers, body=answer.body,
                                       action=action, url=self._url, now=self._now()), self._hide)
            self.met = refused if refused.code in (Code.TOKEN_DEAD, Code.LATER) else self.met
            raise refused
        if status >= 300 and not (etag and status == UNCHANGED) and not (
                may_be_moved and status in MOVED):
            raise self._strange(f"{status}, which leads elsewhere", action)
        return answer

    def _unanswered(self, action: Action, error: Exception) -> GitHubError:
        """A read can be tried again at once; of a write nobody knows whether it was done."""
        was_sent = not isinstance(error, requests.ConnectTimeout)
        code = Code.UNKNOWN if was_sent and action is not Action.READ else Code.UNREACHABLE
        return made(code, self._url, self._now(), detail=self._hide(str(error))[:1000])

    def _read(self, function: Callable[..., _T], *parts: Any) -> _T:
        """What an answer holds, in our words; one of another form is not from GitHub's API."""
        try:
            return function(*parts)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._strange(Sentence("no {error}", error=error)) from None

    def _at(self, body: Any, outer: str, inner: str) -> str:
        return self._read(lambda: str(body[outer][inner]))

    def _strange(self, what: str, action: Action = Action.READ) -> GitHubError:
        code = Code.UNREACHABLE if action is Action.READ else Code.UNKNOWN
        return made(code, self._url, self._now(), detail=Sentence(
            "an answer with {what}", what=self._hide(what)))

    def _hide(self, text: str) -> str:
        return redacted(text, *([self._token] if self._token else []))


def _tree_item(path: str, text: str | None) -> dict[str, Any]:
    item: dict[str, Any] = {"path": path, "mode": "100644", "type": "blob"}
    return item | ({"sha": None} if text is None else {"content": text})


def _quoted(path: str) -> str:
    """For an address; no `..` in it may lead out of the repository."""
    if not {".", "..", ""}.isdisjoint(path.split("/")):
        raise InvalidInputError(Sentence(
            "`{path}` is no name of a branch or a file.", path=path[:200]))
    return quote(path, safe="/")


def _id_in(address: str) -> int:
    found = _BY_ID.search(address)
    if found is None:
        raise ValueError("number of a repository")
    return int(found[1])


def _sha(text: str) -> str:
    if not _SHA.fullmatch(text):
        raise InvalidInputError(Sentence("`{text}` is no commit id.", text=text[:100]))
    return text


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
