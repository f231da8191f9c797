"""A component file: what its place says that it must hold, and what its bytes hold."""
from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from registry.component import TYPES, Component, locate, parse
from registry.errors import ComponentError, Problem
from registry.source import component_type

LINK = Problem(
    line=1, column=1,
    message="This is a symbolic link, and links are not followed: what they lead to may be "
            "anywhere. Put the file itself here, or delete the link.")

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
IN_LFS = Problem(
    line=1, column=1,
    message="LFS, not indexed: the repository holds a pointer here, and the file itself is kept "
            "by Git LFS. Take the file out of LFS (`git lfs untrack`) and commit it; components "
            "are small.")


def read_file(path: str, data: bytes) -> Component:
    """Read the component file at `path`, anywhere else than in a folder of a type: of any type.

    Raises ComponentError with every problem, as the indexer and `paishare validate` tell it.
    """
    if data.startswith(LFS_POINTER):
        raise ComponentError(IN_LFS.message, [IN_LFS])
    type_name = component_type(path)
    component = parse(data, types=(type_name,) if type_name else TYPES)
    if PurePosixPath(path).stem == component.name:
        return component
    return replace(component, warnings=(*component.warnings, _misnamed(component, path)))


def link_error() -> ComponentError:
    return ComponentError(LINK.message, [LINK])


def _misnamed(component: Component, path: str) -> Problem:
    line, column = locate(component.text, "name") or (None, None)
    file = PurePosixPath(path)
    return Problem(
        message=f"The file is named {file.name} but the component {component.name}. It is found by "
                f"the latter; better rename the file to {component.name}{file.suffix}.",
        path="name", line=line, column=column, severity="warning")
