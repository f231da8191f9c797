"""One look at a repository on GitHub: by whose token, is it still the same one, what is new."""
from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Collection, Protocol

import requests

from registry.commits import Fetched
from registry.config import Secret
from registry.errors import RegistryError
from registry.git_store import GitStore
from registry.git_wire import Refs
from registry.github_errors import Code, GitHubError
from registry.github_records import RepositoryInfo
from registry.remote import Reason, RemoteError
from registry.source import MAX_USED_FILES, Source
from registry.source_words import (
    BLOCKED,
    EMPTY,
    FORBIDDEN,
    GONE,
    REPLACED,
    sponsor_is_out,
    what_happened,
)
from registry.upstream import Tell, Upstream, Way
from registry.upstream_rows import OK, UpstreamRows, now
from runner.sentence import Sentence

MOST_S = 600.0  # for one look, the first one at a large repository included
REFS_S = 60.0  # of that, for where the branch is
SAME_S = 600.0  # how long it counts that a name still was the repository's own
_OF_TOKEN = (Code.TOKEN_DEAD, Code.NO_TOKEN, Code.KEY_LOST, Code.SCOPE_MISSING, Code.SSO_REQUIRED,
             Code.ORG_POLICY, Code.FORBIDDEN)


class UpstreamError(RegistryError):
    """The repository cannot be read; `state` is what that says about it, None: nothing."""

    def __init__(self, state: str | None, message: str, wait_s: int | None = None) -> None:
        super().__init__(message)
        self.state = state
        self.wait_s = wait_s


class Access(Protocol):
    """GitHub's API, and the tokens of those who let theirs be used for background syncs."""

    def token_of(self, user_id: int) -> Secret | None:
        """None: the user has none, or it does not work any more."""

    def repository(self, key: int | str, user_id: int | None) -> RepositoryInfo:
        """By number or name, as that user sees it, None: as anybody. Raises GitHubError."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What a look saw. `fetched` is here already, None: there is nothing to follow.

    `problem` is what the source's readers are told; None: all is well. `branch` None: it did not
    say what the branch is called.
    """

    source: Source
    head: str | None
    fetched: Fetched | None
    state: str = OK
    problem: str | None = None
    branch: str | None = None


