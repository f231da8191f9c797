"""What the views speak to, joined once by the application's factory."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from flask import current_app

from registry.access import Access
from registry.accounts import Accounts
from registry.catalog import Catalog
from registry.changelog import Changelog
from registry.deliveries import Deliveries
from registry.dump import Dumps
from registry.feeds import Feeds
from registry.github_accounts import GitHubAccounts
from registry.image_logins import ImageLogins
from registry.marks import Marks
from registry.parts import Parts
from registry.presence import Presence
from registry.preview import Drafts
from registry.public_web import PublicWeb
from registry.publications import Publications
from registry.rebuild import Fingerprints
from registry.recommendation import Recommendation
from registry.relations import Relations
from registry.repositories import Repositories
from registry.runner_client import RunnerClient
from registry.runs import Runs
from registry.search import SearchIndex
from registry.shelf import Shelves
from registry.sources import Sources
from registry.tickets import Tickets
from registry.trial import Trials
from registry.views.sockets import Sockets
from registry.watch import Watch

EXTENSION = "paishare"


@dataclass(frozen=True, kw_only=True)
class Services:
    """One of each for the whole process; all of them may be used by several threads.

    `is_github_up` tells whether the process that speaks to GitHub runs. `public_url` is how others
    reach this server, None: as their request says.
    """

    access: Access
    accounts: Accounts
    catalog: Catalog
    changelog: Changelog
    deliveries: Deliveries
    drafts: Drafts
    dumps: Dumps
    feeds: Feeds
    fingerprints: Fingerprints
    github: GitHubAccounts
    image_logins: ImageLogins
    marks: Marks
    parts: Parts
    presence: Presence
    search: SearchIndex
    shelves: Shelves
    sockets: Sockets
    sources: Sources
    publications: Publications
    recommendation: Recommendation
    relations: Relations
    repositories: Repositories
    runner: RunnerClient
    runs: Runs
    tickets: Tickets
    watch: Watch
    trials: Trials
    web: PublicWeb
    is_github_up: Callable[[], bool]
    public_url: str | None = None


def services() -> Services:
    return current_app.extensions[EXTENSION]
