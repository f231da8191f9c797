"""A source: where components come from, and what counts as a component file in it."""
from __future__ import annotations

import os
import posixpath
import re
import stat
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from registry.component import TYPES
from registry.errors import InvalidInputError, RegistryError
from runner.sentence import Sentence

LOCAL, GITHUB = "local", "github"
LOCKED, DELETED = "locked", "deleted"
MAX_FILES = 20_000
OPENPAI_FOLDERS = {"protocol-v2": "job", "marketplace-v2": "job"}  # its jobs of protocol 2
MAX_SUB_PATHS = 100
MAX_FOLDER_BYTES = 256 << 20
MAX_USED_FILES = 20_000  # of what a job takes from the repository of its component
MAX_USED_BYTES = 16 << 20  # of one such file, where the repository is on GitHub
_TAG_PREFIX = re.compile(r"(?![-/.])(?!.*(?:\.\.|//|@\{))[^\s~^:?*\[\\\x00-\x1f\x7f]+")
_PASSED_OVER = frozenset({".git", ".hg", ".svn", "__pycache__"})


@dataclass(frozen=True, kw_only=True)
class Source:
    """One indexed repository or folder, as the catalog knows it.

    `head` is the commit that the catalog shows, None before the first sync; `commits` is how many
    commits its history had then. `sync_error` None: the last sync went well. `owner_id` None: the
    bundled source. `components` counts what stands at the head, `problems` the invalid files.
    `sub_paths` empty: components are looked for everywhere; `tag_prefix` None: tags are not read.

    The rest is about repositories on GitHub, whose `repo_id` is their key. `branch` None: the
    default one. `sponsor_id` names whose token syncs it, None: none is needed. `upstream_head` is
    what GitHub told of at `checked_at`, and at `upstream_at` for the first time. `held_head` would
    withdraw `held_count` versions and waits for the owner's word, which `confirmed_head` is.
    `progress` None: no sync runs. `default_branch` None: not known yet. `withdrawn` counts the
    components that are not at the head any more and keep serving; `last_problems` are the invalid
    files of a repository that is gone. `paused_at` None: it is synced. `sponsor_is_out` is LOCKED
    or DELETED where the token of its sponsor is therefore not used, None: they may log in.
    """

    id: int
    name: str
    kind: str
    location: str
    owner_id: int | None
    head: str | None
    commits: int
    synced_at: datetime | None
    sync_error: str | None
    sync_requested_at: datetime | None
    created_at: datetime
    sub_paths: tuple[str, ...] = ()
    tag_prefix: str | None = None
    components: int = 0
    problems: int = 0
    repo_id: int | None = None
    branch: str | None = None
    is_private: bool = False
    sponsor_id: int | None = None
    upstream_head: str | None = None
    upstream_at: datetime | None = None
    checked_at: datetime | None = None
    upstream_state: str = "ok"
    held_head: str | None = None
    held_count: int = 0
    confirmed_head: str | None = None
    progress: Mapping[str, Any] | None = None
    next_sync_at: datetime | None = None
    failures: int = 0
    default_branch: str | None = None
    last_problems: Sequence[Mapping[str, Any]] | None = None
    withdrawn: int = 0
    paused_at: datetime | None = None
    paused_by: int | None = None
    pauser: str | None = None
    sponsor: str | None = None
    sponsor_is_out: str | None = None


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a folder is: `repository` None is a plain folder.

    `prefix` is the folder's path inside the repository, empty for its root.
    """

    folder: Path
    repository: Path | None
    prefix: str


@dataclass(frozen=True, kw_only=True)
class FolderFile:
    """A file of a plain folder; `path` has forward slashes and starts at the folder."""

    path: str
    mode: int
    size: int
    modified_ns: int
    changed_ns: int


def component_type(path: str) -> str | None:
    """The type of component that the file at `path` must hold; None if it is no component file."""
    if not path.endswith((".yaml", ".yml")):
        return None
    folder = path.rpartition("/")[0].rpartition("/")[2]
    return folder if folder in TYPES else OPENPAI_FOLDERS.get(folder)


def is_readme(path: str) -> bool:
    """Whether a component beside the file may take it for its README; see `Reader.readme`."""
    folder, _, name = path.rpartition("/")
    above = folder.rpartition("/")[0]
    return name.endswith(".md") and component_type(f"{folder}/x.yaml") is not None or (
        name == "README.md" and component_type(f"{above}/x.yaml") is not None)


def folders(prefix: str, sub_paths: Sequence[str]) -> list[str]:
    """Where in the repository components are looked for: everywhere is the empty path."""
    return [f"{prefix}/{path}" if prefix else path for path in sub_paths] or [prefix]


def checked_sub_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """The folders in their plain form, in order, none inside another.

    Raises InvalidInputError for one that is not below the source.
    """
    found = []
    for path in filter(None, (path.strip() for path in paths)):
        plain = posixpath.normpath(path)
        if path.startswith("/") or plain.split("/")[0] == ".." or "\0" in path or len(path) > 1000:
            raise InvalidInputError(Sentence(
                "`{path}` is no folder below the source. Write it from the source's own folder on, "
                "such as `team/components`.", path=path[:200]))
        found.append("" if plain == "." else plain)
    if len(found) > MAX_SUB_PATHS:
        raise InvalidInputError(Sentence(
            "A source has at most {most} sub-paths.", most=MAX_SUB_PATHS))
    return tuple(path for path in sorted(set(found)) if path and not any(
        other == "" or path.startswith(f"{other}/") for other in found))


def check_tag_prefix(prefix: str | None) -> None:
    """Raises InvalidInputError for what no tag of Git can begin with."""
    if prefix and (len(prefix) > 100 or not _TAG_PREFIX.fullmatch(prefix)):
        raise InvalidInputError(Sentence(
            "No tag of Git begins with `{prefix}`. Write what stands before the version: `v` for "
            "tags such as v1.0.0.", prefix=prefix[:100]))


def find_place(location: str) -> Place:
    """Look what lies at `location`; raises RegistryError where there is no folder any more."""
    folder = Path(location)
    if not folder.is_dir():
        raise RegistryError(Sentence(
            "The folder {location} is not there. Bring it back, or remove the source; what was "
            "known of it stays until then.", location=location))
    folder = folder.resolve()
    if is_bare(folder):
        return Place(folder=folder, repository=folder, prefix="")
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            prefix = folder.relative_to(parent).as_posix()
            return Place(folder=folder, repository=parent, prefix="" if prefix == "." else prefix)
    return Place(folder=folder, repository=None, prefix="")


def is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and all(
        (folder / name).is_dir() for name in ("objects", "refs"))


def folder_files(folder: Path, *, without: Path | None = None) -> tuple[FolderFile, ...]:
    """Every regular file and link of a plain folder, in the order of their paths.

    Links are not followed, and what lies below `without` is left out. Raises RegistryError where
    that is too much for snapshots, OSError where a folder cannot be read.
    """
    found = sorted(_walk(folder, "", without), key=lambda file: file.path)
    if len(found) > MAX_FILES or sum(file.size for file in found) > MAX_FOLDER_BYTES:
        raise RegistryError(Sentence(
            "{folder} holds more than {most} files or {most_mb} MiB, too much to "
            "copy at each change. Make it a Git repository (`git init`, `git add`, `git commit`), "
            "or keep large files elsewhere.", folder=folder, most=MAX_FILES,
            most_mb=MAX_FOLDER_BYTES >> 20))
    return tuple(found)


def in_folder_of_type(folder: Path, files: tuple[FolderFile, ...]
                      ) -> tuple[Path, tuple[FolderFile, ...]]:
    """The same files; from the folder above where the folder's own name says their type."""
    if component_type(f"{folder.name}/x.yaml") is None:
        return folder, files
    return folder.parent, tuple(replace(file, path=f"{folder.name}/{file.path}") for file in files)


def _walk(folder: Path, prefix: str, without: Path | None) -> Iterator[FolderFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.name in _PASSED_OVER or Path(entry.path) == without:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{path}/", without)
                continue
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
                yield FolderFile(path=path, mode=info.st_mode, size=info.st_size,
                                 modified_ns=info.st_mtime_ns, changed_ns=info.st_ctime_ns)
