"""Which versions use which, exactly, in both directions; and what a yank would change."""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Iterable, Sequence

import sqlalchemy as sa

from registry.catalog import Catalog
from registry.db import uses, versions
from registry.entry import Entry, Mark, entry_of, select_entries
from registry.errors import RegistryError
from registry.reference import LATEST, Reference, version_order
from registry.uses import REFERENCE_USE, Use

Key = tuple[int, str, str]  # source, type and name
_USE = ("kind", "target", "target_type", "target_source", "target_version")
_WHOLE = Use(kind="", target="")


@dataclass(frozen=True, kw_only=True)
class User:
    """A component that uses a version: its newest version that does, and how that says so.

    `older` counts its other versions that do.
    """

    newest: Entry
    use: Use
    older: int

    @property
    def is_current(self) -> bool:
        """Whether what lists show of the component uses it still."""
        return _is_shown(self.newest)


@dataclass(frozen=True, kw_only=True)
class UsedBy:
    """Who uses a version, those that do today first; entries are without their texts.

    `same` are other components of its type that stand for the same image, data or script.
    """

    users: tuple[User, ...]
    same: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class Consequence:
    """What the reference of a user means once a version is yanked.

    `after` None: nothing any more, and `reason` says why.
    """

    user: User
    after: Entry | None
    reason: str


class Relations:
    """Reads the uses that syncs wrote down. `user_id` is who reads, None a visitor."""

    def __init__(self, engine: sa.Engine, catalog: Catalog) -> None:
        self._engine = engine
        self._catalog = catalog

    def used_by(self, entry: Entry, *, user_id: int | None) -> UsedBy:
        """Every version that uses exactly this one, as references resolve now."""
        with self._engine.connect() as connection:
            rows = _referrers(connection, entry, user_id)
            known = _named(connection, {entry.name} if rows else (), user_id)
            alike = _alike(connection, entry, user_id)
        meant = self._resolved({use for use, _ in rows}, known)
        found = [(use, user) for use, user in rows if _id(meant[use]) == entry.id]
        found += [(use, user) for use, user in alike if user.type != entry.type]
        same = _grouped((_WHOLE, other) for _, other in alike if other.type == entry.type)
        return UsedBy(users=_grouped(found), same=tuple(each.newest for each in same))

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
            standing = _standing_for(connection, wanted - references, source_id, user_id)
        return {**dict.fromkeys(wanted), **standing, **self._resolved(references, known)}

    def consequences(self, entry: Entry, *, user_id: int | None) -> tuple[Consequence, ...]:
        """What would change if this version were yanked: the users whose reference moves."""
        with self._engine.connect() as connection:
            rows = _referrers(connection, entry, user_id)
            known = _named(connection, {entry.name} if rows else (), user_id)
        yanked = [_as_yanked(each) if _is_version(each, entry) else each for each in known]
        written = {use for use, _ in rows}
        before, after = self._resolved(written, known), self._resolved(written, yanked)
        moved = [(use, user) for use, user in rows
                 if _id(before[use]) == entry.id != _id(after[use])]
        return tuple(Consequence(user=user, after=after[user.use], reason=(
            "" if after[user.use] else self._refusal(user.use, yanked)))
            for user in _grouped(moved))

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


def _named(connection: sa.Connection, names: Iterable[str], user_id: int | None) -> list[Entry]:
    wanted = sorted(names)
    if not wanted:
        return []
    query = select_light(user_id).where(versions.c.name.in_(wanted))
    return [entry_of(row) for row in connection.execute(query)]


def _users(connection: sa.Connection, condition: sa.ColumnElement[bool], user_id: int | None
           ) -> list[tuple[Use, Entry]]:
    """The versions with a use that fulfils a condition, and that use."""
    entries = {row.id: entry_of(row) for row in connection.execute(
        select_light(user_id).where(versions.c.id.in_(
            sa.select(uses.c.version_id).where(condition))))}
    rows = connection.execute(sa.select(
        uses.c.version_id, *(uses.c[name] for name in _USE)).where(condition)) if entries else ()
    return [(Use(**{name: row._mapping[name] for name in _USE}), entries[row.version_id])
            for row in rows if row.version_id in entries]


def _referrers(connection: sa.Connection, entry: Entry, user_id: int | None
               ) -> list[tuple[Use, Entry]]:
    """The versions that have a reference to some version of this component."""
    return _users(connection, sa.and_(
        uses.c.kind == REFERENCE_USE, uses.c.target == entry.name,
        uses.c.target_type.in_(["", entry.type]),
        uses.c.target_source.in_(["", entry.source])), user_id)


def _alike(connection: sa.Connection, entry: Entry, user_id: int | None
           ) -> list[tuple[Use, Entry]]:
    """Versions of other components with an image, data or script that this one stands for."""
    if entry.type == "job":
        return []
    own = connection.execute(sa.select(uses.c.kind, uses.c.target).where(
        uses.c.version_id == entry.id, uses.c.kind != REFERENCE_USE)).all()
    found = _users(connection, _any_target(own), user_id) if own else []
    return [(use, user) for use, user in found if key_of(user) != key_of(entry)
            and _is_shared(use.target, user.source_id, entry.source_id)]


def _standing_for(connection: sa.Connection, wanted: Iterable[Use], source_id: int,
                  user_id: int | None) -> dict[Use, Entry | None]:
    """The component that stands for each URI today; of several the one that came in first."""
    by_target = {(use.kind, use.target): use for use in wanted}
    if not by_target:
        return {}
    found = _users(connection, _any_target(by_target), user_id)
    return {by_target[use.kind, use.target]: entry
            for use, entry in sorted(found, key=lambda pair: -pair[1].id)
            if entry.type != "job" and entry.is_latest and entry.is_present
            and _is_shared(use.target, entry.source_id, source_id)}


def _any_target(targets: Iterable[Any]) -> sa.ColumnElement[bool]:
    return sa.or_(*(sa.and_(uses.c.kind == kind, uses.c.target == target)
                    for kind, target in targets))


def _is_shared(target: str, one: int, other: int) -> bool:
    """A relative path means the same in one source only."""
    return one == other or not target.startswith("./")


def key_of(entry: Entry) -> Key:
    return entry.source_id, entry.type, entry.name


def _is_shown(entry: Entry) -> bool:
    return entry.is_latest and entry.is_present


def _is_version(each: Entry, entry: Entry) -> bool:
    return (*key_of(each), each.version) == (*key_of(entry), entry.version)


def _as_yanked(entry: Entry) -> Entry:
    return replace(entry, yanked=Mark(version=entry.version, reason="", successor="",
                                      at=datetime.min))


def _id(entry: Entry | None) -> int | None:
    return entry.id if entry else None


def _grouped(found: Iterable[tuple[Use, Entry]]) -> tuple[User, ...]:
    """One for each component: those that do so today first, of these the youngest."""
    groups: dict[Key, dict[int, tuple[Use, Entry]]] = defaultdict(dict)
    for use, user in found:
        groups[key_of(user)].setdefault(user.id, (use, user))
    users = []
    for group in groups.values():
        use, newest = max(group.values(), key=lambda pair: (
            _is_shown(pair[1]), version_order(pair[1].version, pair[1].position)))
        users.append(User(newest=newest, use=use, older=len(group) - 1))
    return tuple(sorted(users, key=lambda user: (
        not user.is_current, -user.newest.committed_at.timestamp(), user.newest.id)))
