"""A dump becomes a catalog again: on an empty home, without network, all of it or nothing."""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, Iterator, Mapping

import sqlalchemy as sa

from registry import db, dump_file, lock
from registry.commits import Packed
from registry.config import Settings
from registry.dump import BATCH, PARTS, SHELF
from registry.errors import ConflictError, InvalidInputError, RegistryError
from registry.fingerprint import fingerprint
from registry.git_store import GitStore
from registry.home import IMPORTED, make
from registry.source import LOCAL

ASIDE = ".import-"
MAX_LINE = 16 << 20


def restore(settings: Settings, path: Path, *, public_key: str | None) -> dump_file.Manifest:
    """Bring a dump into the home of `settings`, which must have no source yet.

    Everything is checked and laid out aside first; one transaction then shows all of it. Raises
    InvalidInputError or ForbiddenError for a dump that is not sound, ConflictError where there is
    a catalog already or a server runs.
    """
    make(settings.home)
    with lock.held(settings, ""):
        _remove_leftovers(settings.home)
        engine = db.create_engine(settings.database_url)
        db.upgrade(engine)
        _refuse_if_not_empty(engine, settings)
        try:
            with tempfile.TemporaryDirectory(prefix=ASIDE, dir=settings.home) as name:
                return _take(engine, Path(name), path, settings, public_key)
        except OSError as error:
            raise RegistryError(f"{settings.home} cannot be written: {error.strerror}. Nothing was "
                                "imported.") from error
        finally:
            engine.dispose()


def _take(engine: sa.Engine, folder: Path, path: Path, settings: Settings,
          public_key: str | None) -> dump_file.Manifest:
    manifest = dump_file.unpack(path, folder, public_key=public_key)
    source_ids = _build_stores(folder)
    with _noted(settings.home / IMPORTED, manifest):
        _load(engine, folder, manifest, path, source_ids, settings)
    return manifest


@contextlib.contextmanager
def _noted(path: Path, manifest: dump_file.Manifest) -> Iterator[None]:
    """Keep the manifest, by which the home knows later where its sources came from."""
    path.write_bytes(manifest.as_bytes())
    try:
        yield
    except BaseException:
        path.unlink()
        raise


def _remove_leftovers(home: Path) -> None:
    """What an import that was killed left; the lock says that none runs now."""
    for old in home.glob(f"{ASIDE}*"):
        shutil.rmtree(old)


def _refuse_if_not_empty(engine: sa.Engine, settings: Settings) -> None:
    with engine.connect() as connection:
        count = connection.scalar(sa.select(sa.func.count()).select_from(db.sources))
    if count:
        raise ConflictError(
            f"The catalog of {settings.home} has {count} sources already, and an import goes into "
            "an empty one only. Set PAISHARE_HOME to a new folder (and PAISHARE_DATABASE_URL, if "
            "you use it, to an empty database), and import before the first `paishare serve`.")


def _build_stores(folder: Path) -> list[int]:
    """Each pack as a store of its own below `stores`; returns the numbers of their sources."""
    found = []
    for facts in sorted((folder / "git").glob("*.json")):
        packed = _packed(facts)
        try:
            with open(facts.with_suffix(".pack"), "rb") as pack:
                GitStore(folder / "stores" / f"{facts.stem}.git").take_pack(pack, packed)
        except (RegistryError, BufferError) as error:  # the latter: dulwich's mmap, cut off
            raise InvalidInputError(f"git/{facts.stem}.pack of the dump is no whole pack "
                                    f"({str(error)[:200]}). Nothing was imported.") from error
        found.append(int(facts.stem))
    return found


