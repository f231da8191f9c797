"""Data, scripts and storage of a task: fetched once, cached, laid out in its work folder."""
from __future__ import annotations

import dataclasses
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Callable, Iterable, Iterator, Sequence

from runner.artifacts import remove_tree
from runner.cache import Cache, FetchCancelled, Report, Watch, remove, sha256_of
from runner.data_folder import DataFolders
from runner.download import Downloader, Remote
from runner.errors import StagingError
from runner.git_cache import Entry, GitCache
from runner.git_command import GitError
from runner.named_folder import named_folder
from runner.network import Network
from runner.remote_files import RemoteFiles, remote_files
from runner.sentence import Sentence
from runner.spec import Input
from runner.storages import Folder, Storage, StoragesFile
from runner.supplies import Supply
from runner.uris import (
    COPIED_SCHEMES,
    REMOTE_SCHEMES,
    AllowedFolders,
    RemotePath,
    local_path,
    mask,
    scheme_of,
    split_ref,
)
from runner.working_copy import WorkingCopy, has_unsent

_STORAGE_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]{1,255}")
_USER_NAME = re.compile(r"(?!\.)[A-Za-z0-9._@+~-]{1,255}")


@dataclass(frozen=True, kw_only=True)
class Mount:
    """`source` of this machine appears at `target`, relative to the task's work directory."""

    source: Path
    target: str
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class Sent:
    """How many files were sent, and which of them others had changed meanwhile."""

    files: int
    overwritten: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Whose inputs these are: a user's, and of which job; `folder` is for its copies of storage."""

    user: str
    folder: Path


