"""Repositories and servers that mean harm: trees git refuses, bombs, and answers that never end.

`repository.git_answer = slow("fetch")` and its like change what one kind of Git request gets; the
kinds are those of `Seen.command`: advertise, ls-refs, fetch.
"""
from __future__ import annotations

import hashlib
import itertools
import os
import struct
import time
import zlib
from typing import Callable, Iterable, Iterator, Sequence

from flask import Response
from flask import redirect as redirection
from werkzeug.wrappers import Response as AnyResponse

from tests.fakes.github.records import GitAnswer, Repository
from tests.fakes.github.repository import GitRepository
from tests.fakes.github.world import World

LFS_POINTER = ("version https://git-lfs.github.com/spec/v1\n"
               f"oid sha256:{'4d' * 32}\nsize 104857600\n")
_NOBODY = {"name": "Mallory", "email": "mallory@example.org", "date": "2026-01-01T00:00:00Z"}
_COPY = 0xFFFFFF  # the most bytes that one instruction of a delta copies
_BLOB, _OFS_DELTA = 3, 6

# --- content ------------------------------------------------------------------------------------


def commit_tree(world: World, repository: Repository,
                entries: Sequence[tuple[str, bytes, str]], message: str = "Harm") -> str:
    """Push a commit with exactly these (mode, name, id) in its top tree, whatever git thinks."""
    git = repository.git
    tree = write_tree(git, entries)
    head = git.branch(repository.default_branch)
    commit = git.write_commit(tree, [head] if head else [], message, _NOBODY, _NOBODY)
    world.point(repository, f"heads/{repository.default_branch}", commit)
    return commit


def write_tree(git: GitRepository, entries: Sequence[tuple[str, bytes, str]]) -> str:
    """A tree of (mode, name, id) in the given order: `../x`, `.git`, `a/b` and twice the same."""
    raw = b"".join(mode.lstrip("0").encode() + b" " + name + b"\0" + bytes.fromhex(sha)
                   for mode, name, sha in entries)
    return git.text("hash-object", "-t", "tree", "-w", "--literally", "--stdin", input=raw)


def write_zeros(git: GitRepository, size: int) -> str:
    """A blob of `size` bytes that takes next to nothing until it is unpacked."""
    path = git.path / "zeros"
    with path.open("wb") as file:
        file.truncate(size)
    try:
        return git.text("hash-object", "-w", "--no-filters", str(path))
    finally:
        path.unlink()


def add_refs(repository: Repository, count: int, prefix: str = "refs/heads/many/") -> None:
    """So many branches more, all at the head; a million take about a second."""
    head = repository.git.branch(repository.default_branch)
    lines = [f"{head} {prefix}{number:07}\n" for number in range(count)]
    (repository.git.path / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines))


# --- answers ------------------------------------------------------------------------------------


def slow(*commands: str, pause_s: float = 0.05) -> GitAnswer:
    """The right answer, a byte at a time."""
    def answer(real: Callable[[], AnyResponse]) -> AnyResponse:
        right = real()
        whole = right.get_data()
        return Response(_dripped(whole, pause_s), right.status_code,
                        content_type=right.content_type)
    return _only(commands, answer)


def garbage(*commands: str) -> GitAnswer:
    """Bytes that mean nothing, said to be an answer of Git."""
    return _only(commands, lambda real: _answer([os.urandom(1 << 16)]))


def cut(*commands: str, keep: float = 0.5) -> GitAnswer:
    """The right answer up to a part of it, as if the line broke."""
    def answer(real: Callable[[], AnyResponse]) -> AnyResponse:
        right = real()
        whole = right.get_data()
        return Response(whole[:int(len(whole) * keep)], 200, content_type=right.content_type)
    return _only(commands, answer)


def redirected(url: str, *commands: str) -> GitAnswer:
    """To another host, which may look what came with it: `ScriptedServer` notes all headers."""
    return _only(commands, lambda real: redirection(url, 302))


def endless_refs() -> GitAnswer:
    """A list of branches that goes on for ever."""
    return _only(("ls-refs",), lambda real: _answer(_refs()))


def endless_pack() -> GitAnswer:
    """A pack of one file that goes on for ever."""
    return _only(("fetch",), lambda real: _answer(_sideband(_noise())))


def delta_bomb(levels: int = 3) -> bytes:
    """A pack of a few kB whose last object unpacks to 16 MB, 1 GB, then 64 GB."""
    base = b"a: b\n" * (1 << 14)
    packed = bytearray(_pack_head(levels + 1) + _size(_BLOB, len(base)) + zlib.compress(base))
    size, start = len(base), 12
    for _ in range(levels):
        step = min(size, _COPY)
        delta = _varint(size) + _varint(step * 64) + _copy(step) * 64
        here = len(packed)
        packed += _size(_OFS_DELTA, len(delta)) + _offset(here - start) + zlib.compress(delta)
        size, start = step * 64, here
    return bytes(packed) + hashlib.sha1(packed).digest()


def canned_pack(pack: bytes) -> GitAnswer:
    """This pack, whatever is asked for."""
    return _only(("fetch",), lambda real: _answer(_sideband([pack])))


def _only(commands: Sequence[str],
          answer: Callable[[Callable[[], AnyResponse]], AnyResponse]) -> GitAnswer:
    return lambda command, real: answer(real) if command in commands else real()


def _answer(pieces: Iterable[bytes]) -> Response:
    return Response(pieces, 200, content_type="application/x-git-upload-pack-result")


def _dripped(whole: bytes, pause_s: float) -> Iterator[bytes]:
    for place in range(len(whole)):
        time.sleep(pause_s)
        yield whole[place:place + 1]


def _refs() -> Iterator[bytes]:
    for number in itertools.count():
        yield _line(b"%040x refs/heads/%09d\n" % (number + 1, number))


def _noise() -> Iterator[bytes]:
    yield _pack_head(1) + _size(_BLOB, 1 << 50)
    packer = zlib.compressobj(0)
    while True:
        yield packer.compress(os.urandom(1 << 15))


def _line(content: bytes) -> bytes:
    return b"%04x" % (len(content) + 4) + content


def _sideband(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield _line(b"packfile\n")
    for piece in pieces:
        for place in range(0, len(piece), 60_000):
            yield _line(b"\x01" + piece[place:place + 60_000])
    yield b"0000"


def _pack_head(count: int) -> bytes:
    return b"PACK" + struct.pack(">II", 2, count)


def _size(kind: int, size: int) -> bytes:
    """The head of an object in a pack: its kind and its unpacked size."""
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | (0x80 if size else 0)]) + (_varint(size) if size else b"")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(found) + bytes([number])


def _offset(back: int) -> bytes:
    """How far back the base of a delta begins."""
    found = [back & 0x7F]
    while back := back >> 7:
        back -= 1
        found.insert(0, back & 0x7F | 0x80)
    return bytes(found)


def _copy(size: int) -> bytes:
    """The instruction of a delta that copies `size` bytes from the start of its base."""
    return b"\xf0" + size.to_bytes(3, "little")
