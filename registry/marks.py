"""What owners say about versions: yanked, deprecated, purged. Each with its event, and at once."""
from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Iterator

import sqlalchemy as sa

from registry.db import events, marks, purges, search_outbox, sources, versions
from registry.entry import Entry
from registry.errors import InvalidInputError, NotFoundError, Problem
from registry.reference import DEPRECATED, YANKED, Reference, shown_of
from runner.sentence import Sentence

MAX_REASON = 2000


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a mark is about; `version` empty: every version of the component."""

    source_id: int
    type: str
    name: str
    version: str

    @classmethod
    def of(cls, entry: Entry, *, is_whole: bool = False) -> Subject:
        return cls(source_id=entry.source_id, type=entry.type, name=entry.name,
                   version="" if is_whole else entry.version)

    def __str__(self) -> str:
        return f"{self.type}/{self.name}" + (f"@{self.version}" if self.version else "")


@dataclass(frozen=True, kw_only=True)
class _Known:
    id: int
    version: str
    position: int
    is_moved: bool
    is_latest: bool


class Marks:
    """Writes marks, with the version that is shown thereafter, in one transaction each.

    It asks nobody who may do so: that is for the caller. `user_id` is who does it.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def yank(self, entry: Entry, *, reason: str, user_id: int) -> None:
        """Hide a version from `latest`, ranges and lists; raises InvalidInputError."""
        subject, reason = Subject.of(entry), checked_reason(reason)
        if not subject.version:
            raise InvalidInputError(Sentence(
                "{subject} has no version that could be yanked. Commit a better file, which takes "
                "its place at once; or advise against it: `paishare deprecate {subject} --reason "
                "…`.", subject=subject))
        with self._changing(subject) as connection:
            _put(connection, subject, YANKED, reason, "", user_id)
            _tell(connection, subject, YANKED, reason)

    def deprecate(self, entry: Entry, *, reason: str, successor: str, user_id: int,
                  is_whole: bool) -> None:
        """Advise against a version or, with `is_whole`, a component; raises InvalidInputError.

        `successor` is a reference to use instead; empty where there is none.
        """
        subject, reason = Subject.of(entry, is_whole=is_whole), checked_reason(reason)
        successor = _checked_successor(successor, subject)
        with self._changing(subject) as connection:
            _put(connection, subject, DEPRECATED, reason, successor, user_id)
            _tell(connection, subject, DEPRECATED,
                  Sentence(
                      "{reason} Use {successor} instead.", reason=_sentence(reason),
                      successor=successor) if successor else reason)

    def restore(self, entry: Entry, kind: str, *, is_whole: bool = False) -> None:
        """Take a mark back; raises NotFoundError where there is none."""
        subject = Subject.of(entry, is_whole=is_whole)
        with self._changing(subject) as connection:
            gone = connection.execute(marks.delete().where(*_is_about(subject, marks),
                                                           marks.c.version == subject.version,
                                                           marks.c.kind == kind))
            if not gone.rowcount:
                raise NotFoundError(Sentence(
                    "{subject} is not {kind}.", subject=subject, kind=kind))
            _tell(connection, subject, "restored", Sentence("No longer {kind}.", kind=kind))

    def purge(self, entry: Entry, *, reason: str, user_id: int) -> None:
        """Delete the bytes of one version for good, so that no sync takes them in again.

        Other versions that a tag gives to the same bytes go with it. The store loses them with
        the sync that this asks for.
        """
        subject, reason = Subject.of(entry), checked_reason(reason)
        with self._changing(subject) as connection:
            is_gone = *_is_about(subject, versions), versions.c.blob == entry.blob
            names = list(connection.scalars(sa.select(versions.c.version).where(*is_gone)))
            if not names:
                raise NotFoundError(Sentence("{subject} was deleted meanwhile.", subject=subject))
            connection.execute(versions.delete().where(*is_gone))
            for each in (replace(subject, version=version) for version in names):
                connection.execute(purges.insert().values(
                    **asdict(each), blob=entry.blob, reason=reason, user_id=user_id,
                    created_at=_now()))
                _tell(connection, each, "purged", reason)
            connection.execute(sources.update().where(sources.c.id == subject.source_id)
                               .values(sync_requested_at=_now()))

    @contextlib.contextmanager
    def _changing(self, subject: Subject) -> Iterator[sa.Connection]:
        """A transaction after which the right version is shown, and the index hears of it."""
        with self._engine.begin() as connection:
            # First this row, as a sync does: whoever comes second decides on what the first wrote.
            if not connection.execute(sources.update().where(
                    sources.c.id == subject.source_id).values(name=sources.c.name)).rowcount:
                raise NotFoundError(Sentence(
                    "The source of {subject} was removed meanwhile.", subject=subject))
            yield connection
            _choose_latest(connection, subject)
            connection.execute(search_outbox.insert().values(
                source_id=subject.source_id, type=subject.type, name=subject.name))