class Stager:
    """Brings inputs here and lays them out; any number of threads and processes may share it.

    `allowed_folders`: those of this machine that jobs may read files and repositories from and
    use as storage. `source_folders`: those with repositories that jobs may read as such, and in
    no other way. `storages`: those that the operator names; None for no others.
    `allow_loopback`: whether jobs may fetch from 127.0.0.1 and ::1.
    """

    def __init__(self, cache_dir: Path, storage_dir: Path, allowed_folders: Sequence[Path], *,
                 source_folders: Sequence[Path] = (), storages: StoragesFile | None = None,
                 allow_loopback: bool = False) -> None:
        self._cache = Cache(cache_dir)
        self._storage_dir = storage_dir
        self._folders = AllowedFolders(allowed_folders)
        self._storages = storages or StoragesFile(Path("/nonexistent"))
        self._network = Network(allow_loopback=allow_loopback)
        self._downloader = Downloader(self._cache, self._network, self._folders)
        self._data_folders = DataFolders(self._cache, self._downloader)
        self._files: dict[Storage, RemoteFiles] = {}
        self._git = GitCache(self._cache, self._network,
                             AllowedFolders(allowed_folders, by_name=source_folders))

    def fetch(self, item: Input, owner: Owner, *, report: Report,
              is_cancelled: Callable[[], bool]) -> Input:
        """Bring an input into the cache and return it fully pinned; a second call costs nothing.

        Of storage that lies elsewhere, the job's own copy is brought up to date.

        `report` is given a text, how much is here and of how much (None: not known): bytes of a
        file, objects of a repository. Once `is_cancelled`, the input comes back as it was.
        Raises StagingError.
        """
        watch = Watch(report=report, is_cancelled=is_cancelled)
        with _named(item.uri):
            try:
                fetched = self._fetch(item, owner, watch)
            except FetchCancelled:
                return item
            for name in self.entries([fetched]):
                self._cache.touch(name)
            return fetched

    def supply(self, item: Input) -> Supply:
        """An input as `fetch` would find it now; nothing is fetched."""
        try:
            missing = self._missing(item)
        except StagingError:
            missing = None
        return Supply(kind=item.kind, uri=mask(item.uri), missing=missing)

    def _missing(self, item: Input) -> int | None:
        if _is_remote(item):
            return None
        if item.kind == "storage" or scheme_of(item.uri) == "file":
            return 0
        if item.kind == "file":
            return self._downloader.missing(item.uri, item.sha256)
        commit = item.commit or split_ref(item.uri)[1]
        return 0 if commit and self._git.has(item.uri, commit, item.path) else None

    @staticmethod
    def is_copied(item: Input) -> bool:
        """Whether the job has a copy of its own of this storage, which lies elsewhere."""
        return item.kind == "storage" and scheme_of(item.uri) in COPIED_SCHEMES

    @staticmethod
    def drop_copies(folder: Path) -> bool:
        """Remove an ended job's copies, but for those with something that was never sent; returns
        whether something is gone."""
        done = [copy for copy in folder.iterdir() if not has_unsent(copy)]
        for copy in done:
            remove_tree(copy)
        return bool(done)

    def entries(self, inputs: Iterable[Input]) -> set[str]:
        """The names of what the cache holds for inputs that are pinned."""
        return {item.sha256 or self._cache.key(split_ref(item.uri)[0])
                for item in inputs if item.kind != "storage"}

    def shrink(self, size: int, keep: Iterable[Input]) -> int:
        """Bring the cache down to `size` bytes, but for what these inputs need; returns how much
        is gone."""
        return self._cache.shrink(size, self.entries(keep), time.time())

    def size(self) -> int:
        """Bytes in the cache."""
        return self._cache.size()

    @property
    def folder(self) -> Path:
        """Where the cache is: the disk that fills."""
        return self._cache.root

    def send_back(self, item: Input, owner: Owner, *, report: Report,
                  is_cancelled: Callable[[], bool]) -> Sent | None:
        """Send what the job's tasks have changed in a copy of storage; None: it may not be sent.

        It may be called again at any time, also after a kill: what has arrived is not sent twice.
        Raises StagingError, and FetchCancelled once `is_cancelled`.
        """
        storage, place = self._storages.find(item.uri, owner.user)
        if storage.is_read_only:
            return None
        with _named(item.uri):
            count, overwritten = self._copy(item, owner, storage, place).send(
                Watch(report=report, is_cancelled=is_cancelled), deletes=place.deletes)
        return Sent(files=count, overwritten=tuple(overwritten))

    def mount(self, inputs: Sequence[Input], work_dir: Path, owner: Owner) -> tuple[Mount, ...]:
        """Lay out the inputs of one task, which `fetch` has returned, in its work folder.

        Inputs of one prerequisite share a writable folder `<name>/`, which is made anew: data
        files are mounted into it read-only, repositories are written into it, storage is mounted
        into it. Folders come before what is mounted inside them. Raises StagingError.
        """
        _check_targets(inputs)
        names = dict.fromkeys(PurePosixPath(item.target).parts[0] for item in inputs
                              if "/" in item.target or _is_tree(item))
        mounts = [_new_folder(work_dir, name) for name in names]
        for item in dict.fromkeys(inputs):
            with _named(item.uri):
                mounts += self._lay_out(item, work_dir, owner)
        return tuple(mounts)

    # -- fetching -----------------------------------------------------------------------------

    def _fetch(self, item: Input, owner: Owner, watch: Watch) -> Input:
        if item.kind == "file":
            remote = self._remote(item, owner)
            if remote and item.uri.endswith("/"):
                sha256 = self._data_folders.fetch(item.uri, item.sha256, watch, remote)
            else:
                sha256 = self._downloader.fetch(item.uri, item.sha256, watch, remote)
            return dataclasses.replace(item, sha256=sha256)
        if item.kind == "git":
            return self._fetch_git(item, watch)
        if not _is_remote(item):
            self._storage(item, owner)
            return item
        storage, place = self._storages.find(item.uri, owner.user)
        if isinstance(storage, Folder):
            named_folder(storage, place)
        else:
            self._copy(item, owner, storage, place).bring(watch)
        return item

    def _remote(self, item: Input, owner: Owner) -> Remote | None:
        """Where to ask for a file of a storage; None for one of the web or of this machine."""
        if not _is_remote(item):
            return None
        storage, place = self._storages.find(item.uri, owner.user)
        is_file = place.path and not place.deletes or item.uri.endswith("/")
        if isinstance(storage, Folder) or not is_file:
            raise StagingError(Sentence(
                "{uri} names no file. Write s3://bucket/path/file or hdfs://host:port/path/file, "
                "for a folder with a slash at the end.", uri=mask(item.uri)))
        return Remote(name=storage.name, path=place.path, files=self._files_of(storage))

    def _copy(self, item: Input, owner: Owner, storage: Storage, place: RemotePath) -> WorkingCopy:
        return WorkingCopy(owner.folder / self._cache.key(item.uri),
                           self._files_of(storage), place.path)

    def _files_of(self, storage: Storage) -> RemoteFiles:
        """One connection for all jobs; other keys are another storage."""
        if storage not in self._files:
            self._files[storage] = remote_files(storage, self._network)
        return self._files[storage]

    def _fetch_git(self, item: Input, watch: Watch) -> Input:
        self._git.check(split_ref(item.uri)[0])
        if item.commit and item.path and self._cache.has_file(item.sha256):
            return item
        commit = self._git.fetch(item.uri, item.commit, watch, item.path)
        pinned = dataclasses.replace(item, commit=commit)
        if not item.path:
            return dataclasses.replace(pinned, sha256=None)
        entry = self._git.entry(item.uri, commit, item.path)
        if entry.kind == "tree":
            return dataclasses.replace(pinned, sha256=None)
        return dataclasses.replace(pinned, sha256=self._take_file(pinned, entry, watch))

    def _take_file(self, item: Input, entry: Entry, watch: Watch) -> str:
        """Copy one file of a repository into the cache, as if it had been downloaded."""
        if entry.kind != "blob" or entry.mode == "120000":
            raise StagingError(Sentence(
                "{path!r} in {uri} is a link, neither file nor folder. Name what it points to.",
                path=item.path, uri=mask(item.uri)))
        key = self._cache.key(f"{item.uri} {item.commit} {item.path}")
        with self._cache.lock(key, watch):
            part = self._cache.parts / key
            self._git.export(item.uri, entry, part, watch)
            sha256 = sha256_of(part)
            if item.sha256 not in (None, sha256):
                remove(part)
                raise StagingError(Sentence(
                    "{path!r} in {uri} has the checksum {sha256} at commit {commit}, but the job "
                    "is pinned to {wanted}. Submit the job again to take what is there, or "
                    "correct the checksum.", path=item.path, uri=mask(item.uri), sha256=sha256,
                    commit=item.commit, wanted=item.sha256))
            self._cache.adopt(part, sha256)
            if entry.mode == "100755":
                self._cache.file(sha256).chmod(0o555)
        return sha256

    # -- laying out ---------------------------------------------------------------------------

    def _lay_out(self, item: Input, work_dir: Path, owner: Owner) -> list[Mount]:
        target = work_dir / item.target
        _make_folders(target.parent, work_dir)
        if item.kind == "storage" and _is_remote(item):
            _make_folders(target, work_dir)
            return [self._lay_out_remote(item, owner)]
        if item.kind == "storage":
            folder = self._storage(item, owner)
            _make_folders(folder, self._storage_dir)
            _make_folders(target, work_dir)
            return [Mount(source=folder.resolve(), target=item.target, read_only=False)]
        if item.sha256:
            source = self._cache.file(item.sha256)
            if source.is_dir():
                _make_folders(target, work_dir)
            elif source.is_file():
                target.touch()
            else:
                raise _lost(item)
            return [Mount(source=source, target=item.target, read_only=True)]
        if not _is_tree(item) or not item.commit or not self._git.has(
                item.uri, item.commit, item.path):
            raise _lost(item)
        if item.path:
            entry = self._git.entry(item.uri, item.commit, item.path)
            _make_folders(target, work_dir)
            self._git.check_out_folder(item.uri, entry, target)
        else:
            self._git.check_out(item.uri, item.commit, target)
        return []

    def _lay_out_remote(self, item: Input, owner: Owner) -> Mount:
        storage, place = self._storages.find(item.uri, owner.user)
        if isinstance(storage, Folder):
            source = named_folder(storage, place)
        else:
            copy = self._copy(item, owner, storage, place)
            source = copy.folder
            if not storage.is_read_only:
                copy.expect_changes()
        return Mount(source=source, target=item.target, read_only=storage.is_read_only)

    def _storage(self, item: Input, owner: Owner) -> Path:
        """The folder behind a storage URI; for a plain name the user's own, not made yet."""
        if scheme_of(item.uri) == "file":
            folder = self._folders.check(local_path(item.uri), item.uri)
            if not folder.is_dir():
                raise StagingError(Sentence(
                    "{uri} is no folder of this machine. Make it first.", uri=item.uri))
            return folder
        if not _STORAGE_NAME.fullmatch(item.uri):
            raise StagingError(Sentence(
                "{uri} cannot be used as storage. Write a plain name, such as models, for a folder "
                "of your own, storage://name for one that the operator names, s3://bucket/path or "
                "hdfs://host:port/path for a copy of what is there.", uri=mask(item.uri)))
        if not _USER_NAME.fullmatch(owner.user):
            raise StagingError(Sentence(
                "The user {user!r} cannot have a folder of this name.", user=owner.user))
        return self._storage_dir / owner.user / item.uri


