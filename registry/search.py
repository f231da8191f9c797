"""The search index: one document for each component that is present, and one for each version.

The index lies in a directory that the link `current` points to; a rebuild makes a new directory
and moves the link. One process writes; any number read, and see a commit or a rebuild at their
next search.
"""
from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Callable, Collection, Iterable, Mapping, Protocol, TypeVar

import numpy as np

from registry.document import Document, fields_of, hit_of
from registry.errors import RegistryError
from registry.facets import facets_of
from registry.hits import SORTS, Completion, Hit, Page
from registry.matching import Matcher
from registry.query import All, Any, Clause, Filter, Phrase, Query, QueryError, Words, parse_query
from registry.ranking import Found, Ranking
from registry.segments import BATCH, BROKEN, BusyError, Store
from registry.snapshot import Loaded, Snapshot, without_twins
from registry.spelling import completions, nearest_names
from registry.tokens import query_words
from registry.visibility import only_public
from runner.sentence import Sentence

log = logging.getLogger(__name__)
SCHEMA_VERSION = 5
POINTER = "current"
COMPLAINT = "damaged"
NEWEST, OLDER = "newest", "older"
MAX_PAGE_SIZE = 100
MAX_QUERY = 1000
MAX_TERMS = 40
ATTEMPTS = 4
T = TypeVar("T")
ALL_VERSIONS = Filter("versions", "=", "all")


class Plain(Protocol):
    """What answers, roughly, where the index cannot."""

    def page(self, clause: Clause, empty: Page, *, types: Collection[str], sort: str,
             user_id: int | None) -> Page:
        """The page `empty` with what is found; its `is_ready` stays False."""

    def complete(self, prefix: str, limit: int, user_id: int | None) -> list[Completion]:
        """Names that begin so."""


