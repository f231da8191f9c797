"""The search page's state, which its address holds whole, and the links that change one part."""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Callable, Sequence
from urllib.parse import quote, urlencode

from flask import request, url_for
from markupsafe import Markup, escape

from registry.clauses import Filter, clause_text, filters_of
from registry.highlight import pieces, terms_of
from registry.hits import SORTS, Hit, Page
from registry.query import Query, QueryError, parse_query
from registry.reference import is_prerelease
from registry.tokens import squash
from registry.views.addresses import origin
from registry.views.auth import viewer_id
from registry.views.language import gettext as _
from registry.views.services import services
from registry.views.text import breakable
from registry.wording import N_

PAGE_SIZE = 24
FACET_TITLES = {"by": N_("Contributor"), "tag": N_("Tag"), "image": N_("Image"),
                "gpu": N_("GPUs"), "source": N_("Source")}
GPU_TITLES = {"0": N_("none"), "<=1": N_("at most 1"), "<=2": N_("at most 2"),
              "<=4": N_("at most 4"), "<=8": N_("at most 8"), ">8": N_("more than 8")}
SORT_TITLES = {"relevance": N_("Best match"), "updated": N_("Newest"), "used": N_("Most used"),
               "name": N_("Name")}
SHOWN_VALUES = 6
SHOWN_PAGES = 2  # on either side of the present one
ALL_VERSIONS = Filter("versions", "=", "all")
_TICKS = re.compile(r"`([^`\n]+)`")
_SIGNS = re.compile(r"\*\*|^#{1,6} +", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A choice on the page: what it says, where it leads, whether it is the present one."""

    text: str
    url: str
    is_current: bool = False
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class Facet:
    """The values of one field among what was found; the first few, and those behind `more`."""

    field: str
    title: str
    shown: Sequence[Link]
    more: Sequence[Link]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is looked for: the query as it was typed, the tab, the order, the page."""

    query: Query
    type: str = ""
    sort: str = "relevance"
    number: int = 1

    @property
    def url(self) -> str:
        return path_of("/", q=self.query.text if self.query.text.strip() else None,
                       type=self.type or None, page=self.number if self.number > 1 else None,
                       sort=self.sort if self.sort != "relevance" else None)

    @property
    def feed_address(self) -> str:
        """The feed's whole address, for a feed reader."""
        return f"{origin()}{self.feed}"

    @property
    def feed(self) -> str:
        """What is new of this search, as Atom."""
        return url_for("feeds.query", q=self.query.text.strip() or None, type=self.type or None)

    def tab(self, type: str) -> str:
        return replace(self, type=type, number=1).url

    def page(self, number: int) -> str:
        return replace(self, number=number).url

    def asking(self, text: str) -> str:
        """The address of another query; it may be one that cannot be read."""
        return replace(self, query=replace(self.query, text=text), number=1).url

    def suggestions(self, page: Page) -> list[Link]:
        return [Link(text=text, url=self.asking(text)) for text in suggestions(self.query, page)]

    @property
    def sorts(self) -> list[Link]:
        """The orders that make sense: where no word is asked, none is a better match."""
        first = "relevance" if self.query.wanted else "updated"
        current = first if self.sort == "relevance" else self.sort
        return [Link(text=_(SORT_TITLES[sort]), is_current=sort == current,
                     url=replace(self, number=1, sort="relevance" if sort == first else sort).url)
                for sort in SORTS if self.query.wanted or sort != "relevance"]

    @property
    def chips(self) -> list[Link]:
        """The filters that hold, each with the way to be rid of it."""
        return [Link(text=clause_text(clause), url=self._asking(self.query.without(clause)))
                for clause in self.query.filters]

    @property
    def without_filters(self) -> str:
        return self._asking(self.query.without_filters())

    @property
    def other_versions(self) -> str:
        """The same search of all versions, or of the newest only."""
        is_all = self.query.has_all_versions
        return self._asking(self.query.without(ALL_VERSIONS) if is_all
                            else self.query.with_filter("versions", "all"))

    def hit(self, hit: Hit) -> str:
        """The page of a component; of that version where all are asked for, or no release is."""
        is_exact = self.query.has_all_versions or is_prerelease(hit.version)
        rest = hit.reference.partition("/")[2] if is_exact else hit.name
        return path_of(f"/c/{hit.type}/{rest}", source=hit.source)

    def use(self, hit: Hit) -> str:
        """The way to run a job that was found."""
        return path_of(f"/use/{hit.type}/{hit.reference.partition('/')[2]}", source=hit.source)

    def facets(self, page: Page) -> list[Facet]:
        found = []
        for field, title in FACET_TITLES.items():
            links = [self._value(field, value, count)
                     for value, count in page.facets.get(field, {}).items()]
            if field == "gpu":
                links = _telling(links)
            if links and (len(links) > 1 or links[0].is_current or field != "source"):
                found.append(Facet(field=field, title=_(title), shown=links[:SHOWN_VALUES],
                                   more=links[SHOWN_VALUES:]))
        return found

    def pages(self, page: Page) -> list[Link | None]:
        """The first page, those around the present one and the last; None: a gap."""
        last = -(-page.total // page.page_size)
        near = range(max(1, page.page - SHOWN_PAGES), min(last, page.page + SHOWN_PAGES) + 1)
        found: list[Link | None] = []
        before = 0
        for number in sorted({1, *near, last}):
            if number > before + 1:
                found.append(None)
            found.append(Link(text=str(number), url=self.page(number),
                              is_current=number == page.page))
            before = number
        return found if last > 1 else []

    def _value(self, field: str, value: str, count: int) -> Link:
        clauses = filters_of(field, value)
        is_current = set(clauses) <= set(self.query.clauses)
        query = self.query.without(*clauses) if is_current \
            else self.query.with_filter(field, value)
        is_titled = field == "gpu" and value in GPU_TITLES
        return Link(text=_(GPU_TITLES[value]) if is_titled else value, count=count,
                    is_current=is_current, url=self._asking(query))

    def _asking(self, query: Query) -> str:
        return replace(self, query=query, number=1).url


def path_of(path: str, **asked: object) -> str:
    """A path with what it asks for, None left out: as `url_for`, of which a page needs a hundred.
    """
    query = urlencode({name: value for name, value in asked.items() if value is not None},
                      safe="!$'()*,/:;?@")
    return quote(path, safe="!$&'()*+,/:;=@") + (f"?{query}" if query else "")


def _telling(links: Sequence[Link]) -> list[Link]:
    """Of counts that include the one before: those that differ from it, or are chosen."""
    before = [None, *(link.count for link in links)]
    return [link for link, count in zip(links, before) if link.count != count or link.is_current]


class Marker:
    """Marks what a query found in the texts of a page."""

    def __init__(self, query: Query, page: Page) -> None:
        self._terms = terms_of(query, page.terms)

    def name(self, hit: Hit) -> Markup:
        return Markup(self._marked(hit.name, _breakable))

    def text(self, text: str) -> Markup:
        """A description, in which `code` is set as such; further Markdown is left out."""
        return Markup("".join(
            f"<code>{self._marked(part, escape)}</code>" if number % 2
            else self._marked(_SIGNS.sub("", part), escape)
            for number, part in enumerate(_TICKS.split(text))))

    def _marked(self, text: str, written: Callable[[str], str]) -> str:
        return "".join(f"<mark>{written(piece)}</mark>" if is_match else written(piece)
                       for piece, is_match in pieces(text, self._terms))


def _breakable(piece: str) -> str:
    """A piece of a name, which the next piece may follow on another line."""
    return f"{breakable(piece)}<wbr>" if piece[-1] in "_.-" else breakable(piece)


def suggestions(query: Query, page: Page) -> list[str]:
    """Queries that may be meant: with other words, spelled as names are, under the same filters."""
    return [query.with_words(_as_named(words)).text.strip() for words in page.suggestions]


def _as_named(words: str) -> str:
    """The name that these words are, with its separators; the words where they are none."""
    near = services().search.nearest(words, user_id=viewer_id())
    return next((name for name in near if squash(name) == squash(words)), words)


def understood(text: str) -> tuple[Query, QueryError | None]:
    """The query, or an empty one with the text and what is wrong in it."""
    try:
        return parse_query(text), None
    except QueryError as error:
        return replace(parse_query(""), text=text), error


def page_number() -> int:
    """The page that the address asks for; the first where that is no number."""
    text = request.args.get("page", "1")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1
