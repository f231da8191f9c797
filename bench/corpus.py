"""A catalog with made-up or real components in it, and its search index."""
from __future__ import annotations

import hashlib
import tempfile
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Iterable, Iterator

import sqlalchemy as sa

from bench.components import Made
from registry import db
from registry.component import parse
from registry.outbox import Outbox
from registry.search import SearchIndex
from registry.source import LOCAL

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "marketplace"
OPENPAI = ROOT.parent / "shared" / "data" / "openpai" / "marketplace"
BATCH = 5000
Row = dict[str, Any]


@contextmanager
def filled(*sources: Iterable[Row]) -> Iterator[tuple[sa.Engine, SearchIndex]]:
    """A catalog with one source for each of `sources`, and its index, in a folder for now."""
    with tempfile.TemporaryDirectory() as folder:
        engine = db.create_engine(f"sqlite:///{folder}/registry.db")
        db.upgrade(engine)
        for number, rows in enumerate(sources, 1):
            fill(engine, f"source{number}", rows)
        index = SearchIndex(Path(folder) / "search")
        Outbox(engine, index).rebuild()
        yield engine, index
        engine.dispose()


def fill(engine: sa.Engine, name: str, rows: Iterable[Row], *, kind: str = LOCAL) -> None:
    """Add a source with these versions, without a Git repository behind it."""
    with engine.begin() as connection:
        source_id = connection.execute(db.sources.insert().values(
            name=name, kind=kind, location=f"/nowhere/{name}", commits=1,
            created_at=datetime(2024, 1, 1))).inserted_primary_key[0]
        waiting = iter(rows)
        while batch := [{**row, "source_id": source_id} for row in islice(waiting, BATCH)]:
            connection.execute(db.versions.insert(), batch)


def made_rows(made_ones: Iterable[Made]) -> Iterator[Row]:
    for made in made_ones:
        for number in range(made.versions):
            yield _row(
                made.path, made.text(number), type=made.type, name=made.name,
                version=f"1.{number}.0", contributor=made.contributor,
                description=made.description, readme=made.readme, position=number,
                committed_at=made.updated, is_latest=number == made.versions - 1)


def real_rows(*folders: Path) -> Iterator[Row]:
    """The components of these folders; a folder that is not there has none."""
    for folder in folders:
        for path in sorted(folder.glob("*/*.yaml")):
            component = parse(path.read_bytes())
            yield _row(
                str(path.relative_to(folder)), component.text, type=component.type,
                name=component.name, version=component.version,
                contributor=component.contributor, description=component.description, readme="",
                position=0, committed_at=datetime(2026, 1, 1), is_latest=True)


def _row(path: str, text: str, **values: Any) -> Row:
    digest = hashlib.sha1(text.encode()).hexdigest()
    return {"path": path, "text": text, "blob": digest, "commit": digest, "warnings": [],
            "is_present": True, **values}
