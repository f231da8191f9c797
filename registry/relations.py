"""Which versions use which, exactly, in both directions; and what a yank would change."""
from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.catalog import Catalog
from registry.component_rules import TYPES
from registry.db import marks, sources, uses, versions
from registry.entry import Entry, Mark, entry_of, select_entries
from registry.errors import RegistryError
from registry.reference import LATEST, YANKED, Reference
from registry.uses import REFERENCE_USE, Use

Key = tuple[int, str, str]  # source, type and name
WHOLE = 1_000_000
_USE = ("kind", "target", "target_type", "target_source", "target_version")
_COMPONENT = (versions.c.source_id, versions.c.type, versions.c.name)
# What a choice between versions looks at; the rest of an Entry is left empty.
_CHOSEN_BY = ("id", "source_id", "type", "name", "version", "commit", "committed_at", "path",
              "blob", "position", "is_latest", "is_present", "is_moved")


@dataclass(frozen=True, kw_only=True)
class User:
    """A component that uses a version, by what lists show of it or else what came in last.

    `use` is what that version has written; `older` counts the other versions that use it.
    """

    newest: Entry
    use: Use
    older: int

    @property
    def is_current(self) -> bool:
        """Whether what lists show of the component uses it still."""
        return self.newest.is_latest and self.newest.is_present


@dataclass(frozen=True, kw_only=True)
class UsedBy:
    """A slice of those who use a version, those that do today first; entries lack their texts.

    `total` counts all of them. `same` are other components of its type that stand for the same
    image, data or script.
    """

    users: tuple[User, ...]
    total: int
    same: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class Consequence:
    """What the reference of a user means once a version is yanked.

    `after` None: nothing any more, and `reason` says why.
    """

    user: User
    after: Entry | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """The first of the components that a yank would concern, and how many these are in all."""

    first: tuple[Consequence, ...]
    total: int


