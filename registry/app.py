"""The web application: the only place that joins settings, services and views."""
from __future__ import annotations

import os
from typing import Mapping

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from registry import db, lock, quiet_logs
from registry.access import Access
from registry.accounts import Accounts
from registry.catalog import Catalog
from registry.changelog import Changelog
from registry.config import PACKAGE, Settings
from registry.deliveries import Deliveries
from registry.dump import Dumps
from registry.error_text import unsaid_path
from registry.feeds import Feeds
from registry.github_accounts import GitHubAccounts
from registry.github_worker import LOCK as GITHUB_LOCK
from registry.image_logins import ImageLogins
from registry.marks import Marks
from registry.parts import Parts
from registry.plain_search import PlainSearch
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
from registry.views import (
    admin,
    admin_sources,
    api_docs,
    api_openpai,
    appearance,
    assets,
    auth,
    badges,
    departures,
    errors,
    feeds,
    job_files,
    jobs,
    language,
    live,
    machine,
    mark_access,
    marketplace,
    marks,
    monitoring,
    openpai_account,
    openpai_jobs,
    openpai_users,
    private_pages,
    publish,
    security,
    settings,
    source_access,
    sources,
    submit,
    terminals,
    text,
    versions,
)
from registry.views.services import EXTENSION, Services
from registry.views.sockets import Sockets
from registry.visibility import Audiences
from registry.watch import Watch

# A component of 256 KB as a form field, every character of it written as %XX.
MAX_FORM_BYTES = 1_000_000
MAX_BODY_BYTES = 2_000_000
MAX_SOCKETS = 240  # pages that live and terminals; each holds a thread of the server


def create_app(overrides: Mapping[str, str] | None = None) -> Flask:
    """Join everything; `overrides` stand in for variables of the environment.

    Raises RegistryError naming a variable that is wrong.
    """
    found = Settings.from_environ({**os.environ, **(overrides or {})})
    quiet_logs.keep_tokens_out()
    app = Flask(__name__, static_folder=str(PACKAGE / "static"),
                template_folder=str(found.templates_dir))
    app.secret_key = found.secret_key.reveal()
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=MAX_FORM_BYTES)
    app.extensions[EXTENSION] = services_of(found)
    if found.trusted_proxies:
        app.wsgi_app = ProxyFix(  # type: ignore[method-assign]
            app.wsgi_app, x_for=found.trusted_proxies, x_proto=found.trusted_proxies,
            x_host=found.trusted_proxies)
    for part in (security, auth, errors, text, private_pages, language, appearance, assets):
        part.register(app)
    for page in (feeds, badges, marketplace, versions, marks, submit, publish, jobs, job_files,
                 live, terminals, sources, settings, machine, admin, admin_sources, departures,
                 api_docs, monitoring):
        app.register_blueprint(page.blueprint)
    for api in api_docs.APIS:
        app.register_blueprint(api.blueprint)
    for openpai in (api_openpai, openpai_account, openpai_jobs, openpai_users):
        for name, prefix in openpai.PREFIXES.items():
            app.register_blueprint(openpai.blueprint, url_prefix=prefix, name=name)
    app.add_template_filter(unsaid_path)
    app.add_template_filter(marketplace.entry_url)
    app.add_template_filter(marketplace.submit_command)
    app.add_template_filter(mark_access.may_mark)
    app.add_template_global(mark_access.viewer_is_admin)
    app.add_template_global(source_access.is_private, "is_private_source")
    return app


def services_of(found: Settings) -> Services:
    """What the views speak to, for one home."""
    engine = db.create_engine(found.database_url)
    accounts, catalog, sources = Accounts(engine), Catalog(engine, found.git_dir), Sources(engine)
    github = GitHubAccounts(engine, found)
    publications, repositories = Publications(engine), Repositories(found, github, Access(engine))
    return Services(
        accounts=accounts, presence=Presence(accounts), catalog=catalog,
        dumps=Dumps(engine, catalog, found.home),
        feeds=Feeds(engine), marks=Marks(engine), fingerprints=Fingerprints(engine, catalog),
        deliveries=Deliveries(engine, found.secret_key), github=github,
        image_logins=ImageLogins(engine, found),
        repositories=repositories, trials=Trials(found, github, repositories),
        parts=Parts(found, engine),
        search=SearchIndex(found.search_dir, PlainSearch(engine), Audiences(engine).of),
        shelves=Shelves(catalog, sources, found.home / "shelves"), sources=sources,
        changelog=Changelog(engine), recommendation=Recommendation(engine),
        relations=Relations(engine, catalog), runs=Runs(engine, catalog),
        publications=publications,
        drafts=Drafts(publications, catalog, sources, github, found.github_url),
        runner=RunnerClient(found.runner_url, found.runner_token),
        sockets=Sockets(MAX_SOCKETS), tickets=Tickets(),
        watch=Watch(RunnerClient(found.runner_url, found.runner_token)),
        access=Access(engine), web=PublicWeb(found.import_origins),
        is_github_up=lambda: lock.is_held(found.home / GITHUB_LOCK),
        public_url=found.public_url)
