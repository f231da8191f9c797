"""The sources: which repositories and folders are indexed, and what is wrong in their files."""
from __future__ import annotations

import contextlib
import difflib
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Mapping, Sequence

import sqlalchemy as sa

from registry import visibility
from registry.db import file_problems, search_outbox, sources, users, versions
from registry.entry import problems_of
from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.source import (
    DELETED,
    GITHUB,
    LOCAL,
    LOCKED,
    Source,
    check_tag_prefix,
    checked_sub_paths,
)
from registry.source_words import GONE, REPLACED
from registry.versions import FileProblem
from runner.sentence import Sentence

MAX_ALIKE, MAX_OWNED = 100, 200
_NAME_BREAKS = re.compile("[^A-Za-z0-9._-]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WARNED = (versions.c.head_path.is_not(None), sa.cast(versions.c.warnings, sa.Text) != "[]")
_IS_GONE = sources.c.upstream_state.in_((GONE, REPLACED))


@dataclass(frozen=True, kw_only=True)
class NewRepository:
    """A repository on GitHub as it is to be indexed; `branch` None: its default one."""

    repo_id: int
    full_name: str
    is_private: bool
    branch: str | None = None
    sub_paths: Sequence[str] = ()
    tag_prefix: str | None = None


class Sources:
    """Reads and writes of sources; a sync writes its own part. Safe in several threads.

    `user_id` is who reads; None is a visitor. What takes no `user_id` is for whoever was found to
    be allowed it.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def visible(self, *, user_id: int | None = None) -> list[Source]:
        """Every source that the user may see, by name."""
        return self._select(visibility.is_visible(user_id))

    def hidden(self, *, user_id: int | None = None) -> list[Source]:
        """Those that the user may not see; an admin may know their names and remove them."""
        return self._select(~visibility.is_visible(user_id))

    def private_names(self, *, user_id: int | None = None) -> frozenset[str]:
        """The private ones among those that the user may see."""
        with self._engine.connect() as connection:
            return frozenset(connection.scalars(sa.select(sources.c.name).where(
                sources.c.is_private, visibility.is_visible(user_id))))

    def all(self) -> list[Source]:
        """Every source, whoever may see it; for the sync alone."""
        return self._select()

    def get(self, name: str, *, user_id: int | None = None) -> Source:
        """Raises NotFoundError with the nearest names."""
        is_visible = visibility.is_visible(user_id)
        for source in self._select(sources.c.name == name, is_visible):
            return source
        with self._engine.connect() as connection:
            known = connection.scalars(sa.select(sources.c.name).where(is_visible)).all()
        raise NotFoundError(Sentence(
            "There is no source {name}.", name=name), difflib.get_close_matches(name, known))

    def add_folder(self, location: str, *, name: str | None, owner_id: int | None,
                   sub_paths: Sequence[str] = (), tag_prefix: str | None = None) -> Source:
        """Have a folder indexed: one in a Git working tree, a bare repository, or a plain one.

        `name` None: the folder's own. `owner_id` None: the bundled source. `sub_paths` empty:
        components are looked for everywhere. `tag_prefix` None: tags are not read. Raises
        InvalidInputError for what cannot be, ConflictError for a place or name that is taken.
        """
        folder = _folder(location)
        sub_paths = checked_sub_paths(sub_paths)
        check_tag_prefix(tag_prefix)
        name = name or _NAME_BREAKS.sub("-", folder.name.removesuffix(".git")).strip("-.")
        _check_name(name)
        for source in self._select(sources.c.kind == LOCAL):
            if source.name == name or source.location == str(folder):
                raise ConflictError(Sentence(
                    "There is already the source {name} for {location}. Choose another name, or "
                    "remove that one.", name=source.name, location=source.location))
        return self._insert([name], {
            "kind": LOCAL, "location": str(folder), "owner_id": owner_id,
            "sub_paths": list(sub_paths), "tag_prefix": tag_prefix})

    def add_repository(self, wanted: NewRepository, *, name: str | None, owner_id: int,
                       sponsor_id: int | None) -> Source:
        """Have a repository on GitHub indexed, which `owner_id` was seen to read.

        `name` None: the repository's own, with a number behind it where that is taken.
        `sponsor_id` None: it is read as nobody. Raises InvalidInputError for what cannot be,
        ConflictError for what is indexed already, a name that is taken and one too many.
        """
        sub_paths = checked_sub_paths(wanted.sub_paths)
        check_tag_prefix(wanted.tag_prefix)
        if name is not None:
            _check_name(name)
        self._check_room(owner_id)
        for source in self._select(sources.c.repo_id == wanted.repo_id):
            if (source.branch, source.sub_paths, source.tag_prefix) == (
                    wanted.branch, sub_paths, wanted.tag_prefix):
                raise ConflictError(Sentence(
                    "{full_name} is indexed already: it is the source {name}. Give another branch, "
                    "folders or tags to have it a second time.", full_name=wanted.full_name,
                    name=source.name))
        own = [wanted.full_name, *(f"{wanted.full_name}-{number}"
                                   for number in range(2, MAX_ALIKE))]
        return self._insert([name] if name else own, {
            "kind": GITHUB, "location": wanted.full_name, "repo_id": wanted.repo_id,
            "is_private": wanted.is_private, "branch": wanted.branch, "owner_id": owner_id,
            "sponsor_id": sponsor_id, "sub_paths": list(sub_paths),
            "tag_prefix": wanted.tag_prefix})

    def sponsor(self, source: Source, user_id: int | None) -> None:
        """Have it synced with the token of `user_id`, who agreed; None: as nobody."""
        self._update(source, sponsor_id=user_id, sync_requested_at=_now())

    def agree(self, source: Source, held_head: str) -> None:
        """Have a held head shown, whatever that takes away; raises ConflictError for another."""
        with self._engine.begin() as connection:
            is_done = connection.execute(sources.update().where(
                sources.c.id == source.id, sources.c.held_head == held_head)
                .values(confirmed_head=held_head, sync_requested_at=_now())).rowcount
        if not is_done:
            raise ConflictError(Sentence(
                "What was held back of {name} is another commit by now, or none. Look at the "
                "source again before you decide.", name=source.name))

    def keep(self, source: Source) -> None:
        """Have what is shown stay, whatever was held back, until the owner says otherwise."""
        self._update(source, confirmed_head=source.head)

    def remove(self, name: str) -> None:
        """Forget a source and all its versions; its origin stays as it is. Raises NotFoundError."""
        source = self._named(name)
        with self._engine.begin() as connection:
            gone = sa.select(versions.c.type, versions.c.name, versions.c.source_id).where(
                versions.c.source_id == source.id).distinct()
            connection.execute(search_outbox.insert().from_select(
                ["type", "name", "source_id"], gone))
            connection.execute(sources.delete().where(sources.c.id == source.id))

    def request_sync(self, name: str) -> None:
        """Have a source synced now instead of at its turn.

        Raises NotFoundError, and ConflictError where it is paused.
        """
        source = self._named(name)
        if source.paused_at:
            raise ConflictError(Sentence(
                "{name} is paused, so it is not indexed. Its owner or an admin lets it go on: with "
                "Resume on its page, or `paishare source resume {name}`.", name=name))
        self._update(source, sync_requested_at=_now())

    def pause(self, source: Source, user_id: int) -> None:
        """Sync it no more until it is resumed; its versions keep serving. Again is no error."""
        if not source.paused_at:
            self._update(source, paused_at=_now(), paused_by=user_id, sync_requested_at=None)

    def resume(self, source: Source) -> None:
        """Sync it again, first of all now; one that is not paused is left as it is."""
        if source.paused_at:
            self._update(source, paused_at=None, paused_by=None, sync_requested_at=_now())

    def request_sponsored(self, user_id: int) -> None:
        """Have what the user's token syncs looked at now: it may be used again, or no more."""
        with self._engine.begin() as connection:
            connection.execute(sources.update().where(
                sources.c.sponsor_id == user_id, sources.c.paused_at.is_(None)).values(
                    sync_requested_at=_now()))

    def requested(self) -> list[str]:
        """The names of the sources that someone wants synced now."""
        with self._engine.connect() as connection:
            return list(connection.scalars(sa.select(sources.c.name).where(
                sources.c.sync_requested_at.is_not(None), sources.c.paused_at.is_(None))))

    def problems(self, source_id: int, *, limit: int | None = None, offset: int = 0,
                 path: str | None = None) -> list[FileProblem]:
        """The files at the head of a source that are not in the catalog, by path, and why.

        Of a repository that is gone, those that it had at last. `limit` None: all; `path` names
        the only one that is wanted.
        """
        is_wanted = () if path is None else (file_problems.c.path == path,)
        with self._engine.connect() as connection:
            last = connection.scalar(sa.select(sources.c.last_problems).where(
                sources.c.id == source_id, _IS_GONE))
            if last is not None:
                found = [FileProblem(path=each["path"], commit=each["commit"],
                                     problems=problems_of(each["problems"])) for each in last
                         if path in (None, each["path"])]
                return found[offset:None if limit is None else offset + limit]
            rows = connection.execute(sa.select(file_problems).where(
                file_problems.c.source_id == source_id, *is_wanted).order_by(
                    file_problems.c.path).limit(limit).offset(offset))
            return [FileProblem(path=row.path, commit=row.commit,
                                problems=problems_of(row.problems)) for row in rows]

    def problem_at(self, source_id: int, path: str) -> FileProblem | None:
        """What keeps the newest text of one file out of the catalog; None: nothing."""
        return next(iter(self.problems(source_id, path=path)), None)

    def warnings(self, source_id: int, *, limit: int | None = None, offset: int = 0,
                 path: str | None = None) -> list[FileProblem]:
        """The components at the head of a source that could be better written, by path, and how.

        `limit` None: all; `path` names the only file that is wanted.
        """
        is_wanted = () if path is None else (versions.c.head_path == path,)
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(
                versions.c.head_path, versions.c.commit, versions.c.warnings).where(
                    versions.c.source_id == source_id, *_WARNED, *is_wanted).order_by(
                        versions.c.head_path).limit(limit).offset(offset))
            return [FileProblem(path=row.head_path, commit=row.commit,
                                problems=problems_of(row.warnings)) for row in rows]

    def _select(self, *conditions: sa.ColumnElement[bool]) -> list[Source]:
        with self._engine.connect() as connection:
            rows = connection.execute(
                _selected().where(*conditions).order_by(sources.c.name))
            return [_source(row) for row in rows]

    def warning_counts(self, source_id: int | None = None) -> dict[int, int]:
        """How many components at its head could be better written, by the id of the source.

        `source_id` None: of every source. Where there are none, the source is left out.
        """
        chosen = () if source_id is None else (versions.c.source_id == source_id,)
        query = sa.select(versions.c.source_id, sa.func.count()).where(
            *_WARNED, *chosen).group_by(versions.c.source_id)
        with self._engine.connect() as connection:
            return {source_id: count for source_id, count in connection.execute(query)}

    def _check_room(self, owner_id: int) -> None:
        """Each repository costs time at every poll, and room on the disk."""
        with self._engine.connect() as connection:
            count = connection.scalar(sa.select(sa.func.count()).where(
                sources.c.owner_id == owner_id, sources.c.kind == GITHUB))
        if (count or 0) >= MAX_OWNED:
            raise ConflictError(Sentence(
                "You have added {most} repositories, which is the most. Remove one, or ask "
                "somebody else to add this one.", most=MAX_OWNED))

    def _insert(self, names: Sequence[str], row: Mapping[str, Any]) -> Source:
        """Under the first of the names that is free; raises ConflictError."""
        now = _now()
        for name in names:
            with contextlib.suppress(sa.exc.IntegrityError), self._engine.begin() as connection:
                connection.execute(sources.insert().values(
                    {**row, "name": name, "commits": 0, "created_at": now,
                     "sync_requested_at": now}))
                break
        else:
            raise ConflictError(Sentence(
                "The name {name} is taken. Choose another one.", name=names[0]))
        return self._named(name)

    def _update(self, source: Source, **values: Any) -> None:
        with self._engine.begin() as connection:
            connection.execute(sources.update().where(sources.c.id == source.id).values(values))

    def _named(self, name: str) -> Source:
        """Whoever may see it. Raises NotFoundError."""
        for source in self._select(sources.c.name == name):
            return source
        raise NotFoundError(Sentence("There is no source {name}.", name=name))


