"""The catalog: every known version of every component."""
from __future__ import annotations

import difflib
import shutil
from heapq import nlargest
from pathlib import Path
from typing import Any, Collection, Mapping, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.choice import Choice, Purged
from registry.db import purges, sources, versions
from registry.entry import Entry, entry_of, newest_first, select_entries
from registry.errors import NotFoundError
from registry.git_store import GitStore
from registry.reference import Reference
from runner.sentence import Sentence

MAX_COMPARED, MAX_ALIKE = 40, 100


class Catalog:
    """Reads for everyone; only a sync writes. Safe in several threads.

    `user_id` is who reads; None is a visitor.
    """

    def __init__(self, engine: sa.Engine, git_dir: Path) -> None:
        self._engine = engine
        self._git_dir = git_dir

    # --- components -----------------------------------------------------------------------------

    def get(self, reference: str, *, type: str | None = None,
            user_id: int | None = None) -> Entry:
        """The version that `[source:][type/]name[@selector]` names.

        `type` is what it must be where the reference does not say. Raises InvalidInputError for
        what is no reference, NotFoundError with the nearest names, ConflictError with the choices
        where several components fit, and GoneError for what was purged.
        """
        return self._choice(Reference.parse(reference), type, user_id).entry()

    def component(self, reference: str, *, user_id: int | None = None) -> Entry:
        """The version that came in last of what a reference names; its selector does not matter.

        Raises as `get` does.
        """
        return self._choice(Reference.parse(reference), None, user_id).newest()

    def choose(self, wanted: Reference, entries: Sequence[Entry]) -> Entry:
        """What a reference means among these entries, of which there is one at least.

        Raises as `get` does; what was purged counts as unknown.
        """
        return Choice(wanted, entries, (), self._files).entry()

    def versions(self, type: str, name: str, source: str | None = None, *,
                 user_id: int | None = None) -> list[Entry]:
        """Every version, newest first; empty where there is no such component."""
        found = self._entries(user_id, versions.c.type == type, versions.c.name == name,
                              *_equal(sources.c.name, source))
        return newest_first(found)

    def purged(self, type: str, name: str, source: str, *,
               user_id: int | None = None) -> list[Purged]:
        """What of a component was deleted for good, the last one first."""
        return self._purged(user_id, Reference(source=source, type=type, name=name), None)

    def list_newest(self, limit: int = 20, *, types: Collection[str] = (),
                    user_id: int | None = None) -> list[Entry]:
        """The present components whose shown version came in last."""
        conditions = [versions.c.type.in_(types)] if types else []
        with self._engine.connect() as connection:
            rows = connection.execute(
                select_entries(user_id)
                .where(versions.c.is_latest, versions.c.is_present, *conditions)
                .order_by(versions.c.committed_at.desc(), versions.c.id.desc()).limit(limit))
            return [entry_of(row) for row in rows]

    # --- stores ---------------------------------------------------------------------------------

    @property
    def home(self) -> Path:
        """The folder of all that this server keeps; what is in it nobody has by its path."""
        return self._git_dir.parent

    def store(self, source_id: int) -> GitStore:
        return GitStore(self._git_dir / f"{source_id}.git")

    def remove_stores_but(self, source_ids: Collection[int]) -> None:
        """Delete the stores of removed sources, and what a killed sync left; for the sync alone."""
        kept = {self.store(source_id).path for source_id in source_ids}
        for path in set(self._git_dir.glob("*")) - kept:
            shutil.rmtree(path, ignore_errors=True)

    # --- finding --------------------------------------------------------------------------------

    def _entries(self, user_id: int | None, *conditions: sa.ColumnElement[bool]) -> list[Entry]:
        with self._engine.connect() as connection:
            rows = connection.execute(select_entries(user_id).where(*conditions))
            return [entry_of(row) for row in rows]

    def _choice(self, wanted: Reference, type: str | None, user_id: int | None) -> Choice:
        entries = self._entries(
            user_id, versions.c.name == wanted.name,
            *_equal(versions.c.type, wanted.type, type), *_equal(sources.c.name, wanted.source))
        purged = self._purged(user_id, wanted, type)
        if not entries and not purged:
            raise self._unknown(wanted, wanted.type or type, user_id)
        return Choice(wanted, entries, purged, self._files)

    def _purged(self, user_id: int | None, wanted: Reference, type: str | None) -> list[Purged]:
        """What of the wanted component is gone, the last one first."""
        query = sa.select(purges, sources.c.name.label("source")).join(sources).where(
            visibility.is_visible(user_id), purges.c.name == wanted.name,
            *_equal(purges.c.type, wanted.type, type),
            *_equal(sources.c.name, wanted.source)).order_by(purges.c.id.desc())
        with self._engine.connect() as connection:
            return [Purged(source_id=row.source_id, source=row.source, type=row.type,
                           name=row.name, version=row.version, blob=row.blob, reason=row.reason)
                    for row in connection.execute(query)]

    def _files(self, source_id: int, commit: str) -> tuple[str, Mapping[str, str]] | None:
        """The whole id of a commit, and its files as path and blob; None: no such commit."""
        store = self.store(source_id)
        found = store.full_commit(commit)
        return (found, store.files(found)) if found else None

    def _unknown(self, wanted: Reference, type: str | None,
                 user_id: int | None) -> NotFoundError:
        query = sa.select(versions.c.type, versions.c.name).distinct().join(sources).where(
            visibility.is_visible(user_id), versions.c.is_present)
        with self._engine.connect() as connection:
            known = [tuple(row) for row in connection.execute(query)]
        names = sorted({row[1] for row in known if type in (None, row[0])})
        close = _closest(wanted.name, names)
        near = [f"{row[0]}/{row[1]}" for item in close for row in known
                if row[1] == item and type in (None, row[0])]
        return NotFoundError(Sentence("There is no component {wanted}.", wanted=wanted), near[:5])


def _closest(name: str, names: Sequence[str]) -> list[str]:
    """The names most like this one; the slow comparison is for those that share most with it."""
    pairs = {name[at:at + 2] for at in range(min(len(name), MAX_COMPARED) - 1)}
    alike = nlargest(MAX_ALIKE, names, key=lambda each: sum(pair in each for pair in pairs))
    return difflib.get_close_matches(name, alike, n=5, cutoff=0.6)


def _equal(column: sa.Column[Any], *values: str | None) -> list[sa.ColumnElement[bool]]:
    return [column == value for value in values if value]
