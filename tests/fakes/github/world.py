"""What the stand-in for GitHub knows: users, tokens, repositories, pulls, and who may do what."""
from __future__ import annotations

import re
import shutil
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Iterable, Iterator

from tests.fakes.github.repository import GitRepository

HOURLY_LIMIT = 5000
_ROLES = ("none", "read", "write", "admin")


@dataclass(frozen=True, kw_only=True)
class User:
    id: int
    login: str
    created_at: datetime

    @property
    def email(self) -> str:
        return f"{self.login}@example.org"


@dataclass(kw_only=True)
class Token:
    """`scopes` None: fine-grained, with `permissions` on the `repositories` (ids) alone."""

    value: str
    user: User
    scopes: frozenset[str] | None = frozenset()
    permissions: dict[str, str] = field(default_factory=dict)
    repositories: frozenset[int] = frozenset()
    expires_at: datetime | None = None
    is_revoked: bool = False

    @property
    def is_classic(self) -> bool:
        return self.scopes is not None


@dataclass(kw_only=True)
class Repository:
    """`grants` are roles by login. `ready_at`: from then on a fork's content can be read."""

    id: int
    owner: str
    name: str
    git: GitRepository
    default_branch: str
    is_private: bool
    created_at: datetime
    pushed_at: datetime
    parent: Repository | None = None
    grants: dict[str, str] = field(default_factory=dict)
    is_archived: bool = False
    allows_forks: bool = True
    protected: set[str] = field(default_factory=set)
    hooks: list[Hook] = field(default_factory=list)
    ready_at: datetime | None = None
    is_deleted: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def source(self) -> Repository | None:
        """The first repository of the fork network; None for one that is no fork."""
        found = self.parent
        while found and found.parent:
            found = found.parent
        return found


@dataclass(kw_only=True)
class Pull:
    """`checked_at`: when mergeability is known; before, it is null as on GitHub."""

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
    is_asked: bool = False
    state: str = "open"
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_sha: str | None = None


@dataclass(kw_only=True)
class Hook:
    id: int
    url: str
    secret: str
    events: tuple[str, ...]
    created_at: datetime


@dataclass(kw_only=True)
class Fault:
    """What the next `times` matching requests meet. `is_done`: the request is carried out first."""

    method: str
    path: str
    status: int
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    is_done: bool = False

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("*", method) and bool(re.search(self.path, path))


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request that was answered; `size` is the bytes of its answer's body."""

    method: str
    path: str
    login: str | None
    status: int
    size: int


