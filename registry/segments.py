"""The index on disk: documents in, arrays out, segment by segment. Wraps Whoosh.

Whoosh's own readers copy a segment into memory, walk postings one by one and are not safe in
threads; here a segment is mapped, and what is read of it becomes arrays.
"""
from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import pickle
import struct
import threading
import zlib
from collections import OrderedDict
from itertools import accumulate
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from whoosh import columns, fields, formats, index
from whoosh.codec.whoosh3 import W3Codec
from whoosh.filedb.compound import CompoundStorage
from whoosh.filedb.filestore import FileStorage
from whoosh.filedb.structfile import BufferFile
from whoosh.reading import SegmentReader, TermNotFound
from whoosh.writing import NO_MERGE, IndexWriter, LockError

from registry.errors import RegistryError
from runner.sentence import Sentence

MANIFEST = "manifest.json"
BATCH = 4000
TIERS = (0, 100, 1000, BATCH)  # segments of one tier are merged when there are MANY of them
MANY = 8
WRITER_MB = 1024  # more than a batch needs: Whoosh sorts spilled postings several times slower
LOCK_TIMEOUT_S = 10.0
CACHED_POSTINGS = 1_500_000
Postings = tuple[np.ndarray, np.ndarray]
_NOWHERE: Postings = (np.empty(0, np.int32), np.empty(0, np.float32))
_LENGTHS = struct.Struct("!ii")
_FREQUENCY = struct.Struct("!I")
_FREQUENCY_AT = 5
BROKEN = (OSError, EOFError, ValueError, KeyError, TypeError, LookupError, AttributeError,
          AssertionError, NameError, ImportError, MemoryError, OverflowError, struct.error,
          zlib.error, pickle.UnpicklingError, index.IndexError, RegistryError)


class BusyError(RegistryError):
    """Another process is writing the index."""


class _Unchanged(Exception):
    """There is nothing to commit."""


class Weighted(fields.FieldType):
    """A field whose value maps each word to its weight; it needs no analysis."""

    def __init__(self) -> None:
        super().__init__(formats.Existence(), None)

    def index(self, value: Mapping[str, float], **_: Any
              ) -> Iterator[tuple[bytes, int, float, bytes]]:
        for word, weight in value.items():
            yield word.encode(), 1, weight, b""


class Column(fields.FieldType):
    """A field that is only read back, as bytes."""

    indexed = False

    def __init__(self) -> None:
        super().__init__(None, None, sortable=columns.VarBytesColumn())

    def to_column_value(self, value: bytes) -> bytes:
        return value


_SCHEMA = fields.Schema(component=Weighted(), words=Weighted(), keys=Weighted(), facts=Column(),
                        card=Column(), stream=Column())


class _Codec(W3Codec):
    """Whoosh's own form, in blocks that are few and quick to read."""

    length_stats = False  # no field has them, and Whoosh would ask the disk for each posting

    def __init__(self) -> None:
        super().__init__(blocklimit=4096, compression=0)


_CODEC = _Codec()


