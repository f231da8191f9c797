"""What a sync notes of repositories on GitHub: where they are, how they are, when to look next."""
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from registry.db import file_problems, sources, uses, versions
from registry.source import GITHUB, Source
from registry.source_words import GONE, REPLACED
from registry.visibility import set_private

OK = "ok"
LEAST_PAUSE = timedelta(minutes=1)
MOST_PAUSE = timedelta(minutes=30)
MAX_DOUBLINGS = 6


class UpstreamRows:
    """Writes those columns of `sources` that are about GitHub. Safe in several threads."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def due(self) -> set[str]:
        """The names of the sources on GitHub whose turn it is."""
        is_due = sa.or_(sources.c.sync_requested_at.is_not(None), sources.c.next_sync_at.is_(None),
                        sources.c.next_sync_at <= now())
        with self._engine.connect() as connection:
            return set(connection.scalars(sa.select(sources.c.name).where(
                sources.c.kind == GITHUB, sources.c.paused_at.is_(None), is_due)))

    def used(self, source_id: int) -> set[tuple[str, str]]:
        """Commit and path of all that versions of the source take from its own repository."""
        at = sa.func.coalesce(versions.c.last_commit, sources.c.head)
        query = sa.select(at, uses.c.target).distinct().select_from(
            versions.join(sources).join(uses)).where(
                sources.c.id == source_id, uses.c.kind.in_(("data", "script")),
                uses.c.target.startswith("./"))
        with self._engine.connect() as connection:
            return {(commit, target.removeprefix("./").removeprefix("."))
                    for commit, target in connection.execute(query)}

    def tell(self, source_id: int, stage: str, done: int, total: int) -> None:
        """How far the sync that runs now is."""
        self._write(source_id, progress={"stage": stage, "done": done, "total": total})

    def idle(self, source_id: int) -> None:
        """No sync of it runs any more."""
        self._write(source_id, progress=None)

    def place(self, source: Source, location: str, is_private: bool) -> None:
        """What the repository is called now, and whether the world may see it."""
        assert source.repo_id is not None, "a source on GitHub has the repository's number"
        with self._engine.begin() as connection:
            set_private(connection, source.repo_id, is_private)
            connection.execute(sources.update().where(sources.c.id == source.id).values(
                location=location))

    def found(self, source: Source, head: str | None, state: str, pause: timedelta,
              branch: str | None = None) -> None:
        """A look that went well, and what it saw; `branch` None: it did not see its name."""
        is_known = sources.c.upstream_head.is_not_distinct_from(head)
        kept = {} if state in (GONE, REPLACED) else {"last_problems": None}
        named = {"default_branch": branch} if branch and source.branch is None else {}
        self._write(source.id, upstream_head=head, upstream_state=state, checked_at=now(),
                    upstream_at=sa.case((is_known, sources.c.upstream_at), else_=now()),
                    failures=0, next_sync_at=now() + pause, progress=None, **kept, **named)

    def keep_problems(self, source_id: int) -> None:
        """What is wrong in the files of a repository that is gone stays to be read."""
        with self._engine.begin() as connection:
            rows = connection.execute(sa.select(file_problems).where(
                file_problems.c.source_id == source_id).order_by(file_problems.c.path))
            found = [{"path": row.path, "commit": row.commit, "problems": row.problems}
                     for row in rows]
            connection.execute(sources.update().where(
                sources.c.id == source_id, sources.c.last_problems.is_(None)).values(
                    last_problems=found))

    def failed(self, source: Source, state: str | None, wait_s: int | None) -> None:
        """A look that saw nothing; `state` None: it says nothing about the repository."""
        pause = max(pause_after(source.failures + 1), timedelta(seconds=wait_s or 0))
        self._write(source.id, checked_at=now(), failures=source.failures + 1, progress=None,
                    upstream_state=state or source.upstream_state,
                    next_sync_at=now() + min(pause, 2 * MOST_PAUSE))

    def hold(self, source: Source, head: str, count: int) -> None:
        """A head that would take away this many versions waits for the owner's word."""
        self._write(source.id, held_head=head, held_count=count)

    def let_go(self, source: Source) -> None:
        """Nothing waits any more."""
        if source.held_head or source.confirmed_head:
            self._write(source.id, held_head=None, held_count=0, confirmed_head=None)

    def _write(self, source_id: int, **values: Any) -> None:
        with self._engine.begin() as connection:
            connection.execute(sources.update().where(sources.c.id == source_id).values(values))


def pause_after(failures: int) -> timedelta:
    """How long a source rests that failed so many times in a row."""
    return min(LEAST_PAUSE * 2 ** min(failures - 1, MAX_DOUBLINGS), MOST_PAUSE)


def now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
