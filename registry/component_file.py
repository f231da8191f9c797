"""A component file: what its place says that it must hold, and what its bytes hold."""
from __future__ import annotations

from pathlib import PurePosixPath

from registry.component import TYPES, Component, parse
from registry.errors import ComponentError, Problem
from registry.source import component_type
from runner.sentence import Sentence

LINK = Problem(
    line=1, column=1,
    message=Sentence(
        "This is a symbolic link, and links are not followed: what they lead to may be "
        "anywhere. Put the file itself here, or delete the link."))

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
IN_LFS = Problem(
    line=1, column=1,
    message=Sentence(
        "LFS, not indexed: the repository holds a pointer here, and the file itself is kept "
        "by Git LFS. Take the file out of LFS (`git lfs untrack`) and commit it; components "
        "are small."))


def read_file(path: str, data: bytes) -> Component:
    """Read the component file at `path`, anywhere else than in a folder of a type: of any type.

    Raises ComponentError with every problem, as the indexer and `paishare validate` tell it.
    """
    if data.startswith(LFS_POINTER):
        raise ComponentError(IN_LFS.message, [IN_LFS])
    type_name = component_type(path)
    return parse(data, types=(type_name,) if type_name else TYPES, file=PurePosixPath(path).name)


def link_error() -> ComponentError:
    return ComponentError(LINK.message, [LINK])