class SearchIndex:
    """Reads, and in the sync process alone writes, the index below `path`. Safe in threads."""

    def __init__(self, path: Path, plain: Plain | None = None,
                 audiences: Callable[[int | None], frozenset[str]] = only_public) -> None:
        """`plain` answers while there is no index; None: nothing is found then.

        `audiences` says to which a user belongs, who is None for a visitor.
        """
        self.path = path
        self._plain = plain
        self._audiences = audiences
        self._lock = threading.Lock()
        self._opened: _Opened | None = None

    # --- reading --------------------------------------------------------------------------------

    def search(self, query: str | Query | Clause, *, types: Collection[str] = (),
               sort: str = "relevance", page: int = 1, page_size: int = 20,
               user_id: int | None = None, explain: bool = False) -> Page:
        """The components that a query asks for, best first, or by another of SORTS.

        An empty query lists all, newest first. A name that is the query comes first; the last
        word may be unfinished. `types` empty: of every type. `page` counts from 1. `explain`
        fills `why` of each hit. Never raises: a text that is no query is taken as plain words.
        """
        clause = _clause_of(query)
        empty = Page(page=max(1, page), page_size=min(max(1, page_size), MAX_PAGE_SIZE),
                     is_ready=False)
        wanted = _Wanted(clause, types, sort if sort in SORTS else SORTS[0], explain)
        audiences = self._audiences(user_id)
        found = self._read(lambda opened: opened.page(wanted, audiences, empty), empty)
        if found.is_ready or self._plain is None:
            return found
        return self._plain.page(clause, empty, types=types, sort=wanted.sort, user_id=user_id)

    def complete(self, prefix: str, *, limit: int = 8, user_id: int | None = None
                 ) -> list[Completion]:
        """Names that begin so, then names of which a part begins so; never raises."""
        audiences = self._audiences(user_id)
        found = self._read(lambda opened: opened.complete(prefix, audiences, limit), None)
        if found is None and self._plain:
            return self._plain.complete(prefix, limit, user_id)
        return found or []

    def nearest(self, name: str, type: str = "", *, limit: int = 3, user_id: int | None = None
                ) -> list[str]:
        """Names like this one, nearest first; `type` empty: of every type. Never raises."""
        audiences = self._audiences(user_id)
        return self._read(lambda opened: opened.nearest(name, type, audiences, limit), [])

    def _read(self, ask: Callable[[_Opened], T], otherwise: T) -> T:
        """What is read of the index; where that fails again and again, it is damaged."""
        for attempt in range(ATTEMPTS):
            try:
                opened = self._open()
                return ask(opened) if opened else otherwise
            except BROKEN as error:
                self._opened = None
                if attempt == ATTEMPTS - 1:
                    self._complain(error)
        return otherwise

    def is_sound(self) -> bool:
        """Whether there is an index and no reader found it damaged; a look at the folder alone."""
        name = self._current()
        return name is not None and not (self.path / COMPLAINT).exists() \
            and any((self.path / name).glob("*.toc"))

    def count(self) -> int | None:
        """How many components the index holds; None where it is missing or damaged."""
        try:
            name = self._current()
            return Store(self.path / name, NEWEST).count() if name else None
        except BROKEN:
            return None

    def _complain(self, error: BaseException) -> None:
        """Tell the sync process that the index cannot be read; it makes a new one."""
        log.error("The search index in %s cannot be read; it is made anew.", self.path,
                  exc_info=error)
        with contextlib.suppress(OSError):
            (self.path / COMPLAINT).touch()

    def _open(self) -> _Opened | None:
        """The index as it is now; as it was, while another thread opens what is new."""
        name, opened = self._current(), self._opened
        if name is None:
            return None
        if opened and opened.name == name and opened.is_newest():
            return opened
        if not self._lock.acquire(blocking=opened is None):
            return opened
        try:
            if self._opened is not opened and self._opened:
                return self._opened
            known = opened.loaded if opened and opened.name == name else {}
            self._opened = _Opened(self.path / name, known)
            return self._opened
        finally:
            self._lock.release()

    def _current(self) -> str | None:
        try:
            name = os.readlink(self.path / POINTER)
        except OSError:
            return None
        return name if name.startswith(f"v{SCHEMA_VERSION}-") else None

    # --- writing --------------------------------------------------------------------------------

    def update(self, documents: Iterable[Document], ids: Collection[str]) -> None:
        """Take out everything with these ids, then put the documents in, all or nothing.

        What becomes older is added first and what was older goes last: between these commits
        readers hide what they meet twice, and miss nothing.

        Where that finds the index damaged it says so by `is_sound`, and the index has to be made
        anew. Raises RegistryError where there is none, BusyError where another process writes it.
        """
        name = self._current()
        if name is None:
            raise RegistryError(Sentence("There is no search index in {path}.", path=self.path))
        found = list(documents)
        older = [fields_of(document) for document in found if not document.is_newest]
        (newest_store, _), (older_store, _) = self._stores(name)
        try:
            added = older_store.add(older)
            newest_store.replace(ids, [fields_of(document) for document in found
                                       if document.is_newest])
            older_store.remove(ids, but=added)
        except BusyError:
            raise
        except BROKEN as error:
            self._complain(error)

    def rebuild(self, documents: Iterable[Document]) -> int:
        """Write a new index beside the old one and point to it; returns how much it holds."""
        name = self._new_name()
        folder = self.path / name
        folder.mkdir(parents=True, mode=0o700)
        count = self._fill(name, documents)
        if [store.count() for store, _ in self._stores(name)] != count:
            raise RegistryError(Sentence(
                "The new search index in {folder} lacks documents. Is the disk full? The next sync "
                "tries again.", folder=folder))
        aside = self.path / f"{POINTER}.new"
        aside.unlink(missing_ok=True)
        aside.symlink_to(name)
        os.replace(aside, self.path / POINTER)
        (self.path / COMPLAINT).unlink(missing_ok=True)
        self._remove_all_but(name)
        return count[0]

    def _fill(self, name: str, documents: Iterable[Document]) -> list[int]:
        """Write all documents into new stores; returns how many are newest, and how many older."""
        stores = {is_newest: store for store, is_newest in self._stores(name)}
        waiting: dict[bool, list[dict[str, object]]] = {True: [], False: []}
        count = [0, 0]
        for store in stores.values():
            store.create()
        for document in documents:
            batch = waiting[document.is_newest]
            batch.append(fields_of(document))
            count[not document.is_newest] += 1
            if len(batch) == BATCH:
                stores[document.is_newest].add(batch)
                batch.clear()
        for is_newest, batch in waiting.items():
            stores[is_newest].add(batch)
        return count

    def _stores(self, name: str) -> tuple[tuple[Store, bool], ...]:
        folder = self.path / name
        return (Store(folder, NEWEST), True), (Store(folder, OLDER), False)

    def _new_name(self) -> str:
        numbers = [path.name.rpartition("-")[2] for path in self.path.glob("v*-*")]
        last = max((int(number) for number in numbers if number.isdecimal()), default=0)
        return f"v{SCHEMA_VERSION}-{last + 1}"

    def _remove_all_but(self, name: str) -> None:
        for path in self.path.glob("v*-*"):
            if path.name != name:
                shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class _Wanted:
    """One search as it was asked for."""

    clause: Clause
    types: Collection[str]
    sort: str
    is_explained: bool

    @cached_property
    def has_all_versions(self) -> bool:
        return ALL_VERSIONS in (self.clause.clauses if isinstance(self.clause, All)
                                else (self.clause,))


