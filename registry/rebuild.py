"""The catalog made anew from the stores alone, in a database aside, to compare the live one."""
from __future__ import annotations

import tempfile
from pathlib import Path

import sqlalchemy as sa

from registry import db
from registry.catalog import Catalog
from registry.db import marks, purges, sources
from registry.fingerprint import fingerprint
from registry.ledger import Ledger
from registry.replay import Replay
from registry.sources import Sources


class Fingerprints:
    """What `paishare catalog hash` prints."""

    def __init__(self, engine: sa.Engine, catalog: Catalog) -> None:
        self._engine = engine
        self._catalog = catalog

    def live(self) -> str:
        """The fingerprint of the catalog as it is."""
        with self._engine.connect() as connection:
            return fingerprint(connection)

    def rebuilt(self) -> str:
        """That of a catalog made anew; it takes over the settings: sources, marks and purges."""
        with tempfile.TemporaryDirectory(prefix="paishare-") as folder:
            aside = db.create_engine(f"sqlite:///{Path(folder).resolve()}/registry.db")
            db.upgrade(aside)
            _copy_settings(self._engine, aside)
            ledger = Ledger(aside)
            for source in sorted(Sources(self._engine).all(), key=lambda source: -source.id):
                Replay(source, self._catalog.store(source.id), ledger).repeat()
            with aside.connect() as connection:
                found = fingerprint(connection)
            aside.dispose()
        return found


def _copy_settings(engine: sa.Engine, aside: sa.Engine) -> None:
    """Sources as if they had never been synced, and what people said about their versions."""
    with engine.connect() as connection, aside.begin() as copy:
        rows = [dict(row._mapping) for row in connection.execute(sa.select(sources))]
        for row in rows:
            copy.execute(sources.insert().values(
                {**row, "owner_id": None, "sponsor_id": None, "paused_by": None, "head": None}))
        for table in (marks, purges):
            for found in connection.execute(sa.select(table)):
                copy.execute(table.insert().values({**found._mapping, "user_id": None}))
