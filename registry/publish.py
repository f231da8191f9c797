"""Brings publications to GitHub: each step looks, then writes, and may be done again any time."""
from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Callable, Mapping
from urllib.parse import urlsplit

from registry import github_records as records
from registry.github_accounts import GitHubAccounts
from registry.github_api import GitHubApi
from registry.github_errors import Code, GitHubError
from registry.github_records import Author, PullInfo, RepositoryInfo
from registry.publication import (
    ALREADY_PUBLISHED,
    BRANCHING,
    CHECKED,
    CLOSED,
    COMMITTING,
    FINISH_ON_GITHUB,
    FORK_TRIES,
    FORK_WAIT,
    FORKING,
    MAX_BODY,
    MAX_TITLE,
    MERGED,
    OPEN,
    OPENING,
    PUBLISHED,
    SUPERSEDED,
    WATCHED,
    WORKING,
    Publication,
    branch_name,
    commit_message,
    fork_wait,
    retry_wait,
    watch_wait,
)
from registry.publication_problems import WAITING, problem_of
from registry.publications import Publications, now_utc
from runner.sentence import Sentence

log = logging.getLogger(__name__)
# Between two writes. GitHub asks a second of programs that make many; one publication makes four.
PAUSE = timedelta(seconds=0.3)
SOON, AGAIN = timedelta(0), timedelta(seconds=3)
TRIES_OF_NAME = 9
MAX_FORKS = 10  # that are looked at one by one
GIVE_UP_AFTER = timedelta(days=2)  # of answers that say nothing
FOLLOW_FOR = timedelta(days=30)  # until what was merged is found by the sync
_MOVED_FORK = frozenset({Code.EMPTY, Code.GONE})
_NOT_ITS_WORDS = frozenset({Code.GONE, Code.FORBIDDEN, Code.SCOPE_MISSING, Code.REFUSED})
Changes = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """GitHub as the author's token sees it during one step, and who the author is there."""

    api: GitHubApi
    login: str
    github_id: int


