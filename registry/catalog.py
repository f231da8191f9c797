"""The catalog: every known version of every component, and the sources they come from."""
from __future__ import annotations

import difflib
import re
import shutil
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any, Collection, Mapping, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.choice import Choice, Purged
from registry.db import file_problems, purges, search_outbox, sources, versions
from registry.entry import Entry, entry_of, newest_first, problems_of, select_entries
from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.git_store import GitStore
from registry.reference import Reference
from registry.source import LOCAL, Source, check_tag_prefix, checked_sub_paths
from registry.versions import FileProblem

MAX_COMPARED, MAX_ALIKE = 40, 100
_SOURCE_NAME_BREAKS = re.compile("[^A-Za-z0-9._-]+")
_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Catalog:
    """Reads for everyone, and the few writes that are no sync. Safe in several threads.

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

    # --- sources --------------------------------------------------------------------------------

    def sources(self, *, user_id: int | None = None) -> list[Source]:
        """Every source that the user may see, by name."""
        return self._sources(visibility.is_visible(user_id))

    def all_sources(self) -> list[Source]:
        """Every source, whoever may see it; for the sync alone."""
        return self._sources()

    def source(self, name: str, *, user_id: int | None = None) -> Source:
        """Raises NotFoundError with the nearest names."""
        found = {source.name: source for source in self.sources(user_id=user_id)}
        if name not in found:
            raise NotFoundError(f"There is no source {name}.",
                                difflib.get_close_matches(name, found))
        return found[name]

    def add_source(self, location: str, *, name: str | None, owner_id: int | None,
                   sub_paths: Sequence[str] = (), tag_prefix: str | None = None) -> Source:
        """Have a folder indexed: one in a Git working tree, a bare repository, or a plain one.

        `name` None: the folder's own. `owner_id` None: the bundled source. `sub_paths` empty:
        components are looked for everywhere. `tag_prefix` None: tags are not read. Raises
        InvalidInputError for what cannot be, ConflictError for a place or name that is taken.
        """
        folder = _folder(location)
        sub_paths = checked_sub_paths(sub_paths)
        check_tag_prefix(tag_prefix)
        name = name or _SOURCE_NAME_BREAKS.sub("-", folder.name.removesuffix(".git")).strip("-.")
        if not _SOURCE_NAME.fullmatch(name):
            raise InvalidInputError(
                "A source's name has letters, digits, `.`, `_` and `-`, begins with a letter or "
                f"digit and is at most 100 long; `{name[:100]}` is not such a name.")
        for source in self._sources():
            if source.name == name or source.location == str(folder):
                raise ConflictError(f"There is already the source {source.name} for "
                                    f"{source.location}. Choose another name, or remove that one.")
        now = _now()
        row = {"name": name, "kind": LOCAL, "location": str(folder), "owner_id": owner_id,
               "commits": 0, "created_at": now, "sync_requested_at": now,
               "sub_paths": list(sub_paths), "tag_prefix": tag_prefix}
        try:
            with self._engine.begin() as connection:
                connection.execute(sources.insert().values(row))
        except sa.exc.IntegrityError as error:
            raise ConflictError(f"There is already a source {name}. Choose another.") from error
        return self.source(name)

    def remove_source(self, name: str) -> None:
        """Forget a source and all its versions; its origin stays as it is. Raises NotFoundError."""
        source = self.source(name)
        with self._engine.begin() as connection:
            gone = sa.select(versions.c.type, versions.c.name, versions.c.source_id).where(
                versions.c.source_id == source.id).distinct()
            connection.execute(search_outbox.insert().from_select(
                ["type", "name", "source_id"], gone))
            connection.execute(sources.delete().where(sources.c.id == source.id))

    def request_sync(self, name: str) -> None:
        """Have a source synced now instead of at its turn; raises NotFoundError."""
        source = self.source(name)
        with self._engine.begin() as connection:
            connection.execute(sources.update().where(sources.c.id == source.id)
                               .values(sync_requested_at=_now()))

    def requested(self) -> list[str]:
        """The names of the sources that someone wants synced now."""
        with self._engine.connect() as connection:
            return list(connection.scalars(sa.select(sources.c.name).where(
                sources.c.sync_requested_at.is_not(None))))

    def problems(self, source_id: int) -> list[FileProblem]:
        """Every file at the head of a source that is not in the catalog, and why."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(file_problems).where(
                file_problems.c.source_id == source_id).order_by(file_problems.c.path))
            return [FileProblem(path=row.path, commit=row.commit,
                                problems=problems_of(row.problems)) for row in rows]

    def warnings(self, source_id: int) -> list[FileProblem]:
        """Every component at the head of a source that could be better written, and how."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(
                versions.c.head_path, versions.c.commit, versions.c.warnings).where(
                    versions.c.source_id == source_id,
                    versions.c.head_path.is_not(None)).order_by(versions.c.head_path))
            return [FileProblem(path=row.head_path, commit=row.commit,
                                problems=problems_of(row.warnings))
                    for row in rows if row.warnings]

    def store(self, source_id: int) -> GitStore:
        return GitStore(self._git_dir / f"{source_id}.git")

    def remove_stores_but(self, source_ids: Collection[int]) -> None:
        """Delete the stores of removed sources, and what a killed sync left; for the sync alone."""
        kept = {self.store(source_id).path for source_id in source_ids}
        for path in set(self._git_dir.glob("*")) - kept:
            shutil.rmtree(path, ignore_errors=True)

    # --- finding --------------------------------------------------------------------------------

    def _sources(self, *conditions: sa.ColumnElement[bool]) -> list[Source]:
        with self._engine.connect() as connection:
            rows = connection.execute(
                _select_sources().where(*conditions).order_by(sources.c.name))
            return [_source(row) for row in rows]

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
        return NotFoundError(f"There is no component {wanted}.", near[:5])


def _closest(name: str, names: Sequence[str]) -> list[str]:
    """The names most like this one; the slow comparison is for those that share most with it."""
    pairs = {name[at:at + 2] for at in range(min(len(name), MAX_COMPARED) - 1)}
    alike = nlargest(MAX_ALIKE, names, key=lambda each: sum(pair in each for pair in pairs))
    return difflib.get_close_matches(name, alike, n=5, cutoff=0.6)


def _select_sources() -> sa.Select[Any]:
    components = sa.select(sa.func.count()).where(
        versions.c.source_id == sources.c.id, versions.c.is_latest, versions.c.is_present)
    problems = sa.select(sa.func.count()).where(file_problems.c.source_id == sources.c.id)
    return sa.select(sources, components.scalar_subquery().label("components"),
                     problems.scalar_subquery().label("problems"))


def _source(row: sa.Row[Any]) -> Source:
    return Source(**{**row._mapping, "sub_paths": tuple(row.sub_paths)})


def _equal(column: sa.Column[Any], *values: str | None) -> list[sa.ColumnElement[bool]]:
    return [column == value for value in values if value]


def _folder(location: str) -> Path:
    try:
        folder = Path(location).expanduser().absolute()
        is_folder = folder.is_dir()
    except (ValueError, RuntimeError, OSError):
        is_folder = False
    if not is_folder:
        raise InvalidInputError(f"There is no folder {location[:500]!r} on this machine that can "
                                "be read. Give the path of a Git repository or of a folder.")
    return folder


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
