"""The bare Git store of a source: keeps every object that was ever seen. Wraps dulwich."""
from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import zlib
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Callable, Collection, Container, Iterator, Mapping, Sequence

from dulwich import errors as git_errors
from dulwich.file import FileLocked
from dulwich.objects import Blob
from dulwich.objects import Commit as GitCommit
from dulwich.objects import ObjectID
from dulwich.objects import Tag as GitTag
from dulwich.objects import Tree, parse_tree
from dulwich.pack import Pack, generate_unpacked_objects, write_pack_data
from dulwich.refs import Ref
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from registry.commits import (
    Commit,
    Fetched,
    Packed,
    ReadTree,
    TreeEntries,
    entry_at,
    new_objects,
    parents_first,
    standing,
)
from registry.errors import NotFoundError, RegistryError
from registry.reader import Reader
from registry.source import FolderFile

BRANCH = Ref(b"refs/heads/main")
HEAD = Ref(b"HEAD")
TAGS = Ref(b"refs/tags")
AUTHOR = b"PAIShare <paishare@localhost>"
MAX_LOOSE = 100
CACHED_TREES = 64
_COMMIT_ID = re.compile("[0-9a-f]{40}")
_DAMAGE = (KeyError, ValueError, AssertionError, EOFError, zlib.error, FileLocked,
           UnsupportedExtension, UnsupportedVersion, git_errors.NotGitRepository,
           git_errors.FileFormatException, git_errors.ChecksumMismatch,
           git_errors.WrongObjectException, git_errors.HookError)


