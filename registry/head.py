"""What stands at the head of a source: which file holds which component, and what is wrong."""
from __future__ import annotations

from typing import Collection, Mapping, Sequence

from registry.commits import Commit, Standing
from registry.component import Component, locate
from registry.component_file import LINK
from registry.errors import Problem
from registry.history import History, newest_of
from registry.versions import FileProblem, Key, Tag, Version
from runner.sentence import Sentence

PURGED = Problem(
    line=1, column=1,
    message=Sentence(
        "These bytes were taken out of the catalog for good and stay out. Change the file, and "
        "give it another version."))


class Head:
    """Moves a history from one head to the next, by what differs between the two."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._holders: dict[Key, Version] = {
            version.key: version for version in history.versions if version.head_path}
        self._held: dict[str, Key] = {
            version.head_path: key for key, version in self._holders.items() if version.head_path}

    def move(self, found: Sequence[Standing], head: Commit, before: str | None) -> None:
        """Take over what differs from the commit `before`, None: all that stands at `head`.

        A branch that grew is followed commit by commit, so that the same holds however often
        it is looked at.
        """
        problems = self._history.problems
        claims: dict[Key, list[str]] = {}
        open_keys: set[Key] = set()
        broken: list[str] = []
        for each in found:
            self._note_last(each, before)
            problems.pop(each.path, None)
            wrong = self._wrong(each)
            held, key = self._held.get(each.path), None
            if wrong:
                problems[each.path] = FileProblem(
                    path=each.path, problems=wrong,
                    commit=self._history.commit_of(each.path, head).id)
                broken.append(each.path)
                open_keys |= {held} if held else set()
                continue
            key = self._history.key_of(each.path, each.blob)
            if held and held != key:
                open_keys.add(self._release(each.path))
            if key:
                claims.setdefault(key, []).append(each.path)
        for key in open_keys:
            claims[key] = [*claims.get(key, ()), *self._waiting(key, head, found)]
        for key, paths in sorted(claims.items()):
            if paths:
                self._settle(key, sorted(paths), head)
        self._keep_last_good(broken)
        self._history.settle()

    def name(self, tag: Tag, files: Mapping[str, str]) -> None:
        """Take a tag; of the versions that it makes of what stands at the head one is shown."""
        for key in self._history.name(tag, files):
            holder = self._holders.get(key)
            if holder and holder.head_path:
                self._give(key, holder, holder.head_path)

    def show(self) -> None:
        """Note which versions are of components that the source still has."""
        for version in self._history.versions:
            version.is_present = version.key in self._holders

    def _waiting(self, key: Key, head: Commit, found: Sequence[Standing]) -> list[str]:
        """Files that declare a component as well and did not change: one may hold it now."""
        paths = self._history.waiting(key) & self._history.problems.keys()
        paths -= {each.path for each in found} if paths else set()
        return [path for path in paths if self._history.key_of(
            path, self._history.files.blob_at(head.id, path)) == key]

    def _note_last(self, each: Standing, before: str | None) -> None:
        """The commit before was the last that had these bytes there, if no other is known."""
        version = self._history.of_place(each.path, each.before)
        if version and before and each.blob != each.before:
            version.last_commit = version.last_commit or before
        now = self._history.of_place(each.path, each.blob)
        if now:
            now.last_commit = None

    def _wrong(self, each: Standing) -> tuple[Problem, ...]:
        """Why no component stands there; empty where one does, or nothing at all."""
        if each.is_link:
            return (LINK,)
        if each.blob is None or self._history.of_blob(each.path, each.blob):
            return ()
        if self._history.is_purged(each.blob):
            return (PURGED,)
        found = self._history.read(each.path, each.blob)
        return () if isinstance(found, Component) else found.problems

    def _release(self, path: str) -> Key:
        key = self._held.pop(path)
        self._holders.pop(key).head_path = None
        return key

    def _settle(self, key: Key, paths: list[str], head: Commit) -> None:
        """Of the files that declare a component one holds it, and the others are problems."""
        holder = self._holders.get(key)
        current = holder.head_path if holder else None
        if current and current not in paths and current not in self._history.problems:
            first = current
        else:
            first = current if current in paths else self._newest(key, paths)
            self._hold(key, first, head)
        for path in paths:
            if path != first:
                self._history.problems[path] = self._second(key, path, first, head)
                self._history.wait(key, path)

    def _newest(self, key: Key, paths: list[str]) -> str:
        """The file that the newest version came from, else the first by name."""
        newest = newest_of(version for version in self._history.of_key(key)
                           if self._history.place(version) in paths)
        return self._history.place(newest) if newest else paths[0]

    def _hold(self, key: Key, path: str, head: Commit) -> None:
        blob = self._history.files.blob_at(head.id, path)
        assert blob, f"{path} stands at {head.id}"
        versions = self._history.of_blob(path, blob)
        if all(self._history.place(version) != path for version in versions):
            versions = self._history.record(path, blob, self._history.commit_of(path, head))
        self._history.problems.pop(path, None)
        self._give(key, versions[0], path)

    def _give(self, key: Key, version: Version, path: str) -> None:
        before = self._holders.get(key)
        if before and before.head_path:
            self._release(before.head_path)
        version = self._history.shown_for(version)
        version.head_path = path
        self._holders[key] = version
        self._held[path] = key

    def _second(self, key: Key, path: str, first: str, head: Commit) -> FileProblem:
        blob = self._history.files.blob_at(head.id, path) or ""
        place = locate(self._history.files.blob(blob).decode("utf-8-sig"), "name") or (None, None)
        message = Sentence(
            "{first} already declares {type}/{name}, and a source may have it only once. Give this "
            "one another name, or delete one of the two files.", first=first, type=key[0],
            name=key[1])
        return FileProblem(
            path=path, commit=self._history.commit_of(path, head).id, problems=(
                Problem(message=message, path="name", line=place[0], column=place[1]),))

    def _keep_last_good(self, broken: Collection[str]) -> None:
        """A file that breaks does not take away what it held before, which is its newest good."""
        newest = [(path, self._history.newest_at(path, self._holder(path))) for path in broken]
        for path, good in newest:
            if path in self._held and (good is None or self._held[path] != good.key):
                self._release(path)
            if good and (path in self._held or good.key not in self._holders):
                self._give(good.key, good, path)

    def _holder(self, path: str) -> Version | None:
        return self._holders[self._held[path]] if path in self._held else None