def _selected() -> sa.Select[Any]:
    latest = sa.select(sa.func.count()).where(
        versions.c.source_id == sources.c.id, versions.c.is_latest)
    components = latest.where(versions.c.is_present)
    withdrawn = latest.where(~versions.c.is_present)
    problems = sa.select(sa.func.count()).where(file_problems.c.source_id == sources.c.id)
    pauser, sponsor = users.alias("pauser"), users.alias("sponsor")
    is_out = sa.case((sponsor.c.deleted_at.is_not(None), DELETED),
                     (sponsor.c.locked_at.is_not(None), LOCKED))
    return sa.select(sources, components.scalar_subquery().label("components"),
                     withdrawn.scalar_subquery().label("withdrawn"),
                     problems.scalar_subquery().label("problems"),
                     pauser.c.name.label("pauser"), sponsor.c.name.label("sponsor"),
                     is_out.label("sponsor_is_out")).select_from(
                         sources.outerjoin(pauser, pauser.c.id == sources.c.paused_by)
                         .outerjoin(sponsor, sponsor.c.id == sources.c.sponsor_id))


def _source(row: sa.Row[Any]) -> Source:
    source = Source(**{**row._mapping, "sub_paths": tuple(row.sub_paths)})
    if source.last_problems is None or source.upstream_state not in (GONE, REPLACED):
        return source
    return replace(source, problems=len(source.last_problems))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInputError(Sentence(
            "A source's name has letters, digits, `.`, `_` and `-`, begins with a letter or digit "
            "and is at most 100 long; `{name}` is not such a name.", name=name[:100]))


def _folder(location: str) -> Path:
    try:
        folder = Path(location).expanduser().absolute()
        is_folder = folder.is_dir()
    except (ValueError, RuntimeError, OSError):
        is_folder = False
    if not is_folder:
        raise InvalidInputError(Sentence(
            "There is no folder {location!r} on this machine that can be read. Give the path of a "
            "Git repository or of a folder.", location=location[:500]))
    return folder


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
