"""What the stand-in for GitHub knows, and what a test does to it behind everybody's back."""
from __future__ import annotations

import itertools
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from tests.fakes.github import permission as permissions
from tests.fakes.github.history import Commit, write_commits
from tests.fakes.github.records import (
    Check,
    Fault,
    Hook,
    Organisation,
    Pull,
    Repository,
    Review,
    Seen,
    Status,
    Token,
    User,
)
from tests.fakes.github.repository import GitRepository

HOURLY_LIMIT = 5000
OnPush = Callable[[Repository, str, "str | None", "str | None", User], None]
OnPull = Callable[[Pull, str, User], None]
OnEvent = Callable[[Repository, str, "dict[str, Any]", User], None]


class World:
    """The whole of it, below one folder. Time stands still but for `advance`.

    Knobs: `fork_delay` (by this clock) and `fork_looks` (requests) until a fork can be read;
    `lag` requests that a ref just made stays unseen; `mergeable_looks` times that a pull request
    is shown before it is known whether it can be merged; `limit` requests in an hour and user,
    None for none and no word of it, as Enterprise servers have it;
    `max_tree` entries until a tree is cut off; `workflow_status` of a missing workflow scope.
    """

    def __init__(self, folder: Path) -> None:
        self.lock = threading.RLock()
        self._ids = itertools.count(1000)
        self.on_push: OnPush = lambda *_: None
        self.on_pull: OnPull = lambda *_: None
        self.on_event: OnEvent = lambda *_: None
        self.reset(folder)

    def reset(self, folder: Path) -> None:
        """Forget everything; ids go on, so that no two repositories ever share one."""
        self.folder = folder
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.fork_delay, self.fork_looks, self.lag, self.mergeable_looks = timedelta(0), 0, 0, 1
        self.users: dict[str, User] = {}
        self.tokens: dict[str, Token] = {}
        self.repositories: dict[int, Repository] = {}
        self.moved: dict[tuple[str, str], int] = {}
        self.pulls: list[Pull] = []
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.used: dict[tuple[str, int], int] = {}
        self.flying: dict[str, int] = {}
        self.peaks: dict[str, int] = {}
        self.unseen: dict[tuple[int, str], int] = {}
        self.limit: int | None = HOURLY_LIMIT
        self.max_tree, self.workflow_status = 100_000, 422

    def advance(self, **duration: float) -> None:
        """Let time pass: `advance(minutes=61)`."""
        self.now += timedelta(**duration)

    def next_id(self) -> int:
        return next(self._ids)

    def fault(self, method: str, path: str, status: int | None, message: str = "Server Error", *,
              times: int = 1, is_done: bool = False, gate: threading.Event | None = None,
              **headers: str) -> Fault:
        """What the next matching requests meet; `path` is searched for as a pattern.

        Headers are named `Retry_After="1"`. See `Fault` for `status`, `is_done` and `gate`.
        """
        made = Fault(method=method, path=path, status=status, message=message, times=times,
                     is_done=is_done, gate=gate,
                     headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.faults.append(made)
        return made

    def took_off(self, login: str) -> None:
        """A REST request of this login began; `peaks` are the most at one time."""
        with self.lock:
            self.flying[login] = self.flying.get(login, 0) + 1
            self.peaks[login] = max(self.peaks.get(login, 0), self.flying[login])

    def landed(self, login: str) -> None:
        with self.lock:
            self.flying[login] = self.flying.get(login, 1) - 1

    # --- what was asked -------------------------------------------------------------------------

    def rest(self) -> list[Seen]:
        """The requests of the REST API so far."""
        return [each for each in self.seen if not each.is_git]

    def exchanges(self) -> list[Seen]:
        """The requests of Git over HTTP so far."""
        return [each for each in self.seen if each.is_git]

    # --- people ---------------------------------------------------------------------------------

    def add_user(self, login: str) -> User:
        return self._know(User(id=self.next_id(), login=login, created_at=self.now))

    def add_organisation(self, login: str, members: Mapping[str, str] | None = None
                         ) -> Organisation:
        """`members` are roles by login; only admins and writers of all its repositories count."""
        made = Organisation(id=self.next_id(), login=login, created_at=self.now,
                            members=dict(members or {}))
        self._know(made)
        return made

    def _know(self, user: User) -> User:
        self.users[user.login.lower()] = user
        return user

    def classic_token(self, user: User, *scopes: str, value: str = "",
                      expires_at: datetime | None = None,
                      offset: timedelta | None = None) -> Token:
        return self._keep(Token(value=value or f"ghp_{self.next_id():036d}", user=user,
                                scopes=frozenset(scopes), expires_at=expires_at, offset=offset))

    def fine_grained_token(self, user: User, repositories: Iterable[Repository] = (),
                           expires_at: datetime | None = None, **permissions: str) -> Token:
        """For example `fine_grained_token(ann, [mine], contents="write")`."""
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

    def create(self, owner: User, name: str, files: Mapping[str, str | bytes] | None = None, *,
               is_private: bool = False, is_internal: bool = False,
               default_branch: str = "main") -> Repository:
        """A new repository, empty or with a first commit of `files`."""
        made = self._add(owner, name, default_branch, is_private or is_internal, None)
        made.is_internal = is_internal
        if files:
            self.commit(made, files, "First commit")
        return made

    def fork(self, upstream: Repository, owner: User, *, name: str | None = None,
             is_whole: bool = False) -> Repository:
        """The user's fork of it: the one that is there, or a new one; under a free name.

        `is_whole`: with every branch and tag, else with the default branch alone.
        """
        network = upstream.source or upstream
        with self.lock:
            for found in self.live():
                if found.source is network and found.owner == owner.login:
                    return found
            fork = self._add(owner, self._free_name(owner, name or upstream.name),
                             upstream.default_branch, upstream.is_private, upstream)
        default = f"refs/heads/{upstream.default_branch}"
        for ref, sha in upstream.git.refs("" if is_whole else default).items():
            if is_whole or ref == default:
                fork.git.update_ref(ref, sha)
        fork.ready_at, fork.looks = self.now + self.fork_delay, self.fork_looks
        return fork

    def _free_name(self, owner: User, name: str) -> str:
        taken = {each.name.lower() for each in self.live() if each.owner == owner.login}
        names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(1)))
        return next(each for each in names if each.lower() not in taken)

    def visible_ref(self, repository: Repository, ref: str) -> str | None:
        """What a ref points to; None also while it is too new to be seen."""
        with self.lock:
            key = (repository.id, ref)
            self.unseen[key] = self.unseen.get(key, 0) - 1
            return None if self.unseen[key] >= 0 else repository.git.ref(ref)

    def _add(self, owner: User, name: str, default_branch: str, is_private: bool,
             parent: Repository | None) -> Repository:
        with self.lock:
            number = self.next_id()
            git = GitRepository(self.folder / f"{number}.git")
            git.create(default_branch, objects_of=parent.git.path / "objects" if parent else None)
            repository = Repository(
                id=number, owner=owner.login, name=name, git=git, default_branch=default_branch,
                is_private=is_private, created_at=self.now, pushed_at=self.now, parent=parent)
            self.repositories[number] = repository
            self.moved.pop((owner.login.lower(), name.lower()), None)
            return repository

    def is_ready(self, repository: Repository) -> bool:
        """Whether a fork has its content by now; each look brings it nearer."""
        with self.lock:
            repository.looks -= 1
            return repository.looks < 0 and (repository.ready_at or self.now) <= self.now

    def live(self) -> Iterator[Repository]:
        return (each for each in list(self.repositories.values()) if not each.is_deleted)

    def find(self, owner: str, name: str) -> Repository | None:
        """The repository of this name now, whatever the case."""
        wanted = f"{owner}/{name}".lower()
        return next((each for each in self.live() if each.full_name.lower() == wanted), None)

    def in_network(self, repository: Repository, owner: str,
                   name: str | None = None) -> Repository | None:
        """The owner's repository among its forks and itself, of that name if there are two."""
        network = repository.source or repository
        return next((each for each in self.live() if network in (each, each.source)
                     and each.owner.lower() == owner.lower()
                     and name in (None, each.name, each.full_name)), None)

    def move(self, repository: Repository, *, owner: User | None = None,
             name: str | None = None) -> None:
        """Rename it or give it to another user; the old name leads on until it is taken."""
        before = repository.owner
        with self.lock:
            self.moved[repository.owner.lower(), repository.name.lower()] = repository.id
            repository.owner = owner.login if owner else repository.owner
            repository.name = name or repository.name
        self._tell(repository, "renamed" if before == repository.owner else "transferred")

    def show(self, repository: Repository, *, is_private: bool) -> None:
        """Make it private or public, and tell the hooks; `is_private` alone tells nobody."""
        repository.is_private = is_private
        self._tell(repository, "privatized" if is_private else "publicized")

    def _tell(self, repository: Repository, action: str) -> None:
        self.on_event(repository, "repository", {"action": action}, self.owner(repository))

    def owner(self, repository: Repository) -> User:
        return self.users[repository.owner.lower()]

    def moved_to(self, owner: str, name: str) -> Repository | None:
        found = self.repositories.get(self.moved.get((owner.lower(), name.lower()), -1))
        return None if found is None or found.is_deleted else found

    def delete(self, repository: Repository) -> None:
        """Gone for everyone; objects that forks share stay, as on GitHub."""
        repository.is_deleted = True
        self._tell(repository, "deleted")
        has_forks = any(each.source is repository for each in self.repositories.values())
        if not has_forks:
            shutil.rmtree(repository.git.path)

    # --- content, as by a push ------------------------------------------------------------------

    def commit(self, repository: Repository, files: Mapping[str, str | bytes | None],
               message: str = "Change files", *, branch: str | None = None,
               parent: str | None = "", at: datetime | None = None,
               modes: Mapping[str, str] | None = None) -> str:
        """Commit `files` (None takes one out) onto the branch and push it; returns its id.

        `parent` names another commit to start from, or None for a new root: a forced push.
        """
        made = Commit(files=files, message=message, at=at or self.now, modes=modes or {})
        return self.commits(repository, [made], branch=branch, parent=parent)[0]

    def commits(self, repository: Repository, changes: Sequence[Commit], *,
                branch: str | None = None, parent: str | None = "") -> list[str]:
        """Many commits in one push; quick for thousands."""
        name = branch or repository.default_branch
        before = repository.git.branch(name)
        start = before or self._head(repository) if parent == "" else parent
        made = write_commits(repository.git, changes, branch=name, parent=start)
        self.pushed(repository, f"refs/heads/{name}", before, made[-1])
        return made

    def _head(self, repository: Repository) -> str | None:
        return repository.git.branch(repository.default_branch)

    def point(self, repository: Repository, ref: str, sha: str | None) -> None:
        """Set `heads/main` or `tags/v1` to any commit (a forced push), or with None delete it."""
        full = f"refs/{ref}"
        before = repository.git.ref(full)
        repository.git.update_ref(full, sha) if sha else repository.git.delete_ref(full)
        self.pushed(repository, full, before, sha)

    def pushed(self, repository: Repository, ref: str, before: str | None, after: str | None,
               user: User | None = None) -> None:
        """Note a push everywhere that it shows, and tell the hooks."""
        repository.pushed_at = self.now
        self._follow_heads(repository)
        self.on_push(repository, ref, before, after, user or self.owner(repository))

    # --- permission -----------------------------------------------------------------------------

    def role(self, user: User | None, repository: Repository) -> str:
        """What the person may do, whatever the token: none, read, write or admin."""
        return permissions.role_of(user, repository, self.owner(repository))

    def may(self, token: Token | None, repository: Repository, wanted: str,
            permission: str = "contents") -> bool:
        """Whether the token may `wanted` (read, write, admin) there."""
        role = self.role(token.user if token else None, repository)
        return permissions.may(token, role, repository, wanted, permission)

    # --- pulls ----------------------------------------------------------------------------------

    def pulls_of(self, repository: Repository) -> list[Pull]:
        return [pull for pull in self.pulls if pull.base is repository]

    def review(self, pull: Pull, user: User, state: str, body: str = "") -> Review:
        """APPROVED, CHANGES_REQUESTED or COMMENTED, of what the head is now."""
        made = Review(id=self.next_id(), user=user, state=state, body=body, sha=pull.head_sha,
                      at=self.now)
        pull.reviews.append(made)
        return made

    def check(self, repository: Repository, sha: str, name: str, conclusion: str | None, *,
              title: str = "", summary: str = "",
              details_url: str = "https://example.org/check") -> Check:
        """A check run: success, failure, neutral …; None while it runs."""
        made = Check(id=self.next_id(), sha=sha, name=name, conclusion=conclusion, title=title,
                     summary=summary, details_url=details_url, at=self.now)
        repository.checks.append(made)
        return made

    def status(self, repository: Repository, sha: str, context: str, state: str, *,
               description: str = "", url: str = "https://example.org/status") -> Status:
        """A commit status: success, failure, error or pending."""
        made = Status(id=self.next_id(), sha=sha, state=state, context=context, url=url,
                      description=description, at=self.now,
                      user=self.owner(repository))
        repository.statuses.append(made)
        return made

    def add_hook(self, repository: Repository, url: str, secret: str,
                 events: Sequence[str] = ("push",)) -> Hook:
        made = Hook(id=self.next_id(), url=url, secret=secret, events=tuple(events),
                    created_at=self.now)
        repository.hooks.append(made)
        return made

    def _follow_heads(self, repository: Repository) -> None:
        """Open pulls show what their branch holds now."""
        for pull in self.pulls:
            head = None if pull.head.is_deleted else pull.head.git.branch(pull.head_branch)
            if pull.state == "open" and repository in (pull.head, pull.base):
                pull.looks = self.mergeable_looks
                is_news = head not in (None, pull.head_sha)
                pull.head_sha = head or pull.head_sha
                pull.base_sha = pull.base.git.branch(pull.base_branch) or pull.base_sha
                pull.updated_at = self.now
                if is_news:
                    self.on_pull(pull, "synchronize", pull.user)
