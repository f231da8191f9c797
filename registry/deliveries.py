"""Webhook deliveries: each is taken once, and makes what it tells of be looked at soon."""
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from registry.config import Secret
from registry.db import github_tokens, publications, repo_access, sources, webhook_deliveries
from registry.errors import NotFoundError
from registry.source import GITHUB
from registry.visibility import set_private
from registry.webhooks import HIDDEN, Change, Event, Pull, Push, secret_of
from runner.sentence import Sentence

KEPT_FOR = timedelta(days=7)


class Deliveries:
    """What GitHub tells is only a hint: everything is asked anew, and only hiding is done at once.

    Safe in several processes.
    """

    def __init__(self, engine: sa.Engine, key: Secret) -> None:
        self._engine = engine
        self._key = key

    def secret(self, source_id: int) -> Secret:
        """What signs the deliveries for a source, whether there is one or not."""
        return secret_of(self._key, source_id)

    def take(self, source_id: int, delivery: str, event: Event | None) -> bool:
        """Act on a delivery whose signature was right; False: it came before, nothing is done.

        `event` None: nothing that matters. An event about another repository than the source's is
        nothing, either. Raises NotFoundError where the source is gone.
        """
        now = _now()
        with self._engine.begin() as connection:
            repo_id = connection.scalar(sa.select(sources.c.repo_id).where(
                sources.c.id == source_id, sources.c.kind == GITHUB))
            if repo_id is None:
                raise NotFoundError(Sentence(
                    "This source was removed. Delete the webhook on GitHub."))
            if not _note(connection, delivery, now):
                return False
            if event is not None and event.repo_id == repo_id:
                _act(connection, source_id, event, now)
        return True


def _note(connection: sa.Connection, delivery: str, now: datetime) -> bool:
    """Whether this delivery is new; those of long ago are forgotten."""
    connection.execute(webhook_deliveries.delete().where(
        webhook_deliveries.c.received_at < now - KEPT_FOR))
    try:
        with connection.begin_nested():
            connection.execute(webhook_deliveries.insert().values(id=delivery, received_at=now))
    except sa.exc.IntegrityError:
        return False
    return True


def _act(connection: sa.Connection, source_id: int, event: Event, now: datetime) -> None:
    if isinstance(event, Pull):
        _wake(connection, event, now)
        return
    if isinstance(event, Change) and event.kind == HIDDEN:
        _hide(connection, source_id, event.repo_id, now)
    fits = _is_pushed(event) if isinstance(event, Push) else sa.true()
    connection.execute(sources.update().where(
        sources.c.kind == GITHUB, sources.c.repo_id == event.repo_id, fits)
        .values(sync_requested_at=now))


def _is_pushed(push: Push) -> sa.ColumnElement[bool]:
    """The sources that show what was pushed."""
    if push.tag is not None:
        return sa.and_(sources.c.tag_prefix.is_not(None),
                       sa.literal(push.tag).startswith(sources.c.tag_prefix, autoescape=False))
    named = sources.c.branch == push.branch
    return sa.or_(named, sources.c.branch.is_(None)) if push.is_default else named


def _hide(connection: sa.Connection, source_id: int, repo_id: int, now: datetime) -> None:
    """Nobody sees the source until their own token was seen to read it after this moment.

    Only this source: its owner knows the secret, so could tell this of a repository of others.
    """
    if set_private(connection, repo_id, True, sources.c.id == source_id):
        connection.execute(github_tokens.update().where(github_tokens.c.user_id.in_(
            sa.select(repo_access.c.user_id).where(repo_access.c.repo_id == repo_id)))
            .values(access_wanted_at=now))
        connection.execute(repo_access.delete().where(repo_access.c.repo_id == repo_id))


def _wake(connection: sa.Connection, event: Pull, now: datetime) -> None:
    """Publications that wait for their pull request look at it now."""
    connection.execute(publications.update().where(
        publications.c.repo_id == event.repo_id, publications.c.next_at > now,
        sa.or_(publications.c.pull_number == event.number, sa.and_(
            publications.c.pull_number.is_(None), publications.c.branch == event.head)))
        .values(next_at=now))


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
