"""The bare Git store of a source: keeps every object that was ever seen. Uses dulwich."""
from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO, Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from dulwich import errors as git_errors
from dulwich.objects import Blob
from dulwich.objects import Commit as GitCommit
from dulwich.objects import ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from registry.commits import Fetched, Packed, Small, entry_at, standing
from registry.errors import NotFoundError
from registry.git_objects import (
    blob_of,
    blobs_below,
    commit_of,
    entry_of,
    guarded,
    guarding,
    spread,
    tree_reader,
)
from registry.git_origin import default_head, keep_tags, refuse_sha256, tags_of, take_over
from registry.git_packs import (
    pack_without,
    remove_leftovers,
    take_pack,
    write_pack,
)
from registry.git_snapshot import new_commit, tree_with, write_tree
from registry.pack_check import Limits, Told
from registry.reader import Reader
from registry.source import FolderFile
from runner.sentence import Sentence

BRANCH = Ref(b"refs/heads/main")
CHUNK_BYTES = 1 << 16
CACHE_BYTES = 16 << 20  # of objects that others are deltas of, for each pack


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
            mode, id = entry_of(repo, commit, path)
            if not stat.S_ISREG(mode):
                raise NotFoundError(Sentence(
                    "There is no file {path} at commit {commit}.", path=path, commit=commit[:12]))
            return blob_of(repo, id)

    def kind(self, commit: str, path: str) -> str | None:
        """`file` or `folder`; None for nothing, a link or a submodule. Raises NotFoundError."""
        with self._open() as repo:
            mode, _ = entry_of(repo, commit, path)
        return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else None

    @contextlib.contextmanager
    def reading(self, fetched: Fetched | None = None) -> Iterator[Reader]:
        """Read many things, each object once; its reads raise NotFoundError or RegistryError.

        `fetched` has what was found out already, and gets what is found out now; None: nothing.
        """
        with contextlib.closing(self._repo()) as repo:
            found = fetched or Fetched(head=None)
            yield Reader(guarding(self.path, tree_reader(repo, found.small)),
                         guarding(self.path, lambda id: commit_of(repo, id, found.small)),
                         guarding(self.path, lambda id: blob_of(repo, id, found.small)), found)

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
            mode, id = entry_of(repo, commit, path)
        return id if stat.S_ISREG(mode) else None

    def files(self, commit: str, prefix: str = "") -> dict[str, str]:
        """Path and blob of every component file below `prefix` at a commit."""
        with self._open() as repo:
            tree = commit_of(repo, commit).tree
            return {each.path: each.blob
                    for each in standing(tree_reader(repo), tree, None, prefix) if each.blob}

    def head(self) -> str | None:
        """The newest commit of the branch; None: there is none yet."""
        if not self.path.exists():
            return None
        with self._open() as repo:
            head = repo.refs.follow(BRANCH)[1]
        return head.decode() if head else None

    def shown_head(self) -> str | None:
        """What `fetch` would take from this repository, were it another one; None: no commit."""
        with self._open() as origin:
            refuse_sha256(origin)
            head = default_head(origin)
        return head.decode() if head else None

    def contents(self, head: str, path: str) -> list[tuple[str, bytes]]:
        """Each content that a file had, oldest first, with the commit that brought it in.

        Only first parents are followed. Raises NotFoundError.
        """
        found: list[tuple[str, str]] = []
        with self._open() as repo:
            read = tree_reader(repo)
            id: str | None = head
            while id:
                commit = commit_of(repo, id)
                mode, entry = entry_at(read, commit.tree, path)
                if found and found[-1][1] == entry.decode():
                    found.pop()
                if stat.S_ISREG(mode) and ObjectID(entry) in repo.object_store:  # not if purged
                    found.append((id, entry.decode()))
                id = next(iter(commit.parents), None)
            return [(id, blob_of(repo, blob)) for id, blob in reversed(found)]

    def write_pack(self, write: Callable[[bytes], object], *,
                   without: Container[str] = ()) -> Packed:
        """Every object that is here, but those, as a Git pack whose bytes follow from them."""
        with self._open() as repo:
            count = write_pack(repo, write, without)
            head = repo.refs.follow(BRANCH)[1]
            return Packed(head=head.decode() if head else None, objects=count,
                          shallow=tuple(sorted(id.decode() for id in repo.get_shallow())))

    def lacks(self, ids: Iterable[str]) -> set[str]:
        """Those of these objects that are not here."""
        if not self.path.exists():
            return set(ids)
        with self._open() as repo:
            packs = repo.object_store.packs  # which are looked for only once so
            missing = {id for id in ids if not any(ObjectID(id.encode()) in pack for pack in packs)}
            return {id for id in missing
                    if not repo.object_store.contains_loose(ObjectID(id.encode()))}

    def blobs(self, commit: str, path: str, most: int) -> tuple[set[str], bool]:
        """Files at or below `path`, here or not, and whether these are all.

        After `most` files and folders it is enough. Raises NotFoundError for the commit.
        """
        with self._open() as repo:
            return blobs_below(repo, commit, path, most)

    def line(self, most: int) -> list[str]:
        """Commits of the branch, its newest first, then ever further apart: what is had already."""
        if not self.path.exists():
            return []
        with self._open() as repo:
            return spread(repo, repo.refs.follow(BRANCH)[1], most)

    def size_bytes(self) -> int:
        """How much room it takes on the disk."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    # --- writing ------------------------------------------------------------------------------

    def make(self) -> None:
        """Have the store there, maybe with nothing in it."""
        if not self.path.exists():
            self._create()

    def take(self, chunks: Iterable[bytes], limits: Limits, *, small: Small | None = None,
             told: Told | None = None) -> list[bytes]:
        """Take in a pack as it comes, all of it at once; nothing where an error is raised.

        Gives the ids of what it has, as bytes. `small` gets the short ones of its objects; None:
        nobody reads them soon. `told` hears now and then how many of how many are here. Raises
        WireError for more than the limits.
        """
        with self._open_to_write() as repo:
            return take_pack(repo, chunks, limits, small=small, told=told)

    def point(self, head: str, tags: Mapping[str, str]) -> None:
        """Note where the branch and the tags of the origin are; both are here."""
        with self._open_to_write() as repo:
            if repo.refs.read_ref(BRANCH) != head.encode():
                repo.refs[BRANCH] = ObjectID(head.encode())
            keep_tags(repo, {name: ObjectID(id.encode()) for name, id in tags.items()})

    def commit_nothing(self, before: str) -> str:
        """A commit on top of another that has no file at all; it follows from the other alone."""
        with self._open_to_write() as repo:
            tree = Tree()
            commit = new_commit(tree.id, repo[ObjectID(before.encode())], 0)
            commit.message = b"The repository holds nothing any more\n"
            repo.object_store.add_object(tree)
            repo.object_store.add_object(commit)
            return commit.id.decode()

    def take_pack(self, pack: BinaryIO, packed: Packed) -> None:
        """Hold all that `write_pack` wrote; raises RegistryError for what is no such pack."""
        with self._open_to_write() as repo:
            if packed.objects:
                take_pack(repo, iter(lambda: pack.read(CHUNK_BYTES), b""))
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
        with guarded(repository), contextlib.closing(Repo(str(repository))) as origin:
            refuse_sha256(origin)
            head = default_head(origin)
            if prefix and not (head and stat.S_ISDIR(entry_of(origin, head.decode(), prefix)[0])):
                return None
            if head is None:
                return Fetched(head=None)
            tags = {} if tag_prefix is None else tags_of(origin, tag_prefix)
            with self._open_to_write() as repo:
                count = take_over(repo, origin, [head, *tags.values()], without)
                repo.refs[BRANCH] = head
                keep_tags(repo, tags)
            return Fetched(head=head.decode(), prefix=prefix, objects=count,
                           tags={name: commit.decode() for name, commit in tags.items()})

    def snapshot(self, folder: Path, files: Sequence[FolderFile], *,
                 without: Collection[str] = ()) -> str:
        """Commit the files of a plain folder where they differ from the last snapshot.

        The commit follows from the files and the snapshot before alone. Raises OSError where a
        file cannot be read.
        """
        with self._open_to_write() as repo:
            tree = write_tree(repo, folder, files, without)
            parent = repo.refs.follow(BRANCH)[1]
            before = repo[parent] if parent else None
            if isinstance(before, GitCommit) and before.tree == tree:
                return before.id.decode()
            newest_s = max((file.modified_ns // 10**9 for file in files), default=0)
            commit = new_commit(tree, before, newest_s)
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
            tree = tree_with(repo, root, path.encode().split(b"/"), blob.id)
            commit = new_commit(tree, before, time_s)
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
                pack_without(repo, pack, id)
            if repo.object_store.contains_loose(id):
                repo.object_store.delete_loose_object(id)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Repo]:
        with guarded(self.path), contextlib.closing(self._repo()) as repo:
            yield repo

    @contextlib.contextmanager
    def _open_to_write(self) -> Iterator[Repo]:
        self.make()
        with self._open() as repo:
            remove_leftovers(repo)
            yield repo

    def _repo(self) -> Repo:
        try:
            return Repo(str(self.path))
        except git_errors.NotGitRepository as error:
            raise NotFoundError(Sentence(
                "The store {path} is not there yet; the next sync makes it.",
                path=self.path)) from error

    def _create(self) -> None:
        """Make the store aside and move it into place, so that nobody ever meets half of one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = tempfile.mkdtemp(prefix=".new-", dir=self.path.parent)
        with contextlib.closing(Repo.init_bare(aside, default_branch=b"main")) as repo:
            config = repo.get_config()
            config.set((b"uploadpack",), b"allowAnySHA1InWant", True)
            config.set((b"core",), b"multiPackIndex", False)  # else it is looked for at each read
            config.set((b"core",), b"deltaBaseCacheLimit", b"%d" % CACHE_BYTES)
            config.write_to_path()
        try:
            os.rename(aside, self.path)
        except OSError:
            shutil.rmtree(aside)
            raise
