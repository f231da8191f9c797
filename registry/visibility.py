"""Who may see which source. Every read of the catalog and of the index goes through here.

A folder of this server is for everyone, a repository on GitHub that is public, too. A private one
is for those whose own token was seen to read it within the last hour; nothing else opens it, not
even being an admin. When that cannot be asked, it closes.
"""
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from registry.db import github_tokens, repo_access, search_outbox, sources, versions
from registry.source import GITHUB, LOCAL

PUBLIC = "public"
NO_LEVEL = "none"
BLOCKED = "blocked"  # GitHub itself may not show it, for legal reasons: nobody sees it here
PROVEN_FOR = timedelta(minutes=60)
IS_PUBLIC = sa.or_(sources.c.kind == LOCAL, sa.and_(
    sources.c.kind == GITHUB, ~sources.c.is_private, sources.c.upstream_state != BLOCKED))


def audience(kind: str, source_id: int) -> str:
    """The audience that the components of a source are shown to."""
    return PUBLIC if kind == LOCAL else f"source {source_id}"


def is_visible(user_id: int | None) -> sa.ColumnElement[bool]:
    """The condition on `sources` under which a user may see one; None is a visitor."""
    if user_id is None:
        return IS_PUBLIC
    return sa.or_(IS_PUBLIC, sa.and_(
        sources.c.kind == GITHUB, sources.c.is_private, sources.c.upstream_state != BLOCKED,
        _is_proven(user_id)))


def _is_proven(user_id: int) -> sa.ColumnElement[bool]:
    """Whether the token that the user has now, and that works, was seen to read it not long ago."""
    now = datetime.now(UTC).replace(tzinfo=None)
    return sa.exists().where(
        repo_access.c.user_id == user_id, repo_access.c.repo_id == sources.c.repo_id,
        repo_access.c.level != NO_LEVEL, repo_access.c.checked_at > now - PROVEN_FOR,
        github_tokens.c.user_id == repo_access.c.user_id, github_tokens.c.problem.is_(None),
        github_tokens.c.verified_at <= repo_access.c.checked_at,
        sa.or_(github_tokens.c.expires_at.is_(None), github_tokens.c.expires_at > now))


def _shown(condition: sa.ColumnElement[bool]) -> sa.Select[int]:
    return sa.select(sources.c.id).where(sources.c.kind == GITHUB, condition)


_SHOWN_TO_ALL = _shown(is_visible(None))  # as most ask; what is made once is quicker to run


class Audiences:
    """Tells which audiences a user belongs to, by the same rule; asked anew at each search."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def of(self, user_id: int | None) -> frozenset[str]:
        """None is a visitor."""
        asked = _SHOWN_TO_ALL if user_id is None else _shown(is_visible(user_id))
        with self._engine.connect() as connection:
            ids = connection.scalars(asked).all()
        return frozenset({PUBLIC, *(audience(GITHUB, id) for id in ids)})


def set_private(connection: sa.Connection, repo_id: int, is_private: bool,
                *conditions: sa.ColumnElement[bool]) -> bool:
    """Show or hide a repository from now on; numbers that counted its components are made anew.

    With `conditions` only those of its sources that fit. Returns whether that was any news.
    """
    changed = connection.scalars(sa.select(sources.c.id).where(
        sources.c.repo_id == repo_id, sources.c.is_private != is_private, *conditions)).all()
    if changed:
        connection.execute(sources.update().where(sources.c.id.in_(changed)).values(
            is_private=is_private))
        connection.execute(search_outbox.insert().from_select(
            ["type", "name", "source_id"],
            sa.select(versions.c.type, versions.c.name, versions.c.source_id).where(
                versions.c.source_id.in_(changed)).distinct()))
    return bool(changed)


def only_public(user_id: int | None) -> frozenset[str]:
    """What is left where nobody can be asked who may see what."""
    return frozenset({PUBLIC})