class GitStore:
    """A bare repository of our own at `path`. Safe in several threads: each call opens it anew."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def url(self) -> str:
        """What git can clone, at any commit that was ever seen."""
        return self.path.absolute().as_uri()

    # --- reading ------------------------------------------------------------------------------

    def read(self, commit: str, path: str) -> bytes:
        """The bytes of a file at a commit; raises NotFoundError."""
        with self._open() as repo:
            mode, id = _entry(repo, commit, path)
            if not stat.S_ISREG(mode):
                raise NotFoundError(f"There is no file {path} at commit {commit[:12]}.")
            return _blob(repo, id)

    def kind(self, commit: str, path: str) -> str | None:
        """`file` or `folder`; None for nothing, a link or a submodule. Raises NotFoundError."""
        with self._open() as repo:
            mode, _ = _entry(repo, commit, path)
        return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else None

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reader]:
        """Read many things, each object once; its reads raise NotFoundError or RegistryError."""
        with contextlib.closing(self._repo()) as repo:
            guarded = _guarded(self.path)
            yield Reader(guarded(_tree_reader(repo)), guarded(lambda id: _commit(repo, id)),
                         guarded(lambda id: _blob(repo, id)))

    def shallow(self) -> set[str]:
        """The commits whose parents are not to be had: there a shallow history begins."""
        with self._open() as repo:
            return {id.decode() for id in repo.get_shallow()}

    def full_commit(self, start: str) -> str | None:
        """The only commit whose id starts with 7 or more hexadecimal digits, else None."""
        with self._open() as repo:
            found = [id for id in repo.object_store.iter_prefix(start.encode())
                     if isinstance(repo[id], GitCommit)]
        return found[0].decode() if len(found) == 1 else None

    def blob_at(self, commit: str, path: str) -> str | None:
        """The id of the file at `path`; None where there is none. Raises NotFoundError."""
        with self._open() as repo:
            mode, id = _entry(repo, commit, path)
        return id if stat.S_ISREG(mode) else None

    def files(self, commit: str, prefix: str = "") -> dict[str, str]:
        """Path and blob of every component file below `prefix` at a commit."""
        with self._open() as repo:
            tree = _commit(repo, commit).tree
            return {each.path: each.blob
                    for each in standing(_tree_reader(repo), tree, None, prefix) if each.blob}

    def head(self) -> str | None:
        """The newest commit of the branch; None: there is none yet."""
        if not self.path.exists():
            return None
        with self._open() as repo:
            head = repo.refs.follow(BRANCH)[1]
        return head.decode() if head else None

    def contents(self, head: str, path: str) -> list[tuple[str, bytes]]:
        """Each content that a file had, oldest first, with the commit that brought it in.

        Only first parents are followed. Raises NotFoundError.
        """
        found: list[tuple[str, str]] = []
        with self._open() as repo:
            read = _tree_reader(repo)
            id: str | None = head
            while id:
                commit = _commit(repo, id)
                mode, entry = entry_at(read, commit.tree, path)
                if found and found[-1][1] == entry.decode():
                    found.pop()
                if stat.S_ISREG(mode) and ObjectID(entry) in repo.object_store:  # not if purged
                    found.append((id, entry.decode()))
                id = next(iter(commit.parents), None)
            return [(id, _blob(repo, blob)) for id, blob in reversed(found)]

    def write_pack(self, write: Callable[[bytes], object], *,
                   without: Container[str] = ()) -> Packed:
        """Every object that is here, but those, as a Git pack whose bytes follow from them."""
        with self._open() as repo:
            ids = sorted(id for id in set(repo.object_store) if id.decode() not in without)
            wanted: list[tuple[ObjectID, None]] = [(id, None) for id in ids]
            write_pack_data(
                write,  # type: ignore[arg-type]
                generate_unpacked_objects(repo.object_store, wanted, reuse_deltas=False),
                repo.object_format, num_records=len(ids))
            head = repo.refs.follow(BRANCH)[1]
            return Packed(head=head.decode() if head else None, objects=len(ids),
                          shallow=tuple(sorted(id.decode() for id in repo.get_shallow())))

    # --- writing ------------------------------------------------------------------------------

    def take_pack(self, pack: BinaryIO, packed: Packed) -> None:
        """Hold all that `write_pack` wrote; raises RegistryError for what is no such pack."""
        with self._open_to_write() as repo:
            if packed.objects:
                stream, commit, _ = repo.object_store.add_pack()
                shutil.copyfileobj(pack, stream)
                commit()
            repo.update_shallow({ObjectID(id.encode()) for id in packed.shallow}, set())
            if packed.head:
                repo.refs[BRANCH] = ObjectID(packed.head.encode())

    def fetch(self, repository: Path, prefix: str = "", tag_prefix: str | None = None, *,
              without: Collection[str] = ()) -> Fetched | None:
        """Take over all of the repository's default branch that is missing here, and its tags.

        That is the branch that its HEAD names, or HEAD itself where it is detached; main, master
        or the only branch where it names none. Tags are those that begin with `tag_prefix`, None:
        none. The blobs `without` stay out. The answer None: there is no folder `prefix` in it.
        Raises RegistryError where the repository cannot be read.
        """
        with _guarded(repository), contextlib.closing(Repo(str(repository))) as origin:
            _refuse_sha256(origin)
            head = _default_head(origin)
            if prefix and not (head and stat.S_ISDIR(_entry(origin, head.decode(), prefix)[0])):
                return None
            if head is None:
                return Fetched(head=None)
            tags = {} if tag_prefix is None else _tags(origin, tag_prefix)
            with self._open_to_write() as repo:
                count = _take_over(repo, origin, [head, *tags.values()], without)
                repo.refs[BRANCH] = head
                _keep_tags(repo, tags)
            return Fetched(head=head.decode(), prefix=prefix, objects=count,
                           tags={name: commit.decode() for name, commit in tags.items()})

    def snapshot(self, folder: Path, files: Sequence[FolderFile], *,
                 without: Collection[str] = ()) -> str:
        """Commit the files of a plain folder where they differ from the last snapshot.

        The commit follows from the files and the snapshot before alone. Raises OSError where a
        file cannot be read.
        """
        with self._open_to_write() as repo:
            tree = _write_tree(repo, folder, files, without)
            parent = repo.refs.follow(BRANCH)[1]
            before = repo[parent] if parent else None
            if isinstance(before, GitCommit) and before.tree == tree:
                return before.id.decode()
            newest_s = max((file.modified_ns // 10**9 for file in files), default=0)
            commit = _new_commit(tree, before, newest_s)
            repo.object_store.add_object(commit)
            repo.refs[BRANCH] = commit.id
            return commit.id.decode()

    def commit_file(self, path: str, content: bytes, *, author: str, message: str,
                    time_s: int) -> str:
        """Commit one file onto the branch, all others staying as they are; returns the commit.

        `author` reads like `Ann <ann@example.org>`. A time before the last commit's becomes that.
        """
        with self._open_to_write() as repo:
            parent = repo.refs.follow(BRANCH)[1]
            before = repo[parent] if parent else None
            blob = Blob.from_string(content)
            repo.object_store.add_object(blob)
            root = before.tree if isinstance(before, GitCommit) else None
            tree = _tree_with(repo, root, path.encode().split(b"/"), blob.id)
            commit = _new_commit(tree, before, time_s)
            commit.author, commit.message = author.encode(), message.encode()
            repo.object_store.add_object(commit)
            repo.refs[BRANCH] = commit.id
            return commit.id.decode()

    def holds(self, blob: str) -> bool:
        with self._open() as repo:
            return ObjectID(blob.encode()) in repo.object_store

    def forget(self, blob: str) -> None:
        """Take these bytes off the disk, out of packs too.

        The trees that name them stay as they are, so git can no longer clone a commit that holds
        them; single files of it are still read.
        """
        id = ObjectID(blob.encode())
        with self._open_to_write() as repo:
            for pack in [pack for pack in repo.object_store.packs if id in pack]:
                _pack_without(repo, pack, id)
            if repo.object_store.contains_loose(id):
                repo.object_store.delete_loose_object(id)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Repo]:
        with _guarded(self.path), contextlib.closing(self._repo()) as repo:
            yield repo

    @contextlib.contextmanager
    def _open_to_write(self) -> Iterator[Repo]:
        if not self.path.exists():
            self._create()
        with self._open() as repo:
            _remove_leftovers(repo)
            yield repo

    def _repo(self) -> Repo:
        try:
            return Repo(str(self.path))
        except git_errors.NotGitRepository as error:
            raise NotFoundError(f"The store {self.path} is not there yet; the next sync "
                                "makes it.") from error

    def _create(self) -> None:
        """Make the store aside and move it into place, so that nobody ever meets half of one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = tempfile.mkdtemp(prefix=".new-", dir=self.path.parent)
        with contextlib.closing(Repo.init_bare(aside, default_branch=b"main")) as repo:
            config = repo.get_config()
            config.set((b"uploadpack",), b"allowAnySHA1InWant", True)
            config.write_to_path()
        try:
            os.rename(aside, self.path)
        except OSError:
            shutil.rmtree(aside)
            raise


