"""The versions of one source as its history gives them, kept in memory while a sync reads it."""
from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Callable, Collection, Iterable, Mapping

from registry.commits import Change, Commit
from registry.component import Component, locate, parse
from registry.errors import ComponentError, Problem
from registry.reference import shown_of
from registry.source import component_type

Key = tuple[str, str]  # type and name


@dataclass(kw_only=True)
class Version:
    """One row of `versions`. `component`, without its document, is None if it was known before."""

    id: int | None = None
    type: str
    name: str
    version: str
    blob: str
    commit: str
    committed_at: datetime
    path: str
    last_commit: str | None = None
    position: int
    is_latest: bool = False
    is_present: bool = False
    is_moved: bool = False
    component: Component | None = None

    @property
    def key(self) -> Key:
        return self.type, self.name


@dataclass(frozen=True, kw_only=True)
class FileProblem:
    """Why a file at the head is not in the catalog; `commit` brought its bytes in."""

    path: str
    commit: str
    problems: tuple[Problem, ...]


class History:
    """Takes the changes of commits in their order, then says what stands at the head.

    `versions` and `problems` are what is known already, `commits` the whole history by id; `read`
    gets the bytes of a blob. `is_anew`: all changes come once more, so that the first commit of a
    version may be another one now.
    """

    def __init__(self, versions: Iterable[Version], problems: Iterable[FileProblem],
                 commits: Mapping[str, Commit], read: Callable[[str], bytes], *,
                 is_anew: bool) -> None:
        self.versions: list[Version] = []
        self.problems: dict[str, FileProblem] = {problem.path: problem for problem in problems}
        self._commits = commits
        self._read = read
        self._by_blob: dict[tuple[str, str], Version] = {}
        self._by_place: dict[tuple[str, str], Version] = {}
        self._by_key: dict[Key, list[Version]] = {}
        self._came_in: dict[str, str] = {}
        self._position = 0
        for version in versions:
            self._keep(version)
        self._unmet = {id(version) for version in self.versions} if is_anew else set()

    def apply(self, change: Change, blob_at: Callable[[str], str | None]) -> None:
        """Take one change; `blob_at` gives what stands at a path in the same commit."""
        for parent, blob in change.before:
            before = self._by_place.get((change.path, blob))
            if before:
                before.last_commit = parent
        if change.blob is None:
            return
        self._came_in[change.path] = change.commit.id
        component = self._parse(change.path, change.blob)
        if isinstance(component, Component) and not self._is_second(component, change, blob_at):
            self._record(component, change.path, change.blob, change.commit)

    def finish(self, files: Mapping[str, str], head: str) -> None:
        """Settle what is present and what is wrong; `files` are path and blob at the head."""
        claims: dict[Key, list[str]] = {}
        holders: dict[Key, str] = {}
        problems: dict[str, FileProblem] = {}
        last_good = {version.path: version
                     for version in sorted(self.versions, key=lambda version: version.position)}
        for path, blob in sorted(files.items()):
            found = self._declared(path, blob, head)
            if isinstance(found, FileProblem):
                problems[path] = found
                if path in last_good:
                    holders[last_good[path].key] = path
            else:
                claims.setdefault(found, []).append(path)
        for key, paths in claims.items():
            holders[key] = self._holder(key, paths)
            self._ensure(key, holders[key], files, head)
            for path in paths:
                if path != holders[key]:
                    problems[path] = self._second(key, path, files[path], holders[key], head)
        self.problems = problems
        self._settle(files, holders)

    def choose_latest(self, yanked: Mapping[Key, Collection[str]]) -> None:
        """Settle which version of each component is shown; `yanked` are versions by component."""
        for key, versions in self._by_key.items():
            shown = shown_of(versions, yanked.get(key, ()))
            for version in versions:
                version.is_latest = version is shown

    # --- one change -----------------------------------------------------------------------------

    def _parse(self, path: str, blob: str) -> Component | ComponentError:
        try:
            component = parse(self._read(blob), types=(component_type(path) or "",))
        except ComponentError as error:
            return error
        component = replace(component, document={})
        if PurePosixPath(path).stem == component.name:
            return component
        return replace(component, warnings=(*component.warnings, _misnamed(component, path)))

    def _is_second(self, component: Component, change: Change,
                   blob_at: Callable[[str], str | None]) -> bool:
        """Whether another file of the same commit already declares this component."""
        key = component.type, component.name
        others = {version.path for version in self._by_key.get(key, ())} - {change.path}
        found = (self._by_blob.get((component.type, blob_at(path) or "")) for path in others)
        return any(version is not None and version.key == key for version in found)

    def _record(self, component: Component, path: str, blob: str, commit: Commit) -> None:
        self._position += 1
        known = self._by_blob.get((component.type, blob))
        if known is None:
            self._keep(Version(
                type=component.type, name=component.name, version=component.version, blob=blob,
                commit=commit.id, committed_at=commit.committed_at, path=path,
                position=self._position, is_moved=self._is_taken(component), component=component))
            return
        known.position = self._position
        if known.path != path or id(known) in self._unmet:
            known.path, known.commit, known.committed_at = path, commit.id, commit.committed_at
            known.component = component
            self._by_place[path, blob] = known
        self._unmet.discard(id(known))

    def _is_taken(self, component: Component) -> bool:
        """Whether this version was recorded before, with other bytes that keep serving."""
        known = self._by_key.get((component.type, component.name), ())
        return bool(component.version) and any(
            version.version == component.version for version in known)

    def _keep(self, version: Version) -> None:
        self.versions.append(version)
        self._by_blob[version.type, version.blob] = version
        self._by_place[version.path, version.blob] = version
        self._by_key.setdefault(version.key, []).append(version)
        self._position = max(self._position, version.position)

    # --- the head -------------------------------------------------------------------------------

    def _declared(self, path: str, blob: str, head: str) -> Key | FileProblem:
        known = self._by_blob.get((component_type(path) or "", blob))
        if known:
            return known.key
        component = self._parse(path, blob)
        if isinstance(component, Component):
            return component.type, component.name
        return FileProblem(path=path, commit=self._commit_of(path, head),
                           problems=component.problems)

    def _holder(self, key: Key, paths: list[str]) -> str:
        """Of files that declare the same component, the one that the newest version came from."""
        versions = [version for version in self._by_key.get(key, ()) if version.path in paths]
        newest = max(versions, key=lambda version: version.position, default=None)
        return newest.path if newest else paths[0]

    def _ensure(self, key: Key, path: str, files: Mapping[str, str], head: str) -> None:
        """Record a file that was second until the first one went."""
        known = self._by_blob.get((key[0], files[path]))
        if known is None or known.path != path:
            component = self._parse(path, files[path])
            if isinstance(component, Component):
                self._record(component, path, files[path],
                             self._commits[self._commit_of(path, head)])

    def _second(self, key: Key, path: str, blob: str, first: str, head: str) -> FileProblem:
        place = locate(self._read(blob).decode("utf-8-sig"), "name") or (None, None)
        message = (f"{first} already declares {key[0]}/{key[1]}, and a source may have it only "
                   "once. Give this one another name, or delete one of the two files.")
        return FileProblem(path=path, commit=self._commit_of(path, head), problems=(
            Problem(message=message, path="name", line=place[0], column=place[1]),))

    def _commit_of(self, path: str, head: str) -> str:
        """What brought in the bytes that stand at `path` now."""
        before = self.problems.get(path)
        found = self._came_in.get(path) or (before.commit if before else head)
        return found if found in self._commits else head

    def _settle(self, files: Mapping[str, str], holders: Mapping[Key, str]) -> None:
        for version in self.versions:
            is_at_head = holders.get(version.key) == version.path \
                and files[version.path] == version.blob
            version.last_commit = None if is_at_head else version.last_commit or version.commit
            version.is_present = version.key in holders


def _misnamed(component: Component, path: str) -> Problem:
    line, column = locate(component.text, "name") or (None, None)
    file = PurePosixPath(path)
    return Problem(
        message=f"The file is named {file.name} but the component {component.name}. It is found by "
                f"the latter; better rename the file to {component.name}{file.suffix}.",
        path="name", line=line, column=column, severity="warning")
