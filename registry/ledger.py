"""What a sync writes: a source's versions and problems, in one transaction with their outbox."""
from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Callable, Iterable, Iterator, Mapping

import sqlalchemy as sa

from registry.commits import Commit
from registry.component import Component, parse
from registry.db import events, file_problems, marks, search_outbox, sources, uses, versions
from registry.errors import NotFoundError, Problem
from registry.history import FileProblem, History, Key, Version
from registry.source import Source
from registry.uses import Use, uses_of

_STATE = ("type", "name", "version", "blob", "commit", "committed_at", "path", "last_commit",
          "position", "is_latest", "is_present", "is_moved")


@dataclass(frozen=True, kw_only=True)
class Written:
    """What one sync changed: new versions and components that are gone, as `type/name@version`."""

    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Ledger:
    """Reads and writes the rows of one source at a time."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def load(self, source_id: int, commits: Mapping[str, Commit], read: Callable[[str], bytes], *,
             is_anew: bool) -> History:
        """The known versions and problems of a source, ready to take further changes."""
        columns = [versions.c.id, *(versions.c[name] for name in _STATE)]
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(*columns).where(
                versions.c.source_id == source_id).order_by(versions.c.position)).all()
            wrong = connection.execute(sa.select(file_problems).where(
                file_problems.c.source_id == source_id)).all()
        return History([Version(**row._mapping) for row in rows],
                       [_file_problem(row) for row in wrong], commits, read, is_anew=is_anew)

    def save(self, source: Source, history: History, head: str, commits: int) -> Written:
        """Make the rows what the history says; raises NotFoundError if the source is gone."""
        with self._engine.begin() as connection:
            self._finish(connection, source, head=head, commits=commits)
            history.choose_latest(_yanked(connection, source.id))
            before = {row.id: row for row in connection.execute(
                sa.select(versions.c.id, *(versions.c[name] for name in _STATE)).where(
                    versions.c.source_id == source.id))}
            changed = [version for version in history.versions
                       if version.id is None or _is_changed(version, before[version.id])]
            _write_versions(connection, source.id, changed)
            _write_uses(connection, source.id, [each for each in changed if each.component])
            _write_problems(connection, source.id, history.problems.values())
            _write_events(connection, source.id, list(_events(changed, before)))
            keys = {version.key for version in changed}
            if keys:
                connection.execute(search_outbox.insert(), [
                    {"source_id": source.id, "type": type, "name": name}
                    for type, name in sorted(keys)])
        return _written(changed, before)

    def touch(self, source: Source) -> None:
        """Note a sync that found nothing new; raises NotFoundError if the source is gone."""
        with self._engine.begin() as connection:
            self._finish(connection, source)

    def fail(self, source: Source, reason: str) -> None:
        """Note why a sync failed as a whole; everything known stays as it is."""
        with self._engine.begin() as connection:
            self._finish(connection, source, sync_error=reason)

    def _finish(self, connection: sa.Connection, source: Source, **values: Any) -> None:
        """The source's own row. A request that came after this sync began is kept."""
        is_answered = sources.c.sync_requested_at == source.sync_requested_at
        requested_at = sa.case((is_answered, None), else_=sources.c.sync_requested_at)
        done = connection.execute(sources.update().where(sources.c.id == source.id).values(
            {"sync_error": None, **values, "synced_at": datetime.now(UTC).replace(tzinfo=None),
             "sync_requested_at": requested_at}))
        if not done.rowcount:
            raise NotFoundError(f"The source {source.name} was removed meanwhile.")


def _yanked(connection: sa.Connection, source_id: int) -> dict[Key, set[str]]:
    found: dict[Key, set[str]] = {}
    for row in connection.execute(sa.select(marks.c.type, marks.c.name, marks.c.version).where(
            marks.c.source_id == source_id, marks.c.kind == "yanked")):
        found.setdefault((row.type, row.name), set()).add(row.version)
    return found