def _packed(facts: Path) -> Packed:
    try:
        values = json.loads(facts.read_bytes())
        return Packed(head=values["head"], shallow=tuple(values["shallow"]),
                      objects=values["objects"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"git/{facts.name} of the dump does not say what its pack holds. "
                                "Nothing was imported.") from error


def _load(engine: sa.Engine, folder: Path, manifest: dump_file.Manifest, path: Path,
          source_ids: list[int], settings: Settings) -> None:
    try:
        with engine.connect() as connection:
            for part in PARTS:
                _load_table(connection, part.table, folder)
            shelves = _place_shelves(connection, settings.home)
            if fingerprint(connection) != manifest.catalog_hash:
                raise InvalidInputError(
                    f"What {path} holds does not give the catalogue hash that it names, "
                    f"{manifest.catalog_hash[:16]}…. It was made by another version of PAIShare, "
                    "or is damaged. Nothing was imported.")
            _set_sequences(connection)
            with _in_place(folder / "stores", settings.git_dir, source_ids, shelves):
                connection.commit()
    except (sa.exc.IntegrityError, sa.exc.DataError) as error:
        raise InvalidInputError(f"{path} does not fit together ({str(error.orig)[:200]}). Nothing "
                                "was imported.") from error


def _load_table(connection: sa.Connection, table: sa.Table, folder: Path) -> None:
    batch: list[dict[str, Any]] = []
    for row in _rows(folder / "tables" / f"{table.name}.ndjson", table):
        batch.append(row)
        if len(batch) == BATCH:
            connection.execute(table.insert(), batch)
            batch = []
    if batch:
        connection.execute(table.insert(), batch)


def _rows(path: Path, table: sa.Table) -> Iterator[dict[str, Any]]:
    """The rows of one table; raises InvalidInputError naming the line that is none."""
    columns = {column.name: isinstance(column.type, sa.DateTime) for column in table.c}
    if not path.exists():
        raise InvalidInputError(f"The dump lacks the table {table.name}. Nothing was imported.")
    with open(path, "rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), start=1):
            try:
                row = dict(json.loads(line))
                unknown = sorted(set(row) - set(columns))
                if unknown:
                    raise ValueError(f"unknown column {unknown[0]}; a newer PAIShare wrote it")
                yield {name: datetime.fromisoformat(value) if columns[name] and value else value
                       for name, value in row.items()}
            except (ValueError, TypeError, RecursionError) as error:
                raise InvalidInputError(
                    f"Line {number} of tables/{table.name}.ndjson in the dump is no row: "
                    f"{str(error)[:200]}. Nothing was imported.") from error


def _place_shelves(connection: sa.Connection, home: Path) -> dict[int, Path]:
    """Shelves lie in the home, so they come along: where each goes, by the number of its source."""
    found = {}
    for row in connection.execute(sa.select(db.sources).where(
            db.sources.c.kind == LOCAL, ~db.sources.c.location.startswith("/"))).all():
        if not SHELF.fullmatch(row.location):
            raise InvalidInputError(f"The source {row.name} of the dump has no place that could be "
                                    f"in {home}: {row.location[:100]!r}. Nothing was imported.")
        if (home / row.location).exists():
            raise ConflictError(f"{home / row.location} is there already. Move it away, or import "
                                "into a new home. Nothing was imported.")
        found[row.id] = home / row.location
        connection.execute(db.sources.update().where(db.sources.c.id == row.id)
                           .values(location=str(home / row.location)))
    return found


def _set_sequences(connection: sa.Connection) -> None:
    """PostgreSQL counts on from where it was, not from the numbers that were given to it."""
    if connection.dialect.name == "postgresql":
        for part in PARTS:
            table = part.table
            connection.execute(sa.select(sa.func.setval(
                sa.func.pg_get_serial_sequence(table.name, "id"),
                sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0) + 1).scalar_subquery(),
                False)))


@contextlib.contextmanager
def _in_place(stores: Path, git_dir: Path, source_ids: list[int],
              shelves: Mapping[int, Path]) -> Iterator[None]:
    """Stores where they belong, and shelves begun again with all that was on them.

    They are taken away where what follows fails; after a kill, the next sync or import does that.
    """
    made: list[Path] = []
    try:
        git_dir.mkdir(exist_ok=True)
        for source_id in source_ids:
            store, target = stores / f"{source_id}.git", git_dir / f"{source_id}.git"
            if source_id in shelves:
                made.append(shelves[source_id])
                shutil.copytree(store, shelves[source_id])
            shutil.rmtree(target, ignore_errors=True)
            made.append(target)
            os.rename(store, target)
        yield
    except BaseException:
        for path in made:
            shutil.rmtree(path, ignore_errors=True)
        raise
