"""Atom feeds: what is new of a component, of a contributor, of a query."""
from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from flask import Blueprint, Response, request

from registry.component import TYPES
from registry.errors import NotFoundError
from registry.feeds import News
from registry.query import parse_query
from registry.views.addresses import address_of, origin
from registry.views.auth import viewer_id
from registry.views.language import gettext as _
from registry.views.language import said
from registry.views.services import services
from registry.views.text import iso
from registry.wording import N_
from runner.sentence import Sentence

ATOM = "http://www.w3.org/2005/Atom"
SINCE = 2026  # the year in which these ids begin, as RFC 4151 wants one
MAX_FOUND = 100
EMPTY = datetime(1970, 1, 1)
# A time alone tells two states of a feed apart only when no other event of that second can come.
SETTLED = timedelta(minutes=1)
TITLES = {"published": N_("{} is published"),
          "moved": N_("{} was changed without a new number"),
          "withdrawn": N_("{} is withdrawn"), "returned": N_("{} is back"),
          "yanked": N_("{} is yanked"), "restored": N_("{} is restored"),
          "deprecated": N_("{} is deprecated"), "purged": N_("{} is deleted for good")}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

blueprint = Blueprint("feeds", __name__)


@blueprint.get("/c/<type_name>/<name>/feed.atom")
def component(type_name: str, name: str) -> Response:
    source = request.args.get("source") or None
    news = services().feeds.of_component(type_name, name, source, user_id=viewer_id())
    if not news and not services().catalog.versions(type_name, name, source, user_id=viewer_id()):
        raise NotFoundError(Sentence(
            "There is no component {type_name}/{name}, so it has no feed. Search the marketplace "
            "for its name.", type_name=type_name, name=name))
    page = address_of("marketplace.show", type_name=type_name, rest=name, source=source)
    return _feed(f"{type_name}/{name}", page, news)


@blueprint.get("/by/<path:contributor>/feed.atom")
def contributor(contributor: str) -> Response:
    news = services().feeds.of_contributor(contributor, user_id=viewer_id())
    if not news:
        raise NotFoundError(Sentence(
            "No component is signed by {contributor!r}, so there is no feed of that name. It must "
            "be written as on the component's page.", contributor=contributor[:200]))
    page = address_of("marketplace.index", q=contributor)
    return _feed(Sentence("Components by {contributor}", contributor=contributor), page, news)


@blueprint.get("/feed.atom")
def query() -> Response:
    text = request.args.get("q", "").strip()
    types = tuple(name for name in request.args.getlist("type") if name in TYPES)
    page = address_of("marketplace.index", q=text or None, type=types[0] if types else None)
    if not text and not types:
        return _feed(_("Everything new"), page, services().feeds.newest(user_id=viewer_id()))
    found = services().search.search(parse_query(text).clause, types=types, sort="updated",
                                     page_size=MAX_FOUND, user_id=viewer_id())
    news = services().feeds.of_components(
        {(hit.source, hit.type, hit.name) for hit in found.hits}, user_id=viewer_id())
    return _feed(Sentence("Components found by {text}", text=text or " ".join(types)), page, news)


def _feed(title: str, page: str, news: list[News]) -> Response:
    """The feed, or 304 for a reader who has it already."""
    updated = max((each.at for each in news), default=EMPTY)
    root = ElementTree.Element("feed", xmlns=ATOM)
    _add(root, "id", f"tag:{_authority()},{SINCE}:{quote(_own_path())}")
    _add(root, "title", f"{said(title)} – PAIShare")
    _add(root, "updated", iso(updated) or "")
    _add(root, "link", rel="self", type="application/atom+xml", href=f"{origin()}{_own_path()}")
    _add(root, "link", rel="alternate", type="text/html", href=page)
    _add(_add(root, "author"), "name", "PAIShare")
    _add(root, "generator", "PAIShare")
    for each in news:
        _add_entry(root, each)
    response = Response(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True),
                        content_type="application/atom+xml; charset=utf-8")
    if datetime.now(UTC) - updated.replace(tzinfo=UTC) > SETTLED:
        response.last_modified = updated.replace(tzinfo=UTC)
    response.vary.add("Accept-Language")
    response.add_etag()
    response.make_conditional(request)
    return response


def _add_entry(root: ElementTree.Element, news: News) -> None:
    entry = _add(root, "entry")
    named = f"{news.type}/{news.name}" + (f"@{news.version}" if news.version else "")
    _add(entry, "id", entry_id(news))
    _add(entry, "title", _(TITLES.get(news.kind, "{}: " + news.kind)).format(named))
    _add(entry, "updated", iso(news.at) or "")
    _add(entry, "published", iso(news.at) or "")
    _add(entry, "link", rel="alternate", type="text/html", href=_page(news))
    _add(_add(entry, "author"), "name", news.contributor or news.source)
    _add(entry, "category", term=news.kind)
    _add(entry, "category", term=news.type)
    _add(entry, "content", "\n\n".join(filter(
        None, (said(news.detail), news.description))), type="text")


def entry_id(news: News) -> str:
    """The same wherever this event is read, under whatever address; another for every event."""
    facts = (news.id, news.source, news.kind, news.type, news.name, news.version,
             news.at.isoformat())
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:32]
    return f"tag:paishare,{SINCE}:event/{digest}"


def _page(news: News) -> str:
    """The page of exactly the version that the event is about, while that is known."""
    is_by_number = news.version and news.kind != "moved" and not re.search(r"[\s@]", news.version)
    version = news.version if is_by_number else news.commit[:12]
    rest = f"{news.name}@{version}" if version else news.name
    return address_of("marketplace.show", type_name=news.type, rest=rest, source=news.source)


def _authority() -> str:
    """The name of this server as RFC 4151 can hold it."""
    return re.sub("[^A-Za-z0-9.-]", "-", urlsplit(origin()).hostname or "paishare")


def _own_path() -> str:
    return request.full_path.rstrip("?")


def _add(parent: ElementTree.Element, name: str, text: str = "",
         **attributes: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, name, {
        key: _NO_XML.sub("", value) for key, value in attributes.items()})
    child.text = _NO_XML.sub("", text) or None
    return child
