"""Who was seen to read which private repository: asked of GitHub with each user's own token alone.

Nothing here opens what a token was not seen to read. What it was is kept for an hour, and asked
again after ten minutes once its user looks at something. No page waits for that.
"""
from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Callable, Collection, Iterable

import sqlalchemy as sa

from registry import visibility
from registry.db import github_tokens, repo_access, sources, users
from registry.github_accounts import GitHubAccounts
from registry.github_api import GitHubApi
from registry.github_errors import Code, GitHubError
from registry.github_records import READ, RepositoryInfo
from registry.source import GITHUB
from registry.visibility import BLOCKED, NO_LEVEL, PROVEN_FOR

log = logging.getLogger(__name__)
FRESH_FOR = timedelta(minutes=10)
MARKED_EVERY = timedelta(minutes=1)
AGAIN_AFTER = timedelta(minutes=1)  # where GitHub did not answer about some repository
MAX_FAILURES = 3  # then it is GitHub that is in trouble, or asks to wait
MAX_ASKED = 100  # repositories one by one in a step; the others come with the next one
_REFUSED = frozenset({Code.GONE, Code.FORBIDDEN, Code.SSO_REQUIRED, Code.ORG_POLICY,
                      Code.SCOPE_MISSING})


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What a user's token may do with a repository: none, read, write or admin."""

    repo_id: int
    level: str
    etag: str | None = None


class Access:
    """Marks that users look, and keeps what was proven; safe in several processes."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._marked: dict[int, datetime] = {}

    def want(self, user_id: int) -> None:
        """The user looks at something; noted at most once a minute, and only with a token."""
        now = _now()
        if self._marked.get(user_id, datetime.min) > now - MARKED_EVERY:
            return
        self._marked[user_id] = now
        is_due = sa.and_(
            github_tokens.c.user_id == user_id, github_tokens.c.problem.is_(None), sa.or_(
                github_tokens.c.access_wanted_at.is_(None),
                github_tokens.c.access_wanted_at < now - MARKED_EVERY))
        with self._engine.connect() as connection:
            if connection.scalar(sa.select(github_tokens.c.user_id).where(is_due)) is None:
                return
        with self._engine.begin() as connection:
            connection.execute(github_tokens.update().where(is_due).values(access_wanted_at=now))

    def expired(self, user_id: int) -> int:
        """How many private repositories are hidden until GitHub is asked about them again."""
        with self._engine.connect() as connection:
            return connection.scalar(
                sa.select(sa.func.count(sa.distinct(repo_access.c.repo_id))).select_from(
                    repo_access.join(sources, sources.c.repo_id == repo_access.c.repo_id).join(
                        github_tokens, github_tokens.c.user_id == repo_access.c.user_id)).where(
                            repo_access.c.user_id == user_id, repo_access.c.level != NO_LEVEL,
                            repo_access.c.checked_at <= _now() - PROVEN_FOR,
                            sources.c.is_private, github_tokens.c.problem.is_(None))) or 0

    def prove(self, user_id: int, proof: Proof) -> None:
        """Keep what the user's own token was just seen to do."""
        with self._engine.begin() as connection:
            _keep(connection, user_id, [proof], _now())


class AccessTask:
    """Asks GitHub what each user may read; a task of the process that speaks to it."""

    def __init__(self, engine: sa.Engine, accounts: GitHubAccounts,
                 now: Callable[[], datetime] | None = None) -> None:
        self._engine, self._accounts = engine, accounts
        self._now = now or _now
        self._not_before: dict[int, datetime] = {}

    def due(self, now: datetime) -> Collection[int]:
        """Who looked at something since they were last asked about, or of whom some is unknown."""
        with self._engine.connect() as connection:
            found = connection.scalars(sa.select(github_tokens.c.user_id).where(
                *_is_due(now))).all()
        return [user_id for user_id in found
                if self._not_before.get(user_id, now) <= now]

    def step(self, user_id: int, stop: threading.Event) -> None:
        """All that the token lists, then one by one what it does not; each answer is kept at once.

        Raises GitHubError where GitHub does not answer at all, or the token is not accepted.
        """
        began = self._now()
        self._not_before[user_id] = began + AGAIN_AFTER
        account = self._accounts.of(user_id)
        if account is None:
            return
        asker = _Asker(engine=self._engine, user_id=user_id, verified_at=account.verified_at,
                       began=began)
        with self._accounts.asking(user_id, is_background=True) as api:
            listed = {info.id: info for info in api.repositories() if info.level != NO_LEVEL}
            self._hide(info.id for info in listed.values() if info.is_private)
            known = self._known(user_id)
            asker.keep([_proof(listed[row.repo_id]) for row in known if row.repo_id in listed],
                       is_whole=True)
            is_answered = self._ask_for(asker, api, [
                row for row in known if row.repo_id not in listed and not row.is_known(began)],
                stop)
            if is_answered and not api.asks_sso:
                self._accounts.let_in(user_id)
        if is_answered:
            del self._not_before[user_id]

    def _ask_for(self, asker: _Asker, api: GitHubApi, rows: Collection[_Known],
                 stop: threading.Event) -> bool:
        """What GitHub does not list, the longest unknown first; whether it said something of each.

        Where it does not, what was known stays for as long as that lasts. One repository that
        GitHub cannot tell of does not keep the others waiting.
        """
        failures = 0
        for row in sorted(rows, key=lambda row: row.checked_at or datetime.min)[:MAX_ASKED]:
            if stop.is_set():
                return False
            try:
                asker.keep([self._asked(api, row)])
            except GitHubError as error:
                failures += 1
                if error.code is Code.TOKEN_DEAD or failures == MAX_FAILURES:
                    raise
        return not failures

    def _asked(self, api: GitHubApi, row: _Known) -> Proof:
        """What the token may do with one repository; raises GitHubError where that is not said."""
        try:
            info = api.repository_since(row.repo_id, row.etag)
        except GitHubError as error:
            if error.code is Code.BLOCKED:
                self._block(row.repo_id)
            elif error.code not in _REFUSED:
                raise
            return Proof(repo_id=row.repo_id, level=NO_LEVEL)
        if info is None:
            return Proof(repo_id=row.repo_id, level=row.level, etag=row.etag)
        return _proof(info)

    def _known(self, user_id: int) -> list[_Known]:
        """Each private repository that is indexed, with what is known of it."""
        own = sa.and_(repo_access.c.repo_id == sources.c.repo_id,
                      repo_access.c.user_id == user_id)
        with self._engine.connect() as connection:
            return [_Known(**row._mapping) for row in connection.execute(
                sa.select(sources.c.repo_id,
                          sa.func.coalesce(repo_access.c.level, NO_LEVEL).label("level"),
                          repo_access.c.checked_at, repo_access.c.etag).distinct().select_from(
                              sources.outerjoin(repo_access, own)).where(*_IS_PRIVATE))]

    def _hide(self, repo_ids: Iterable[int]) -> None:
        """What is private by now: first of all nobody sees it any more."""
        with self._engine.connect() as connection:
            shown = set(connection.scalars(sa.select(sources.c.repo_id).where(
                sources.c.kind == GITHUB, ~sources.c.is_private)))
        for repo_id in shown.intersection(repo_ids):
            log.info("The repository %d is private by now and is hidden.", repo_id)
            with self._engine.begin() as connection:
                visibility.set_private(connection, repo_id, True)

    def _block(self, repo_id: int) -> None:
        with self._engine.begin() as connection:
            connection.execute(sources.update().where(sources.c.repo_id == repo_id).values(
                upstream_state=BLOCKED))


