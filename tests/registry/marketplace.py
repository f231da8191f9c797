"""A registry without its pages: database, catalog, sync and index below one folder."""
from __future__ import annotations

from pathlib import Path

from registry import db
from registry.catalog import Catalog
from registry.search import SearchIndex
from registry.source import Source
from registry.sources import Sources
from registry.sync import Sync, SyncReport


class Marketplace:
    def __init__(self, home: Path, database_url: str | None = None) -> None:
        """`database_url` None: SQLite in `home`."""
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.engine = db.create_engine(database_url or f"sqlite:///{home}/registry.db")
        db.upgrade(self.engine)
        self.catalog = Catalog(self.engine, home / "git")
        self.sources = Sources(self.engine)
        self.index = SearchIndex(home / "search")
        self.restart()

    def restart(self) -> None:
        """As a new process would begin."""
        self.sync = Sync(self.engine, self.catalog, SearchIndex(self.home / "search"))

    def add(self, location: Path, name: str | None = None) -> Source:
        return self.sources.add_folder(str(location), name=name, owner_id=None)

    def run(self) -> SyncReport:
        """Sync the only source, which must go well."""
        report, = self.sync.run_once()
        assert report.error is None, report.error
        return report

    def versions(self, reference: str) -> list[str]:
        type, _, name = reference.partition("/")
        return [entry.version for entry in self.catalog.versions(type, name)]

    def names(self, query: str = "", **how: object) -> list[str]:
        """What a search finds, as `type/name`."""
        return [f"{hit.type}/{hit.name}" for hit in self.index.search(query, **how).hits]

    def rows(self) -> list[tuple]:
        """All versions and problems, without what differs from run to run."""
        known = [(entry.source, entry.type, entry.name, entry.version, entry.commit, entry.path,
                  entry.blob, entry.files_commit, entry.text, entry.is_latest, entry.is_present)
                 for source in self.sources.visible()
                 for entry in self.catalog._entries(None, db.versions.c.source_id == source.id)]
        return sorted(known) + [(problem.path, problem.commit, problem.problems)
                                for source in self.sources.visible()
                                for problem in self.sources.problems(source.id)]

    def close(self) -> None:
        self.engine.dispose()


def data(name: str, version: str = "1.0.0", **fields: str) -> str:
    """A valid data component; empty fields are left out."""
    values = {"name": name, "type": "data", "version": version, "contributor": "ann",
              "description": f"About {name}.", "uri": "https://example.org/x", **fields}
    return "".join(f"{key}: {value}\n" for key, value in values.items() if value)


def image(name: str, version: str = "1.0.0", **fields: str) -> str:
    return data(name, version, **{"type": "dockerimage", "uri": f"openpai/{name}", **fields})
