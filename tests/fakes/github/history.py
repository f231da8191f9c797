"""Commits made quickly: many in one run of git, and trees that git itself would refuse to make."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Mapping, Sequence

from tests.fakes.github.repository import GitRepository

SYMLINK, SUBMODULE, EXECUTABLE = "120000", "160000", "100755"


@dataclass(frozen=True, kw_only=True)
class Commit:
    """`files`: text or bytes by path, None takes one out; `modes` where it is no plain file.

    The content of a SUBMODULE is the id of its commit.
    """

    files: Mapping[str, str | bytes | None]
    message: str
    at: datetime
    name: str = "Ann"
    email: str = "ann@example.org"
    modes: Mapping[str, str] = field(default_factory=dict)


def write_commits(git: GitRepository, commits: Sequence[Commit], *, branch: str,
                  parent: str | None) -> list[str]:
    """Commit one after the other onto `parent`, and set the branch; returns their ids."""
    stream = b"".join(_lines(commit, number, branch, parent if number == 1 else f":{number - 1}")
                      for number, commit in enumerate(commits, 1))
    asked = b"".join(b"get-mark :%d\n" % number for number in range(1, len(commits) + 1))
    out = git.run("fast-import", "--quiet", "--force", "--done", input=stream + asked + b"done\n")
    return out.decode().split()


def _lines(commit: Commit, number: int, branch: str, parent: str | None) -> bytes:
    who = f"{commit.name} <{commit.email}> {int(commit.at.timestamp())} +0000"
    head = f"commit refs/heads/{branch}\nmark :{number}\ncommitter {who}\n".encode()
    start = f"from {parent}\n".encode() if parent else b""
    return head + _data(commit.message) + start + b"".join(
        _change(path, content, commit.modes.get(path, "100644"))
        for path, content in commit.files.items())


def _change(path: str, content: str | bytes | None, mode: str) -> bytes:
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if content is None:
        return f"D {quoted}\n".encode()
    if mode == SUBMODULE:
        return f"M {mode} {content!s} {quoted}\n".encode()
    return f"M {mode} inline {quoted}\n".encode() + _data(content)


def _data(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"data %d\n%s\n" % (len(raw), raw)
