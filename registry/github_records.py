"""What GitHub tells, in our words: who, which repository, which pull request. Pure."""
from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Mapping

from registry.github_errors import scopes_of

CLASSIC, FINE_GRAINED, OTHER = "classic", "fine-grained", "other"
NONE, READ, WRITE, ADMIN = "none", "read", "write", "admin"
OPEN, CLOSED = "open", "closed"
PENDING, PASSED, FAILED = "pending", "passed", "failed"
_PASSED = frozenset({"success", "neutral", "skipped"})


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Whom a token belongs to. `scopes` None: a token that has none to tell of.

    `expires_at` (UTC) None: it does not end.
    """

    login: str
    id: int
    kind: str
    scopes: tuple[str, ...] | None
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class RepositoryInfo:
    """A repository as one token sees it; an internal one counts as private.

    `level` is what the token's user may do: none, read, write or admin. `network_id` is the first
    repository of its network of forks, itself where it is no fork; None where that is not told.
    """

    id: int
    full_name: str
    default_branch: str
    is_private: bool
    is_archived: bool
    allows_forks: bool
    level: str
    is_fork: bool
    parent_id: int | None
    network_id: int | None
    etag: str | None


@dataclass(frozen=True, kw_only=True)
class Head:
    """The newest commit of a branch, and its tree."""

    commit: str
    tree: str


@dataclass(frozen=True, kw_only=True)
class Author:
    """Who a commit is by, as Git has it; `at` (UTC) None: GitHub's clock says when."""

    name: str
    email: str
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Check:
    """What one service says about a commit: pending, passed or failed."""

    name: str
    state: str
    url: str | None


@dataclass(frozen=True, kw_only=True)
class Review:
    """What one person says: APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED."""

    login: str
    state: str


@dataclass(frozen=True, kw_only=True)
class PullInfo:
    """A pull request. `is_mergeable` None: GitHub does not know yet.

    `head` is `user:branch`, None once its repository is gone. `checks` and `reviews` are empty
    where they were not asked for; None where the token may not read them. `etags` are those of the
    answers that told all this, by what each was about.
    """

    number: int
    url: str
    state: str
    is_merged: bool
    is_mergeable: bool | None
    head: str | None
    head_sha: str
    base: str
    title: str
    merged_at: datetime | None
    checks: tuple[Check, ...] | None = ()
    reviews: tuple[Review, ...] | None = ()
    body: str = ""
    etags: Mapping[str, str] = field(default_factory=dict)


def identity(body: Mapping[str, Any], headers: Mapping[str, str], token: str) -> Identity:
    """Of the answer to `GET /user`."""
    scopes = scopes_of(headers)
    return Identity(
        login=str(body["login"]), id=int(body["id"]), kind=kind_of(token, scopes is not None),
        scopes=None if scopes is None else tuple(sorted(scopes)),
        expires_at=expiry(headers.get("github-authentication-token-expiration")))


def kind_of(token: str, has_scopes: bool) -> str:
    """A prefix alone proves nothing: a classic token has scopes, a fine-grained one has none."""
    if token.startswith("github_pat_"):
        return FINE_GRAINED
    is_of_app = token.startswith(("gho_", "ghu_", "ghs_", "ghr_"))
    return CLASSIC if has_scopes and not is_of_app else OTHER


def expiry(text: str | None) -> datetime | None:
    """`2026-07-02 09:51:24 UTC` or `… +0100`, in UTC; None for none."""
    if not text:
        return None
    try:
        found = datetime.strptime(text.replace("UTC", "+0000").strip(), "%Y-%m-%d %H:%M:%S %z")
        return found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def repository(body: Mapping[str, Any], headers: Mapping[str, str] | None = None
               ) -> RepositoryInfo:
    parent, source = body.get("parent") or {}, body.get("source") or {}
    is_fork = bool(body.get("fork"))
    return RepositoryInfo(
        id=body["id"], full_name=body["full_name"],
        default_branch=body.get("default_branch") or "main",
        is_private=bool(body.get("private")) or body.get("visibility", "public") != "public",
        is_archived=bool(body.get("archived")), allows_forks=body.get("allow_forking", True),
        level=level(body.get("permissions") or {}), is_fork=is_fork, parent_id=parent.get("id"),
        network_id=source.get("id") if is_fork else body["id"],
        etag=(headers or {}).get("etag"))


