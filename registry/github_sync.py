"""Brings the catalog to what repositories on GitHub hold: looks in threads, writes in turn."""
from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import replace
from datetime import timedelta
from typing import Iterable

import requests
import sqlalchemy as sa

from registry import source_words
from registry.catalog import Catalog
from registry.config import Secret, Settings
from registry.errors import NotFoundError, RegistryError
from registry.fetches import Fetches, Looked
from registry.github_accounts import GitHubAccounts
from registry.github_api import GitHubApi
from registry.github_records import RepositoryInfo
from registry.ledger import Ledger
from registry.look import Looker, Sight
from registry.redaction import redacted
from registry.replay import Replay
from registry.source import Source
from registry.source_words import GONE, REPLACED
from registry.sync_report import SyncReport
from registry.upstream import Tell
from registry.upstream_rows import MOST_PAUSE, UpstreamRows
from runner.sentence import Sentence

log = logging.getLogger(__name__)
TELL_S = 1.0


class GitHubSync:
    """Syncs sources on GitHub; only the sync process has one."""

    def __init__(self, engine: sa.Engine, catalog: Catalog, settings: Settings) -> None:
        self._catalog = catalog
        self._ledger = Ledger(engine)
        self._rows = UpstreamRows(engine)
        self._pause = timedelta(seconds=settings.sync_interval_s)
        self._looker = Looker(settings.github_url, _Access(engine, settings), self._rows)
        self._fetches = Fetches()
        self._complete: dict[int, str | None] = {}  # at which head all files were here

    @property
    def running(self) -> set[int]:
        """The sources that are being looked at."""
        return self._fetches.running

    def run(self, sources: Iterable[Source]) -> list[SyncReport]:
        """Sync these and wait for it."""
        for source in sources:
            self._start(source)
        reports: list[SyncReport] = []
        while self.running:
            reports += filter(None, map(self._finish, self._fetches.finished(None)))
        return reports

    def due(self) -> set[str]:
        """The names of the sources whose turn it is."""
        return self._rows.due()

    def step(self, due: Iterable[Source]) -> bool:
        """Begin with those whose turn it is, and write down what is here; whether any was."""
        for source in due:
            self._start(source)
        looked = self._fetches.finished(0)
        for each in looked:
            self._finish(each)
        return bool(looked)

    def _start(self, source: Source) -> None:
        if source.id in self.running:
            return
        store = self._catalog.store(source.id)
        try:
            store.make()  # here, where nobody clears away what is half made
            Replay(source, store, self._ledger).forget()
        except (RegistryError, OSError) as error:
            self._failed(source, str(error), error)
        else:
            self._fetches.start(source, self._look)

    def _look(self, session: requests.Session, source: Source) -> Sight:
        return self._looker.look(session, source, self._catalog.store(source.id),
                                 self._ledger.purged(source.id), self._teller(source))

    def _bring_used(self, session: requests.Session, source: Source) -> None:
        self._looker.bring_used(session, source, self._catalog.store(source.id),
                                self._ledger.purged(source.id), self._teller(source))
        self._complete[source.id] = source.head

    def _teller(self, source: Source) -> Tell:
        """Writes progress down, once a second at most."""
        told = 0.0

        def tell(stage: str, done: int, total: int) -> None:
            nonlocal told
            if time.monotonic() - told >= TELL_S:
                self._rows.tell(source.id, stage, done, total)
                told = time.monotonic()
        return tell

    # --- what was seen --------------------------------------------------------------------------

    def _finish(self, looked: Looked) -> SyncReport | None:
        source, sight = looked.source, looked.sight
        try:
            if looked.error:
                raise looked.error
            if sight is None:
                self._rows.idle(source.id)
                return None
            report = self._take(sight)
        except (RegistryError, OSError) as error:
            return self._failed(source, str(error), error)
        except Exception as error:
            log.error("The sync of %s failed.", source.name, exc_info=error)
            return self._failed(source, Sentence(
                "The sync failed unexpectedly ({kind}). The log of the sync process says more.",
                kind=type(error).__name__), error)
        if report.new or report.removed or report.error:
            log.info("%s", report)
        if report.error is None:
            self._complete_files(sight)
        return report

    def _complete_files(self, sight: Sight) -> None:
        """What jobs take from the repository comes last, when all can be found already."""
        head = sight.fetched.head if sight.fetched else None
        if self._complete.get(sight.source.id) != head:
            self._fetches.start(replace(sight.source, head=head), self._bring_used)

    def _take(self, sight: Sight) -> SyncReport:
        """Record what is new; what would take away much waits."""
        source, fetched = sight.source, sight.fetched
        if fetched and fetched.head not in (None, source.confirmed_head) and \
                fetched.head == source.held_head:
            return self._hold(sight, source.held_count)
        if sight.state in (GONE, REPLACED):
            self._rows.keep_problems(source.id)
        replay = Replay(source, self._catalog.store(source.id), self._ledger)
        done = None
        if fetched and not replay.is_current(fetched):
            self._rows.tell(source.id, "record", 0, 1)
            done = replay.follow(fetched)
        if done and done.held:
            return self._hold(sight, done.held)
        self._rows.found(source, sight.head, sight.state, self._pause_at(sight.state),
                         sight.branch)
        self._rows.let_go(source)
        if done is None:
            self._ledger.touch(source)
        if sight.problem:
            self._ledger.fail(source, sight.problem)
        return SyncReport(source=source.name, head=sight.head, error=sight.problem,
                          new=done.written.new if done else (),
                          removed=done.written.removed if done else (),
                          problems=done.problems if done else source.problems)

    def _hold(self, sight: Sight, count: int) -> SyncReport:
        assert sight.fetched and sight.fetched.head, "a head is held"
        source = sight.source
        self._rows.hold(source, sight.fetched.head, count)
        self._rows.found(source, sight.head, sight.state, self._pause_at(sight.state))
        reason = source_words.held(count, shown=source.head, newest=sight.head)
        reason = f"{sight.problem} {reason}" if sight.problem else reason
        self._ledger.fail(source, reason)
        return SyncReport(source=source.name, head=source.head, error=reason)

    def _pause_at(self, state: str) -> timedelta:
        """What is gone is asked for by REST, so more rarely."""
        return MOST_PAUSE if state in (GONE, REPLACED) else self._pause

    def _failed(self, source: Source, reason: str, error: Exception) -> SyncReport:
        reason = redacted(reason)
        report = SyncReport(source=source.name, head=source.head, error=reason)
        if reason != source.sync_error:
            log.warning("%s", report)
        with contextlib.suppress(NotFoundError):
            self._ledger.fail(source, reason)
        self._rows.failed(source, getattr(error, "state", None), getattr(error, "wait_s", None))
        return report


class _Access:
    """GitHub as the sponsors of sources see it, within what is left to background requests."""

    def __init__(self, engine: sa.Engine, settings: Settings) -> None:
        self._settings = settings
        self._accounts = GitHubAccounts(engine, settings)

    def token_of(self, user_id: int) -> Secret | None:
        return self._accounts.token_of(user_id)

    def repository(self, key: int | str, user_id: int | None) -> RepositoryInfo:
        if user_id is None:
            with GitHubApi(self._settings, None) as api:
                return api.repository(key)
        with self._accounts.asking(user_id, is_background=True) as api:
            return api.repository(key)