class _View:
    """A file over mapped memory; Whoosh's own copies what it is given."""

    def __init__(self, view: memoryview) -> None:
        self._view, self._at = view, 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._view) if size < 0 else min(len(self._view), self._at + size)
        begin, self._at = self._at, end
        return bytes(self._view[begin:end])

    def readline(self) -> bytes:
        rest = bytes(self._view[self._at:self._at + 256])
        line = rest[:rest.find(b"\n") + 1] or rest
        self._at += len(line)
        return line

    def seek(self, at: int, whence: int = 0) -> int:
        self._at = at + (0, self._at, len(self._view))[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self._view = memoryview(b"")


class _MappedFile(BufferFile):
    def __init__(self, view: memoryview, name: str) -> None:
        self._buf, self._name = view, name
        self.file = _View(view)
        self.onclose = None
        self.is_real = self.is_closed = False


class _MappedStorage(CompoundStorage):
    def open_file(self, name: str, *_: Any, **__: Any) -> _MappedFile:
        offset, length = self.range(name)
        return _MappedFile(memoryview(self._source)[offset:offset + length], name)


class Segment:
    """One part of the index; its documents never change, only go. Safe in threads."""

    def __init__(self, folder: Path, segment: Any) -> None:
        name = segment.make_filename(segment.COMPOUND_EXT)
        self.name: str = segment.segment_id()
        self.count: int = segment.doc_count_all()
        self._segment = segment
        self._storage = _MappedStorage(FileStorage(str(folder)).open_file(name))
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, str], Postings] = OrderedDict()
        self._cached = 0
        self._terms = _CODEC.terms_reader(self._storage, segment)
        self._posted = self._storage.open_file(segment.make_filename(W3Codec.POSTS_EXT))._buf
        self._lexicons: dict[str, tuple[list[str], np.ndarray]] = {}
        self._columns: dict[str, Any] = {}

    def facts(self) -> list[list[Any]]:
        """What is kept in memory of each document, in the order of document.FACTS."""
        found = json.loads(b"[" + b",".join(iter(self._column("facts"))) + b"]")
        if len(found) != self.count:
            raise RegistryError(Sentence("The segment {name} lacks documents.", name=self.name))
        return found

    def card(self, number: int) -> dict[str, Any]:
        """What a list shows of a document."""
        return json.loads(self._column("card")[number])

    def stream(self, number: int) -> bytes:
        """What is written in a document; see document.stream_of."""
        return self._column("stream")[number]

    def having(self, numbers: Sequence[int], text: bytes) -> list[int]:
        """Those of the documents in whose stream a text stands."""
        stream = self._column("stream")
        return [number for number in numbers if text in stream[number]]

    def postings(self, field: str, word: str) -> Postings:
        """The numbers of the documents that have a word, rising, and its weight in each."""
        key = field, word
        with self._lock:
            found = self._cache.get(key)
            if found is None:
                found = self._cache[key] = self._read_postings(field, word)
                self._cached += len(found[0]) + 8
                while self._cached > CACHED_POSTINGS:
                    self._cached -= len(self._cache.popitem(last=False)[1][0]) + 8
            else:
                self._cache.move_to_end(key)
        return found

    def lexicon(self, field: str) -> tuple[list[str], np.ndarray]:
        """Every word of a field, sorted, and how many documents have it."""
        with self._lock:
            if field not in self._lexicons:
                words, counts = [], []
                for word, count in self._scan(field):
                    words.append(word)
                    counts.append(count)
                self._lexicons[field] = words, np.array(counts, np.int32)
            return self._lexicons[field]

    def _column(self, name: str) -> Any:
        """Opened when it is first read: a writer looks for a document's number alone."""
        if name not in self._columns:
            file = W3Codec.column_filename(self._segment, name)
            length = self._storage.file_length(file)
            self._columns[name] = columns.VarBytesColumn().reader(
                self._storage.open_file(file), 0, length, self.count)
        return self._columns[name]

    def _scan(self, field: str) -> Iterator[tuple[str, int]]:
        """The table of words as it stands in the file, from the field's first to its last."""
        table, number = self._terms._tindex, self._terms._fieldmap.get(field)
        if number is None:
            return
        prefix = struct.pack("!H", number)
        at, data = table.closest_key_pos(prefix), table.dbfile._buf
        while at is not None and at < table.endofdata:
            key_length, info_length = _LENGTHS.unpack_from(data, at)
            at += _LENGTHS.size
            key = bytes(data[at:at + key_length])
            if not key.startswith(prefix):
                return
            at += key_length
            yield key[2:].decode(), _FREQUENCY.unpack_from(data, at + _FREQUENCY_AT)[0]
            at += info_length

    def _read_postings(self, field: str, word: str) -> Postings:
        try:
            info = self._terms.term_info(field, word.encode(errors="replace"))
        except TermNotFound:
            return _NOWHERE
        if info.is_inlined():
            numbers, weights, _ = info.inlined_postings()
            return np.array(numbers, np.int32), np.array(weights, np.float32)
        blocks = list(_blocks(self._posted, info.extent()[0]))
        return (np.concatenate([numbers for numbers, _ in blocks]),
                np.concatenate([weights for _, weights in blocks]))


def _blocks(data: memoryview, at: int) -> Iterator[Postings]:
    """The blocks of one word's postings: a mark, then each with its length, negative at the end."""
    if bytes(data[at:at + 4]) != b"W3Bl":
        raise RegistryError(Sentence("The postings of the search index are damaged."))
    at, length = at + 4, 0
    while length >= 0:
        length, = struct.unpack_from("!i", data, at)
        block = io.BytesIO(data[at + 4:at + 4 + abs(length)])
        count = pickle.load(block)[0]
        gaps, weights, _ = pickle.load(block)
        numbers = np.cumsum(np.array(gaps, np.int32), dtype=np.int32)
        yield numbers, np.full(count, 1.0 if weights is None else weights, np.float32)
        at += 4 + abs(length)