@dataclass(frozen=True, kw_only=True)
class _Known:
    """A private repository; `checked_at` None: its user was never asked about it."""

    repo_id: int
    level: str
    checked_at: datetime | None
    etag: str | None

    def is_known(self, now: datetime) -> bool:
        """A refusal lasts longer: who is let in later is listed by GitHub."""
        lasts = PROVEN_FOR if self.level == NO_LEVEL else FRESH_FOR
        return self.checked_at is not None and self.checked_at > now - lasts


@dataclass(frozen=True, kw_only=True)
class _Asker:
    """Keeps what was answered to one token, unless its user has another one by now."""

    engine: sa.Engine
    user_id: int
    verified_at: datetime
    began: datetime

    def keep(self, proofs: Collection[Proof], *, is_whole: bool = False) -> None:
        """`is_whole`: everything that the token lists is among them."""
        values = {"access_checked_at": self.began} if is_whole else {
            "access_checked_at": github_tokens.c.access_checked_at}
        with self.engine.begin() as connection:
            is_same = connection.execute(github_tokens.update().where(
                github_tokens.c.user_id == self.user_id, github_tokens.c.problem.is_(None),
                github_tokens.c.verified_at == self.verified_at).values(values)).rowcount
            if is_same:
                _keep(connection, self.user_id, proofs, self.began)


_IS_PRIVATE = (sources.c.kind == GITHUB, sources.c.is_private, sources.c.repo_id.is_not(None))


def _is_due(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    token, fresh = github_tokens.c, now - FRESH_FOR
    is_old = sa.and_(token.access_checked_at <= fresh,
                     token.access_wanted_at > token.access_checked_at)
    is_known = sa.exists().where(
        repo_access.c.user_id == token.user_id, repo_access.c.repo_id == sources.c.repo_id,
        sa.or_(repo_access.c.level == NO_LEVEL, repo_access.c.checked_at > fresh,
               repo_access.c.checked_at >= token.access_wanted_at)).correlate(
                   github_tokens, sources)
    lacks_some = sa.and_(token.access_wanted_at > now - PROVEN_FOR, sa.exists().where(
        *_IS_PRIVATE, ~is_known).correlate(github_tokens))
    may_log_in = sa.exists().where(users.c.id == token.user_id, users.c.locked_at.is_(None))
    return (token.problem.is_(None), token.access_wanted_at.is_not(None), may_log_in,
            sa.or_(token.limited_until.is_(None), token.limited_until <= now),
            sa.exists().where(sources.c.kind == GITHUB),
            sa.or_(token.access_checked_at.is_(None), is_old, lacks_some))


def _proof(info: RepositoryInfo) -> Proof:
    """An answer alone shows that it can be read."""
    return Proof(repo_id=info.id, etag=info.etag,
                 level=READ if info.level == NO_LEVEL else info.level)


def _keep(connection: sa.Connection, user_id: int, proofs: Collection[Proof], at: datetime
          ) -> None:
    if not proofs:
        return
    connection.execute(repo_access.delete().where(
        repo_access.c.user_id == user_id,
        repo_access.c.repo_id.in_([proof.repo_id for proof in proofs])))
    connection.execute(repo_access.insert(), [
        {"user_id": user_id, "repo_id": proof.repo_id, "level": proof.level, "etag": proof.etag,
         "checked_at": at} for proof in proofs])


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
