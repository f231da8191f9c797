"""What is used most, what goes together, what oneself used last; of others counts, never who."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Collection, Iterable, Mapping

import sqlalchemy as sa

from registry import visibility
from registry.db import runs, sources, uses, versions
from registry.entry import Entry, entry_of
from registry.relations import Key, key_of, select_light
from registry.uses import IMAGE, REFERENCE_USE

# Of a component that very many use, so many users say well enough what goes with it.
MAX_USERS = 500
_IS_SHOWN = (versions.c.is_latest, versions.c.is_present)


@dataclass(frozen=True, kw_only=True)
class Companion:
    """A component that goes together with another one.

    `runs` counts the jobs that both took part in, `components` the components that use both; of
    two jobs, `components` counts what both use.
    """

    entry: Entry
    runs: int
    components: int


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A component and how many jobs it took part in."""

    entry: Entry
    runs: int


class Recommendation:
    """Counts over submitted jobs and over uses; only what the user may see, None: a visitor."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def run_count(self, entry: Entry) -> int:
        """In how many submitted jobs any version of this component took part."""
        with self._engine.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(runs).where(
                _is(runs, key_of(entry)))) or 0

    def most_used(self, limit: int, *, types: Collection[str] = (), user_id: int | None
                  ) -> tuple[Ranked, ...]:
        """The components that took part in most jobs, none that was never run."""
        return self._ranked(sa.func.count(), limit, types=types, user_id=user_id)

    def recent(self, limit: int, *, types: Collection[str] = (), user_id: int | None
               ) -> tuple[Ranked, ...]:
        """What took part in the user's own jobs, the last one first; of a visitor nothing.

        `runs` counts the user's own jobs.
        """
        if user_id is None:
            return ()
        return self._ranked(sa.func.max(runs.c.created_at), limit, runs.c.user_id == user_id,
                            types=types, user_id=user_id)

    def _ranked(self, order: sa.ColumnElement[Any], limit: int, *chosen: sa.ColumnElement[bool],
                types: Collection[str], user_id: int | None) -> tuple[Ranked, ...]:
        """Components of the chosen runs, those where `order` is greatest first."""
        columns = (runs.c.source_id, runs.c.type, runs.c.name)
        counted = sa.select(*columns, sa.func.count().label("jobs"), order.label("rank")).where(
            *chosen, *([runs.c.type.in_(types)] if types else [])).group_by(*columns).subquery()
        query = sa.select(counted).join(sources, counted.c.source_id == sources.c.id).join(
            versions, sa.and_(
                versions.c.source_id == counted.c.source_id, versions.c.type == counted.c.type,
                versions.c.name == counted.c.name, *_IS_SHOWN)).where(
                    visibility.is_visible(user_id)).order_by(
                        counted.c.rank.desc(), counted.c.name, counted.c.source_id).limit(limit)
        with self._engine.connect() as connection:
            counts = {(row.source_id, row.type, row.name): row.jobs
                      for row in connection.execute(query)}
            found = _shown(connection, counts, user_id)
        return tuple(Ranked(entry=found[key], runs=counts[key]) for key in counts if key in found)

    def together(self, entry: Entry, limit: int, *, user_id: int | None) -> tuple[Companion, ...]:
        """What goes with a component: most common runs first, then most common components.

        What the component itself names is left out: its page shows that anyway.
        """
        with self._engine.connect() as connection:
            own = connection.execute(sa.select(
                uses.c.kind, uses.c.target, uses.c.target_type).where(
                    uses.c.version_id == entry.id)).all()
            by_runs = _in_same_jobs(connection, key_of(entry), user_id)
            by_uses = _in_same_components(connection, entry, own, user_id)
            keys = {*by_runs, *by_uses} - {key_of(entry)}
            best = sorted(keys, key=lambda key: (-by_runs[key], -by_uses[key], key))
            found = _shown(connection, best[:MAX_USERS], user_id)
        named = {(use.target_type, use.target) for use in own if use.kind == REFERENCE_USE}
        companions = [Companion(entry=found[key], runs=by_runs[key], components=by_uses[key])
                      for key in best if key in found and key[1:] not in named]
        return tuple(companions[:limit])


def _is(table: sa.Table, key: Key) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.source_id == key[0], table.c.type == key[1], table.c.name == key[2])


def _shown(connection: sa.Connection, keys: Iterable[Key], user_id: int | None
           ) -> Mapping[Key, Entry]:
    """The entries that lists show of components, as far as the user may see them."""
    wanted = list(keys)
    if not wanted:
        return {}
    rows = connection.execute(select_light(user_id).where(*_IS_SHOWN, sa.tuple_(
        versions.c.source_id, versions.c.type, versions.c.name).in_(wanted)))
    return {key_of(entry): entry for entry in map(entry_of, rows)}


def _in_same_jobs(connection: sa.Connection, key: Key, user_id: int | None) -> Counter[Key]:
    other = runs.alias("other")
    rows = connection.execute(sa.select(
        other.c.source_id, other.c.type, other.c.name, sa.func.count()).join(
            runs, runs.c.job_id == other.c.job_id).join(
                sources, sources.c.id == other.c.source_id).where(
                    visibility.is_visible(user_id), _is(runs, key)).group_by(
                        other.c.source_id, other.c.type, other.c.name).order_by(
                            sa.func.count().desc()).limit(MAX_USERS))
    return Counter({tuple(row[:3]): row[3] for row in rows})


def _in_same_components(connection: sa.Connection, entry: Entry,
                        own: Iterable[sa.Row[Any, Any, Any]], user_id: int | None) -> Counter[Key]:
    """Of a job: jobs that use the same things. Of a part: parts of the jobs that use it.

    Only jobs that the user may see count; `own` is what the component itself uses.
    """
    if entry.type == "job":
        # Not by images that are written out: half of all jobs run in the same one.
        shared = {(use.kind, use.target) for use in own if use.kind != IMAGE}
        return _users_of(connection, shared, user_id)
    targets = {(use.kind, use.target) for use in own} | {(REFERENCE_USE, entry.name)}
    users = sa.select(uses.c.version_id).join(
        versions, versions.c.id == uses.c.version_id).join(
            sources, sources.c.id == versions.c.source_id).where(
                visibility.is_visible(user_id), versions.c.type == "job", *_IS_SHOWN,
                _is_any(targets)).order_by(versions.c.position.desc()).limit(MAX_USERS)
    rows = connection.execute(sa.select(uses.c.target_type, uses.c.target, sa.func.count()).where(
        uses.c.kind == REFERENCE_USE, uses.c.version_id.in_(users)).group_by(
            uses.c.target_type, uses.c.target)).all()
    return _named_components(connection, {(row[0], row[1]): row[2] for row in rows})


def _users_of(connection: sa.Connection, targets: Collection[Any], user_id: int | None
              ) -> Counter[Key]:
    if not targets:
        return Counter()
    count = sa.func.count()
    columns = (versions.c.source_id, versions.c.type, versions.c.name)
    rows = connection.execute(sa.select(*columns, count).join(
        uses, uses.c.version_id == versions.c.id).join(
            sources, sources.c.id == versions.c.source_id).where(
                visibility.is_visible(user_id), versions.c.type == "job", *_IS_SHOWN,
                _is_any(targets)).group_by(*columns).order_by(count.desc()).limit(MAX_USERS))
    return Counter({tuple(row[:3]): row[3] for row in rows})


def _named_components(connection: sa.Connection, counts: Mapping[tuple[str, str], int]
                      ) -> Counter[Key]:
    """The components of these types and names, in whichever source."""
    if not counts:
        return Counter()
    rows = connection.execute(sa.select(
        versions.c.source_id, versions.c.type, versions.c.name).where(
            *_IS_SHOWN, versions.c.type.in_(sorted({type_name for type_name, _ in counts})),
            versions.c.name.in_(sorted({name for _, name in counts}))))
    return Counter({tuple(row): counts[row.type, row.name] for row in rows
                    if (row.type, row.name) in counts})


def _is_any(targets: Iterable[Any]) -> sa.ColumnElement[bool]:
    return sa.or_(*(sa.and_(uses.c.kind == kind, uses.c.target == target)
                    for kind, target in sorted(targets)))
