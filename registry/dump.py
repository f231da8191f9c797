"""The catalog that everybody sees as one signed file, to be had again elsewhere: its writing."""
from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Iterator, Mapping

import sqlalchemy as sa

from registry import dump_file
from registry.catalog import Catalog
from registry.db import (
    events,
    file_problems,
    marks,
    purges,
    runs,
    sources,
    uses,
    versions,
)
from registry.errors import NotFoundError, RegistryError
from registry.fingerprint import fingerprint
from registry.signing import SigningKey
from registry.source import LOCAL
from registry.visibility import IS_PUBLIC

log = logging.getLogger(__name__)
KEPT = 7
ASIDE = ".export-"
AGAIN_S = 3600.0
BATCH = 1000
EPOCH = datetime(1970, 1, 1)
SHELF = re.compile(r"shelves/[A-Za-z0-9][A-Za-z0-9._-]{0,80}\.git")
_DUMP = re.compile(r"paishare-\d{8}T\d{6}Z\.tar\.gz")


@dataclass(frozen=True, kw_only=True)
class Part:
    """What of a table a dump holds: all but `without`, in the order of `order`.

    Left out are users, what changes with every sync, numbers that nothing refers to, and whatever
    belongs to a source that not everybody may see.
    """

    table: sa.Table
    order: tuple[str, ...] = ("id",)
    without: frozenset[str] = frozenset()

    @property
    def is_public(self) -> sa.ColumnElement[bool]:
        """Which of the rows everybody may see."""
        public = sa.select(sources.c.id).where(IS_PUBLIC)
        if self.table is sources:
            return IS_PUBLIC
        if self.table is uses:
            return uses.c.version_id.in_(
                sa.select(versions.c.id).where(versions.c.source_id.in_(public)))
        return self.table.c.source_id.in_(public)


PARTS = (
    Part(table=sources, without=frozenset(
        {"owner_id", "synced_at", "sync_error", "sync_requested_at", "is_private", "sponsor_id",
         "upstream_head", "upstream_at", "checked_at", "upstream_state", "held_head", "held_count",
         "confirmed_head", "progress", "next_sync_at", "failures", "last_problems", "paused_at",
         "paused_by"})),
    Part(table=versions),
    Part(table=file_problems, order=("source_id", "path"), without=frozenset({"id"})),
    Part(table=marks, order=("source_id", "type", "name", "version", "kind"),
         without=frozenset({"id", "user_id"})),
    Part(table=purges, without=frozenset({"user_id"})),
    Part(table=events),
    Part(table=uses, order=("version_id", "kind", "target_type", "target", "target_source",
                            "target_version"), without=frozenset({"id"})),
    Part(table=runs, order=("job_id", "source_id", "type", "name"),
         without=frozenset({"id", "user_id"})),
)


@dataclass(frozen=True, kw_only=True)
class Dump:
    """One dump that lies in PAISHARE_HOME/dumps."""

    path: Path
    size: int
    made_at: datetime


