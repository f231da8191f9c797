"""What the stand-in for GitHub keeps: people, tokens, repositories, pulls, faults, requests."""
from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Callable

from werkzeug.wrappers import Response

from tests.fakes.github.repository import GitRepository

# What one Git request gets: (its command, the right answer) → the answer.
GitAnswer = Callable[[str, Callable[[], Response]], Response]


@dataclass(kw_only=True, eq=False)
class User:
    id: int
    login: str
    created_at: datetime
    type: str = "User"

    @property
    def email(self) -> str:
        return f"{self.login}@example.org"


@dataclass(kw_only=True, eq=False)
class Organisation(User):
    """`members` are roles by login; `sso_tokens` the values of tokens that it authorised."""

    type: str = "Organization"
    members: dict[str, str] = field(default_factory=dict)
    forbids_classic: bool = False
    needs_sso: bool = False
    sso_tokens: set[str] = field(default_factory=set)


@dataclass(kw_only=True)
class Token:
    """`scopes` None: fine-grained, with `permissions` on the `repositories` (ids) alone.

    `offset` None writes the expiry as UTC, else with that offset of a time zone: GitHub has both.
    """

    value: str
    user: User
    scopes: frozenset[str] | None = frozenset()
    permissions: dict[str, str] = field(default_factory=dict)
    repositories: frozenset[int] = frozenset()
    expires_at: datetime | None = None
    offset: timedelta | None = None
    is_revoked: bool = False

    @property
    def is_classic(self) -> bool:
        return self.scopes is not None


@dataclass(kw_only=True, eq=False)
class Repository:
    """`grants` are roles by login. A fork can be read from `ready_at` on, after `looks` tries."""

    id: int
    owner: str
    name: str
    git: GitRepository
    default_branch: str
    created_at: datetime
    pushed_at: datetime
    is_private: bool = False
    is_internal: bool = False
    parent: Repository | None = None
    grants: dict[str, str] = field(default_factory=dict)
    is_archived: bool = False
    is_blocked: bool = False
    allows_forks: bool = True
    protected: set[str] = field(default_factory=set)
    rules: list[str] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    ready_at: datetime | None = None
    looks: int = 0
    is_deleted: bool = False
    git_answer: GitAnswer = lambda command, real: real()

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def visibility(self) -> str:
        return "internal" if self.is_internal else "private" if self.is_private else "public"

    @property
    def source(self) -> Repository | None:
        """The first repository of the fork network; None for one that is no fork."""
        found = self.parent
        while found and found.parent:
            found = found.parent
        return found


@dataclass(kw_only=True, eq=False)
class Pull:
    """`looks`: how often it is still shown before its mergeability is known."""

    id: int
    number: int
    base: Repository
    base_branch: str
    head: Repository
    head_branch: str
    head_sha: str
    base_sha: str
    title: str
    body: str | None
    user: User
    created_at: datetime
    updated_at: datetime
    may_maintainers_modify: bool
    looks: int = 1
    state: str = "open"
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_sha: str | None = None
    reviews: list[Review] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Review:
    """`state`: APPROVED, CHANGES_REQUESTED or COMMENTED."""

    id: int
    user: User
    state: str
    body: str
    sha: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a service says of a commit: success, failure, error or pending."""

    id: int
    sha: str
    state: str
    context: str
    description: str
    url: str
    user: User
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check run; `conclusion` None while it runs."""

    id: int
    sha: str
    name: str
    conclusion: str | None
    title: str
    summary: str
    details_url: str
    at: datetime


@dataclass(kw_only=True)
class Hook:
    id: int
    url: str
    secret: str
    events: tuple[str, ...]
    created_at: datetime


@dataclass(kw_only=True)
class Fault:
    """What the next `times` matching requests meet, REST and Git alike.

    `status` 0 closes the connection in place of an answer, None answers as always. `is_done`: the
    request is carried out first. `gate`: it waits until that is set.
    """

    method: str
    path: str
    status: int | None
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    is_done: bool = False
    gate: threading.Event | None = None

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("*", method) and bool(re.search(self.path, path))


@dataclass(kw_only=True)
class Seen:
    """One request; `received` and `size` are the bytes of its body and of its answer's body.

    `status` 0: the connection ended in place of an answer.

    `command` is what a Git request wants: advertise, ls-refs, fetch, push or `fetch v0` of the
    older protocol; of a fetch, `wants` are how many objects by id, and `filter` what is left out.
    """

    method: str
    path: str
    query: str
    login: str | None
    status: int
    size: int
    received: int
    command: str = ""
    wants: int = 0
    filter: str = ""

    @property
    def is_git(self) -> bool:
        return ".git/" in self.path
