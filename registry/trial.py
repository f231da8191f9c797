"""What a repository or folder would bring: looked at before it is added, and nothing of it kept."""
from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Iterable, Sequence

import requests

from registry.component_file import LINK, read_file
from registry.config import Settings
from registry.errors import ComponentError, InvalidInputError, NotFoundError, Problem
from registry.git_store import GitStore
from registry.git_wire import Refs
from registry.github_accounts import GitHubAccounts
from registry.repositories import Repositories
from registry.repository_name import check_branch
from registry.source import (
    GITHUB,
    Source,
    checked_sub_paths,
    component_type,
    find_place,
    folder_files,
    folders,
    in_folder_of_type,
)
from registry.upstream import Upstream, Way
from registry.versions import FileProblem
from runner.sentence import Sentence

MOST_S = 25.0  # somebody waits; the sync itself may take longer


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What stands at the head now; `head` None: a plain folder, or nothing is in it.

    `components` are references such as `job/hello`; `broken` are the files that hold none.
    """

    location: str
    is_private: bool = False
    head: str | None = None
    components: tuple[str, ...]
    broken: tuple[FileProblem, ...]


class Trials:
    """One look each, in at most MOST_S; raises RegistryError saying what is wrong."""

    def __init__(self, settings: Settings, accounts: GitHubAccounts, repositories: Repositories
                 ) -> None:
        self._settings, self._accounts, self._repositories = settings, accounts, repositories

    def of(self, user_id: int, location: str, *, branch: str = "",
           sub_paths: Sequence[str] = ()) -> Trial:
        """A folder of this server, which only an admin may name, or a repository on GitHub."""
        below = checked_sub_paths(sub_paths)
        if location.startswith(("/", "~")):
            return self._of_folder(location.replace("\0", ""), below)
        check_branch(branch or None)
        found = self._repositories.find(user_id, location)
        token = self._accounts.token_of(user_id) if found.is_private else None
        with tempfile.TemporaryDirectory() as folder, requests.Session() as session:
            store = GitStore(Path(folder) / "trial.git")
            way = Way(session=session, url=self._settings.github_url, name=found.full_name,
                      token=token, give_up_at=time.monotonic() + MOST_S)
            upstream = Upstream(_source(found.full_name, branch), store, lambda *_: None)
            refs = upstream.refs(way)
            files = _fetched(upstream, way, refs, store, below)
            return replace(_judged(found.full_name, files), head=refs.head,
                           is_private=found.is_private)

    def _of_folder(self, location: str, below: Sequence[str]) -> Trial:
        """Nothing that the server keeps: the stores of private repositories lie there."""
        folder, home = (Path(os.path.realpath(os.path.expanduser(each)))
                        for each in (location, self._settings.home))
        if folder.is_relative_to(home):
            raise InvalidInputError(Sentence(
                "{location} lies in the folder that this server keeps for itself. Give a "
                "repository or a folder elsewhere.", location=location[:200]))
        if not folder.is_dir():
            raise InvalidInputError(Sentence(
                "There is no folder {location!r} on this machine that can be read. Give the path "
                "of a Git repository or of a folder.", location=location[:500]))
        place = find_place(str(folder))
        if place.repository:
            store = GitStore(place.repository)
            head = store.shown_head()
            if head and (not place.prefix or _has_folder(store, head, place.prefix)):
                found = _read(store, head, folders(place.prefix, below))
                return replace(_judged(location, found), head=head)
        base, files = in_folder_of_type(place.folder, folder_files(place.folder, without=home))
        return _judged(location, [
            (file.path, None if (base / file.path).is_symlink()
             else (base / file.path).read_bytes())
            for file in files if component_type(file.path) and _is_below(file.path, below)])


def _fetched(upstream: Upstream, way: Way, refs: Refs, store: GitStore, below: Sequence[str]
             ) -> list[tuple[str, bytes | None]]:
    """Every component file at the head; None stands for a link."""
    if refs.head is None:
        raise NotFoundError(Sentence("{name} has no such branch, or no commit yet.",
                                     name=way.name))
    upstream.bring_history(way, refs)
    with store.reading() as files:
        standing = files.standing(refs.head, None, folders("", below))
    upstream.bring_used(way, {each.blob for each in standing if each.blob})
    return _read(store, refs.head, folders("", below))


def _has_folder(store: GitStore, head: str, path: str) -> bool:
    try:
        return store.kind(head, path) == "folder"
    except NotFoundError:
        return False


def _is_below(path: str, below: Sequence[str]) -> bool:
    return not below or any(path.startswith(f"{each}/") for each in below)


def _read(store: GitStore, head: str, prefixes: Sequence[str]
          ) -> list[tuple[str, bytes | None]]:
    with store.reading() as files:
        return [(each.path, files.blob(each.blob) if each.blob else None)
                for each in files.standing(head, None, prefixes) if each.blob or each.is_link]


def _judged(location: str, files: Iterable[tuple[str, bytes | None]]) -> Trial:
    holders: dict[str, str] = {}
    broken = []
    for path, data in sorted(files):
        problems: tuple[Problem, ...]
        try:
            name = _reference(path, data)
        except ComponentError as error:
            problems = error.problems
        else:
            first = holders.setdefault(name, path)
            problems = () if first == path else (Problem(
                message=Sentence("{first} already declares {name}, and a source may have it only "
                                 "once.", first=first, name=name)),)
        if problems:
            broken.append(FileProblem(path=path, commit="", problems=problems))
    return Trial(location=location, components=tuple(sorted(holders)), broken=tuple(broken))


def _reference(path: str, data: bytes | None) -> str:
    if data is None:
        raise ComponentError(LINK.message, [LINK])
    component = read_file(path, data)
    return f"{component.type}/{component.name}"


def _source(name: str, branch: str) -> Source:
    """As the sync would know it; nothing of it is written down."""
    now = datetime.now(UTC).replace(tzinfo=None)
    return Source(id=0, name=name, kind=GITHUB, location=name, owner_id=None, head=None, commits=0,
                  synced_at=None, sync_error=None, sync_requested_at=None, created_at=now,
                  branch=branch or None)