class Dumps:
    """Writes dumps of one home and keeps the newest; safe beside a sync."""

    def __init__(self, engine: sa.Engine, catalog: Catalog, home: Path) -> None:
        self._engine = engine
        self._catalog = catalog
        self._home = home
        self._folder = home / "dumps"

    @property
    def public_key(self) -> str:
        return SigningKey.of_home(self._home).public

    def export(self, path: Path) -> dump_file.Manifest:
        """Write the catalog as it is now to `path`; raises RegistryError where that fails."""
        key = SigningKey.of_home(self._home)
        try:
            with tempfile.TemporaryDirectory(prefix=ASIDE, dir=path.parent) as name:
                folder = Path(name)
                manifest = self._gather(folder, key.public)
                dump_file.write(path, folder, manifest, key)
        except OSError as error:
            raise RegistryError(f"{path} cannot be written: {error.strerror}. Name a file in a "
                                "folder that you may write to and that has room.") from error
        return manifest

    def kept(self) -> list[Dump]:
        """The dumps that were made by the clock, newest first."""
        paths = [path for path in self._folder.glob("*.tar.gz") if _DUMP.fullmatch(path.name)]
        return [Dump(path=path, size=path.stat().st_size, made_at=_made_at(path))
                for path in sorted(paths, reverse=True)]

    def newest(self) -> Dump:
        """Raises NotFoundError where none was made yet."""
        found = self.kept()
        if not found:
            raise NotFoundError("There is no dump yet. The sync process makes one each day; "
                                "`paishare export FILE` makes one now.")
        return found[0]

    def is_due(self, interval_h: float, now: datetime) -> bool:
        """Whether the newest is older than that; `now` is in UTC, without a zone."""
        newest = next(iter(self.kept()), None)
        return newest is None or now - newest.made_at >= timedelta(hours=interval_h)

    def make(self, now: datetime) -> Dump:
        """Add one to those that are kept, and let go of the oldest."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._remove_leftovers()
        self.export(self._folder / f"paishare-{now:%Y%m%dT%H%M%SZ}.tar.gz")
        for old in self.kept()[KEPT:]:
            old.path.unlink()
        return self.newest()

    def _remove_leftovers(self) -> None:
        """What a killed process had not finished; only one process makes dumps by the clock."""
        for path in self._folder.glob(f"{ASIDE}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _gather(self, folder: Path, public_key: str) -> dump_file.Manifest:
        """All members as files, and what the manifest says of them."""
        names = []
        with snapshot(self._engine) as connection:
            (folder / "tables").mkdir()
            counts = {part.table.name: self._write_table(connection, part, folder)
                      for part in PARTS}
            names += [f"tables/{part.table.name}.ndjson" for part in PARTS]
            hash_ = fingerprint(connection, IS_PUBLIC)
            created = _newest_change(connection)
            gone = _purged(connection)
            source_ids = list(connection.scalars(sa.select(sources.c.id).where(
                IS_PUBLIC).order_by(sources.c.id)))
        (folder / "git").mkdir()
        for source_id in source_ids:
            names += self._pack(source_id, gone.get(source_id, frozenset()), folder)
        return dump_file.Manifest(
            created=f"{created.isoformat(timespec='seconds')}Z", catalog_hash=hash_,
            public_key=public_key, counts=counts, members=dump_file.measured(folder, names))

    def _write_table(self, connection: sa.Connection, part: Part, folder: Path) -> int:
        """One row a line; returns how many these are.

        A shelf, which lies in the home, is told by its place in there.
        """
        columns = [column for column in part.table.c if column.name not in part.without]
        query = sa.select(*columns).where(part.is_public).order_by(
            *(part.table.c[name] for name in part.order))
        count = 0
        with open(folder / "tables" / f"{part.table.name}.ndjson", "w", encoding="utf-8") as file:
            for row in connection.execution_options(yield_per=BATCH).execute(query):
                values = dict(row._mapping)
                if part.table is sources and values["kind"] == LOCAL:
                    within = values["location"].removeprefix(f"{self._home}/")
                    values["location"] = within if SHELF.fullmatch(within) else values["location"]
                file.write(_line(values))
                count += 1
        return count

    def _pack(self, source_id: int, gone: frozenset[str], folder: Path) -> list[str]:
        """The store of a source as two members; none where it was never synced."""
        pack, facts = f"git/{source_id}.pack", f"git/{source_id}.json"
        with open(folder / pack, "wb") as file:
            try:
                packed = self._catalog.store(source_id).write_pack(file.write, without=gone)
            except NotFoundError:
                return []
        (folder / facts).write_text(_line({
            "head": packed.head, "shallow": list(packed.shallow), "objects": packed.objects}))
        return [pack, facts]


class DumpClock:
    """Has a dump made every `interval_h` hours, beside the work of its process; 0: never."""

    def __init__(self, dumps: Dumps, interval_h: float) -> None:
        self._dumps = dumps
        self._interval_h = interval_h
        self._thread: threading.Thread | None = None
        self._not_before = 0.0

    def look(self) -> None:
        """Begin one if it is due; one that failed is tried again an hour later."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or not self._interval_h or time.monotonic() < self._not_before:
            return
        if self._dumps.is_due(self._interval_h, _now()):
            self._not_before = time.monotonic() + AGAIN_S
            self._thread = threading.Thread(target=self._make, name="dump", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Until the one that was begun is done."""
        if self._thread:
            self._thread.join()

    def _make(self) -> None:
        try:
            log.info("The catalog is dumped to %s.", self._dumps.make(_now()).path)
        except (RegistryError, OSError, sa.exc.SQLAlchemyError) as error:
            log.error("The nightly dump failed; the next try is in an hour: %s", error)


@contextlib.contextmanager
def snapshot(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection whose every read sees the same state, whatever a sync writes meanwhile."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        else:
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection
        connection.rollback()


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps({name: value.isoformat() if isinstance(value, datetime) else value
                       for name, value in values.items()}, sort_keys=True) + "\n"


def _newest_change(connection: sa.Connection) -> datetime:
    changes = {sources: "created_at", events: "at", marks: "created_at", purges: "created_at"}
    moments = [connection.scalar(sa.select(sa.func.max(part.table.c[changes[part.table]])).where(
        part.is_public)) for part in PARTS if part.table in changes]
    return max((moment for moment in moments if moment), default=EPOCH)


def _purged(connection: sa.Connection) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    for source_id, blob in connection.execute(sa.select(purges.c.source_id, purges.c.blob)):
        found[source_id] = found.get(source_id, frozenset()) | {blob}
    return found


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _made_at(path: Path) -> datetime:
    return datetime.strptime(path.name.split("-")[1].split(".")[0], "%Y%m%dT%H%M%SZ")