class Publisher:
    """Takes publications on, one step at a time. `pause` lies between two writes.

    Nothing is kept in memory between steps: what was killed goes on from the row.
    """

    def __init__(self, publications: Publications, accounts: GitHubAccounts, github_url: str, *,
                 pause: timedelta = PAUSE, clock: Callable[[], datetime] = now_utc) -> None:
        self._publications = publications
        self._accounts = accounts
        self._host = urlsplit(github_url).hostname or ""
        self._pause = pause
        self._clock = clock
        self._steps: Mapping[str, Callable[[Publishing, Publication], Changes]] = {
            CHECKED: self._preflight, FORKING: self._fork, FORK_WAIT: self._look_for_fork,
            COMMITTING: self._commit, BRANCHING: self._branch, OPENING: self._open,
            FINISH_ON_GITHUB: self._look_for_pull, OPEN: self._watch}

    def due(self, now: datetime) -> set[int]:
        """The users who have something to go on with; what the sync saw is noted first."""
        self._note_arrived()
        return {each.user_id for each in self._publications.due(now)}

    def step(self, user_id: int, stop: threading.Event) -> None:
        """Go on with everything of one user, the pauses between two writes included."""
        while not stop.is_set():
            waiting = self._publications.due(self._clock() + self._pause, user_id)
            if not waiting:
                return
            next_at = waiting[0].next_at or self._clock()
            stop.wait(max((next_at - self._clock()).total_seconds(), 0))
            if not stop.is_set():
                self.advance(waiting[0])

    def advance(self, publication: Publication) -> Publication | None:
        """Do what comes next of one; None: it was changed meanwhile, and nothing is noted."""
        if publication.state == MERGED:
            return self._save(publication, self._after_merge(publication))
        account = self._accounts.of(publication.user_id)
        try:
            with self._accounts.asking(publication.user_id,
                                       is_background=publication.state in WATCHED) as api:
                way = Publishing(api=api, login=account.login if account else "",
                                 github_id=account.github_id if account else 0)
                changes = self._steps[publication.state](way, publication)
        except GitHubError as error:
            log.info("publication %d: %s at %s", publication.id, error.code, publication.state)
            changes = self._failed(publication, error)
        return self._save(publication, {"problem": None, "detail": "", "attempts": 0, **changes})

    # --- from the text to the branch ------------------------------------------------------------

    def _preflight(self, way: Publishing, publication: Publication) -> Changes:
        info = way.api.repository(publication.repo_id)
        found = {"repository": info.full_name}
        if info.is_archived:
            return found | _stopped(Code.REPO_READONLY)
        if publication.is_update:
            return found | self._at(COMMITTING)
        if info.level in (records.WRITE, records.ADMIN):
            return found | {"is_direct": True} | self._at(COMMITTING)
        if not info.allows_forks:
            return found | _stopped(Code.FORK_FORBIDDEN)
        return found | {"is_direct": False} | self._at(FORKING)

    def _fork(self, way: Publishing, publication: Publication) -> Changes:
        """GitHub answers with the fork that is there, if there is one."""
        try:
            fork = way.api.fork(_upstream(publication))
        except GitHubError as error:
            own = self._own_fork(way, publication) if error.code == Code.FG_NO_FORK else None
            if own is None:
                raise
            fork = own
        return {"fork_id": fork.id, "fork": fork.full_name} | self._at(COMMITTING, self._pause)

    def _own_fork(self, way: Publishing, publication: Publication) -> RepositoryInfo | None:
        """A fork that was made by hand, for a token that may make none."""
        name = publication.repository.partition("/")[2]
        usual = _existing(way.api, f"{way.login}/{name}")
        if usual and _is_fork_of(usual, publication):
            return usual
        forks = [info for info in way.api.repositories()
                 if info.is_fork and info.level in (records.WRITE, records.ADMIN)]
        found = (_existing(way.api, info.id) for info in forks[:MAX_FORKS])
        return next((info for info in found if info and _is_fork_of(info, publication)), None)

    def _look_for_fork(self, way: Publishing, publication: Publication) -> Changes:
        attempts = publication.attempts + 1
        if attempts > FORK_TRIES and attempts % 2:
            return {"attempts": attempts} | self._fork(way, publication)
        fork = way.api.repository(publication.fork_id or 0)
        if way.api.ref(fork.id, fork.default_branch):
            return self._at(COMMITTING)
        return self._waiting_for_fork(attempts)

    def _waiting_for_fork(self, attempts: int) -> Changes:
        problem = "FORK_SLOW" if attempts > FORK_TRIES else None
        return self._at(FORK_WAIT, fork_wait(attempts)) | {
            "attempts": attempts, "problem": problem}

    def _commit(self, way: Publishing, publication: Publication) -> Changes:
        """First the tree, then the commit: both are the same each time they are made."""
        try:
            if publication.tree_sha is None:
                return self._write_tree(way, publication)
            return self._write_commit(way, publication)
        except GitHubError as error:
            if error.code in _MOVED_FORK and not publication.is_direct:
                return self._waiting_for_fork(publication.attempts + 1)
            raise

    def _write_tree(self, way: Publishing, publication: Publication) -> Changes:
        base = way.api.tree_of(publication.repo_id, publication.base_sha or "")
        tree = way.api.write_tree(publication.head_repo_id or 0, base,
                                  {publication.path: publication.text})
        if tree == base:
            return self._ended(ALREADY_PUBLISHED)
        return {"tree_sha": tree} | self._at(COMMITTING, self._pause)

    def _write_commit(self, way: Publishing, publication: Publication) -> Changes:
        """Dated when its author agreed, so that a second one is the first."""
        repo_id, tree = publication.head_repo_id or 0, publication.tree_sha or ""
        parents, branch = [publication.base_sha or ""], branch_name(publication, tree)
        if publication.is_update:
            branch = publication.branch or ""
            head = way.api.ref(repo_id, branch)
            if head is None or head != publication.commit_sha:
                return _stopped("BRANCH_MOVED")
            parents = [head, *parents]
        email = f"{way.github_id}+{way.login}@users.noreply.{self._host}"
        commit = way.api.write_commit(
            repo_id, tree, parents, commit_message(publication, way.login, email),
            Author(name=way.login, email=email, at=publication.confirmed_at))
        return {"commit_sha": commit, "branch": branch} | self._at(BRANCHING, self._pause)

    def _branch(self, way: Publishing, publication: Publication) -> Changes:
        repo_id, branch = publication.head_repo_id or 0, publication.branch or ""
        commit = publication.commit_sha or ""
        assert branch.startswith("registry/") and branch != publication.base_branch
        try:
            if publication.is_update:
                way.api.move_branch(repo_id, branch, commit)
                return self._at(OPENING if publication.has_new_words else OPEN, self._pause)
            way.api.create_branch(repo_id, branch, commit)
        except GitHubError as error:
            return self._without_branch(way, publication, error)
        return self._at(OPENING, self._pause)

    def _without_branch(self, way: Publishing, publication: Publication,
                        error: GitHubError) -> Changes:
        if error.code == Code.EXISTS:
            return self._on_taken_branch(way, publication)
        if error.code == Code.NOT_FAST_FORWARD:
            return _stopped("BRANCH_MOVED")
        if publication.is_direct:
            if error.code == Code.RULE:
                return {"is_direct": False, "tree_sha": None} | self._at(FORKING, self._pause)
            raise error
        if error.code == Code.WORKFLOW_SCOPE or error.code in _MOVED_FORK:
            return self._on_older_base(way, publication, error)
        raise error

    def _on_taken_branch(self, way: Publishing, publication: Publication) -> Changes:
        """The branch is ours from before, or holds the same; else the next name is tried."""
        repo_id, branch = publication.head_repo_id or 0, publication.branch or ""
        head = way.api.ref(repo_id, branch)
        if head == publication.commit_sha:
            return self._at(OPENING)
        is_same = head is not None and way.api.tree_of(repo_id, head) == publication.tree_sha
        if is_same and not way.api.find_pulls(publication.repo_id, publication.head):
            return {"commit_sha": head} | self._at(OPENING)
        number = _number_of(publication) + 1
        if number > TRIES_OF_NAME:
            return _stopped(Code.REFUSED, Sentence(
                "{branch} and the names after it are taken in {head_repository}.", branch=branch,
                head_repository=publication.head_repository))
        name = branch_name(publication, publication.tree_sha or "", number)
        return {"branch": name} | self._at(BRANCHING, self._pause)

    def _on_older_base(self, way: Publishing, publication: Publication,
                       error: GitHubError) -> Changes:
        """From where the fork left the upstream, no workflow file is new to it.

        GitHub also says "not found" for that, as it does for a fork that is not ready.
        """
        fork = way.api.repository(publication.fork_id or 0)
        if way.api.ref(fork.id, fork.default_branch) is None:
            return self._waiting_for_fork(publication.attempts + 1)
        base = way.api.merge_base(publication.repo_id, publication.base_branch,
                                  f"{fork.full_name.partition('/')[0]}:{fork.default_branch}")
        if base != publication.base_sha:
            return {"base_sha": base, "tree_sha": None} | self._at(COMMITTING, self._pause)
        if error.code in _MOVED_FORK:
            return self._waiting_for_fork(publication.attempts + 1)
        raise error

    # --- the pull request -----------------------------------------------------------------------

    def _open(self, way: Publishing, publication: Publication) -> Changes:
        if publication.is_update:
            return self._reword(way, publication)
        known = self._known_pull(way, publication)
        if known:
            return known
        try:
            pull = way.api.open_pull(
                publication.repo_id, head=publication.head, base=publication.base_branch,
                title=publication.title, body=publication.body)
        except GitHubError as error:
            if error.code == Code.FINISH_ON_GITHUB:
                return self._at(FINISH_ON_GITHUB, AGAIN)
            if error.code == Code.NO_COMMITS:
                return self._ended(ALREADY_PUBLISHED)
            if error.code == Code.PULL_EXISTS:
                return self._at(OPENING, AGAIN)
            raise
        return self._seen(publication, pull)

    def _reword(self, way: Publishing, publication: Publication) -> Changes:
        """Its author wants another title or text; where GitHub refuses that, the rest stands."""
        words = {"title": publication.title, "body": publication.body}
        try:
            way.api.change_pull(publication.repo_id, publication.pull_number or 0, **words)
        except GitHubError as error:
            if error.code not in _NOT_ITS_WORDS:
                raise
            return self._at(OPEN, self._pause) | {"problem": "WORDS_KEPT", "detail": error.detail}
        return self._at(OPEN, self._pause) | {"pull": {**(publication.pull or {}), **words}}

    def _look_for_pull(self, way: Publishing, publication: Publication) -> Changes:
        return self._known_pull(way, publication) or self._at(
            FINISH_ON_GITHUB, max(self._watch_wait(publication) / 6, AGAIN))

    def _known_pull(self, way: Publishing, publication: Publication) -> Changes | None:
        """What became of the pull request that is there; None: there is none of ours."""
        pulls = way.api.find_pulls(publication.repo_id, publication.head,
                                   publication.base_branch)
        ours = [pull for pull in pulls if pull.state == records.OPEN
                or pull.head_sha == publication.commit_sha]
        chosen = min(ours, key=lambda pull: pull.state != records.OPEN, default=None)
        return self._seen(publication, chosen) if chosen else None

    def _watch(self, way: Publishing, publication: Publication) -> Changes:
        pull = way.api.pull(publication.repo_id, publication.pull_number or 0,
                            records.pull_of(publication.pull or {}))
        return self._seen(publication, pull)

    def _seen(self, publication: Publication, pull: PullInfo) -> Changes:
        changes = {"pull_number": pull.number, "pull": records.pull_json(pull)}
        is_refused = publication.problem == "WORDS_KEPT" and not publication.is_reworded(
            pull.title, pull.body)
        if not is_refused:
            changes |= {"title": pull.title[:MAX_TITLE], "body": pull.body[:MAX_BODY]}
        if pull.is_merged:
            return changes | self._merged()
        if pull.state == records.CLOSED:
            is_other = self._publications.is_superseded(publication)
            return changes | self._ended(SUPERSEDED if is_other else CLOSED)
        wait = self._watch_wait(publication)
        if pull.is_mergeable is None:  # GitHub finds that out when it is asked
            wait = min(wait, max(AGAIN, self._age(publication) / 2))
        problem = problem_of(pull) or ("WORDS_KEPT" if is_refused else None)
        return changes | self._at(OPEN, wait) | {"problem": problem}

    # --- after it -------------------------------------------------------------------------------

    def _merged(self) -> Changes:
        return {"state": MERGED, "open_key": None, "next_at": self._clock() + FOLLOW_FOR}

    def _after_merge(self, publication: Publication) -> Changes:
        """It never showed up here: other bytes stand in its place, or nobody indexes them."""
        return {"next_at": None}

    def _note_arrived(self) -> None:
        for publication in self._publications.arrived():
            self._save(publication, self._ended(PUBLISHED))
        for publication in self._publications.revived():
            self._save(publication, {"next_at": self._clock(), "problem": None, "detail": ""})

    # --- parts ----------------------------------------------------------------------------------

    def _failed(self, publication: Publication, error: GitHubError) -> Changes:
        """What waits goes on by itself, later each time; everything else asks its author."""
        code = "UNKNOWN" if error.code == Code.UNREACHABLE else str(error.code)
        if publication.state not in WORKING and error.code in (Code.GONE, Code.FORBIDDEN):
            code = "GONE"
        detail = " ".join(filter(None, [error.detail, error.link]))
        is_hopeless = code == "UNKNOWN" and publication.state in WORKING \
            and self._age(publication) > GIVE_UP_AFTER
        if code not in WAITING or is_hopeless:
            return _stopped(code, detail)
        attempts = publication.attempts + 1
        at = self._clock() + retry_wait(attempts)
        is_limit = code == "LATER" and error.retry_at is not None
        return {"problem": code, "detail": detail, "attempts": attempts,
                "next_at": max(error.retry_at or at, self._clock()) if is_limit else at}

    def _at(self, state: str, wait: timedelta = SOON) -> Changes:
        return {"state": state, "next_at": self._clock() + wait}

    def _ended(self, state: str) -> Changes:
        return {"state": state, "open_key": None, "next_at": None, "problem": None, "detail": ""}

    def _watch_wait(self, publication: Publication) -> timedelta:
        return watch_wait(self._age(publication))

    def _age(self, publication: Publication) -> timedelta:
        return self._clock() - (publication.confirmed_at or publication.created_at)

    def _save(self, publication: Publication, changes: Changes) -> Publication | None:
        return self._publications.save(publication, **changes)


def _existing(api: GitHubApi, key: int | str) -> RepositoryInfo | None:
    try:
        return api.repository(key)
    except GitHubError as error:
        if error.code != Code.GONE:
            raise
        return None


def _is_fork_of(info: RepositoryInfo, publication: Publication) -> bool:
    return info.is_fork and publication.repo_id in (info.parent_id, info.network_id)


def _upstream(publication: Publication) -> RepositoryInfo:
    """As much of the upstream as a fork needs; it was looked at in the step before."""
    return RepositoryInfo(
        id=publication.repo_id, full_name=publication.repository,
        default_branch=publication.base_branch, is_private=False, is_archived=False,
        allows_forks=True, level=records.READ, is_fork=False, parent_id=None, network_id=None,
        etag=None)


def _stopped(code: str, detail: str = "") -> Changes:
    """It waits for its author."""
    return {"problem": str(code), "detail": detail, "next_at": None}


def _number_of(publication: Publication) -> int:
    """Which of the names that fit its branch has."""
    first = branch_name(publication, publication.tree_sha or "")
    suffix = (publication.branch or "").removeprefix(first).removeprefix("-")
    return int(suffix) if suffix.isdigit() else 1
