"""Brings the catalog to the head of every source, and the index to the catalog."""
from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from typing import Collection, Sequence

import sqlalchemy as sa

from registry import db, lock, memory, quiet_logs
from registry.catalog import Catalog
from registry.commits import Fetched
from registry.config import Settings
from registry.dump import DumpClock, Dumps
from registry.errors import DatabaseUnavailableError, NotFoundError, RegistryError
from registry.git_store import GitStore
from registry.github_sync import GitHubSync
from registry.ledger import Ledger
from registry.outbox import Outbox
from registry.replay import Replay
from registry.search import SearchIndex
from registry.source import (
    GITHUB,
    LOCAL,
    FolderFile,
    Source,
    find_place,
    folder_files,
    in_folder_of_type,
)
from registry.sources import Sources
from registry.sync_report import SyncReport
from runner.sentence import Sentence

log = logging.getLogger(__name__)
POLL_S = 0.5
AWAY_S = 2.0  # between two looks for a database that is away
SETTLED_NS = 2_000_000_000


class Sync:
    """The only writer of versions, stores and the index; run it in one process at a time."""

    def __init__(self, engine: sa.Engine, catalog: Catalog, index: SearchIndex,
                 github: GitHubSync | None = None) -> None:
        """`github` None: sources on GitHub are left as they are."""
        self._catalog = catalog
        self._github = github
        self._sources = Sources(engine)
        self._ledger = Ledger(engine)
        self._outbox = Outbox(engine, index)
        self._index = index
        self._seen: dict[int, tuple[FolderFile, ...]] = {}

    def run_once(self, names: Collection[str] | None = None) -> list[SyncReport]:
        """Sync the named sources, None: all of them, then the index. Nothing of a source raises."""
        sources = self._sources.all()
        chosen = [each for each in sources if not each.paused_at and (
            names is None or each.name in names)]
        reports = [self._sync(source) for source in chosen if source.kind == LOCAL]
        if self._github:
            reports += self._github.run(source for source in chosen if source.kind == GITHUB)
        self._finish(sources)
        return reports

    def step(self, is_turn: bool) -> None:
        """Do what there is to do now, and wait for nobody; `is_turn`: of the local sources.

        That is also to take out what was removed, and to mend a deleted index.
        """
        wanted = set(self._sources.requested())
        due = self._github.due() if self._github else set()
        sources = self._sources.all() if is_turn or wanted or due else []
        chosen = [each for each in sources if each.kind == LOCAL and not each.paused_at and (
            is_turn or each.name in wanted)]
        for source in chosen:
            self._sync(source)
        is_news = bool(chosen)
        if self._github:
            is_news |= self._github.step(each for each in sources if each.name in due)
        if is_news or is_turn or not (self._outbox.is_empty() and self._index.is_sound()):
            self._finish(sources or self._sources.all())

    def _finish(self, sources: Sequence[Source]) -> None:
        running = self._github.running if self._github else set()
        self._catalog.remove_stores_but({source.id for source in sources} | running)
        self.index()

    def index(self) -> None:
        """Bring the index to the catalog; make it anew where it is missing or not whole."""
        if self._index.is_sound() and self._index.count() is not None:
            self._outbox.drain()
        if not self._index.is_sound() or not self._outbox.is_index_whole():
            log.info("The search index is missing, damaged or of an older form; making it anew."
                     if self._index.path.exists() else "Making the search index.")
            log.info("The search index holds %d components.", self._outbox.rebuild())

    def _sync(self, source: Source) -> SyncReport:
        try:
            report = self._take(source)
        except (RegistryError, OSError) as error:
            return self._failed(source, str(error))
        except Exception as error:
            log.exception("The sync of %s failed.", source.name)
            return self._failed(source, Sentence(
                "The sync failed unexpectedly ({kind}). The log of the sync process says more.",
                kind=type(error).__name__))
        if report.new or report.removed or report.head != source.head:
            log.info("%s", report)
        return report

    def _failed(self, source: Source, reason: str) -> SyncReport:
        report = SyncReport(source=source.name, head=source.head, error=reason)
        if reason != source.sync_error:
            log.warning("%s", report)
        with contextlib.suppress(NotFoundError):
            self._ledger.fail(source, reason)
        return report

    def _take(self, source: Source) -> SyncReport:
        """Fetch, and record what is new."""
        store = self._catalog.store(source.id)
        replay = Replay(source, store, self._ledger)
        replay.forget()
        fetched = self._fetch(source, store, self._ledger.purged(source.id))
        if fetched.head is None or replay.is_current(fetched):
            self._ledger.touch(source)
            return SyncReport(source=source.name, head=fetched.head, problems=source.problems)
        done = replay.follow(fetched)
        return SyncReport(source=source.name, head=fetched.head, new=done.written.new,
                          removed=done.written.removed, problems=done.problems)

    def _fetch(self, source: Source, store: GitStore, purged: Collection[str]) -> Fetched:
        """From the repository; where that does not track the folder, a snapshot of the folder."""
        place = find_place(source.location)
        if place.repository:
            fetched = store.fetch(place.repository, place.prefix, source.tag_prefix,
                                  without=purged)
            if fetched:
                return fetched
        home = store.path.parent.parent.resolve()  # a folder above it would change with each sync
        base, files = in_folder_of_type(place.folder, folder_files(place.folder, without=home))
        if source.head and self._seen.get(source.id) == files:
            return Fetched(head=source.head)
        before_ns = time.time_ns()
        head = store.snapshot(base, files, without=purged)
        if max((file.changed_ns for file in files), default=0) < before_ns - SETTLED_NS:
            self._seen[source.id] = files
        return Fetched(head=head)


def main(settings: Settings) -> None:
    """Sync until SIGTERM or SIGINT: every `sync_interval_s`, and at once where it is asked for."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    quiet_logs.keep_tokens_out()
    memory.prepare()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    engine = db.create_engine(settings.database_url)
    catalog = Catalog(engine, settings.git_dir)
    sync = Sync(engine, catalog, SearchIndex(settings.search_dir),
                GitHubSync(engine, catalog, settings))
    with lock.alone(settings.home / lock.SYNC, stop):
        log.info("Syncing every %g s.", settings.sync_interval_s)
        _loop(sync, DumpClock(Dumps(engine, catalog, settings.home), settings.dump_interval_h),
              settings.sync_interval_s, stop)
    engine.dispose()


def _loop(sync: Sync, clock: DumpClock, interval_s: float, stop: threading.Event) -> None:
    due = 0.0
    while not stop.is_set():
        try:
            is_turn = time.monotonic() >= due
            if is_turn:
                due = time.monotonic() + interval_s
            sync.step(is_turn)
            if is_turn:
                clock.look()
        except DatabaseUnavailableError as error:
            log.error("%s (%s)", error, error.__cause__)
            stop.wait(AWAY_S)
        except Exception:
            log.exception("A round of syncs failed; the next one tries again.")
        stop.wait(POLL_S)