def _write_versions(connection: sa.Connection, source_id: int, changed: list[Version]) -> None:
    new = [version for version in changed if version.id is None]
    if new:
        connection.execute(versions.insert(), [
            {"source_id": source_id, **_state(version), **_content(version.component)}
            for version in new])
    for version in changed:
        if version.id is not None:
            content = _content(version.component) if version.component else {}
            connection.execute(versions.update().where(versions.c.id == version.id)
                               .values({**_state(version), **content}))


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
    rows = [{"version_id": ids[(*version.key, version.version, version.blob)], **asdict(use)}
            for version in read for use in _uses(version)]
    if rows:
        connection.execute(uses.insert(), rows)


def _uses(version: Version) -> tuple[Use, ...]:
    """Its text is read once more: a history keeps no documents, which are large."""
    assert version.component is not None
    return uses_of(parse(version.component.text), version.path)


def _events(changed: list[Version],
            before: Mapping[int, sa.Row[Any]]) -> Iterator[dict[str, str]]:
    """What readers of the catalog hear of: new versions, and components that went or came back."""
    for version in changed:
        if version.id is None:
            yield _moved(version) if version.is_moved else _event(
                version, "published", f"First seen at commit {version.commit[:12]}.")
    were_present = {(row.type, row.name) for row in before.values() if row.is_present}
    were_known = {(row.type, row.name) for row in before.values()}
    for key, version in {version.key: version for version in changed}.items():
        if version.is_present and key in were_known - were_present:
            yield _event(version, "returned", f"{version.path} is in the source again.")
        if key in were_present and not version.is_present:
            yield _event(version, "withdrawn", f"{version.path} is not in the source any more.")


def _moved(version: Version) -> dict[str, str]:
    return _event(version, "moved", (
        f"Commit {version.commit[:12]} has other bytes under {version.version}. What was recorded "
        "first keeps serving; give changed files a version of their own."))


def _event(version: Version, kind: str, detail: str) -> dict[str, str]:
    return {"kind": kind, "type": version.type, "name": version.name,
            "version": version.version, "detail": detail}


def _write_events(connection: sa.Connection, source_id: int, found: list[dict[str, str]]) -> None:
    if found:
        now = datetime.now(UTC).replace(tzinfo=None)
        connection.execute(events.insert(), [
            {"at": now, "source_id": source_id, **event} for event in found])


def _write_problems(connection: sa.Connection, source_id: int,
                    problems: Iterable[FileProblem]) -> None:
    connection.execute(file_problems.delete().where(file_problems.c.source_id == source_id))
    rows = [{"source_id": source_id, "path": problem.path, "commit": problem.commit,
             "problems": [each.as_json() for each in problem.problems]} for problem in problems]
    if rows:
        connection.execute(file_problems.insert(), rows)


def _state(version: Version) -> dict[str, Any]:
    return {name: getattr(version, name) for name in _STATE}


def _content(component: Component | None) -> dict[str, Any]:
    assert component is not None, "a new version has its component"
    return {"text": component.text, "contributor": component.contributor,
            "description": component.description,
            "warnings": [problem.as_json() for problem in component.warnings]}


def _is_changed(version: Version, row: sa.Row[Any]) -> bool:
    return version.component is not None or _state(version) != {
        name: row._mapping[name] for name in _STATE}


def _written(changed: list[Version], before: Mapping[int, sa.Row[Any]]) -> Written:
    return Written(
        new=tuple(_reference(version) for version in changed if version.id is None),
        removed=tuple(sorted({f"{version.type}/{version.name}" for version in changed
                              if version.id is not None and not version.is_present
                              and before[version.id].is_present})))


def _reference(version: Version) -> str:
    return f"{version.type}/{version.name}@{version.version or version.commit[:12]}"


def _file_problem(row: sa.Row[Any]) -> FileProblem:
    return FileProblem(path=row.path, commit=row.commit,
                       problems=tuple(Problem(**item) for item in row.problems))
