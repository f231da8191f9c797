"""The search index: one document for each component that is present. Wraps Whoosh.

The index lies in a directory that the link `current` points to; a rebuild makes a new directory
and moves the link. One process writes; any number read, and see a commit or a rebuild at their
next search.
"""
from __future__ import annotations

import contextlib
import logging
import os
import pickle
import shutil
import struct
import threading
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator

from whoosh import fields, index
from whoosh.query import Or, Term
from whoosh.reading import IndexReader, ReaderClosed, TermNotFound
from whoosh.writing import IndexWriter

from registry import visibility
from registry.component import Component, parse, uris_of
from registry.errors import ComponentError, RegistryError
from registry.hits import Completion, Hit, Page
from registry.query import All, Clause, Words
from registry.ranking import Indexed, Ranking
from registry.tokens import index_words, squash

log = logging.getLogger(__name__)
SCHEMA_VERSION = 1
POINTER = "current"
COMPLAINT = "damaged"
WRITER_MB = 64
LOCK_TIMEOUT_S = 10.0
MAX_PAGE_SIZE = 100
MAX_QUERY = 1000
CARD_LENGTH = 300
ATTEMPTS = 4
NAME_WEIGHT, CONTRIBUTOR_WEIGHT = 5, 2
_BROKEN = (OSError, EOFError, ValueError, KeyError, TypeError, LookupError, AttributeError,
           AssertionError, struct.error, zlib.error, pickle.UnpicklingError, index.IndexError,
           ReaderClosed)
_SCHEMA = fields.Schema(id=fields.ID(unique=True), words=fields.TEXT(phrase=False),
                        card=fields.STORED)


@dataclass(frozen=True, kw_only=True)
class Document:
    """A component as the index takes it; `text` is its YAML, by which it is found too."""

    source_id: int
    audience: str
    hit: Hit
    older_versions: tuple[str, ...]
    text: str

    @property
    def id(self) -> str:
        return document_id(self.source_id, self.hit.type, self.hit.name)


def document_id(source_id: int, type: str, name: str) -> str:
    return f"{source_id}/{type}/{name}"


