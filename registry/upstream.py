"""What a repository on GitHub has beyond its store: found out, and brought here over Git."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Callable, Collection, Iterable, Iterator, Sequence

import requests

from registry.commits import Fetched, Small
from registry.config import Secret
from registry.git_store import GitStore
from registry.git_wire import Refs, TooMuchError, WireError
from registry.journal import Cursor, Journal
from registry.pack_check import Limits
from registry.read_ahead import LEAST, ReadAhead
from registry.reader import Reader
from registry.remote import Patience, Remote
from registry.source import MAX_USED_BYTES, Source, folders
from registry.yaml_nodes import MAX_BYTES
from runner.sentence import Sentence

BATCH = 2_000
MAX_HAVES = 64
MAX_EXCHANGES = 300
MAX_STORE_BYTES = 2 << 30
MAX_PACK_BYTES = 512 << 20
HISTORY = Limits(objects=4_000_000, blob_bytes=MAX_BYTES, unpacked_bytes=16 << 30)
FILES = Limits(objects=BATCH, blob_bytes=MAX_BYTES, unpacked_bytes=2 << 30, tree_bytes=0)
USED = Limits(objects=BATCH, blob_bytes=MAX_USED_BYTES, unpacked_bytes=1 << 30, tree_bytes=0)
NO_BLOBS = "blob:none"
Place = tuple[str, str]  # path and blob
Tell = Callable[[str, int, int], None]  # a stage, how much of it is done, and of how much


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a repository is reached: at which server, under which name, with whose token."""

    session: requests.Session
    url: str
    name: str
    token: Secret | None
    give_up_at: float

    def remote(self, room_bytes: int = MAX_PACK_BYTES) -> Remote:
        return Remote(self.session, self.url, self.name, self.token, Patience(
            give_up_at=self.give_up_at, pack_bytes=max(0, min(room_bytes, MAX_PACK_BYTES))))


class Upstream:
    """One source's repository and its store. Raises RemoteError, WireError and RegistryError."""

    def __init__(self, source: Source, store: GitStore, tell: Tell) -> None:
        self._source = source
        self._store = store
        self._tell = tell
        self._exchanges = 0
        self._small: Small = {}

    def refs(self, way: Way) -> Refs:
        """Where the branch is now, and the tags: one exchange of a few hundred bytes."""
        return way.remote().refs(self._source.branch, self._source.tag_prefix)

    def bring_history(self, way: Way, refs: Refs) -> bool:
        """Have all commits and folders of the branch here; whether it only grew."""
        assert refs.head is not None, "there is a branch"
        before = self._store.head()
        missing = self._store.lacks({refs.head, *refs.tags.values()})
        if missing:
            self._take(way, sorted(missing), self._store.line(MAX_HAVES), HISTORY, NO_BLOBS)
        return before in (None, refs.head) or self._grew(before or "", refs.head)

    def _grew(self, before: str, head: str) -> bool:
        """Whether one of the commits that are new goes on from where the branch was."""
        cursor = self._cursor()
        with self._store.reading() as files:
            new = files.new_commits(head, cursor.known if cursor else ())
        return any(before in commit.parents for commit in new)

    def _cursor(self) -> Cursor | None:
        return Journal(self._store.path).cursor(self._source.head, self._store.shallow())

    def bring_content(self, way: Way, refs: Refs, without: Collection[str]) -> Fetched:
        """Have every file here that a replay may read but those `without`; then it may begin."""
        fetched = Fetched(head=refs.head, tags=self._commits_of(refs), small=self._small)
        with contextlib.ExitStack() as ends:
            places = self._wanted(ends.enter_context(self._store.reading(fetched)), fetched)
            first, ahead, done = [*islice(places, LEAST)], None, 0
            if len(first) == LEAST:  # the process may begin while the others are found out
                ahead = ends.enter_context(contextlib.closing(
                    ReadAhead(self._store.path, self._small)))
            places = chain(first, places)
            while batch := [*islice(places, BATCH)]:
                self._tell("files", done, done + len(batch))
                missing = self._store.lacks(blob for _, blob in batch) - set(without)
                self._take_files(way, [*dict.fromkeys(
                    blob for _, blob in batch if blob in missing)], FILES)
                if ahead:
                    ahead.ask(batch)
                done += len(batch)
        self._store.point(refs.head or "", fetched.tags)
        return replace(fetched, ahead=ahead.take) if ahead else fetched

    def bring_used(self, way: Way, ids: Collection[str]) -> None:
        """Have the files here that jobs take from the repository, but those that are too large."""
        wanted = sorted(ids)
        for start in range(0, len(wanted), BATCH):
            self._tell("files", start, len(wanted))
            self._take_files(way, wanted[start:start + BATCH], USED)

    def _commits_of(self, refs: Refs) -> dict[str, str]:
        """The tags that name commits; one may name a folder or a file."""
        with self._store.reading() as files:
            return {name: id for name, id in refs.tags.items() if files.is_commit(id)}

    def _wanted(self, files: Reader, fetched: Fetched) -> Iterator[Place]:
        """The files that a replay may read, in its order: what new commits brought, and tags name.
        """
        cursor = self._cursor()
        reads = [] if cursor else Journal(self._store.path).reads()
        prefixes = folders("", self._source.sub_paths)
        known = set(cursor.known if cursor else ())
        met: set[Place] = set()
        for head in [*(read.head for read in reads), fetched.head or ""]:
            new = files.new_commits(head, known)
            yield from _unmet(files.read_files(new, prefixes), met)
            known |= {commit.id for commit in new}
        for commit in sorted(set(fetched.tags.values()) - known):
            yield from _unmet(files.all_read_files(commit, prefixes), met)

    def _take_files(self, way: Way, ids: Sequence[str], limits: Limits) -> None:
        """All of these, but those that are too large: they show when they come alone."""
        try:
            if ids:
                self._take(way, ids, (), limits, None)
        except TooMuchError:
            if len(ids) > 1:
                for half in _halves(ids):
                    self._take_files(way, half, limits)

    def _take(self, way: Way, wants: Sequence[str], haves: Sequence[str], limits: Limits,
              filter: str | None) -> None:
        """One exchange; the pack is taken in whole or not at all."""
        self._exchanges += 1
        room = MAX_STORE_BYTES - self._store.size_bytes()
        if room <= 0 or self._exchanges > MAX_EXCHANGES:
            raise WireError(Sentence(
                "{name} is larger than what is kept of one repository: {most} MiB, in at most "
                "{requests} requests. Move large files out of the folders of components, or add a "
                "smaller repository.", name=way.name,
                most=MAX_STORE_BYTES >> 20, requests=MAX_EXCHANGES))
        told = self._told if filter else None
        taken = way.remote(room).pack(wants, haves, lambda chunks: self._store.take(
            chunks, limits, small=self._small, told=told), filter=filter)
        if {*map(bytes.fromhex, wants)}.difference(taken):
            raise WireError(Sentence(
                "GitHub left out of {name} what it had told of. It is asked again later.",
                name=way.name))

    def _told(self, done: int, total: int) -> None:
        self._tell("history", done, total)


def _unmet(places: Iterable[Place], met: set[Place]) -> Iterator[Place]:
    """Those that were not met yet, which they are then."""
    for place in places:
        if place not in met:
            met.add(place)
            yield place


def _halves(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    middle = len(ids) // 2
    yield ids[:middle]
    yield ids[middle:]