class World:
    """The whole of it, below one folder. Time stands still but for `advance`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.fork_delay = timedelta(0)
        self.users: dict[str, User] = {}
        self.tokens: dict[str, Token] = {}
        self.repositories: dict[int, Repository] = {}
        self.moved: dict[tuple[str, str], int] = {}
        self.pulls: list[Pull] = []
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.used: dict[str, int] = {}
        self.limit = HOURLY_LIMIT
        self._ids = iter(range(1000, 10_000_000))

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration)

    def next_id(self) -> int:
        return next(self._ids)

    # --- people ---------------------------------------------------------------------------------

    def add_user(self, login: str) -> User:
        user = User(id=self.next_id(), login=login, created_at=self.now)
        self.users[login.lower()] = user
        return user

    def classic_token(self, user: User, *scopes: str, value: str = "",
                      expires_at: datetime | None = None) -> Token:
        return self._keep(Token(value=value or f"ghp_{self.next_id():036d}", user=user,
                                scopes=frozenset(scopes), expires_at=expires_at))

    def fine_grained_token(self, user: User, repositories: Iterable[Repository] = (),
                           expires_at: datetime | None = None, **permissions: str) -> Token:
        return self._keep(Token(
            value=f"github_pat_{self.next_id():082d}", user=user, scopes=None,
            permissions=permissions, repositories=frozenset(each.id for each in repositories),
            expires_at=expires_at))

    def _keep(self, token: Token) -> Token:
        self.tokens[token.value] = token
        return token

    def token(self, value: str) -> Token | None:
        """The token, if it is good now."""
        found = self.tokens.get(value)
        is_over = found is not None and (
            found.is_revoked or (found.expires_at is not None and found.expires_at <= self.now))
        return None if is_over else found

    # --- repositories ---------------------------------------------------------------------------

    def create(self, owner: User, name: str, *, is_private: bool = False,
               default_branch: str = "main") -> Repository:
        return self._add(owner, name, default_branch, is_private, None)

    def fork(self, upstream: Repository, owner: User) -> Repository:
        """The user's fork of it: the one that is there, or a new one; under a free name."""
        for found in self.repositories.values():
            if found.parent is upstream and found.owner == owner.login and not found.is_deleted:
                return found
        taken = {each.name.lower() for each in self.live() if each.owner == owner.login}
        names = (upstream.name, *(f"{upstream.name}-{number}" for number in range(1, 100)))
        name = next(name for name in names if name.lower() not in taken)
        fork = self._add(owner, name, upstream.default_branch, upstream.is_private, upstream)
        fork.git.update_ref(f"refs/heads/{fork.default_branch}",
                            upstream.git.resolve(upstream.default_branch) or "")
        fork.ready_at = self.now + self.fork_delay
        return fork

    def _add(self, owner: User, name: str, default_branch: str, is_private: bool,
             parent: Repository | None) -> Repository:
        number = self.next_id()
        git = GitRepository(self.folder / f"{number}.git")
        git.create(default_branch, objects_of=parent.git.path / "objects" if parent else None)
        repository = Repository(
            id=number, owner=owner.login, name=name, git=git, default_branch=default_branch,
            is_private=is_private, created_at=self.now, pushed_at=self.now, parent=parent)
        self.repositories[number] = repository
        self.moved.pop((owner.login.lower(), name.lower()), None)
        return repository

    def live(self) -> Iterator[Repository]:
        return (each for each in self.repositories.values() if not each.is_deleted)

    def find(self, owner: str, name: str) -> Repository | None:
        """The repository of this name now, whatever the case."""
        wanted = f"{owner}/{name}".lower()
        return next((each for each in self.live() if each.full_name.lower() == wanted), None)

    def move(self, repository: Repository, *, owner: User | None = None,
             name: str | None = None) -> None:
        """Rename it or give it to another user; the old name leads on until it is taken."""
        self.moved[repository.owner.lower(), repository.name.lower()] = repository.id
        repository.owner = owner.login if owner else repository.owner
        repository.name = name or repository.name

    def moved_to(self, owner: str, name: str) -> Repository | None:
        found = self.repositories.get(self.moved.get((owner.lower(), name.lower()), -1))
        return None if found is None or found.is_deleted else found

    def delete(self, repository: Repository) -> None:
        """Gone for everyone; objects that forks share stay, as on GitHub."""
        repository.is_deleted = True
        has_forks = any(each.source is repository for each in self.repositories.values())
        if not has_forks:
            shutil.rmtree(repository.git.path)

    # --- permission -----------------------------------------------------------------------------

    def role(self, user: User | None, repository: Repository) -> str:
        """What the person may do, whatever the token: none, read, write or admin."""
        if user and user.login == repository.owner:
            return "admin"
        granted = repository.grants.get(user.login, "none") if user else "none"
        return max(granted, "none" if repository.is_private else "read", key=_ROLES.index)

    def may(self, token: Token | None, repository: Repository, wanted: str,
            permission: str = "contents") -> bool:
        """Whether the token may `wanted` (read, write, admin) there.

        A fine-grained one never writes to what its user does not own, and needs `permission`.
        """
        role = self.role(token.user if token else None, repository)
        if _ROLES.index(role) < _ROLES.index(wanted):
            return False
        if token is None or (wanted == "read" and not repository.is_private):
            return not (token is None and repository.is_private)
        if token.scopes is not None:
            needed = {"repo"} if repository.is_private else {"repo", "public_repo"}
            return bool(needed & token.scopes)
        level = token.permissions.get(permission, "none")
        return repository.id in token.repositories and (
            level == "write" or (level == "read" and wanted == "read"))

    # --- pulls ----------------------------------------------------------------------------------

    def pulls_of(self, repository: Repository) -> list[Pull]:
        return [pull for pull in self.pulls if pull.base is repository]

    def follow_heads(self, repository: Repository) -> None:
        """Open pulls show what their branch holds now."""
        for pull in self.pulls:
            head = None if pull.head.is_deleted else pull.head.git.resolve(pull.head_branch)
            if pull.state == "open" and repository in (pull.head, pull.base):
                pull.is_asked = False
                pull.head_sha = head or pull.head_sha
                pull.base_sha = pull.base.git.resolve(pull.base_branch) or pull.base_sha
                pull.updated_at = self.now