@contextmanager
def _named(uri: str) -> Iterator[None]:
    """Say which input it was that the disk or git failed at."""
    try:
        yield
    except OSError as error:
        raise StagingError(Sentence(
            "{uri}: {strerror} ({filename}). Look after the disk and the rights of this machine; "
            "the job goes on then.", uri=mask(uri), strerror=error.strerror or error,
            filename=error.filename or "cache"), is_platform=True) from error
    except GitError as error:
        raise StagingError(Sentence(
            "{uri} could not be written; git says: {said}. Look after the disk of this machine.",
            uri=mask(uri), said=mask(str(error)).strip()), is_platform=True) from error


def _lost(item: Input) -> StagingError:
    return StagingError(Sentence(
        "{uri} is not in the cache any more. It is fetched again with the next attempt.",
        uri=mask(item.uri)), is_platform=True)


def _check_targets(inputs: Sequence[Input]) -> None:
    """Two inputs in one place would hide each other."""
    taken: dict[PurePosixPath, Input] = {}
    for item in dict.fromkeys(inputs):
        place = PurePosixPath(item.target)
        for other, first in taken.items():
            if place.is_relative_to(other) or other.is_relative_to(place):
                raise StagingError(Sentence(
                    "{uri} and {uri2} are both to appear at {target}. Give one of the "
                    "prerequisites another name.", uri=mask(first.uri), uri2=mask(item.uri),
                    target=item.target))
        taken[place] = item


def _is_remote(item: Input) -> bool:
    return scheme_of(item.uri) in REMOTE_SCHEMES


def _is_tree(item: Input) -> bool:
    return item.kind == "git" and item.sha256 is None


def _new_folder(work_dir: Path, name: str) -> Mount:
    folder = work_dir / name
    remove(folder)
    _make_folders(folder, work_dir)
    return Mount(source=folder, target=name, read_only=False)


def _make_folders(folder: Path, root: Path) -> None:
    """Make a folder that every user may write to, whoever a container runs as, and those above.

    Only what is missing below `root` is made so; `folder` elsewhere is there already.
    """
    if folder.exists():
        return
    if folder == root:
        folder.mkdir(parents=True)
        return
    _make_folders(folder.parent, root)
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