def level(permissions: Mapping[str, Any]) -> str:
    """A repository that is shown without permissions can be read at least."""
    if permissions.get("admin"):
        return ADMIN
    if permissions.get("push") or permissions.get("maintain"):
        return WRITE
    return NONE if permissions.get("pull") is False else READ


def pull(body: Mapping[str, Any], checks: tuple[Check, ...] | None = (),
         reviews: tuple[Review, ...] | None = ()) -> PullInfo:
    """Everything about its head is optional: a deleted fork leaves nothing of it."""
    head = body.get("head") or {}
    return PullInfo(
        number=body["number"], url=body["html_url"], state=body["state"],
        is_merged=bool(body.get("merged_at")), is_mergeable=body.get("mergeable"),
        head=head.get("label") if head.get("repo") else None, head_sha=head.get("sha") or "",
        base=(body.get("base") or {}).get("ref") or "", title=body.get("title") or "",
        body=(body.get("body") or "").replace("\r\n", "\n"),
        merged_at=moment(body.get("merged_at")), checks=checks, reviews=reviews)


def pull_json(pull: PullInfo) -> dict[str, Any]:
    """What is kept of it."""
    return {
        "number": pull.number, "url": pull.url, "state": pull.state, "title": pull.title,
        "body": pull.body, "is_merged": pull.is_merged, "is_mergeable": pull.is_mergeable,
        "head": pull.head, "head_sha": pull.head_sha, "base": pull.base,
        "checks": None if pull.checks is None else [
            {"name": check.name, "state": check.state, "url": check.url} for check in pull.checks],
        "reviews": None if pull.reviews is None else [
            {"login": review.login, "state": review.state} for review in pull.reviews],
        "etags": dict(pull.etags)}


def pull_of(kept: Mapping[str, Any]) -> PullInfo | None:
    """The same again; None: what an older release kept, which says too little."""
    if "etags" not in kept:
        return None
    checks, reviews = kept["checks"], kept["reviews"]
    names = {each.name for each in fields(PullInfo)}
    return PullInfo(**{
        **{name: value for name, value in kept.items() if name in names}, "merged_at": None,
        "checks": None if checks is None else tuple(Check(**each) for each in checks),
        "reviews": None if reviews is None else tuple(Review(**each) for each in reviews)})


def moment(text: str | None) -> datetime | None:
    """GitHub's `2026-07-02T09:51:24Z`, in UTC."""
    if not text:
        return None
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def head(body: Mapping[str, Any]) -> Head:
    """Of the answer to `GET …/branches/NAME`."""
    return Head(commit=body["commit"]["sha"], tree=body["commit"]["commit"]["tree"]["sha"])


def checks(runs: Mapping[str, Any], statuses: Mapping[str, Any]) -> tuple[Check, ...]:
    return (*map(check_of_run, runs.get("check_runs", ())),
            *map(check_of_status, statuses.get("statuses", ())))


def check_of_run(body: Mapping[str, Any]) -> Check:
    state = PENDING if body.get("status") != "completed" else (
        PASSED if body.get("conclusion") in _PASSED else FAILED)
    return Check(name=body.get("name") or "", state=state,
                 url=body.get("details_url") or body.get("html_url"))


def check_of_status(body: Mapping[str, Any]) -> Check:
    state = {"success": PASSED, "pending": PENDING}.get(body.get("state", ""), FAILED)
    return Check(name=body.get("context") or "", state=state, url=body.get("target_url"))


def latest_reviews(bodies: list[Mapping[str, Any]]) -> tuple[Review, ...]:
    """The last word of each person; a comment takes back no verdict."""
    found: dict[str, Review] = {}
    for body in bodies:
        login = (body.get("user") or {}).get("login") or "ghost"
        if body.get("state") != "COMMENTED" or login not in found:
            found[login] = Review(login=login, state=body.get("state") or "COMMENTED")
    return tuple(found.values())
