"""The marketplace: search, one component's page, and the way to use it."""
from __future__ import annotations

import shlex
from typing import Sequence

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry.component import TYPES
from registry.entry import Entry
from registry.errors import ConflictError, GoneError
from registry.hits import SORTS, Hit, Page
from registry.query import around
from registry.query_fields import FIELDS
from registry.views.addresses import origin
from registry.views.auth import viewer_id
from registry.views.badges import badge_of
from registry.views.component_page import component_page
from registry.views.entries import choices_page, find_entry, last_good
from registry.views.finding import PAGE_SIZE, Finding, Marker, understood
from registry.views.places import page_of
from registry.views.services import services

MAX_PAGE = 100_000
FIRST_JOBS = 3

blueprint = Blueprint("marketplace", __name__)


@blueprint.get("/")
def index() -> ResponseReturnValue:
    text, type_name = request.args.get("q", ""), request.args.get("type", "")
    query, error = understood(text)
    sort = request.args.get("sort", "")
    finding = Finding(query=query, type=type_name if type_name in TYPES else "",
                      sort=sort if sort in SORTS else SORTS[0], number=_page_number())
    if error and _is_typing():
        return "", 204
    if error:
        return _index(finding, Page(page=1, page_size=PAGE_SIZE), error=error,
                      around=around(text, error.position)), error.status
    page = services().search.search(
        query.clause, types=(finding.type,) if finding.type else (), sort=finding.sort,
        page=finding.number, page_size=PAGE_SIZE, user_id=viewer_id(),
        explain=bool(query.wanted))
    if page.total and not page.hits:
        return redirect(finding.page(1))
    is_home = not text and not finding.type and finding.number == 1 and not _is_typing()
    return _index(finding, page, first_jobs=_first_jobs() if is_home and page.hits else ())


def _first_jobs() -> Sequence[Hit]:
    """Jobs that run on any machine, for whoever has run none yet."""
    user_id = viewer_id()
    if user_id is not None and services().runs.has_any(user_id):
        return ()
    return services().search.search("gpu:0", types=("job",), sort="used", page_size=FIRST_JOBS,
                                    user_id=user_id).hits


def _index(finding: Finding, page: Page, **rest: object) -> str:
    return render_template(
        f"marketplace/{'_results' if _is_typing() else 'index'}.html", finding=finding,
        query=finding.query, page=page, types=TYPES, marker=Marker(finding.query, page),
        fields=FIELDS, all_count=sum(page.facets.get("type", {}).values()), **rest)


def _is_typing() -> bool:
    """Whether results alone are asked for, as one types; a query may be half written then."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


@blueprint.get("/c/<rest>", defaults={"type_name": ""})
@blueprint.get("/c/<type_name>/<path:rest>")
def show(type_name: str, rest: str) -> ResponseReturnValue:
    reference = f"{type_name}/{rest}" if type_name else rest
    page = page_of(reference)
    if page:
        return redirect(page)
    try:
        entry = find_entry(reference, request.args.get("source", ""))
    except ConflictError as error:
        return choices_page(error, "marketplace.show")
    except GoneError as error:
        return render_template("errors/error.html", error=error,
                               nearest=last_good(reference, request.args.get("source", ""))
                               ), error.status
    badge = badge_of(*(f"{origin()}{path}" for path in (entry_url(entry),
                                                        entry_url(entry, "submit.use"))))
    return render_template("marketplace/show.html", badge=badge, **component_page(entry))


def entry_url(entry: Entry, endpoint: str = "marketplace.show") -> str:
    """The page of exactly this version: by its commit where its name fits no reference."""
    return url_for(endpoint, type_name=entry.type, rest=_named(entry), source=entry.source)


def submit_command(entry: Entry) -> str:
    """What to type to run exactly this version, safe to paste whatever the version is called."""
    return f"paishare submit {shlex.quote(f'{entry.type}/{_named(entry)}')}"


def _named(entry: Entry) -> str:
    is_commit = entry.selector == entry.commit
    return f"{entry.name}@{entry.commit[:12] if is_commit else entry.selector}"


def _page_number() -> int:
    text = request.args.get("page", "1")
    is_number = text.isascii() and text.isdigit() and len(text) < 7
    return max(1, min(int(text), MAX_PAGE)) if is_number else 1
