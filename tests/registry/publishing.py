"""A registry's part that publishes, with a virtual clock, before the stand-in for GitHub."""
import shutil
import threading

import pytest

from registry import db
from registry.accounts import Accounts
from registry.catalog import Catalog
from registry.config import Secret, Settings
from registry.github_accounts import GitHubAccounts
from registry.github_sync import GitHubSync
from registry.preview import Drafts, Wanted
from registry.publication import WORKING
from registry.publications import Publications
from registry.publish import Publisher
from registry.search import SearchIndex
from registry.sources import NewRepository, Sources
from registry.sync import Sync

OLD = """\
type: script
name: tidy
version: 1.0.0
contributor: Ann
description: Puts things in order.
uri: https://example.org/tidy.py
"""
NEW = OLD.replace("1.0.0", "1.1.0").replace("tidy.py", "tidier.py")
PATH = "script/tidy.yaml"


def make_home(settings):
    """A home with an empty database that knows Bob."""
    settings.home.mkdir()
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    Accounts(engine).create_user("bob", "correct horse")
    engine.dispose()


@pytest.fixture(scope="session")
def desk_home(tmp_path_factory):
    """Made once, and copied for each test."""
    home = tmp_path_factory.mktemp("desk") / "home"
    make_home(Settings.from_environ({"PAISHARE_HOME": str(home)}))
    return home


class Desk:
    """Bob, who publishes into Ann's repository; `now` is the clock of the stand-in."""

    def __init__(self, github, folder, *, template=None, database_url=""):
        """`template` is a home with Bob in its database, of which this one is a copy."""
        self.github, self.world = github, github.world
        self.ann, self.bob = self.world.add_user("ann"), self.world.add_user("bob")
        self.upstream = self.world.create(self.ann, "components", {PATH: OLD, "README.md": "# A\n"})
        self.settings = Settings.from_environ({
            "PAISHARE_HOME": str(folder), "PAISHARE_GITHUB_URL": github.url,
            "PAISHARE_DATABASE_URL": database_url})
        if template:
            shutil.copytree(template, folder)
        else:
            make_home(self.settings)
        self.engine = db.create_engine(self.settings.database_url)
        self.user = Accounts(self.engine).user_named("bob")
        self.accounts = GitHubAccounts(self.engine, self.settings, now=self.now)
        self.publications = Publications(self.engine, self.now)
        self.catalog, self.sources = (Catalog(self.engine, self.settings.git_dir),
                                      Sources(self.engine))
        self.drafts = Drafts(self.publications, self.catalog, self.sources, self.accounts,
                             self.settings.github_url)
        self.publisher = self.new_publisher()

    def new_publisher(self, **options):
        return Publisher(self.publications, self.accounts, self.settings.github_url,
                         clock=self.now, **options)

    def now(self):
        return self.world.now.replace(tzinfo=None)

    def close(self):
        self.engine.dispose()

    def connect(self, token=None):
        """Bob connects GitHub; a classic token with public_repo where none is given."""
        token = token or self.world.classic_token(self.bob, "public_repo")
        self.accounts.connect(self.user.id, Secret(token.value))
        return token

    def draft(self, text=NEW, **wanted):
        return self.drafts.make(self.user.id, Wanted(**{
            "repository": "ann/components", "text": text, **wanted}))

    def confirmed(self, text=NEW, **wanted):
        return self.publications.confirm(self.draft(text, **wanted))

    def again(self, publication):
        return self.publications.get(self.user.id, publication.id)

    def run(self, publication, until=WORKING):
        """Let time pass until it is no longer one of these states, or waits for its author."""
        for _ in range(200):
            publication = self.again(publication)
            if publication.state not in until or publication.next_at is None:
                return publication
            self.tick(publication)
        raise AssertionError(f"It never ends: {publication}")

    def tick(self, publication):
        """One step, at its time."""
        self.world.advance(seconds=max(0, (publication.next_at - self.now()).total_seconds()))
        return self.publisher.advance(publication)

    def published(self, text=NEW, **wanted):
        """As far as it goes by itself, after Bob agreed to it."""
        return self.run(self.confirmed(text, **wanted))

    def watch(self, publication, **later):
        """One look at its pull request, a while later."""
        self.world.advance(**(later or {"hours": 2}))
        self.publisher.advance(self.again(publication))
        return self.again(publication)

    def writes(self):
        return [seen for seen in self.world.rest() if seen.method != "GET"]

    def add_source(self, **facts):
        """The repository is a source here, and synced."""
        self.sources.add_repository(
            NewRepository(repo_id=self.upstream.id, full_name="ann/components", is_private=False,
                          **facts),
            name=None, owner_id=self.user.id, sponsor_id=None)
        self.sync()

    def sync(self):
        index = SearchIndex(self.settings.search_dir)
        Sync(self.engine, self.catalog, index,
             GitHubSync(self.engine, self.catalog, self.settings)).run_once()

    def work(self):
        """What the worker does now, for everyone who is due."""
        for user_id in self.publisher.due(self.now()):
            self.publisher.step(user_id, threading.Event())
