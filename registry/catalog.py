"""The catalog: every known version of every component, and the sources they come from."""
from __future__ import annotations

import difflib
import re
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Collection, Iterable, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.db import file_problems, search_outbox, sources, versions
from registry.errors import ConflictError, InvalidInputError, NotFoundError, Problem
from registry.git_store import GitStore
from registry.history import FileProblem
from registry.reference import REFERENCE, version_order
from registry.source import LOCAL, Source

LATEST = "latest"
_COMMIT = re.compile("[0-9a-f]{7,40}")
_SOURCE_NAME_BREAKS = re.compile("[^A-Za-z0-9._-]+")
_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One version of a component.

    `commit` is the first that had these bytes; `files_commit` the last, from which the files
    beside it are best read. `position` orders the history of its source. `version` is empty
    where the file says none. `is_moved`: the same version stood there before with other bytes.
    """

    id: int
    source_id: int
    source: str
    type: str
    name: str
    version: str
    contributor: str
    description: str
    commit: str
    committed_at: datetime
    path: str
    blob: str
    files_commit: str
    position: int
    text: str
    warnings: tuple[Problem, ...]
    is_latest: bool
    is_present: bool
    is_moved: bool
    tags: tuple[str, ...]
    readme: str

    @property
    def reference(self) -> str:
        return f"{self.type}/{self.name}" + (f"@{self.version}" if self.version else "")


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
        """The version that `[source:][type/]name[@version|@latest|@commit]` names.

        `type` is what it must be where the reference does not say. Raises InvalidInputError for
        what is no reference, NotFoundError with the nearest names, and ConflictError naming the
        choices where several components fit.
        """
        parts = REFERENCE.fullmatch(reference)
        if parts is None:
            raise InvalidInputError(
                f"`{reference[:200]}` is no reference. Write `type/name` or `type/name@version`.")
        entries = self._entries(
            user_id, versions.c.name == parts["name"],
            *_equal(versions.c.type, parts["type"], type), *_equal(sources.c.name, parts["source"]))
        if not entries:
            raise self._unknown(reference, parts["name"], parts["type"] or type, user_id)
        return self._choose(reference, parts["version"] or LATEST, entries)

    def versions(self, type: str, name: str, source: str | None = None, *,
                 user_id: int | None = None) -> list[Entry]:
        """Every version, newest first; empty where there is no such component."""
        found = self._entries(user_id, versions.c.type == type, versions.c.name == name,
                              *_equal(sources.c.name, source))
        return _newest_first(found)

    def list_newest(self, limit: int = 20, *, types: Collection[str] = (),
                    user_id: int | None = None) -> list[Entry]:
        """The present components whose shown version came in last."""
        conditions = [versions.c.type.in_(types)] if types else []
        with self._engine.connect() as connection:
            rows = connection.execute(
                _select_entries(user_id).where(versions.c.is_latest, versions.c.is_present,
                                               *conditions)
                .order_by(versions.c.committed_at.desc(), versions.c.id.desc()).limit(limit))
            return [_entry(row) for row in rows]

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

    def add_source(self, location: str, *, name: str | None, owner_id: int | None) -> Source:
        """Have a folder indexed: one in a Git working tree, a bare repository, or a plain one.

        `name` None: the folder's own. `owner_id` None: the bundled source. Raises
        InvalidInputError for a place or name that cannot be, ConflictError for one that is taken.
        """
        folder = _folder(location)
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
               "commits": 0, "created_at": now, "sync_requested_at": now}
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
            return [FileProblem(path=row.path, commit=row.commit, problems=_problems(row.problems))
                    for row in rows]

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
            rows = connection.execute(_select_entries(user_id).where(*conditions))
            return [_entry(row) for row in rows]

    def _choose(self, reference: str, version: str, entries: list[Entry]) -> Entry:
        """The entry of the wanted version, newest where the same was written twice."""
        if version == LATEST:
            found = [entry for entry in entries if entry.is_latest]
        else:
            found = [entry for entry in entries if entry.version == version] \
                or self._at_commit(version, entries)
        present = [entry for entry in found if entry.is_present] or found
        choices = {(entry.source, entry.type) for entry in present}
        if len(choices) > 1:
            raise ConflictError(f"`{reference}` fits several components. Choose one of: "
                                + ", ".join(sorted(_full(present))) + ".")
        if not found:
            known = [entry.reference for entry in _newest_first(entries)]
            raise NotFoundError(f"There is no version {version} of {entries[0].type}/"
                                f"{entries[0].name}.", tuple(dict.fromkeys(known))[:5])
        return max(present, key=lambda entry: entry.position)

    def _at_commit(self, version: str, entries: list[Entry]) -> list[Entry]:
        """What each component was at a commit: one that brought in a version, or any other."""
        if not _COMMIT.fullmatch(version):
            return []
        found = [replace(entry, files_commit=entry.commit) for entry in entries
                 if entry.commit.startswith(version)]
        return found or [found for source_id in sorted({entry.source_id for entry in entries})
                         for found in self._held_by(source_id, version, entries)]

    def _held_by(self, source_id: int, version: str, entries: list[Entry]) -> Iterable[Entry]:
        store = self.store(source_id)
        commit = store.full_commit(version)
        blobs = {blob: path for path, blob in store.files(commit).items()} if commit else {}
        for entry in entries:
            if commit and entry.source_id == source_id and entry.blob in blobs:
                yield replace(entry, commit=commit, files_commit=commit, path=blobs[entry.blob])

    def _unknown(self, reference: str, name: str, type: str | None,
                 user_id: int | None) -> NotFoundError:
        query = sa.select(versions.c.type, versions.c.name).distinct().join(sources).where(
            visibility.is_visible(user_id), versions.c.is_present)
        with self._engine.connect() as connection:
            known = [tuple(row) for row in connection.execute(query)]
        names = sorted({row[1] for row in known if type in (None, row[0])})
        close = difflib.get_close_matches(name, names, n=5, cutoff=0.6)
        near = [f"{row[0]}/{row[1]}" for item in close for row in known
                if row[1] == item and type in (None, row[0])]
        return NotFoundError(f"There is no component {reference}.", near[:5])


def _select_entries(user_id: int | None) -> sa.Select[Any]:
    files_commit = sa.func.coalesce(versions.c.last_commit, sources.c.head)
    return sa.select(versions, sources.c.name.label("source"),
                     files_commit.label("files_commit")).join(sources).where(
                         visibility.is_visible(user_id))


def _select_sources() -> sa.Select[Any]:
    components = sa.select(sa.func.count()).where(
        versions.c.source_id == sources.c.id, versions.c.is_latest, versions.c.is_present)
    problems = sa.select(sa.func.count()).where(file_problems.c.source_id == sources.c.id)
    return sa.select(sources, components.scalar_subquery().label("components"),
                     problems.scalar_subquery().label("problems"))


def _entry(row: sa.Row[Any]) -> Entry:
    values = {key: value for key, value in row._mapping.items() if key != "last_commit"}
    return Entry(**{**values, "warnings": _problems(values["warnings"]),
                    "tags": tuple(values["tags"])})


def _source(row: sa.Row[Any]) -> Source:
    return Source(**{**row._mapping, "sub_paths": tuple(row.sub_paths)})


def _problems(items: Sequence[dict[str, Any]]) -> tuple[Problem, ...]:
    return tuple(Problem(**item) for item in items)


def _equal(column: sa.Column[Any], *values: str | None) -> list[sa.ColumnElement[bool]]:
    return [column == value for value in values if value]


def _newest_first(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, reverse=True,
                  key=lambda entry: version_order(entry.version, entry.position))


def _full(entries: Iterable[Entry]) -> set[str]:
    return {f"{entry.source}:{entry.type}/{entry.name}" for entry in entries}


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
