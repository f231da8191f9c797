"""What a sync writes: a source's versions and problems, in one transaction with their outbox."""
from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Container, Iterable, Iterator, Mapping

import sqlalchemy as sa

from registry.db import (
    events,
    file_problems,
    marks,
    purges,
    search_outbox,
    sources,
    uses,
    versions,
)
from registry.errors import NotFoundError, Problem
from registry.history import History, Purged
from registry.source import Source
from registry.versions import FileProblem, Files, Key, Version
from runner.sentence import Sentence, heard, told

_STATE = ("type", "name", "version", "blob", "commit", "committed_at", "path", "last_commit",
          "head_path", "position", "is_latest", "is_present", "is_moved", "is_tagged", "tags",
          "warnings")
State = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Written:
    """What one sync changed: new versions and components that are gone, as `type/name@version`."""

    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Ledger:
    """Reads and writes the rows of one source at a time."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def load(self, source_id: int, files: Files) -> History:
        """The known versions and problems of a source, ready to take further changes."""
        rows, wrong, purged = self._rows(source_id)
        return History(rows, wrong, files, purged=purged)

    def load_anew(self, source_id: int, files: Files, commits: Container[str]) -> History:
        """The same, ready to take all changes of `commits` once more.

        What came in by other commits, which are not to be had any more, counts as older.
        """
        rows, _, purged = self._rows(source_id)
        return History([row for row in rows if row.commit not in commits], (), files,
                       again=[row for row in rows if row.commit in commits], purged=purged)

    def save(self, source: Source, history: History, head: str, commits: int) -> Written:
        """Make the rows what the history says; raises NotFoundError if the source is gone."""
        with self._engine.begin() as connection:
            self._finish(connection, source, head=head, commits=commits)
            history.choose_latest(_yanked(connection, source.id))
            before = _states(connection, source.id)
            changed = [version for version in history.versions if version.component
                       or version.id is None or before.get(version.id) != _state(version)]
            changed = _without_purged(connection, source.id, changed)
            _write_versions(connection, source.id, changed)
            _write_uses(connection, source.id, [each for each in changed if each.component])
            _write_problems(connection, source.id, history.problems)
            _write_events(connection, source.id, list(_events(history, changed, before)))
            keys = {version.key for version in changed}
            if keys:
                connection.execute(search_outbox.insert(), [
                    {"source_id": source.id, "type": type, "name": name}
                    for type, name in sorted(keys)])
        return _written(changed, before)

    def present(self, source_id: int) -> set[int]:
        """The rows of the versions whose component the source still has."""
        with self._engine.connect() as connection:
            return set(connection.scalars(sa.select(versions.c.id).where(
                versions.c.source_id == source_id, versions.c.is_present)))

    def touch(self, source: Source) -> None:
        """Note a sync that found nothing new; raises NotFoundError if the source is gone."""
        with self._engine.begin() as connection:
            self._finish(connection, source)

    def fail(self, source: Source, reason: str) -> None:
        """Note why a sync failed as a whole; everything known stays as it is."""
        with self._engine.begin() as connection:
            self._finish(connection, source, sync_error=reason)

    def purged(self, source_id: int) -> Purged:
        """The bytes that never come in again, and which versions they were."""
        found: dict[str, list[tuple[Key, str]]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(sa.select(purges).where(
                    purges.c.source_id == source_id)):
                found.setdefault(row.blob, []).append(((row.type, row.name), row.version))
        return found

    def _rows(self, source_id: int) -> tuple[list[Version], list[FileProblem], Purged]:
        with self._engine.connect() as connection:
            rows = [Version(**{**state, "id": id, "tags": tuple(state["tags"]),
                               "warnings": tuple(
                                   Problem(**each) for each in heard(state["warnings"]))})
                    for id, state in _states(connection, source_id).items()]
            wrong = connection.execute(sa.select(file_problems).where(
                file_problems.c.source_id == source_id)).all()
        return (sorted(rows, key=lambda row: row.position), list(map(_file_problem, wrong)),
                self.purged(source_id))

    def _finish(self, connection: sa.Connection, source: Source, **values: Any) -> None:
        """The source's own row. A request that came after this sync began is kept."""
        is_answered = sources.c.sync_requested_at == source.sync_requested_at
        requested_at = sa.case((is_answered, None), else_=sources.c.sync_requested_at)
        done = connection.execute(sources.update().where(sources.c.id == source.id).values(
            {"sync_error": None, **values, "synced_at": datetime.now(UTC).replace(tzinfo=None),
             "sync_requested_at": requested_at}))
        if not done.rowcount:
            raise NotFoundError(Sentence(
                "The source {name} was removed meanwhile.", name=source.name))


def _yanked(connection: sa.Connection, source_id: int) -> dict[Key, set[str]]:
    found: dict[Key, set[str]] = {}
    for row in connection.execute(sa.select(marks.c.type, marks.c.name, marks.c.version).where(
            marks.c.source_id == source_id, marks.c.kind == "yanked")):
        found.setdefault((row.type, row.name), set()).add(row.version)
    return found


def _states(connection: sa.Connection, source_id: int) -> dict[int, State]:
    columns = [versions.c.id, *(versions.c[name] for name in _STATE)]
    return {row.id: {name: row._mapping[name] for name in _STATE} for row in connection.execute(
        sa.select(*columns).where(versions.c.source_id == source_id))}


