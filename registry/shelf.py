"""Shelves: a Git repository for each user on this server, to publish components into."""
from __future__ import annotations

import contextlib
import fcntl
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from registry.accounts import User
from registry.catalog import Catalog
from registry.component import Component, parse
from registry.errors import ConflictError, GoneError, InvalidInputError, NotFoundError, Problem
from registry.git_store import GitStore
from registry.source import Source
from registry.sources import Sources
from runner.sentence import Sentence

SUFFIX = "-shelf"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a publication came to.

    `commit` holds the bytes. `is_first`: the component is new on the shelf. `is_known`: the same
    bytes were there already, and nothing was changed.
    """

    component: Component
    source: str
    commit: str
    is_first: bool
    is_known: bool


class Shelves:
    """Takes components in and never changes what it took. Safe in several processes."""

    def __init__(self, catalog: Catalog, sources: Sources, folder: Path) -> None:
        self._catalog = catalog
        self._sources = sources
        self._folder = folder

    def publish(self, user: User, text: str | bytes) -> Published:
        """Commit a component to the user's shelf and ask for its sync.

        Raises ComponentError with every problem, and ConflictError where another source has the
        name, or the shelf this version with other bytes.
        """
        component = parse(text)
        _require_version(component)
        name = source_name(user)
        with self._alone():
            store = self._store(name)
            source = self._source(name, store, user)
            self._refuse_if_paused(source)
            self._refuse_if_taken(component, name, user)
            self._refuse_if_purged(component, name, user)
            known = _versions(store, _path(component))
            published = self._published(component, name, known) \
                or self._commit(store, component, user, name, is_first=not known)
            if source is None:
                self._sources.add_folder(str(store.path), name=name, owner_id=user.id)
            else:
                self._sources.request_sync(name)
        return published

    def _published(self, component: Component, name: str,
                   known: list[tuple[str, Component]]) -> Published | None:
        """The publication that this one repeats; None: it is a new one."""
        same = [(commit, each) for commit, each in known if each.version == component.version]
        for commit, each in same:
            if each.text == component.text:
                return Published(component=component, source=name, commit=commit, is_first=False,
                                 is_known=True)
        if same and component.version:
            raise ConflictError(Sentence(
                "{reference} is on your shelf {name} already, with other bytes, and a version "
                "never changes. Write a higher `version:` and publish again.",
                reference=component.reference, name=name))
        return None

    def _commit(self, store: GitStore, component: Component, user: User, name: str, *,
                is_first: bool) -> Published:
        commit = store.commit_file(
            _path(component), component.text.encode(),
            author=f"{user.name} <{user.name}@localhost>",
            message=f"Publish {component.reference}\n", time_s=int(time.time()))
        return Published(component=component, source=name, commit=commit, is_first=is_first,
                         is_known=False)

    def _refuse_if_paused(self, source: Source | None) -> None:
        """What is published is to be found at once."""
        if source and source.paused_at:
            raise ConflictError(Sentence(
                "The source {name}, which is your shelf, is paused. Resume it on its page, or with "
                "`paishare source resume {name}`, and publish again.", name=source.name))

    def _refuse_if_taken(self, component: Component, name: str, user: User) -> None:
        """A second component of one name would make every reference to the first one ambiguous."""
        known = {entry.source for entry in self._catalog.versions(
            component.type, component.name, user_id=user.id)}
        waiting = {path.stem for path in self._folder.glob("*.git")
                   if _has(GitStore(path), _path(component))}
        others = sorted((known | waiting) - {name})
        if others:
            raise ConflictError(Sentence(
                "{type}/{name} is in the source {source} already, and references to it must keep "
                "their meaning. Publish yours under another `name:`.", type=component.type,
                name=component.name, source=others[0]))

    def _refuse_if_purged(self, component: Component, name: str, user: User) -> None:
        """What was deleted for good does not come back under its number."""
        for purged in self._catalog.purged(component.type, component.name, name, user_id=user.id):
            if purged.version and purged.version == component.version:
                raise GoneError(Sentence(
                    "{reference} was deleted for good: {reason} Write a higher `version:` and "
                    "publish again.", reference=component.reference, reason=purged.reason))

    def _source(self, name: str, store: GitStore, user: User) -> Source | None:
        """The shelf as the catalog has it; None: it has none yet."""
        try:
            found = self._sources.get(name, user_id=user.id)
        except NotFoundError:
            return None
        if found.location != str(store.path):
            raise ConflictError(Sentence(
                "There is another source called {name}, for {location}. Ask an admin to remove it; "
                "it keeps you from having a shelf.", name=name, location=found.location))
        return found

    def _store(self, name: str) -> GitStore:
        return GitStore(self._folder / f"{name}.git")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One publication at a time, whoever publishes: names are compared across shelves."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with open(self._folder / ".lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def source_name(user: User) -> str:
    """What a user's shelf is called; a user whose name no source can have goes by number."""
    return (user.name if _PLAIN_NAME.fullmatch(user.name) else f"user{user.id}") + SUFFIX


def _path(component: Component) -> str:
    return f"{component.type}/{component.name}.yaml"


def _require_version(component: Component) -> None:
    if not component.version and component.type != "job":
        message = Sentence(
            "{reference} needs a version to be published. Add a line like `version: 1.0.0`.",
            reference=component.reference)
        raise InvalidInputError(message, [Problem(message=message, path="version")])


def _versions(store: GitStore, path: str) -> list[tuple[str, Component]]:
    """What ever stood at a path, with the commits that brought it in; the oldest first."""
    head = store.head()
    contents = store.contents(head, path) if head else []
    return [(commit, parse(content)) for commit, content in contents]


def _has(store: GitStore, path: str) -> bool:
    head = store.head()
    return head is not None and store.blob_at(head, path) is not None
