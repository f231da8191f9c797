"""Docker's output as it comes over a connection → pieces of stdout and stderr. Pure."""
from __future__ import annotations

import struct
from datetime import datetime
from typing import Iterable, Iterator, NamedTuple

STREAMS = {1: "stdout", 2: "stderr"}
_HEADER = struct.Struct(">BxxxL")  # stream, and how many bytes follow
_STAMP_BYTES = len("2026-11-22T06:53:30.004843421Z ")
_SAME_BYTES = len("2026-11-22T06:53:30.00")  # what is written within 10 ms is one piece


class Piece(NamedTuple):
    """Bytes that one stream brought; `time` in seconds since 1970, None: just now."""

    stream: str
    data: bytes
    time: float | None = None


def unframed(parts: Iterable[bytes]) -> Iterator[Piece]:
    """What an attached container writes, as soon as it is here.

    `parts` may be cut anywhere. Frames of one stream that come together are one piece; a frame
    that never comes to its end is left out.
    """
    for frames in _frames(parts):
        stream = 0
        begun: list[bytes] = []
        for number, data in frames:
            if number != stream and begun:
                yield Piece(STREAMS[stream], b"".join(begun))
                begun = []
            stream = number
            begun.append(data)
        if begun:
            yield Piece(STREAMS[stream], b"".join(begun))


def unframed_log(parts: Iterable[bytes]) -> Iterator[Piece]:
    """The same of Docker's own log, in which the time stands before each frame's data."""
    for frames in _frames(parts):
        group: tuple[int, bytes] = (0, b"")
        stamp = b""
        begun: list[bytes] = []
        for number, data in frames:
            if (number, data[:_SAME_BYTES]) != group:
                if begun:
                    yield Piece(STREAMS[group[0]], b"".join(begun), _seconds(stamp))
                group, stamp, begun = (number, data[:_SAME_BYTES]), data[:_STAMP_BYTES - 1], []
            begun.append(data[_STAMP_BYTES:])
        if begun:
            yield Piece(STREAMS[group[0]], b"".join(begun), _seconds(stamp))


def unchunked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The body of a response in HTTP's chunked coding; ends with it, or where it breaks off.

    Docker sends each line as a chunk, for which no library is quick enough.
    """
    rest, is_last = b"", False
    for part in parts:
        rest = rest + part if rest else part
        at, end, bodies = 0, len(rest), []
        while (line_end := rest.find(b"\r\n", at)) >= 0:
            size = int(rest[at:line_end], 16)
            following = line_end + size + 4
            is_last = not size
            if is_last or following > end:
                break
            bodies.append(rest[line_end + 2:following - 2])
            at = following
        yield b"".join(bodies)
        if is_last:
            return
        rest = rest[at:]


def _frames(parts: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    """The whole frames that each part completes."""
    rest, unpack, size = b"", _HEADER.unpack_from, _HEADER.size
    for part in parts:
        rest = rest + part if rest else part
        at, last, found = 0, len(rest) - size, []
        while at <= last:
            number, length = unpack(rest, at)
            following = at + size + length
            if following > len(rest):
                break
            found.append((number, rest[at + size:following]))
            at = following
        rest = rest[at:]
        yield found


def _seconds(stamp: bytes) -> float:
    return datetime.fromisoformat(stamp.decode()).timestamp()