class Looker:
    """Looks at one source after the other, in several threads at once; no two at the same one."""

    def __init__(self, url: str, access: Access, rows: UpstreamRows) -> None:
        self._url = url
        self._access = access
        self._rows = rows
        self._same_until: dict[int, float] = {}
        self._brought: dict[int, tuple[Refs, Fetched]] = {}
        self._signed: set[int] = set()  # public, but on a server that shows nothing to strangers

    def look(self, session: requests.Session, source: Source, store: GitStore,
             without: Collection[str], tell: Tell) -> Sight:
        """Raises UpstreamError, RemoteError and other RegistryErrors; then nothing has changed."""
        visit = _Visit(session, source, store, time.monotonic() + MOST_S, tell)
        try:
            if source.upstream_state not in (OK, EMPTY):
                self._find(visit)
            return self._see(visit, without)
        except UpstreamError as error:
            if error.state in (GONE, REPLACED):
                return visit.nothing(error.state, error.message)
            raise

    def bring_used(self, session: requests.Session, source: Source, store: GitStore,
                   without: Collection[str], tell: Tell) -> None:
        """Have the files here that jobs take from the repository; raises as `look` does."""
        wanted: set[str] = set()
        for commit, path in self._rows.used(source.id):
            found, is_all = store.blobs(commit, path, MAX_USED_FILES)
            wanted |= found if is_all else set()
        missing = store.lacks(wanted) - set(without)
        if missing:
            is_signed = source.is_private or source.id in self._signed
            visit = _Visit(session, source, store, time.monotonic() + MOST_S, tell)
            visit.upstream().bring_used(visit.way(
                self._url, self._token(source) if is_signed else None), missing)

    def _see(self, visit: _Visit, without: Collection[str]) -> Sight:
        way, refs = self._reach_again(visit)
        if refs.head is None:
            if visit.store.head() and not self._is_same(visit.source):
                self._find(visit)
            return visit.nothing(EMPTY, what_happened(
                EMPTY, visit.source.location, visit.source.branch))
        is_new = not refs.head == visit.source.head == visit.store.head()
        if (is_new and not visit.is_proved) or (
                (is_new or not visit.is_proved) and not self._is_same(visit.source)):
            before = visit.source
            self._find(visit)
            if visit.source != before:
                way, refs = self._reach_again(visit)
        if not is_new and visit.source.tag_prefix is None:
            return visit.sight(refs, Fetched(head=refs.head))
        if not is_new and self._brought.get(visit.source.id, (None,))[0] == refs:
            return visit.sight(refs, self._brought[visit.source.id][1])
        upstream = visit.upstream()
        if not upstream.bring_history(way, refs):
            before = visit.source
            self._find(visit)
            if visit.source != before:  # the name is somebody else's now
                return self._see(visit, without)
        fetched = upstream.bring_content(way, refs, without)
        self._brought[visit.source.id] = refs, Fetched(head=fetched.head, tags=fetched.tags)
        return visit.sight(refs, fetched)

    # --- reaching it ----------------------------------------------------------------------------

    def _reach_again(self, visit: _Visit) -> tuple[Way, Refs]:
        """Where it cannot be read, ask what became of it, and try once more."""
        try:
            return self._reach(visit)
        except RemoteError as error:
            if error.reason not in (Reason.MOVED, Reason.ABSENT, Reason.REFUSED):
                raise _as_upstream(error) from error
            before = visit.source
            self._find(visit)
            if visit.source == before:
                if before.is_private or self._token(before) is None:
                    raise _unread(before) from error
                self._signed.add(before.id)
        try:
            return self._reach(visit)
        except RemoteError as error:
            raise _as_upstream(error) from error

    def _reach(self, visit: _Visit) -> tuple[Way, Refs]:
        """A public one as anybody, which proves that it is; a private one by the sponsor's token.

        The token helps out with a public one where strangers are asked to wait.
        """
        source, token = visit.source, self._token(visit.source)
        visit.is_proved = source.is_private
        if source.is_private or source.id in self._signed:
            if token is None:
                raise _unread(source)
            return visit.refs(self._url, token)
        try:
            found = visit.refs(self._url, None)
        except RemoteError as error:
            if error.reason is not Reason.LATER or token is None:
                raise
            return visit.refs(self._url, token)
        visit.is_proved = True
        return found

    def _token(self, source: Source) -> Secret | None:
        return self._access.token_of(source.sponsor_id) if source.sponsor_id else None

    # --- which one it is ------------------------------------------------------------------------

    def _is_same(self, source: Source) -> bool:
        """Whether it was asked not long ago; whoever added it was asked as well."""
        is_new = now() - source.created_at < timedelta(seconds=SAME_S)
        return is_new and source.head is None or \
            self._same_until.get(source.id, 0.0) > time.monotonic()

    def _find(self, visit: _Visit) -> None:
        """What the repository is called and who may see it, written down before anything else."""
        source, info = visit.source, self._describe(visit.source)
        self._same_until[source.id] = time.monotonic() + SAME_S
        if (info.full_name, info.is_private) == (source.location, source.is_private):
            return
        self._rows.place(source, info.full_name, info.is_private)
        visit.source = replace(source, location=info.full_name, is_private=info.is_private)

    def _describe(self, source: Source) -> RepositoryInfo:
        assert source.repo_id is not None, "a source on GitHub has the repository's number"
        user_id = source.sponsor_id if self._token(source) else None
        try:
            return self._access.repository(source.repo_id, user_id)
        except GitHubError as error:
            if error.code in _OF_TOKEN and user_id and not source.is_private:
                return self._describe(replace(source, sponsor_id=None))
            if error.code is Code.GONE:
                raise self._gone(source, user_id) from error
            if error.code in _OF_TOKEN:
                raise _unread(source) from error
            raise UpstreamError(BLOCKED if error.code is Code.BLOCKED else None,
                                error.message) from error

    def _gone(self, source: Source, user_id: int | None) -> UpstreamError:
        if source.is_private:
            return _unread(source)
        try:
            other = self._access.repository(source.location, user_id)
        except GitHubError:
            return UpstreamError(GONE, what_happened(GONE, source.location))
        if other.id == source.repo_id:
            return UpstreamError(None, Sentence(
                "GitHub contradicts itself. It is asked again later."))
        return UpstreamError(REPLACED, what_happened(REPLACED, source.location))


@dataclass
class _Visit:
    """One look while it lasts; `source` changes with what is found out about it.

    `is_proved`: that who sees it may see it follows from how it was reached.
    """

    session: requests.Session
    source: Source
    store: GitStore
    give_up_at: float
    tell: Tell
    is_proved: bool = False

    def refs(self, url: str, token: Secret | None) -> tuple[Way, Refs]:
        way = self.way(url, token)
        soon = min(self.give_up_at, time.monotonic() + REFS_S)
        return way, self.upstream().refs(replace(way, give_up_at=soon))

    def way(self, url: str, token: Secret | None) -> Way:
        return Way(session=self.session, url=url, name=self.source.location, token=token,
                   give_up_at=self.give_up_at)

    def upstream(self) -> Upstream:
        return Upstream(self.source, self.store, self.tell)

    def sight(self, refs: Refs, fetched: Fetched) -> Sight:
        return Sight(source=self.source, head=refs.head, fetched=fetched, branch=refs.branch)

    def nothing(self, state: str, problem: str) -> Sight:
        """It holds nothing now, which is a state like any other: that of an empty commit."""
        before = self.store.head()
        fetched = Fetched(head=self.store.commit_nothing(before)) if before else None
        return Sight(source=self.source, head=None, fetched=fetched, state=state, problem=problem)


def _as_upstream(error: RemoteError) -> UpstreamError:
    state = {Reason.BLOCKED: BLOCKED, Reason.REFUSED: FORBIDDEN}.get(error.reason)
    return UpstreamError(state, error.message, error.wait_s)


def _unread(source: Source) -> UpstreamError:
    if source.sponsor_is_out:
        return UpstreamError(FORBIDDEN, sponsor_is_out(
            source.sponsor_is_out, source.location, source.sponsor or ""))
    return UpstreamError(FORBIDDEN, what_happened(FORBIDDEN, source.location))
