"""Versions of components, files that are none, and tags, as a sync holds them in memory."""
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from registry.commits import Commit, Reading
from registry.component import Component
from registry.errors import Problem
from registry.uses import Use

Key = tuple[str, str]  # type and name
Identity = tuple[str, str, str, str]  # type, name, version and blob


@dataclass(kw_only=True)
class Version:
    """One row of `versions`. `component`, without its document, is None if it was known before;
    with it comes what it `uses`.

    Commit, path and bytes are those of the first sight and stay. `head_path` is the file at the
    head that holds the component, of its newest good version alone. `position` is when its bytes
    came onto the branch last, 0: never; versions that tags make of the same bytes share it.
    `is_tagged`: the version comes from a tag, not from the file. `readme` None: it stays as it is.
    """

    id: int | None = None
    type: str
    name: str
    version: str
    blob: str
    commit: str
    committed_at: datetime
    path: str
    last_commit: str | None = None
    head_path: str | None = None
    position: int
    is_latest: bool = False
    is_present: bool = False
    is_moved: bool = False
    is_tagged: bool = False
    tags: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    readme: str | None = None
    component: Component | None = None
    uses: tuple[Use, ...] = ()

    @property
    def key(self) -> Key:
        return self.type, self.name

    @property
    def identity(self) -> Identity:
        return self.type, self.name, self.version, self.blob


@dataclass(frozen=True, kw_only=True)
class FileProblem:
    """Why a file at the head is not in the catalog; `commit` brought its bytes in."""

    path: str
    commit: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, kw_only=True)
class Tag:
    """A tag that names the version of each component file at its commit."""

    name: str
    version: str
    commit: Commit


class Files(Protocol):
    """What is asked of the store; `registry.reader` gives it."""

    def commit(self, id: str) -> Commit: ...

    def blob(self, id: str) -> bytes: ...

    def reading(self, path: str, blob: str) -> Reading: ...

    def blob_at(self, commit: str, path: str) -> str | None: ...

    def readme(self, commit: str, path: str) -> str: ...
