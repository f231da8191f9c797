"""One open repository of Git: its commits, trees and blobs in our words. Uses dulwich."""
from __future__ import annotations

import contextlib
import re
import stat
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Callable, Iterator, TypeVar

from dulwich import errors as git_errors
from dulwich.file import FileLocked
from dulwich.objects import Commit as GitCommit
from dulwich.objects import ObjectID, ShaFile
from dulwich.objects import Tree as GitTree
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from registry.commits import Commit, ReadTree, Small, entry_at
from registry.errors import NotFoundError, RegistryError
from registry.trees import Tree
from runner.sentence import Sentence

CACHED_TREES = 32
SMALL_BYTES, MAX_SMALL = 1024, 40_000  # kept in memory
T = TypeVar("T")
U = TypeVar("U")
_COMMIT_ID = re.compile("[0-9a-f]{40}")
_DAMAGE = (KeyError, ValueError, AssertionError, EOFError, zlib.error, FileLocked,
           UnsupportedExtension, UnsupportedVersion, git_errors.NotGitRepository,
           git_errors.FileFormatException, git_errors.ChecksumMismatch,
           git_errors.WrongObjectException, git_errors.HookError, git_errors.ApplyDeltaError)


@contextlib.contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Damage found here becomes a RegistryError that names the repository."""
    try:
        yield
    except _DAMAGE as error:
        raise _unreadable(path, error) from error


def guarding(path: Path, ask: Callable[[T], U]) -> Callable[[T], U]:
    """The same for what is asked a hundred thousand times."""
    def asked(what: T) -> U:
        try:
            return ask(what)
        except _DAMAGE as error:
            raise _unreadable(path, error) from error
    return asked


def _unreadable(path: Path, error: Exception) -> RegistryError:
    return RegistryError(Sentence(
        "The repository {path} cannot be read ({kind}: {error}). Check it with `git -C {path} "
        "fsck`.", path=path, kind=type(error).__name__, error=str(error)[:200]))


def keep_small(small: Small, id: bytes, kind: int, content: bytes) -> None:
    """A history names small folders again and again."""
    if len(content) <= SMALL_BYTES and len(small) < MAX_SMALL:
        small[id] = kind, content


def _raw(repo: Repo, id: bytes, small: Small | None) -> tuple[int, bytes]:
    found = small.get(id) if small else None
    if found is None:
        found = repo.object_store.get_raw(ObjectID(id))
        if small is not None:
            keep_small(small, id, *found)
    return found


def find_commit(repo: Repo, commit: str, small: Small | None = None) -> Commit | None:
    """With all its parents, be they here or not; None where it is not here itself."""
    if not _COMMIT_ID.fullmatch(commit):
        return None
    try:
        found = ShaFile.from_raw_string(*_raw(repo, commit.encode(), small))
    except KeyError:
        return None
    return Commit(id=commit, parents=tuple(parent.decode() for parent in found.parents),
                  tree=found.tree, time_s=found.commit_time) \
        if isinstance(found, GitCommit) else None


def commit_of(repo: Repo, commit: str, small: Small | None = None) -> Commit:
    """With those of its parents that are here; raises NotFoundError."""
    found = find_commit(repo, commit, small)
    if found is None:
        raise NotFoundError(Sentence("There is no commit {commit}.", commit=commit[:40]))
    here = [id for id in found.parents if (small and id.encode() in small)
            or ObjectID(id.encode()) in repo.object_store]
    return found.among(here)


def blob_of(repo: Repo, blob: str, small: Small | None = None) -> bytes:
    try:
        return _raw(repo, blob.encode(), small)[1]
    except KeyError as error:
        raise NotFoundError(Sentence("There is no file content {blob}.", blob=blob)) from error


def tree_reader(repo: Repo, small: Small | None = None) -> ReadTree:
    """Reads trees and remembers some: a history names the same ones again and again."""
    @lru_cache(maxsize=CACHED_TREES)
    def read(tree: bytes | None) -> Tree:
        if tree is None:
            return Tree()
        kind, content = _raw(repo, tree, small)
        if kind != GitTree.type_num:
            raise ValueError(f"{tree.decode()} is no tree")
        return Tree(content)
    return read


def entry_of(repo: Repo, commit: str, path: str) -> tuple[int, str]:
    """Mode and id of what stands at `path` in a commit; raises NotFoundError for the commit."""
    mode, id = entry_at(tree_reader(repo), commit_of(repo, commit).tree, path)
    return mode, id.decode()


def spread(repo: Repo, head: ObjectID | None, most: int) -> list[str]:
    """First parents of `head` from it on, the gaps between them ever wider."""
    found: list[str] = []
    commit = find_commit(repo, head.decode()) if head else None
    distance = 0
    while commit and len(found) < most:
        if distance & (distance - 1) == 0:
            found.append(commit.id)
        distance += 1
        commit = find_commit(repo, commit.parents[0]) if commit.parents else None
    return found


def blobs_below(repo: Repo, commit: str, path: str, most: int) -> tuple[set[str], bool]:
    """Files and links at or below `path`, and whether these are all, of which `most` are read."""
    read, found = tree_reader(repo), set()
    todo = [entry_at(read, commit_of(repo, commit).tree, path)]
    visited = 0
    while todo and visited < most:
        mode, id = todo.pop()
        visited += 1
        if stat.S_ISDIR(mode):
            todo += read(id).items().values()
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            found.add(id.decode())
    return found, not todo
