"""The web application whose GitHub is the stand-in: a part of a test's own class of sites."""
from __future__ import annotations

from typing import Any

from registry import db
from registry.catalog import Catalog
from registry.config import Settings
from registry.github_sync import GitHubSync
from registry.search import SearchIndex
from registry.sources import Source
from registry.sync import Sync
from tests.fakes.github.records import Token
from tests.fakes.web_home import Browser, WebHome


class OnGitHub(WebHome):
    """PAISHARE_GITHUB_URL must name the stand-in in the environment when it is made."""

    def sync(self) -> None:
        """Look at every source once."""
        found = Settings.from_environ({
            **self.environ, "PAISHARE_GITHUB_URL": self.services.repositories.host})
        engine = db.create_engine(found.database_url)
        catalog = Catalog(engine, found.git_dir)
        Sync(engine, catalog, SearchIndex(found.search_dir),
             GitHubSync(engine, catalog, found)).run_once()
        engine.dispose()

    def source(self, name: str = "octo/parts") -> Source:
        """Whoever may see it."""
        found, = (each for each in self.services.sources.all() if each.name == name)
        return found

    def set(self, name: str, **values: Any) -> None:
        """Bring a source into a state that takes long to come about."""
        with self.engine.begin() as connection:
            connection.execute(db.sources.update().where(
                db.sources.c.name == name).values(values))

    def connected(self, user: str, token: Token) -> Browser:
        """A browser of this user, who has connected GitHub."""
        browser = self.browser(user)
        assert browser.post("/settings/github", token=token.value).status_code == 303
        return browser