def _without_purged(connection: sa.Connection, source_id: int,
                    changed: list[Version]) -> list[Version]:
    """What was purged while this sync was reading is not written again."""
    purged = set(connection.scalars(sa.select(purges.c.blob).where(
        purges.c.source_id == source_id)))
    return [version for version in changed if version.blob not in purged]


def _write_versions(connection: sa.Connection, source_id: int, changed: list[Version]) -> None:
    new = [version for version in changed if version.id is None]
    if new:
        connection.execute(versions.insert(), [
            {"source_id": source_id, **_state(version), **_content(version)} for version in new])
    for version in changed:
        if version.id is not None:
            connection.execute(versions.update().where(versions.c.id == version.id)
                               .values({**_state(version), **_content(version)}))


def _write_uses(connection: sa.Connection, source_id: int, read: list[Version]) -> None:
    """What those versions use that this sync has read: new ones, and files at a new place."""
    if not read:
        return
    known = [{"known": version.id} for version in read if version.id is not None]
    if known:
        connection.execute(uses.delete().where(uses.c.version_id == sa.bindparam("known")), known)
    ids = {tuple(row[1:]): row.id for row in connection.execute(sa.select(
        versions.c.id, versions.c.type, versions.c.name, versions.c.version, versions.c.blob).where(
            versions.c.source_id == source_id))}
    rows = [{"version_id": ids[(*version.key, version.version, version.blob)], **vars(use)}
            for version in read for use in version.uses]
    if rows:
        connection.execute(uses.insert(), rows)


def _events(history: History, changed: list[Version],
            before: Mapping[int, State]) -> Iterator[dict[str, str]]:
    """What readers of the catalog hear of: new versions, and components that went or came back."""
    for version in changed:
        was = before.get(version.id or 0)
        if was is None or was["version"] != version.version:
            yield _moved(version) if version.is_moved else _event(
                version, "published", Sentence(
                    "First seen at commit {commit}.", commit=version.commit[:12]))
    were_known = {(row["type"], row["name"]) for row in before.values()}
    were_present = {(row["type"], row["name"]) for row in before.values() if row["is_present"]}
    for key in sorted({version.key for version in changed}):
        newest = max(history.of_key(key), key=lambda version: (
            version.is_latest, version.position))
        if newest.is_present and key in were_known - were_present:
            yield _event(newest, "returned", Sentence(
                "{path} is in the source again.", path=newest.path))
        if not newest.is_present and key in were_present:
            yield _event(newest, "withdrawn", Sentence(
                "{path} is not in the source any more.", path=newest.path))


def _moved(version: Version) -> dict[str, str]:
    return _event(version, "moved", Sentence(
        "Commit {commit} has other bytes under {version}. What was recorded first keeps serving; "
        "give changed files a version of their own.", commit=version.commit[:12],
        version=version.version))


def _event(version: Version, kind: str, detail: str) -> dict[str, str]:
    return {"kind": kind, "type": version.type, "name": version.name,
            "version": version.version, "detail": detail}


def _write_events(connection: sa.Connection, source_id: int, found: list[dict[str, str]]) -> None:
    if found:
        now = datetime.now(UTC).replace(tzinfo=None)
        connection.execute(events.insert(), [
            {"at": now, "source_id": source_id, **event} for event in found])


def _write_problems(connection: sa.Connection, source_id: int,
                    problems: Mapping[str, FileProblem]) -> None:
    """Write what is wrong at the head where it is not written yet."""
    known = {row.path: row for row in connection.execute(sa.select(file_problems).where(
        file_problems.c.source_id == source_id))}
    same = {path for path, row in known.items() if problems.get(path) == _file_problem(row)}
    gone = [{"gone": row.id} for path, row in known.items() if path not in same]
    if gone:
        connection.execute(file_problems.delete().where(
            file_problems.c.id == sa.bindparam("gone")), gone)
    rows = [{"source_id": source_id, "path": path, "commit": problem.commit,
             "problems": _as_json(problem.problems)}
            for path, problem in problems.items() if path not in same]
    if rows:
        connection.execute(file_problems.insert(), rows)


def _state(version: Version) -> State:
    return {**{name: getattr(version, name) for name in _STATE}, "tags": list(version.tags),
            "warnings": _as_json(version.warnings)}


def _content(version: Version) -> State:
    """What only a version has whose bytes were read; its README alone where a tag named it."""
    readme = {} if version.readme is None else {"readme": version.readme}
    component = version.component
    return readme if component is None else {
        **readme, "text": component.text, "contributor": component.contributor,
        "description": component.description}


def _as_json(problems: Iterable[Problem]) -> list[dict[str, object]]:
    return told([problem.as_json() for problem in problems])


def _written(changed: list[Version], before: Mapping[int, State]) -> Written:
    return Written(
        new=tuple(_reference(version) for version in changed if version.id is None),
        removed=tuple(sorted({f"{version.type}/{version.name}" for version in changed
                              if not version.is_present
                              and before.get(version.id or 0, {}).get("is_present")})))


def _reference(version: Version) -> str:
    return f"{version.type}/{version.name}@{version.version or version.commit[:12]}"


def _file_problem(row: sa.Row[Any]) -> FileProblem:
    return FileProblem(path=row.path, commit=row.commit,
                       problems=tuple(Problem(**item) for item in heard(row.problems)))
