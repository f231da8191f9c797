"""Reads of one open store: commits, files and what changed, each object at most once in a while."""
from __future__ import annotations

import posixpath
import stat
from dataclasses import replace
from typing import Callable, Container, Iterable, Iterator, Sequence

from registry.commits import (
    Change,
    Changed,
    Commit,
    Fetched,
    Reading,
    ReadTree,
    Standing,
    changed_files,
    changes,
    files_of,
    folder_at,
    mainline_first,
    standing,
)
from registry.component_file import read_file
from registry.errors import ComponentError, NotFoundError, Problem, RegistryError
from registry.source import component_type
from registry.trees import Tree
from registry.uses import uses_of
from registry.yaml_nodes import MAX_BYTES
from runner.sentence import Sentence

README, MAX_README_BYTES = b"README.md", 64 << 10
MAX_FOLDERS_READ, FOLDERS_A_COMMIT = 2_000_000, 20_000  # at once, and for each commit more
BYTES_A_FOLDER = 2500  # a longer list of names counts as several
MAX_COMMITS, MAX_SEEN = 40_000, 40_000  # kept in memory; the latter are commits and files
TOO_LARGE = Problem(
    line=1, column=1,
    message=Sentence(
        "The file is larger than {most_kb} kB, which no component is, so it was not fetched. Keep "
        "data in files of their own.", most_kb=MAX_BYTES // 1000))


class Reader:
    """`tree`, `commit` and `blob` get one object each; the latter two raise NotFoundError.

    `fetched` has what another reader of the same store found out; this one adds to it.
    """

    def __init__(self, tree: ReadTree, commit: Callable[[str], Commit],
                 blob: Callable[[str], bytes], fetched: Fetched) -> None:
        self._seen, self._ahead = fetched.seen, fetched.ahead
        self._readmes: dict[str | None, str] = {}  # whoever asks for one keeps it
        self._above: tuple[str, dict[str, bytes | None]] = "", {}
        self._room = MAX_SEEN - sum(1 + len(found) for found in self._seen.values())
        self._tree = _Limited(tree)
        self._commits, self._commit = fetched.commits, commit
        self._blob = blob

    def commit(self, id: str) -> Commit:
        found = self._commits.get(id)
        if found is None:
            found = self._commit(id)
            if len(self._commits) < MAX_COMMITS:
                self._commits[id] = found
        return found

    def blob(self, id: str) -> bytes:
        """What a file holds; raises ComponentError for one that was too large to be fetched."""
        try:
            return self._blob(id)
        except NotFoundError as error:
            raise ComponentError(TOO_LARGE.message, [TOO_LARGE]) from error

    def reading(self, path: str, blob: str) -> Reading:
        """What the component file at `path` holds."""
        return self._ahead(path, blob, lambda path, blob: reading_of(
            path, lambda: self.blob(blob)))

    def blob_at(self, commit: str, path: str) -> str | None:
        """The id of the file at `path`; None where there is none."""
        above, _, name = path.rpartition("/")
        mode, id = self._folder(commit, above).get(name.encode("utf-8", "surrogateescape"))
        return id.decode() if stat.S_ISREG(mode) else None

    def is_commit(self, id: str) -> bool:
        try:
            return bool(self.commit(id))
        except NotFoundError:
            return False

    def is_folder(self, commit: str, path: str) -> bool:
        return folder_at(self._tree, self.commit(commit).tree, path) is not None

    def new_commits(self, head: str, known: Container[str]) -> list[Commit]:
        """`head` and what it descends from, but what is known, as it came onto the branch."""
        found: dict[str, Commit] = {}
        todo = [head]
        while todo:
            id = todo.pop()
            if id not in found and id not in known:
                found[id] = self.commit(id)
                todo += found[id].parents
        return list(mainline_first(found, head))

    def changes(self, commits: Iterable[Commit], prefixes: Sequence[str]) -> Iterator[Change]:
        """What each commit did to component files below some folders."""
        for commit in commits:
            for prefix in prefixes:
                yield from changes(commit, self._changed(commit, prefix))

    def read_files(self, commits: Iterable[Commit],
                   prefixes: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Path and blob of what these commits brought and whose text may be read one day."""
        for commit in commits:
            for prefix in prefixes:
                yield from files_of(self._changed(commit, prefix))

    def all_read_files(self, commit: str, prefixes: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The same of all that stands at one commit."""
        tree = self.commit(commit).tree
        for prefix in prefixes:
            yield from files_of(changed_files(self._tree, tree, (), prefix))

    def _changed(self, commit: Commit, prefix: str) -> list[Changed]:
        """What was seen once is not looked for again, within reason."""
        found = self._seen.get((commit.id, prefix))
        if found is None:
            self._tree.left += FOLDERS_A_COMMIT
            parents = [self.commit(parent).tree for parent in commit.parents]
            found = changed_files(self._tree, commit.tree, parents, prefix)
            if len(found) < self._room:
                self._seen[commit.id, prefix] = found
                self._room -= 1 + len(found)
        self._above = commit.id, {path.rpartition("/")[0]: folder for path, *_, folder in found}
        return found

    def _folder(self, commit: str, path: str) -> Tree:
        """Of a commit that was just looked at the folders with changes are at hand."""
        if commit == self._above[0] and path in self._above[1]:
            return self._tree(self._above[1][path])
        return self._tree(folder_at(self._tree, self.commit(commit).tree, path))

    def standing(self, head: str, before: str | None,
                 prefixes: Sequence[str]) -> list[Standing]:
        """The component files that differ between two commits; `before` None: all there are."""
        tree, old = self.commit(head).tree, before and self.commit(before).tree
        return [each for prefix in prefixes
                for each in standing(self._tree, tree, old or None, prefix)]

    def files(self, commit: str, prefixes: Sequence[str]) -> dict[str, str]:
        """Path and blob of every component file below some folders."""
        return {each.path: each.blob for each in self.standing(commit, None, prefixes)
                if each.blob}

    def readme(self, commit: str, path: str) -> str:
        """The README of the component at `path`, its first 64 KB; empty where there is none.

        That is `<stem>.md` beside it, else `README.md` in a folder `<stem>/` beside it, else the
        folder's own `README.md` if the folder holds no other component file.
        """
        blob = self._readme_of(commit, path)
        if blob not in self._readmes:
            self._readmes[blob] = self._start_of(blob) if blob else ""
        return self._readmes[blob]

    def _start_of(self, blob: str) -> str:
        try:
            data = self._blob(blob)
        except NotFoundError:
            return ""  # too large to be fetched
        text = data[:MAX_README_BYTES].decode("utf-8-sig", "replace")
        return text.replace("\0", "\ufffd").removesuffix("\ufffd")

    def _readme_of(self, commit: str, path: str) -> str | None:
        above, _, name = path.rpartition("/")
        stem = posixpath.splitext(name)[0].encode("utf-8", "surrogateescape")
        folder = self._folder(commit, above)
        mode, below = folder.get(stem)
        own = self._tree(below if stat.S_ISDIR(mode) else None)
        for mode, blob in (folder.get(stem + b".md"), own.get(README)):
            if stat.S_ISREG(mode):
                return blob.decode()
        mode, blob = folder.get(README)
        is_alone = stat.S_ISREG(mode) and _count_components(folder, above) == 1
        return blob.decode() if is_alone else None


def reading_of(path: str, data: Callable[[], bytes]) -> Reading:
    try:
        component = read_file(path, data())
    except ComponentError as error:
        return error, ()
    return replace(component, document={}), uses_of(component, path)


def _count_components(folder: Tree, path: str) -> int:
    names = [name.decode("utf-8", "backslashreplace") for name, (mode, _) in
             folder.items().items() if stat.S_ISREG(mode)]
    return sum(component_type(f"{path}/{name}") is not None for name in names)


class _Limited:
    """Folders may hold the same folder many times, so that few bytes look like billions."""

    def __init__(self, read: ReadTree) -> None:
        self._read = read
        self.left = MAX_FOLDERS_READ

    def __call__(self, tree: bytes | None) -> Tree:
        found = self._read(tree)
        self.left -= 1 + found.size // BYTES_A_FOLDER
        if self.left < 0:
            raise RegistryError(Sentence(
                "There are more than {most} folders to look through. Name the folders that hold "
                "components as sub-paths of the source.", most=MAX_FOLDERS_READ))
        return found