class SearchIndex:
    """Reads, and in the sync process alone writes, the index below `path`. Safe in threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._opened: _Opened | None = None

    # --- reading --------------------------------------------------------------------------------

    def search(self, query: str | Clause, *, types: Collection[str] = (), sort: str = "relevance",
               page: int = 1, page_size: int = 20, user_id: int | None = None,
               explain: bool = False) -> Page:
        """The components that a query asks for, best first, or by another of SORTS.

        A text asks for every word in it; filters and the rest of the syntax come as a clause.
        An empty query lists all, newest first. A name that is the query comes first; the last
        word may be unfinished. `types` empty: of every type. `page` counts from 1. Never raises.
        """
        if not isinstance(query, str):
            query = _text_of(query)
        empty = Page(facets={}, page=max(1, page), page_size=min(max(1, page_size), MAX_PAGE_SIZE),
                     is_ready=False)
        audiences = visibility.audiences(user_id)
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    opened = self._open()
                    return opened.page(query[:MAX_QUERY], audiences, types, empty) \
                        if opened else empty
                except _BROKEN:
                    self._opened = None
            self._complain()
        return empty

    def complete(self, prefix: str, *, limit: int = 8, user_id: int | None = None
                 ) -> list[Completion]:
        """Names that begin so, then names of which a part begins so; never raises."""
        hits = self.search(prefix, page_size=limit, user_id=user_id).hits
        return [Completion(type=hit.type, name=hit.name) for hit in hits]

    def nearest(self, name: str, type: str = "", *, user_id: int | None = None) -> list[str]:
        """Names like this one, nearest first; `type` empty: of every type. Never raises."""
        return list(self.search(name, types=(type,) if type else (), user_id=user_id).suggestions)

    def is_sound(self) -> bool:
        """Whether there is an index and no reader found it damaged; a look at the folder alone."""
        name = self._current()
        return name is not None and not (self.path / COMPLAINT).exists() \
            and any((self.path / name).glob("*.toc"))

    def count(self) -> int | None:
        """How many components the index holds; None where it is missing or damaged."""
        try:
            name = self._current()
            return index.open_dir(str(self.path / name)).doc_count() if name else None
        except _BROKEN:
            return None

    def _complain(self) -> None:
        """Tell the sync process that the index cannot be read; it makes a new one."""
        log.error("The search index in %s cannot be read; it is made anew.", self.path)
        with contextlib.suppress(OSError):
            (self.path / COMPLAINT).touch()

    def _open(self) -> _Opened | None:
        """The index as it is now: opened anew after a commit or a rebuild."""
        name = self._current()
        if name is None:
            return None
        if self._opened is None or self._opened.name != name or not self._opened.is_newest():
            if self._opened:
                self._opened.close()
            self._opened = _Opened(self.path, name)
        return self._opened

    def _current(self) -> str | None:
        try:
            name = os.readlink(self.path / POINTER)
        except OSError:
            return None
        return name if name.startswith(f"v{SCHEMA_VERSION}-") else None

    # --- writing --------------------------------------------------------------------------------

    def update(self, documents: Iterable[Document], ids: Collection[str]) -> None:
        """Take out everything with these ids, then put the documents in, all or nothing.

        Raises RegistryError where there is no index.
        """
        name = self._current()
        if name is None:
            raise RegistryError(f"There is no search index in {self.path}.")
        with _writing(index.open_dir(str(self.path / name))) as writer:
            writer.delete_by_query(Or([Term("id", id) for id in ids]))
            for document in documents:
                writer.add_document(**_fields(document))

    def rebuild(self, documents: Iterable[Document]) -> int:
        """Write a new index beside the old one and point to it; returns how much it holds."""
        name = self._new_name()
        folder = self.path / name
        folder.mkdir(parents=True, mode=0o700)
        count = 0
        with _writing(index.create_in(str(folder), _SCHEMA)) as writer:
            for document in documents:
                writer.add_document(**_fields(document))
                count += 1
        if index.open_dir(str(folder)).doc_count() != count:
            raise RegistryError(f"The new search index in {folder} lacks documents. Is the disk "
                                "full? The next sync tries again.")
        aside = self.path / f"{POINTER}.new"
        aside.unlink(missing_ok=True)
        aside.symlink_to(name)
        os.replace(aside, self.path / POINTER)
        (self.path / COMPLAINT).unlink(missing_ok=True)
        self._remove_all_but(name)
        return count

    def _new_name(self) -> str:
        numbers = [path.name.rpartition("-")[2] for path in self.path.glob("v*-*")]
        last = max((int(number) for number in numbers if number.isdecimal()), default=0)
        return f"v{SCHEMA_VERSION}-{last + 1}"

    def _remove_all_but(self, name: str) -> None:
        for path in self.path.glob("v*-*"):
            if path.name != name:
                shutil.rmtree(path, ignore_errors=True)


class _Opened:
    """One generation of the index, with what ranking needs of each document."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._index = index.open_dir(str(path / name))
        self._reader: IndexReader = self._index.reader()
        frequencies = {word.decode(): found.doc_frequency()
                       for word, found in self._reader.iter_field("words")}
        self._ranking = Ranking(map(self._indexed, self._reader.all_doc_ids()), frequencies,
                                self._postings)

    def is_newest(self) -> bool:
        return self._index.latest_generation() == self._reader.generation()

    def close(self) -> None:
        """Let go of the files at once; Whoosh's own reader keeps them open after its `close`."""
        self._reader.close()
        del self._reader, self._ranking

    def page(self, query: str, audiences: frozenset[str], types: Collection[str],
             empty: Page) -> Page:
        ranking = self._ranking
        found = ranking.find(query, audiences)
        chosen = ranking.of_types(found, types)
        end = empty.page * empty.page_size
        best = ranking.best(query, chosen, end - empty.page_size, end)
        return replace(
            empty, hits=tuple(self._hit(number, chosen[number]) for number in best),
            total=len(chosen), facets={"type": ranking.facets(found)}, is_ready=True,
            suggestions=() if found else ranking.suggest(query, audiences))

    def _hit(self, number: int, score: float) -> Hit:
        return Hit(**self._reader.stored_fields(number)["card"]["hit"], score=round(score, 3))

    def _indexed(self, number: int) -> Indexed:
        card = self._reader.stored_fields(number)["card"]
        return Indexed(number=number, type=card["hit"]["type"], name=card["hit"]["name"],
                       audience=card["audience"], updated=card["hit"]["updated"],
                       length=self._reader.doc_field_length(number, "words"))

    def _postings(self, word: str) -> dict[int, float]:
        found: dict[int, float] = {}
        try:
            matcher = self._reader.postings("words", word)
        except TermNotFound:
            return found
        while matcher.is_active():
            found[matcher.id()] = matcher.weight()
            matcher.next()
        return found


@contextlib.contextmanager
def _writing(opened: index.FileIndex) -> Iterator[IndexWriter]:
    """A writer that commits when nothing was raised and else leaves no trace."""
    writer = opened.writer(timeout=LOCK_TIMEOUT_S, limitmb=WRITER_MB)
    try:
        yield writer
    except BaseException:
        writer.cancel()
        raise
    writer.commit()


def _fields(document: Document) -> dict[str, Any]:
    hit = document.hit
    card = {"audience": document.audience, "hit": {
        "source": hit.source, "type": hit.type, "name": hit.name, "version": hit.version,
        "contributor": hit.contributor, "description": _shortened(hit.description),
        "reference": hit.reference, "updated": hit.updated}}
    return {"id": document.id, "words": list(words_of(document)), "card": card}


def words_of(document: Document) -> Iterator[str]:
    """Every word that a component is found by, as often as it counts."""
    hit = document.hit
    yield from {hit.type, squash(hit.name)} - {""}
    yield from [*index_words(hit.name)] * NAME_WEIGHT
    yield from [*index_words(hit.contributor)] * CONTRIBUTOR_WEIGHT
    yield from index_words(hit.description)
    for version in (hit.version, *document.older_versions):
        yield from {version.casefold(), *index_words(version)} - {""}
    try:
        component = parse(document.text)
    except ComponentError:
        return
    for text in _texts(component):
        yield from index_words(text)


def _texts(component: Component) -> Iterator[str]:
    """Parameters, commands, prerequisites, images and URIs of a component."""
    for name, value in component.parameters.items():
        yield f"{name} {value}"
    yield from component.uris
    for item in component.prerequisites:
        yield from (item["name"], item.get("reference", ""), *uris_of(item))
    for task in component.tasks:
        yield task["role"]
        yield from map(str, task["command"])


def _text_of(query: Clause) -> str:
    clauses = query.clauses if isinstance(query, All) else (query,)
    return " ".join(clause.text for clause in clauses if isinstance(clause, Words))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CARD_LENGTH else line[:CARD_LENGTH - 1].rstrip() + "…"
