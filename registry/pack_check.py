"""Packs from elsewhere: every size in one is checked before anything is unpacked. Pure."""
from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Callable, Iterator, Mapping, NamedTuple

from registry.git_wire import TooMuchError, WireError
from runner.sentence import Sentence

COMMIT, TREE, BLOB, TAG, OFS_DELTA, REF_DELTA = 1, 2, 3, 4, 6, 7
WINDOW_BYTES = 4096
TELL_EACH = 256
Told = Callable[[int, int], None]
_TRAILER_BYTES = 20
_DELTA_HEAD_BYTES = 20  # two numbers of up to ten bytes


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a pack may hold: objects, bytes of one file, and bytes of all when unpacked.

    `tree_bytes` bounds one folder's list of names, `commit_bytes` one commit or tag.
    """

    objects: int
    blob_bytes: int
    unpacked_bytes: int
    tree_bytes: int = 16 << 20
    commit_bytes: int = 1 << 20


class Part(NamedTuple):
    """Where one object lies in a pack: from `start` to `end`, compressed from `packed` on.

    `base` is that of a delta, by its first byte or its id; None: the object is whole.
    """

    start: int
    packed: int
    end: int
    kind: int
    base: int | bytes | None


class TooLargeError(TooMuchError):
    """One object of the pack is larger than any that is taken."""


def check_pack(chunks: Iterator[bytes], write: Callable[[bytes], object], limits: Limits,
               told: Told | None = None) -> list[Part]:
    """Hand a pack on to `write` as it comes; returns where its objects lie.

    `told` hears now and then how many of how many are here. Nothing of it is held but a few
    kilobytes, and of no object more is inflated than it says. Raises WireError for what is no
    pack, TooMuchError or TooLargeError as soon as a limit is passed.
    """
    pack = _Input(chunks, write)
    head = pack.take(12)
    if head[:4] != b"PACK" or int.from_bytes(head[4:8], "big") != 2:
        raise WireError(Sentence("What came is no pack of Git."))
    count = int.from_bytes(head[8:], "big")
    if count > limits.objects:
        raise TooMuchError(Sentence("It has more than {most} objects.", most=limits.objects))
    largest = max(limits.tree_bytes, limits.blob_bytes)
    allowed = {COMMIT: limits.commit_bytes, TAG: limits.commit_bytes, TREE: limits.tree_bytes,
               BLOB: limits.blob_bytes, OFS_DELTA: largest, REF_DELTA: largest}
    parts: list[Part] = []
    total = 0
    for number in range(count):
        if told and number % TELL_EACH == 0:
            told(number, count)
        part, unpacked = _object(pack, parts[-1].end if parts else pack.place, allowed)
        parts.append(part)
        total += unpacked
        if total > limits.unpacked_bytes:
            raise TooMuchError(Sentence(
                "It is more than {most} MiB unpacked.",
                most=limits.unpacked_bytes >> 20))
    pack.take(_TRAILER_BYTES)
    if not pack.is_over():
        raise WireError(Sentence("Something follows the pack."))
    return parts


def _object(pack: _Input, first: int, allowed: Mapping[int, int]) -> tuple[Part, int]:
    """Pass over one object, which begins there; returns how large it is too, of a delta with what
    it makes. `allowed` are the bytes of one, by its kind.
    """
    kind, size = _kind_and_size(pack)
    if kind not in allowed:
        raise WireError(Sentence("What came is no pack of Git."))
    _check_size(size, allowed[kind])
    base = first - _distance(pack) if kind == OFS_DELTA else \
        pack.take(20) if kind == REF_DELTA else None
    packed = pack.place
    begin = pack.inflate(size)
    part = Part(first, packed, pack.place, kind, base)
    if base is None:
        return part, size
    _, rest = _number(begin)
    made, _ = _number(rest)
    _check_size(made, allowed[kind])
    return part, size + made


def _check_size(size: int, allowed: int) -> None:
    if size > allowed:
        raise TooLargeError(Sentence(
            "An object in it has {size} bytes, more than {allowed}.", size=size, allowed=allowed))


def _kind_and_size(pack: _Input) -> tuple[int, int]:
    byte, = pack.take(1)
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        byte, = pack.take(1)
        size |= (byte & 0x7f) << shift
        shift += 7
        if shift > 64:
            raise WireError(Sentence("What came is no pack of Git."))
    return kind, size


def _distance(pack: _Input) -> int:
    """How far before a delta its base lies."""
    found = -1
    for _ in range(10):
        byte, = pack.take(1)
        found = found + 1 << 7 | byte & 0x7f
        if not byte & 0x80:
            return found
    raise WireError(Sentence("What came is no pack of Git."))


def _number(data: bytes) -> tuple[int, bytes]:
    """A number at the start of a delta, and what follows."""
    size = 0
    for place, byte in enumerate(data[:10]):
        size |= (byte & 0x7f) << 7 * place
        if not byte & 0x80:
            return size, data[place + 1:]
    raise WireError(Sentence("What came is no pack of Git."))


class _Input:
    """Bytes of a pack that are handed on as they come, and looked at."""

    def __init__(self, chunks: Iterator[bytes], write: Callable[[bytes], object]) -> None:
        self._chunks, self._write = chunks, write
        self._buffer, self._at = b"", 0
        self._begin = 0  # of the buffer in the pack

    @property
    def place(self) -> int:
        """How much was passed over."""
        return self._begin + self._at

    def take(self, count: int) -> bytes:
        while len(self._buffer) - self._at < count:
            if not self._more():
                raise WireError(Sentence("The pack ended too early."))
        self._at += count
        return self._buffer[self._at - count:self._at]

    def is_over(self) -> bool:
        return self._at == len(self._buffer) and not self._more()

    def inflate(self, size: int) -> bytes:
        """Pass over what inflates to `size` bytes; returns the first few of them."""
        inflater, start, seen = zlib.decompressobj(), b"", 0
        window = min(max(size, 64), WINDOW_BYTES)
        try:
            while not inflater.eof:
                if self._at == len(self._buffer) and not self._more():
                    raise WireError(Sentence("The pack ended too early."))
                piece = self._buffer[self._at:self._at + window]
                data = inflater.decompress(piece, size - seen + 1)
                self._at += len(piece) - len(inflater.unused_data) - len(inflater.unconsumed_tail)
                seen += len(data)
                start += data[:_DELTA_HEAD_BYTES - len(start)]
                if seen > size:
                    raise WireError(Sentence("An object of the pack is larger than it says."))
        except zlib.error as error:
            raise WireError(Sentence("The pack is damaged ({error}).", error=error)) from error
        if seen != size:
            raise WireError(Sentence("An object of the pack is smaller than it says."))
        return start

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        if chunk:
            self._write(chunk)
            self._begin += self._at
            self._buffer, self._at = self._buffer[self._at:] + chunk, 0
        return bool(chunk)
