"""A registry without its pages whose sources are on the stand-in for GitHub."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from registry import db
from registry.config import Secret, Settings
from registry.github_accounts import GitHubAccounts
from registry.github_sync import GitHubSync
from registry.search import SearchIndex
from registry.source import GITHUB, Source
from registry.sync import Sync
from registry.visibility import Audiences
from tests.fakes.github.records import Repository, Token
from tests.fakes.github.server import GitHubServer
from tests.registry.marketplace import Marketplace


class GitHubMarket(Marketplace):
    def __init__(self, home: Path, github: GitHubServer, database_url: str | None = None) -> None:
        self.github = github
        self.settings = Settings(
            home=home, database_url=database_url or f"sqlite:///{home}/registry.db",
            runner_url="unix:/nowhere", github_url=github.url, github_api_url=github.api_url)
        super().__init__(home, database_url)

    def restart(self) -> None:
        self.index = SearchIndex(self.home / "search", audiences=Audiences(self.engine).of)
        self.sync = Sync(self.engine, self.catalog, SearchIndex(self.home / "search"),
                         GitHubSync(self.engine, self.catalog, self.settings))

    def connect(self, token: Token) -> int:
        """A user of this server with this token; returns the user's number."""
        with self.engine.begin() as connection:
            user_id, = connection.execute(db.users.insert().values(
                name=token.user.login, password_hash="-", is_admin=False, session_epoch=0,
                created_at=_now())).inserted_primary_key
        GitHubAccounts(self.engine, self.settings).connect(
            user_id, Secret(token.value))
        return user_id

    def add_repository(self, repository: Repository, **values: Any) -> Source:
        row = {"name": repository.full_name, "kind": GITHUB, "location": repository.full_name,
               "repo_id": repository.id, "is_private": repository.is_private, "commits": 0,
               "created_at": _now(), "sync_requested_at": _now(), **values}
        with self.engine.begin() as connection:
            connection.execute(db.sources.insert().values(row))
        self.github.world.seen.clear()
        return self.source(repository.full_name)

    def source(self, name: str) -> Source:
        found, = (each for each in self.sources.all() if each.name == name)
        return found

    def set(self, source: Source, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(db.sources.update().where(
                db.sources.c.id == source.id).values(values))

    def report(self) -> Any:
        """Sync the only source, however it goes."""
        report, = self.sync.run_once()
        return report

    def present(self) -> list[str]:
        """The versions whose component its source still has."""
        with self.engine.connect() as connection:
            return [f"{row.name}@{row.version}" for row in connection.execute(sa.select(
                db.versions.c.name, db.versions.c.version).where(
                    db.versions.c.is_present).order_by(db.versions.c.name, db.versions.c.id))]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