class Relations:
    """Reads the uses that syncs wrote down. `user_id` is who reads, None a visitor."""

    def __init__(self, engine: sa.Engine, catalog: Catalog) -> None:
        self._engine = engine
        self._catalog = catalog

    def used_by(self, entry: Entry, *, limit: int = WHOLE, offset: int = 0, user_id: int | None
                ) -> UsedBy:
        """Every version that uses exactly this one, as references resolve now."""
        with self._engine.connect() as connection:
            written = _written(connection, entry)
            known = _named(connection, {entry.name} if written else (), user_id)
            meant = self._resolved(written, known)
            exact = [use for use in written if _id(meant[use]) == entry.id]
            targets = _own_targets(connection, entry)
            is_alike = _is_any_target(targets, entry.source_id)
            users, total = _grouped(connection, sa.or_(
                _is_any_of(exact), sa.and_(is_alike, versions.c.type != entry.type)),
                limit, offset, user_id)
            same, _ = _grouped(connection, sa.and_(
                is_alike, versions.c.type == entry.type, ~_is_component(entry)),
                WHOLE, 0, user_id) if targets else ((), 0)
        return UsedBy(users=users, total=total, same=tuple(each.newest for each in same))

    def found(self, wanted: Iterable[Use], source_id: int, *, user_id: int | None
              ) -> dict[Use, Entry | None]:
        """What each use of a component of this source means now.

        That is the version of a reference, or what stands for a URI in the catalog; None: nothing
        that the user may see. Entries are without their texts.
        """
        wanted = set(wanted)
        references = {use for use in wanted if use.kind == REFERENCE_USE}
        with self._engine.connect() as connection:
            known = _named(connection, {use.target for use in references}, user_id)
            meant = self._resolved(references, known)
            ids = {use: entry.id for use, entry in meant.items() if entry} | _standing_for(
                connection, wanted - references, source_id, user_id)
            entries = _entries(connection, ids.values(), user_id)
        return {use: entries.get(ids.get(use, 0)) for use in wanted}

    def consequences(self, entry: Entry, *, limit: int = WHOLE, user_id: int | None
                     ) -> Consequences:
        """What would change if this version were yanked: the users whose reference moves."""
        with self._engine.connect() as connection:
            written = _written(connection, entry)
            known = _named(connection, {entry.name} if written else (), user_id)
            yanked = [_as_yanked(each) if _is_version(each, entry) else each for each in known]
            before, after = self._resolved(written, known), self._resolved(written, yanked)
            moved = [use for use in written if _id(before[use]) == entry.id != _id(after[use])]
            users, total = _grouped(connection, _is_any_of(moved), limit, 0, user_id)
        reasons = {use: "" if after[use] else self._refusal(use, yanked) for use in moved}
        return Consequences(total=total, first=tuple(
            Consequence(user=user, after=after[user.use], reason=reasons[user.use])
            for user in users))

    def dependents(self, *, user_id: int | None) -> dict[int, list[str]]:
        """Of each source the components of others, `source:type/name`, that refer into it now."""
        held, holder = versions.alias("held"), sources.alias("holder")
        query = sa.select(holder.c.id, sources.c.name.label("source"), versions.c.type,
                          versions.c.name).distinct().select_from(uses).join(
            versions, versions.c.id == uses.c.version_id).join(
            sources, sources.c.id == versions.c.source_id).join(
            held, held.c.name == uses.c.target).join(holder, holder.c.id == held.c.source_id)
        found: dict[int, list[str]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(query.where(
                    visibility.is_visible(user_id), uses.c.kind == REFERENCE_USE,
                    uses.c.target_type.in_(["", held.c.type]),
                    uses.c.target_source.in_(["", holder.c.name]),
                    held.c.source_id != versions.c.source_id, held.c.is_latest, held.c.is_present,
                    versions.c.is_latest, versions.c.is_present).order_by(
                        sources.c.name, versions.c.type, versions.c.name)):
                found.setdefault(row.id, []).append(f"{row.source}:{row.type}/{row.name}")
        return found

    def _resolved(self, wanted: Iterable[Use], known: Sequence[Entry]
                  ) -> dict[Use, Entry | None]:
        """What each reference means among the known versions; None: nothing, or several."""
        found: dict[Use, Entry | None] = {}
        for use in wanted:
            try:
                found[use] = self._meant(use, known)
            except RegistryError:
                found[use] = None
        return found

    def _refusal(self, use: Use, known: Sequence[Entry]) -> str:
        try:
            self._meant(use, known)
        except RegistryError as error:
            return error.message
        return ""

    def _meant(self, use: Use, known: Sequence[Entry]) -> Entry | None:
        candidates = [each for each in known if each.name == use.target
                      and use.target_type in ("", each.type)
                      and use.target_source in ("", each.source)]
        wanted = Reference(source=use.target_source, type=use.target_type, name=use.target,
                           selector=use.target_version or LATEST)
        return self._catalog.choose(wanted, candidates) if candidates else None


# --- rows ---------------------------------------------------------------------------------------

def select_light(user_id: int | None) -> sa.Select[Any]:
    """Entries without what is large, and what no choice or list looks at."""
    query = select_entries(user_id)
    empty = {"text": sa.literal("").label("text"), "readme": sa.literal("").label("readme"),
             "warnings": sa.literal([], type_=sa.JSON).label("warnings")}
    return query.with_only_columns(*(empty.get(str(column.key), column)
                                     for column in query.selected_columns))


def _entries(connection: sa.Connection, ids: Collection[int], user_id: int | None
             ) -> dict[int, Entry]:
    if not ids:
        return {}
    rows = connection.execute(select_light(user_id).where(versions.c.id.in_(sorted(ids))))
    return {row.id: entry_of(row) for row in rows}


def _named(connection: sa.Connection, names: Collection[str], user_id: int | None) -> list[Entry]:
    """Every version of these names, with no more than a choice between them looks at."""
    if not names:
        return []
    # The types are named because the index begins with them.
    chosen = sa.and_(versions.c.type.in_(TYPES), versions.c.name.in_(sorted(names)))
    yanked = {(row.source_id, row.type, row.name, row.version) for row in connection.execute(
        sa.select(marks.c.source_id, marks.c.type, marks.c.name, marks.c.version).where(
            marks.c.kind == YANKED, marks.c.name.in_(sorted(names))))}
    rows = connection.execute(sa.select(
        *(versions.c[name] for name in _CHOSEN_BY), sources.c.name.label("source")).join(
            sources).where(chosen, visibility.is_visible(user_id)))
    return [_candidate(dict(row._mapping), yanked) for row in rows]


def _candidate(row: Mapping[str, Any], yanked: Collection[Any]) -> Entry:
    key = row["source_id"], row["type"], row["name"], row["version"]
    return Entry(**row, **_NOT_LOOKED_AT, yanked=_MARK if key in yanked else None)


_MARK = Mark(version="", reason="", successor="", at=datetime.min)
_NOT_LOOKED_AT: dict[str, Any] = {
    "contributor": "", "description": "", "files_commit": "", "text": "", "readme": "",
    "warnings": (), "tags": (), "deprecated": None}


def _written(connection: sa.Connection, entry: Entry) -> list[Use]:
    """Each way in which anything refers to some version of this component."""
    rows = connection.execute(sa.select(*(uses.c[name] for name in _USE)).distinct().where(
        uses.c.kind == REFERENCE_USE, uses.c.target == entry.name,
        uses.c.target_type.in_(["", entry.type]),
        uses.c.target_source.in_(["", entry.source])))
    return [Use(**row._mapping) for row in rows]


def _own_targets(connection: sa.Connection, entry: Entry) -> list[tuple[str, str]]:
    """The images, data and scripts that a version stands for; a job stands for none."""
    if entry.type == "job":
        return []
    return [(row.kind, row.target) for row in connection.execute(
        sa.select(uses.c.kind, uses.c.target).where(
            uses.c.version_id == entry.id, uses.c.kind != REFERENCE_USE))]


def _grouped(connection: sa.Connection, is_use: sa.ColumnElement[bool], limit: int, offset: int,
             user_id: int | None) -> tuple[tuple[User, ...], int]:
    """One user for each component with such a use, and how many there are in all."""
    is_current = sa.and_(versions.c.is_latest, versions.c.is_present)
    current = sa.func.max(sa.case((is_current, versions.c.position))).label("current")
    last = sa.func.max(versions.c.position).label("last")
    count = sa.func.count(versions.c.id.distinct()).label("versions")
    rows = connection.execute(
        sa.select(*_COMPONENT, current, last, count, sa.func.count().over().label("total")).join(
            uses, uses.c.version_id == versions.c.id).join(
                sources, sources.c.id == versions.c.source_id).where(
                    visibility.is_visible(user_id), is_use).group_by(*_COMPONENT).order_by(
                        current.is_(None), sa.func.max(versions.c.committed_at).desc(),
                        *_COMPONENT).limit(limit).offset(offset)).all()
    if not rows:
        return (), 0
    places = [(*row[:3], row.last if row.current is None else row.current) for row in rows]
    newest = {key_of(entry): entry for entry in map(entry_of, connection.execute(
        select_light(user_id).where(sa.tuple_(*_COMPONENT, versions.c.position).in_(places))
        .order_by(versions.c.is_latest)))}
    said = {row.version_id: Use(**{name: row._mapping[name] for name in _USE})
            for row in connection.execute(sa.select(
                uses.c.version_id, *(uses.c[name] for name in _USE)).join(
                    versions, versions.c.id == uses.c.version_id).where(
                        is_use, uses.c.version_id.in_([each.id for each in newest.values()])))}
    found = ((newest[tuple(row[:3])], row.versions) for row in rows)
    return tuple(User(newest=entry, use=said[entry.id], older=count - 1)
                 for entry, count in found), rows[0].total


def _is_any_of(written: Iterable[Use]) -> sa.ColumnElement[bool]:
    return sa.or_(sa.false(), *(sa.and_(*(uses.c[name] == getattr(use, name) for name in _USE))
                                for use in written))


def _is_any_target(targets: Iterable[tuple[str, str]], source_id: int
                   ) -> sa.ColumnElement[bool]:
    """The same URI; a relative path means the same in one source only."""
    return sa.or_(sa.false(), *(sa.and_(
        uses.c.kind == kind, uses.c.target == target,
        *([versions.c.source_id == source_id] if target.startswith("./") else []))
        for kind, target in targets))


def _standing_for(connection: sa.Connection, wanted: Collection[Use], source_id: int,
                  user_id: int | None) -> dict[Use, int]:
    """The component that stands for each URI today; of several the one that came in first."""
    if not wanted:
        return {}
    by_target = {(use.kind, use.target): use for use in wanted}
    rows = connection.execute(sa.select(versions.c.id, uses.c.kind, uses.c.target).join(
        uses, uses.c.version_id == versions.c.id).join(
            sources, sources.c.id == versions.c.source_id).where(
                visibility.is_visible(user_id), versions.c.type != "job", versions.c.is_latest,
                versions.c.is_present, _is_any_target(by_target, source_id)).order_by(
                    versions.c.id.desc()))
    return {by_target[row.kind, row.target]: row.id for row in rows}


def _is_component(entry: Entry) -> sa.ColumnElement[bool]:
    return sa.and_(versions.c.source_id == entry.source_id, versions.c.type == entry.type,
                   versions.c.name == entry.name)


def key_of(entry: Entry) -> Key:
    return entry.source_id, entry.type, entry.name


def _is_version(each: Entry, entry: Entry) -> bool:
    return (*key_of(each), each.version) == (*key_of(entry), entry.version)


def _as_yanked(entry: Entry) -> Entry:
    return replace(entry, yanked=_MARK)


def _id(entry: Entry | None) -> int | None:
    return entry.id if entry else None