class Store:
    """One Whoosh index of this name in a folder, with a manifest of what its files must be."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name
        self._manifest = folder / f"{name}-{MANIFEST}"

    # --- reading --------------------------------------------------------------------------------

    def generation(self) -> int:
        """The number of the last commit; -1 where there is none."""
        return int(index.TOC._latest_generation(os.listdir(self.folder), self._name))

    def read(self, known: Mapping[str, Segment]) -> list[tuple[Segment, np.ndarray]]:
        """Every segment with the numbers of its documents that are gone.

        What is `known` by name is not opened again. Raises one of BROKEN where the files are not
        what they must be.
        """
        toc = self._toc()
        manifest = json.loads(self._manifest.read_bytes())
        self._check(f"_{self._name}_{toc.generation}.toc", manifest)
        found = []
        for segment in toc.segments:
            name = segment.segment_id()
            if name not in known:
                self._check(segment.make_filename(segment.COMPOUND_EXT), manifest)
            opened = known[name] if name in known else Segment(self.folder, segment)
            found.append((opened, np.array(sorted(segment.deleted_docs()), np.int32)))
        return found

    def count(self) -> int:
        return sum(each.doc_count_all() - each.deleted_count() for each in self._toc().segments)

    def _toc(self) -> Any:
        return index.TOC.read(FileStorage(str(self.folder)), self._name, schema=_SCHEMA)

    def _check(self, file: str, manifest: Mapping[str, Any]) -> None:
        """A file that is not listed yet was committed a moment ago and is taken as it is."""
        if file in manifest and manifest[file] != _measured(self.folder / file):
            raise RegistryError(Sentence(
                "The file {file} of the search index is damaged.", file=file))

    # --- writing --------------------------------------------------------------------------------

    def create(self) -> None:
        index.create_in(str(self.folder), _SCHEMA, self._name)
        self._list_files()

    def add(self, documents: Sequence[dict[str, Any]]) -> str:
        """Put documents in as a segment of their own, whose name it gives; empty for none.

        A few thousand at a time.
        """
        if not documents:
            return ""
        with self._writing(merge=False) as writer:
            for fields_ in documents:
                writer.add_document(**fields_)
        self._list_files()
        return str(self._toc().segments[-1].segment_id())

    def replace(self, ids: Collection[str], documents: Iterable[dict[str, Any]]) -> None:
        """Take out the components with these ids, then put the documents in, all or nothing."""
        with self._writing(merge=True) as writer:
            self._delete(writer, ids)
            for fields_ in documents:
                writer.add_document(**fields_)
        self._list_files()

    def remove(self, ids: Collection[str], but: str) -> None:
        """Take out the components with these ids, except from the segment of the name `but`."""
        with self._writing(merge=True) as writer:
            if not self._delete(writer, ids, but) and not but:
                raise _Unchanged
        self._list_files()

    def _delete(self, writer: IndexWriter, ids: Collection[str], but: str = "") -> int:
        base = count = 0
        for segment in writer.segments:
            opened = Segment(self.folder, segment)
            if opened.name != but:
                for id in ids:
                    for number in opened.postings("component", id)[0]:
                        writer.delete_document(base + int(number))
                        count += 1
            base += opened.count
        return count

    @contextlib.contextmanager
    def _writing(self, *, merge: bool) -> Iterator[IndexWriter]:
        """A writer that commits when nothing was raised and else leaves no trace."""
        opened = index.FileIndex(FileStorage(str(self.folder)), indexname=self._name)
        try:
            writer = opened.writer(timeout=LOCK_TIMEOUT_S, limitmb=WRITER_MB, codec=_CODEC)
        except LockError as error:
            raise BusyError(Sentence("Another process is writing the search index.")) from error
        try:
            yield writer
        except _Unchanged:
            writer.cancel()
            return
        except BaseException:
            writer.cancel()
            raise
        writer.commit(mergetype=_merge_few if merge else NO_MERGE)

    def _list_files(self) -> None:
        """Write down what the files of the last commit must be."""
        listed = json.loads(self._manifest.read_bytes()) if self._manifest.exists() else {}
        files = [name for name in os.listdir(self.folder)
                 if name.startswith((f"{self._name}_", f"_{self._name}_"))
                 and name.endswith((".seg", ".toc"))]
        aside = self._manifest.with_suffix(".new")
        aside.write_text(json.dumps({name: listed.get(name) or _measured(self.folder / name)
                                     for name in files}))
        os.replace(aside, self._manifest)


def _merge_few(writer: IndexWriter, segments: Sequence[Any]) -> list[Any]:
    """Merge what is small and many, and leave out what has no document any more.

    Whoosh's own policy takes all of a large index at once, now and then, for minutes.
    """
    kept = [each for each in segments if each.deleted_count() < each.doc_count_all()]
    for least, most in zip(TIERS, TIERS[1:]):
        tier = [each for each in kept if least <= each.doc_count_all() < most]
        if len(tier) >= MANY:
            for segment in _smallest(tier):
                reader = SegmentReader(writer.storage, writer.schema, segment)
                writer.add_reader(reader)
                reader.close()
                kept.remove(segment)
    return kept


def _smallest(segments: Sequence[Any]) -> list[Any]:
    """As many as have a batch of documents together."""
    ordered = sorted(segments, key=lambda each: (each.doc_count_all(), each.segment_id()))
    sums = accumulate(each.doc_count_all() for each in ordered)
    return [each for each, total in zip(ordered, sums) if total <= BATCH]


def _measured(path: Path) -> list[Any]:
    """Size and SHA-256 of a file."""
    with open(path, "rb") as file:
        return [os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest()]