class _Opened:
    """One state of the index. What was loaded of an earlier state is used again."""

    def __init__(self, folder: Path, loaded: Mapping[str, Loaded]) -> None:
        self.name = folder.name
        self._stores = {name: Store(folder, name) for name in (NEWEST, OLDER)}
        self._generations = self._stand()
        self._lock = threading.Lock()
        newest = self._load(NEWEST, loaded)
        self._newest = Snapshot(newest)
        older = {name: each for name, each in loaded.items() if name.startswith(f"{OLDER}_")}
        self.loaded = _by_name(newest) | older

    def is_newest(self) -> bool:
        return self._stand() == self._generations

    def page(self, wanted: _Wanted, audiences: frozenset[str], empty: Page) -> Page:
        snapshot = self._all if wanted.has_all_versions else self._newest
        ranking = Ranking(Matcher(snapshot, snapshot.view(audiences)))
        found = ranking.find(wanted.clause)
        chosen = ranking.of_types(found.mask, wanted.types)
        end = empty.page * empty.page_size
        sort = wanted.sort if wanted.sort != "relevance" or found.parts else "updated"
        numbers = ranking.order(found, chosen, sort, end - empty.page_size, end)
        total = int(np.count_nonzero(chosen))
        return replace(
            empty, total=total, facets=facets_of(snapshot, found.mask, chosen), is_ready=True,
            hits=tuple(self._hit(ranking, found, number, wanted.is_explained, audiences)
                       for number in numbers.tolist()),
            terms=_terms(wanted.clause),
            suggestions=ranking.suggest(wanted.clause))

    def complete(self, prefix: str, audiences: frozenset[str], limit: int) -> list[Completion]:
        return completions(self._newest, self._newest.view(audiences), prefix, limit)

    def nearest(self, name: str, type: str, audiences: frozenset[str], limit: int) -> list[str]:
        return nearest_names(self._newest.names(self._newest.view(audiences), type), name, limit)

    @cached_property
    def _all(self) -> Snapshot:
        """Every version, both kinds as of one moment; read when one is asked for."""
        with self._lock:
            for _ in range(ATTEMPTS):
                before = self._stand()
                newest, older = (self._load(name, self.loaded) for name in (NEWEST, OLDER))
                self.loaded = _by_name([*newest, *older])
                if self._stand() == before:
                    break
            return Snapshot([*newest, *without_twins(newest, older)])

    def _stand(self) -> dict[str, int]:
        return {name: store.generation() for name, store in self._stores.items()}

    def _load(self, name: str, known: Mapping[str, Loaded]) -> list[tuple[Loaded, np.ndarray]]:
        segments = {each: loaded.segment for each, loaded in known.items()}
        return [(known.get(segment.name) or Loaded(segment), gone)
                for segment, gone in self._stores[name].read(segments)]

    def _hit(self, ranking: Ranking, found: Found, number: int, is_explained: bool,
             audiences: frozenset[str]) -> Hit:
        part, inside = ranking.snapshot.place(number)
        return hit_of(part.segment.card(inside), audiences,
                      score=round(float(found.score[number]), 3),
                      why=ranking.explain(found, number) if is_explained else ())


def _by_name(parts: Iterable[tuple[Loaded, np.ndarray]]) -> dict[str, Loaded]:
    return {loaded.segment.name: loaded for loaded, _ in parts}


def _clause_of(query: str | Query | Clause) -> Clause:
    if isinstance(query, Query):
        return query.clause
    if not isinstance(query, str):
        return query
    try:
        return parse_query(query[:MAX_QUERY]).clause
    except QueryError:
        return All(tuple(Words(word) for word in query[:MAX_QUERY].split()))


def _terms(clause: Clause) -> tuple[str, ...]:
    """The words that are looked for, folded, part by part and joined."""
    if isinstance(clause, (Words, Phrase)):
        return tuple(dict.fromkeys(term for word in query_words(clause.text)
                                   for term in (*word.parts, word.joined)))
    clauses = clause.clauses if isinstance(clause, (All, Any)) else ()
    return tuple(dict.fromkeys(term for each in clauses for term in _terms(each)))[:MAX_TERMS]
