"""Protocol 2 of Git as bytes: what is asked, what is answered, each within fixed limits. Pure."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Iterator, Mapping, Sequence

from registry.errors import RegistryError
from runner.sentence import Sentence

AGENT = "paishare"
MAX_TAGS = 50_000
_FLUSH, _DELIM, _END = b"", b"\x01", b"\x02"
_SPECIAL = {0: _FLUSH, 1: _DELIM, 2: _END}
_DATA, _PROGRESS, _ERROR = 1, 2, 3
_HEADER = 4


class WireError(RegistryError):
    """What came is not what Git sends, or more than is taken."""


class TooMuchError(WireError):
    """More came than is taken."""


@dataclass(frozen=True, kw_only=True)
class Refs:
    """What a repository has; `head` None: the branch is not there. Tags name what they lead to."""

    head: str | None
    branch: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


class Stream:
    """Bytes that come in chunks, read in exact pieces, at most `limit` in all."""

    def __init__(self, chunks: Iterator[bytes], limit: int) -> None:
        self._chunks = chunks
        self._left = limit
        self._buffer = b""
        self._at = 0
        self.received = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes; raises WireError where they do not come."""
        while len(self._buffer) - self._at < count:
            self._more()
        self._at += count
        return self._buffer[self._at - count:self._at]

    def _more(self) -> None:
        chunk = next(self._chunks, b"")
        if not chunk:
            raise WireError(Sentence("The answer ended too early."))
        self.received += len(chunk)
        if self.received > self._left:
            raise TooMuchError(Sentence("The answer has more than {left} bytes.", left=self._left))
        self._buffer = self._buffer[self._at:] + chunk
        self._at = 0


def refs_request(names: Sequence[str]) -> bytes:
    """Ask for the refs that begin so, with where symbolic ones and tags lead."""
    return _request("ls-refs", ["symrefs", "peel", *(f"ref-prefix {name}" for name in names)])


def pack_request(wants: Iterable[str], haves: Iterable[str], *, filter: str | None) -> bytes:
    """Ask for a pack with these objects and what they need beyond what is had."""
    lines = ["no-progress", "ofs-delta", *([f"filter {filter}"] if filter else []),
             *(f"want {id}" for id in wants), *(f"have {id}" for id in haves), "done"]
    return _request("fetch", lines)


def read_refs(stream: Stream, branch: str | None, tag_prefix: str | None) -> Refs:
    """Raises WireError; of many branches with longer names only the first ones are read."""
    wanted = f"refs/heads/{branch}" if branch else "HEAD"
    head, leads_to, tags = None, None, {}
    for line in _text_lines(stream):
        id, name, attributes = _ref(line)
        if name == wanted:
            head, leads_to = id, attributes.get("symref-target")
            if tag_prefix is None:
                break
        elif tag_prefix is not None and name.startswith(f"refs/tags/{tag_prefix}"):
            tags[name.removeprefix("refs/tags/")] = attributes.get("peeled", id)
            if len(tags) > MAX_TAGS:
                raise TooMuchError(Sentence(
                    "More than {most} tags begin with {prefix!r}.", most=MAX_TAGS,
                    prefix=tag_prefix))
    found = branch or (leads_to or "").removeprefix("refs/heads/") or None
    return Refs(head=head, branch=found, tags=tags)


def pack_data(stream: Stream) -> Iterator[bytes]:
    """The pack itself out of an answer; raises WireError with what the server says."""
    for line in _lines(stream):
        if line.rstrip(b"\n") == b"packfile":
            break
    else:
        raise WireError(Sentence("The answer holds no pack."))
    for line in _lines(stream):
        band, data = line[:1], line[1:]
        if band == bytes([_DATA]):
            yield data
        elif band == bytes([_ERROR]):
            raise WireError(Sentence("GitHub says: {said}", said=_shown(data)))
        elif band != bytes([_PROGRESS]):
            raise WireError(Sentence("The answer is none of Git's."))


def _request(command: str, lines: Sequence[str]) -> bytes:
    head = [f"command={command}", f"agent={AGENT}", "object-format=sha1"]
    return b"".join([*map(_line, head), b"0001", *map(_line, lines), b"0000"])


def _line(text: str) -> bytes:
    data = text.encode() + b"\n"
    return b"%04x" % (len(data) + _HEADER) + data


def _lines(stream: Stream) -> Iterator[bytes]:
    """Up to the flush; an error line becomes a WireError."""
    while True:
        line = _next(stream)
        if line == _FLUSH:
            return
        if line.startswith(b"ERR "):
            raise WireError(Sentence("GitHub says: {said}", said=_shown(line[4:])))
        if line not in (_DELIM, _END):
            yield line


def _next(stream: Stream) -> bytes:
    digits = stream.take(_HEADER)
    try:
        size = int(digits, 16)
    except ValueError:
        raise WireError(Sentence("The answer is none of Git's.")) from None
    if size < _HEADER:
        if size not in _SPECIAL:
            raise WireError(Sentence("The answer is none of Git's."))
        return _SPECIAL[size]
    return stream.take(size - _HEADER)


def _text_lines(stream: Stream) -> Iterator[str]:
    for line in _lines(stream):
        yield line.decode("utf-8", "backslashreplace").rstrip("\n")


def _ref(line: str) -> tuple[str, str, Mapping[str, str]]:
    """Id, name and attributes of a ref; an id that is none is an error."""
    id, _, rest = line.partition(" ")
    name, *attributes = rest.split(" ")
    found = dict(text.partition(":")[::2] for text in attributes)
    for each in (id, found.get("peeled", id)):
        if len(each) != 40 or set(each) - set("0123456789abcdef"):
            raise WireError(Sentence("The answer is none of Git's."))
    return id, name, found


def _shown(data: bytes) -> str:
    """A server's words in one short line."""
    return " ".join(data[:300].decode("utf-8", "replace").split())