def checked_reason(text: str) -> str:
    """The reason that everyone will read; raises InvalidInputError where there is none."""
    reason = text.replace("\r\n", "\n").strip()
    if not reason:
        raise _wrong("reason", Sentence("Give a reason: everyone who meets the version reads it."))
    if any(not char.isprintable() and char not in "\n\t" for char in reason):
        raise _wrong("reason", Sentence(
            "The reason has characters that nobody can see. Take them out."))
    if len(reason) > MAX_REASON:
        raise _wrong("reason", Sentence(
            "The reason has {count:,} characters; at most {most:,} are possible. Shorten it.",
            count=len(reason), most=MAX_REASON))
    return reason


def _checked_successor(text: str, subject: Subject) -> str:
    successor = text.strip()
    if not successor:
        return ""
    try:
        wanted = Reference.parse(successor)
    except InvalidInputError as error:
        raise _wrong("successor", error.message) from error
    if successor == str(subject) or (not subject.version and not wanted.source and (
            wanted.type or subject.type, wanted.name) == (subject.type, subject.name)):
        raise _wrong("successor", Sentence(
            "{successor} is what is deprecated. Name another component or version, or leave the "
            "successor out.", successor=successor))
    return successor


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _wrong(path: str, message: str) -> InvalidInputError:
    return InvalidInputError(message, [Problem(message=message, path=path)])


def _put(connection: sa.Connection, subject: Subject, kind: str, reason: str, successor: str,
         user_id: int) -> None:
    """One mark of a kind; a second one takes the place of the first."""
    connection.execute(marks.delete().where(
        *_is_about(subject, marks), marks.c.version == subject.version, marks.c.kind == kind))
    connection.execute(marks.insert().values(
        **asdict(subject), kind=kind, reason=reason, successor=successor, user_id=user_id,
        created_at=_now()))


def _tell(connection: sa.Connection, subject: Subject, kind: str, detail: str) -> None:
    connection.execute(events.insert().values(
        at=_now(), kind=kind, **asdict(subject), detail=detail))


def _choose_latest(connection: sa.Connection, subject: Subject) -> None:
    """As a sync does: the version that lists show, without what is yanked now."""
    rows = connection.execute(sa.select(
        versions.c.id, versions.c.version, versions.c.position, versions.c.is_moved,
        versions.c.is_latest).where(*_is_about(subject, versions)))
    known = [_Known(**row._mapping) for row in rows]
    yanked = set(connection.scalars(sa.select(marks.c.version).where(
        *_is_about(subject, marks), marks.c.kind == YANKED)))
    shown = shown_of(known, yanked)
    for each in known:
        if each.is_latest != (each is shown):
            connection.execute(versions.update().where(versions.c.id == each.id).values(
                is_latest=each is shown))


def _is_about(subject: Subject, table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
    return (table.c.source_id == subject.source_id, table.c.type == subject.type,
            table.c.name == subject.name)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