@contextlib.contextmanager
def _guarded(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise RegistryError(f"The repository {path} cannot be read ({type(error).__name__}: "
                            f"{str(error)[:200]}). Check it with `git -C {path} fsck`.") from error


# --- objects ----------------------------------------------------------------------------------

def _find_commit(repo: Repo, commit: str) -> Commit | None:
    """With all its parents, be they here or not; None where it is not here itself."""
    if not _COMMIT_ID.fullmatch(commit):
        return None
    try:
        found = repo.object_store[ObjectID(commit.encode())]
    except KeyError:
        return None
    return Commit(id=commit, parents=tuple(parent.decode() for parent in found.parents),
                  tree=found.tree, time_s=found.commit_time) \
        if isinstance(found, GitCommit) else None


def _commit(repo: Repo, commit: str) -> Commit:
    """With those of its parents that are here; raises NotFoundError."""
    found = _find_commit(repo, commit)
    if found is None:
        raise NotFoundError(f"There is no commit {commit[:40]}.")
    here = [id for id in found.parents if ObjectID(id.encode()) in repo.object_store]
    return found.among(here)


def _blob(repo: Repo, blob: str) -> bytes:
    try:
        return repo.object_store.get_raw(ObjectID(blob.encode()))[1]
    except KeyError as error:
        raise NotFoundError(f"There is no file content {blob}.") from error


def _tree_reader(repo: Repo) -> ReadTree:
    """Reads trees and remembers some: a history names the same ones again and again."""
    @lru_cache(maxsize=CACHED_TREES)
    def read(tree: bytes | None) -> TreeEntries:
        if tree is None:
            return {}
        kind, content = repo.object_store.get_raw(ObjectID(tree))
        if kind != Tree.type_num:
            raise ValueError(f"{tree.decode()} is no tree")
        return {name: (mode, id) for name, mode, id in parse_tree(content, len(tree) // 2)}
    return read


def _entry(repo: Repo, commit: str, path: str) -> tuple[int, str]:
    """Mode and id of what stands at `path` in a commit; raises NotFoundError for the commit."""
    mode, id = entry_at(_tree_reader(repo), _commit(repo, commit).tree, path)
    return mode, id.decode()


# --- taking over ------------------------------------------------------------------------------

def _refuse_sha256(origin: Repo) -> None:
    if origin.object_format.hex_length != 40:
        raise RegistryError(f"{origin.path} names its objects by {origin.object_format.name}, "
                            "which is not supported. Make a copy of it that uses sha1.")


def _default_head(origin: Repo) -> ObjectID | None:
    head = origin.refs.follow(HEAD)[1]
    branches = origin.refs.as_dict(Ref(b"refs/heads"))
    if head or not branches:
        return head
    for name in (b"main", b"master"):
        if name in branches:
            return branches[Ref(name)]
    if len(branches) > 1:
        raise RegistryError(
            f"HEAD of {origin.path} names a branch that does not exist. Let it name one that does: "
            f"`git -C {origin.path} symbolic-ref HEAD refs/heads/BRANCH`.")
    return next(iter(branches.values()))


def _tags(origin: Repo, prefix: str) -> dict[str, ObjectID]:
    """The tags that begin so, each with the commit that it names at last."""
    found = {}
    for name, id in origin.refs.as_dict(TAGS).items():
        text = name.decode("utf-8", "backslashreplace")
        commit = _peeled(origin, id) if text.startswith(prefix) else None
        if commit:
            found[text] = commit
    return found


def _peeled(origin: Repo, id: ObjectID) -> ObjectID | None:
    """A tag may name a tag; None where the last names no commit, or one that is not here."""
    while id in origin.object_store:
        named = origin.object_store[id]
        if not isinstance(named, GitTag):
            return id if isinstance(named, GitCommit) else None
        id = named.object[1]
    return None


def _keep_tags(repo: Repo, tags: Mapping[str, ObjectID]) -> None:
    """Have git find them here too, and keep what they name."""
    for name, commit in tags.items():
        ref = Ref(TAGS + b"/" + name.encode("utf-8", "surrogateescape"))
        if repo.refs.read_ref(ref) != commit:
            repo.refs[ref] = commit


def _remove_leftovers(repo: Repo) -> None:
    """What a writer that was killed left behind; there is never more than one."""
    repo.object_store.prune(grace_period=0)
    for lock in Path(repo.path).rglob("*.lock"):
        lock.unlink()


def _take_over(repo: Repo, origin: Repo, heads: Sequence[ObjectID],
               without: Collection[str]) -> int:
    """Copy what is missing, then note where a shallow history begins; returns how much it was."""
    missing = list(_missing(repo, origin, heads, without))
    if len(missing) <= MAX_LOOSE:
        for id in missing:
            repo.object_store.add_object(origin[id])
    else:
        wanted: list[tuple[ObjectID, None]] = [(id, None) for id in missing]
        repo.object_store.add_pack_data(
            len(wanted), generate_unpacked_objects(origin.object_store, wanted))
    _note_shallow(repo, origin)
    return len(missing)


def _pack_without(repo: Repo, pack: Pack, id: ObjectID) -> None:
    """Write a pack anew but for one object, whole objects all, then delete the old one."""
    wanted: list[tuple[ObjectID, None]] = [(each, None) for each in pack if each != id]
    if wanted:
        repo.object_store.add_pack_data(len(wanted), generate_unpacked_objects(
            repo.object_store, wanted, reuse_deltas=False))
    pack.close()
    for path in Path(repo.object_store.pack_dir).glob(f"{Path(pack.data.path).stem}.*"):
        path.unlink()
    repo.object_store._update_pack_cache()


def _missing(repo: Repo, origin: Repo, heads: Sequence[ObjectID],
             without: Collection[str]) -> Iterator[ObjectID]:
    """What `heads` need and the store has not, each object after those that it names.

    So the store never has an object without these, whatever ends a fetch midway.
    """
    commits = _missing_commits(repo, origin, heads)
    read = _tree_reader(origin)
    seen = {blob.encode() for blob in without}

    def is_known(id: bytes) -> bool:
        if id in seen or ObjectID(id) in repo.object_store:
            return True
        seen.add(id)
        return False
    for commit in parents_first(commits):
        befores = [_commit(origin, parent).tree for parent in commit.parents]
        for id in new_objects(read, commit.tree, befores, is_known):
            yield ObjectID(id)
        if not is_known(commit.id.encode()):
            yield ObjectID(commit.id.encode())


def _missing_commits(repo: Repo, origin: Repo, heads: Sequence[ObjectID]) -> dict[str, Commit]:
    """Those not here, and those that were the first of a shallow history."""
    shallow_here, shallow_there = repo.get_shallow(), origin.get_shallow()
    found: dict[str, Commit] = {}
    deepened = [id for id in shallow_here - shallow_there if id in origin.object_store]
    todo = [*heads, *deepened]
    while todo:
        id = todo.pop()
        if id.decode() in found or (id in repo.object_store and id not in shallow_here):
            continue
        commit = _commit(origin, id.decode())
        found[commit.id] = commit.among(()) if id in shallow_there else commit
        todo += (ObjectID(parent.encode()) for parent in found[commit.id].parents)
    return found


def _note_shallow(repo: Repo, origin: Repo) -> None:
    before = repo.get_shallow()
    candidates = before | origin.get_shallow()
    begins = {id for id in candidates if _begins_history(repo, id)}
    if begins != before:
        repo.update_shallow(begins, before - begins)


def _begins_history(repo: Repo, id: ObjectID) -> bool:
    """Whether a commit is here without all of its parents."""
    commit = _find_commit(repo, id.decode())
    return commit is not None and _commit(repo, commit.id) != commit


def _write_tree(repo: Repo, folder: Path, files: Sequence[FolderFile],
                without: Collection[str]) -> ObjectID:
    trees: dict[str, Tree] = {"": Tree()}
    for file in files:
        source = folder / file.path
        is_link = stat.S_ISLNK(file.mode)
        blob = Blob.from_string(os.fsencode(os.readlink(source)) if is_link
                                else source.read_bytes())
        if blob.id not in repo.object_store and blob.id.decode() not in without:
            repo.object_store.add_object(blob)
        mode = 0o120000 if is_link else 0o100755 if file.mode & stat.S_IXUSR else 0o100644
        parent, _, name = file.path.rpartition("/")
        trees.setdefault(parent, Tree()).add(os.fsencode(name), mode, blob.id)
    return _join_trees(repo, trees)


def _tree_with(repo: Repo, id: ObjectID | None, parts: list[bytes], blob: ObjectID) -> ObjectID:
    """A tree like `id`, None an empty one, but with this file."""
    tree = Tree.from_string(repo[id].as_raw_string()) if id else Tree()
    name, *rest = parts
    if rest:
        below = tree[name][1] if name in tree else None
        tree[name] = 0o040000, _tree_with(repo, below, rest, blob)
    else:
        tree[name] = 0o100644, blob
    repo.object_store.add_object(tree)
    return tree.id


def _join_trees(repo: Repo, trees: dict[str, Tree]) -> ObjectID:
    for path in list(trees):
        while path:
            path = path.rpartition("/")[0]
            trees.setdefault(path, Tree())
    for path in sorted(trees, key=lambda path: -path.count("/") - bool(path)):
        repo.object_store.add_object(trees[path])
        if path:
            parent, _, name = path.rpartition("/")
            trees[parent].add(os.fsencode(name), 0o040000, trees[path].id)
    return trees[""].id


def _new_commit(tree: ObjectID, parent: object, newest_s: int) -> GitCommit:
    commit = GitCommit()
    commit.tree = tree
    commit.author = commit.committer = AUTHOR
    if isinstance(parent, GitCommit):
        commit.parents = [parent.id]
        newest_s = max(newest_s, parent.commit_time)
    commit.author_time = commit.commit_time = newest_s
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"Snapshot of a folder\n"
    return commit
