"""The versions of one source as its history gives them, kept in memory while a sync reads it."""
from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Collection, Iterable, Mapping, Sequence

from registry.commits import Change, Commit
from registry.component import Component, locate
from registry.errors import ComponentError, Problem
from registry.reference import number_of, shown_of, version_order
from registry.source import component_type
from registry.uses import Use
from registry.versions import FileProblem, Files, Identity, Key, Tag, Version
from runner.sentence import Sentence

_OF_TAG = re.compile("The tag `([^`]+)` ")
Purged = Mapping[str, Collection[tuple[Key, str]]]  # by blob: the components and versions it was


class History:
    """Takes changes and tags in their order; `registry.head` then says what stands at the head.

    `versions` and `problems` are what is known already. `again` holds rows that come once more,
    because all is read anew: they keep their ids. `purged` are bytes that never come in again.

    Nothing that is asked of it depends on where a sync began or ended: what it knows beyond the
    rows is forgotten after each commit of the branch, by `settle`.
    """

    def __init__(self, versions: Iterable[Version], problems: Iterable[FileProblem], files: Files,
                 *, again: Iterable[Version] | None = None, purged: Purged = {}) -> None:
        self.versions: list[Version] = []
        self.problems = {problem.path: problem for problem in problems}
        self.files = files
        self.came_in: dict[str, str] = {}
        self._again: dict[Identity, Version] = {each.identity: each for each in again or ()}
        self._purged = purged
        self._taken = set() if again is not None else {
            each for found in purged.values() for each in found}
        self._by_blob: dict[tuple[str, str], list[Version]] = {}
        self._by_place: dict[tuple[str, str], Version] = {}
        self._by_key: dict[Key, list[Version]] = {}
        self._by_path: dict[str, list[Version]] = {}
        self._met: dict[int, str] = {}
        self._met_at: dict[str, list[Version]] = {}
        self._seconds: dict[Key, set[str]] | None = None
        self._newest_read: tuple[str, str, Component | ComponentError] = (
            "", "", ComponentError("nothing was read yet"))
        self._newest_uses: tuple[Use, ...] = ()
        self._position = 0
        for version in versions:
            self._keep(version)

    # --- what is known ------------------------------------------------------------------------

    def of_blob(self, path: str, blob: str | None) -> list[Version]:
        """The versions that these bytes are; several where tags name them, none if unknown."""
        return self._by_blob.get((component_type(path) or "", blob or ""), [])

    def of_key(self, key: Key) -> list[Version]:
        return self._by_key.get(key, [])

    def of_place(self, path: str, blob: str | None) -> Version | None:
        """The version whose first sight was these bytes at this path."""
        return self._by_place.get((path, blob or ""))

    def place(self, version: Version) -> str:
        """Where its bytes were met since the branch's last commit, stand, or were met first."""
        return self._met.get(id(version)) or version.head_path or version.path

    def newest_at(self, path: str, held: Version | None) -> Version | None:
        """The newest version whose place is `path`; `held` is the one that stands there."""
        found = [*self._by_path.get(path, ()), *self._met_at.get(path, ()), *filter(None, [held])]
        return newest_of(each for each in found if self.place(each) == path)

    def shown_for(self, version: Version) -> Version:
        """Of the versions that tags make of the same bytes the one that stands for all."""
        return max(self._by_blob[version.type, version.blob], key=lambda each: (
            not each.is_moved, version_order(each.version, 0)))

    def is_purged(self, blob: str) -> bool:
        return blob in self._purged

    def read(self, path: str, blob: str) -> Component | ComponentError:
        """The component in these bytes, without its document, or why there is none."""
        if self._newest_read[:2] != (path, blob):  # one file is asked for again and again
            component, self._newest_uses = self.files.reading(path, blob)
            self._newest_read = path, blob, component
        return self._newest_read[2]

    def key_of(self, path: str, blob: str | None) -> Key | None:
        """The component that these bytes declare there; None where they declare none."""
        known = self.of_blob(path, blob)
        if known or blob is None or component_type(path) is None or self.is_purged(blob):
            return known[0].key if known else None
        found = self.read(path, blob)
        return (found.type, found.name) if isinstance(found, Component) else None

    def choose_latest(self, yanked: Mapping[Key, Collection[str]]) -> None:
        """Settle which version of each component is shown; `yanked` are versions by component."""
        for key, versions in self._by_key.items():
            shown = shown_of(versions, yanked.get(key, ()))
            for version in versions:
                version.is_latest = version is shown

    # --- a change -------------------------------------------------------------------------------

    def apply(self, change: Change) -> None:
        """Take one change of a commit."""
        for parent, blob in change.before:
            before = self.of_place(change.path, blob)
            if before:
                before.last_commit = parent
        if not change.is_inherited:
            self.came_in[change.path] = change.commit.id
        key = self._take(change.path, change.blob, change.commit) if change.blob else None
        for _, blob in change.before:
            for known in self.of_blob(change.path, blob)[:1]:
                if known.key != key:
                    self._let_second_in(known.key, change.commit)

    def wait(self, key: Key, path: str) -> None:
        """Note a file that declares a component which another file declares already."""
        self._waiting().setdefault(key, set()).add(path)

    def waiting(self, key: Key) -> set[str]:
        return self._waiting().get(key, set())

    def settle(self) -> None:
        """Forget what only the rows and problems of a commit of the branch may say from now on."""
        self._met, self._met_at, self.came_in = {}, {}, {}
        if self._seconds:
            known = ((key, paths & self.problems.keys()) for key, paths in self._seconds.items())
            self._seconds = {key: paths for key, paths in known if paths}

    def record(self, path: str, blob: str, commit: Commit) -> list[Version]:
        """The versions of these bytes, recorded as of `commit` where they are new."""
        known = self.of_blob(path, blob)
        if known:
            self._meet(known, path, blob)
            return known
        component = self.read(path, blob)
        assert isinstance(component, Component), f"{path} declared a component"
        return [self._add(component, component.version, path, blob, commit)]

    def _take(self, path: str, blob: str, commit: Commit) -> Key | None:
        """The component that the file declares; its bytes are recorded unless it is second."""
        if self.is_purged(blob):
            self._taken |= set(self._purged[blob])
            return None
        key = self.key_of(path, blob)
        if key and self._is_second(key, path, commit):
            self.wait(key, path)
        elif key:
            self.record(path, blob, commit)
        return key

    def _is_second(self, key: Key, path: str, commit: Commit) -> bool:
        """Whether another file of the same commit already declares this component."""
        others = {place for version in self.of_key(key)
                  for place in (version.path, self.place(version))} - {path}
        return any(known.key == key for other in others
                   for known in self.of_blob(other, self.files.blob_at(commit.id, other))[:1])

    def _let_second_in(self, key: Key, commit: Commit) -> None:
        """The file that declared a component does so no more: another may have waited for it."""
        for path in sorted(self.waiting(key)):
            blob = self.files.blob_at(commit.id, path)
            if blob and self.key_of(path, blob) == key and not self._is_second(key, path, commit):
                self.record(path, blob, self.commit_of(path, commit))
                return

    def _waiting(self) -> dict[Key, set[str]]:
        """Files by the component that another file declared first, those of earlier syncs too."""
        if self._seconds is None:
            self._seconds = {}
            for problem in self.problems.values():
                key = self.key_of(problem.path, self.files.blob_at(problem.commit, problem.path))
                if key:
                    self._seconds.setdefault(key, set()).add(problem.path)
        return self._seconds

    def _meet(self, known: Sequence[Version], path: str, blob: str) -> None:
        """Bytes that come in once more: the newest of their component, maybe at a new place."""
        self._position += 1
        stem = PurePosixPath(path).stem
        is_other_name = any((PurePosixPath(self.place(version)).stem == version.name)
                            != (stem == version.name) for version in known)
        component = self.read(path, blob) if is_other_name else None
        for version in known:
            self._met[id(version)] = path
            self._met_at.setdefault(path, []).append(version)
            version.position = self._position
            if isinstance(component, Component):
                version.warnings = (*component.warnings, *_of_tags(version.warnings))
            if not version.is_tagged and version.path == path:
                version.last_commit = None

    def _add(self, component: Component, number: str, path: str, blob: str, commit: Commit, *,
             is_tagged: bool = False) -> Version:
        self._position += 1
        key = component.type, component.name
        version = Version(
            type=component.type, name=component.name, version=number, blob=blob, commit=commit.id,
            committed_at=commit.committed_at, path=path, position=self._position,
            last_commit=commit.id if is_tagged else None, is_tagged=is_tagged,
            is_moved=self._is_taken(key, number), warnings=component.warnings,
            readme=self.files.readme(commit.id, path), component=component,
            uses=self._newest_uses)
        known = self._again.pop(version.identity, None)
        version.id = known.id if known else None
        self._keep(version)
        return version

    def _is_taken(self, key: Key, number: str) -> bool:
        """Whether this version was recorded before, with other bytes that keep serving."""
        return bool(number) and ((key, number) in self._taken or any(
            version.version == number for version in self.of_key(key)))

    def _keep(self, version: Version) -> None:
        self.versions.append(version)
        self._by_blob.setdefault((version.type, version.blob), []).append(version)
        self._by_key.setdefault(version.key, []).append(version)
        self._by_path.setdefault(version.path, []).append(version)
        if not version.is_tagged:
            self._by_place[version.path, version.blob] = version
        self._position = max(self._position, version.position)

    def commit_of(self, path: str, otherwise: Commit) -> Commit:
        """What brought in the bytes that stand at `path` now."""
        before = self.problems.get(path)
        found = self.came_in.get(path) or (before.commit if before else None)
        return self.files.commit(found) if found else otherwise

    def keep_rest(self) -> None:
        """Keep what did not come once more: nothing that was known is ever lost."""
        for version in self._again.values():
            self._keep(version)
        self._again = {}

    # --- tags -----------------------------------------------------------------------------------

    def name(self, tag: Tag, files: Mapping[str, str]) -> set[Key]:
        """Take a tag that is new or moved; `files` are path and blob at its commit.

        Gives the components that it names. Where files say other versions than it and none says
        the same, that is one warning, however many they are.
        """
        self.unname([tag.name])
        done: set[Key] = set()
        others: list[Version] = []
        for path, blob in sorted(files.items(), key=lambda item: (
                not self.of_blob(*item), item[0])):
            key = self.key_of(path, blob)
            if key and key not in done:
                done.add(key)
                other = self._name(tag, path, blob)
                others += [other] if other else []
        if others and not self._is_said(tag, done):
            first = min(others, key=lambda version: version.identity)
            first.warnings = _in_order((
                *first.warnings, self._conflict(tag, first, len(others) - 1)))
        return done

    def unname(self, names: Collection[str]) -> None:
        """Take tags off the versions that they named; the versions stay."""
        gone = set(names)
        for version in self.versions:
            if gone & set(version.tags):
                version.tags = tuple(name for name in version.tags if name not in gone)
            if any(_tag_of(problem) in gone for problem in version.warnings):
                version.warnings = tuple(problem for problem in version.warnings
                                         if _tag_of(problem) not in gone)

    def tags(self) -> set[str]:
        """The names of the tags that name a version or are in conflict with one."""
        return {name for version in self.versions for name in (
            *version.tags, *map(_tag_of, version.warnings)) if name}

    def _is_said(self, tag: Tag, keys: Iterable[Key]) -> bool:
        """Whether the field of some file says what the tag says: it may be about that one alone."""
        return any(tag.name in version.tags and not version.is_tagged
                   for key in keys for version in self.of_key(key))

    def _name(self, tag: Tag, path: str, blob: str) -> Version | None:
        """Name what these bytes are; gives it where its own field says another version."""
        known = self.of_blob(path, blob)
        component = None if known else self.read(path, blob)
        field = component.version if isinstance(component, Component) else next(
            (version.version for version in known if not version.is_tagged), "")
        if field:
            version = known[0] if known else self.record(path, blob, tag.commit)[0]
            if not is_same(field, tag.version):
                return version
            version.tags = tuple(sorted({*version.tags, tag.name}))
            return None
        self._give(tag, path, blob)
        return None

    def _give(self, tag: Tag, path: str, blob: str) -> None:
        """The tag gives the version where the file has none."""
        known = self.of_blob(path, blob)
        version = next((each for each in known if each.version == tag.version), None)
        plain = next((each for each in known if not each.version), None)
        if version is None and plain:
            self._promote(plain, tag, path)
            version = plain
        if version is None:
            version = self._add_tagged(tag, path, blob, known[0] if known else None)
        version.tags = tuple(sorted({*version.tags, tag.name}))

    def _add_tagged(self, tag: Tag, path: str, blob: str, same: Version | None) -> Version:
        """One more version of bytes; `same` is one of them, whichever tag was read first."""
        component = self.read(path, blob)
        assert isinstance(component, Component), f"{path} declared a component"
        version = self._add(component, tag.version, path, blob, tag.commit, is_tagged=True)
        # Bytes that never stood on the branch have no place in its history.
        version.position = same.position if same else 0
        if same:
            version.warnings = same.warnings
        return version

    def _promote(self, plain: Version, tag: Tag, path: str) -> None:
        """Bytes that had no version yet get the tag's, and its commit."""
        plain.is_moved = self._is_taken(plain.key, tag.version)
        self._by_place.pop((plain.path, plain.blob), None)
        self._by_path[plain.path].remove(plain)
        self._by_path.setdefault(path, []).append(plain)
        plain.version, plain.is_tagged, plain.path = tag.version, True, path
        plain.commit = plain.last_commit = tag.commit.id
        plain.committed_at = tag.commit.committed_at
        plain.readme = self.files.readme(tag.commit.id, path)
        known = self._again.pop(plain.identity, None)
        plain.id = known.id if known else plain.id

    def _conflict(self, tag: Tag, version: Version, more: int) -> Problem:
        text = self.files.blob(version.blob).decode("utf-8-sig")
        line, column = locate(text, "version") or (None, None)
        others = Sentence(
            " So it is with {more} more of its components.", more=more) if more else ""
        return Problem(
            message=Sentence(
                "The tag `{name}` calls this {version}, but the field `version` says {field}, "
                "and the field counts. Delete the tag, or write `version: {version}` and tag that "
                "commit.{others}", name=tag.name, version=tag.version, field=version.version,
                others=others),
            path="version", line=line, column=column, severity="warning")


def is_same(one: str, other: str) -> bool:
    """Whether two versions mean the same: `1.0` and `1.0.0` do."""
    return one == other or (number_of(one) is not None and number_of(one) == number_of(other))


def newest_of(versions: Iterable[Version]) -> Version | None:
    """The one that came last; of the same bytes the one of the highest number."""
    return max(versions, key=lambda version: (
        version.position, version_order(version.version, 0)), default=None)


def _tag_of(problem: Problem) -> str | None:
    """The tag that a warning is about."""
    found = _OF_TAG.match(problem.message) if problem.path == "version" else None
    return found[1] if found else None


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """What tags say comes last, by their names: no matter which one was read first."""
    return tuple(sorted(problems, key=lambda problem: _tag_of(problem) or ""))


def _of_tags(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if _tag_of(problem)]
