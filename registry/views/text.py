"""Values as a page shows them: times, sizes, Markdown, and what a terminal would have shown."""
from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Sequence
from urllib.parse import quote

import nh3
from babel.dates import format_timedelta
from flask import Flask
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from registry.measures import memory
from registry.placeholders import as_text
from registry.views.language import gettext as _
from registry.views.language import language, locale, said
from runner.sentence import Sentence

SPANS_S = (86400 * 365, 86400 * 30, 86400, 3600, 60)
UNITS = ("kB", "MB", "GB", "TB")
_TAGS = {"p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "em", "strong", "code",
         "pre", "blockquote", "a", "table", "thead", "tbody", "tr", "th", "td"}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_TICKS = re.compile(r"`([^`\n]+)`")
_BREAKS = re.compile(r"([_.-])(?=\w)")
_COMMIT = re.compile(r"@([0-9a-f]{12})[0-9a-f]{28}$")
_VERSIONED = re.compile(r"(?:(?P<source>[^:@]+):)?(?P<type>[a-z]+)/(?P<rest>[^\s]+)")


class _Renderer(RendererHTML):
    """Headings begin below the page's own `h1`."""

    def renderToken(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        if token.type in ("heading_open", "heading_close"):
            token = token.copy(tag=f"h{min(6, int(token.tag[1:]) + 1)}")
            return super().renderToken([*tokens[:index], token, *tokens[index + 1:]], index,
                                       options, env)
        return super().renderToken(tokens, index, options, env)


# Images would be fetched from elsewhere, which the page's policy forbids: they stay links.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(
    "table").disable("image")


def register(app: Flask) -> None:
    for filter_ in (iso, ago, size, memory, ticks, markdown, reference_url, duration,
                    first_paragraph, in_url, breakable, broken_reference, short_reference, as_text,
                    said_or_as_it_is):
        app.add_template_filter(filter_)


def moment(value: datetime | str) -> datetime:
    """A time as UTC with its zone; text as JSON has it, `datetime` as the database has it."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value


def iso(value: datetime | str | None) -> str | None:
    """The time as the API writes it: ISO 8601, UTC, ending in Z."""
    if value is None:
        return None
    return moment(value).astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def ago(value: datetime | str, now: datetime | None = None) -> str:
    """How long before `now` (None: this moment), roughly: `3 hours ago`."""
    return _span(value, now, add_direction=True) or _("just now")


def span(value: datetime | str, now: datetime | None = None) -> str:
    """The time between both, roughly: `3 hours`; empty below a minute."""
    return _span(value, now, add_direction=False)


def _span(value: datetime | str, now: datetime | None, *, add_direction: bool) -> str:
    seconds = ((now or datetime.now(timezone.utc)) - moment(value)).total_seconds()
    for length in SPANS_S:
        count = int(abs(seconds) // length)
        if count:
            return _told(count * length if seconds < 0 else -count * length, add_direction,
                         language())
    return ""


@lru_cache(maxsize=1000)
def _told(seconds: int, add_direction: bool, language: str) -> str:
    return format_timedelta(timedelta(seconds=seconds), threshold=1, add_direction=add_direction,
                            locale=locale(language))


def duration(start: str | None, end: str | None) -> str:
    """The time between two moments as `1:02:03`; up to now where `end` is None."""
    if not start:
        return "–"
    until = moment(end) if end else datetime.now(timezone.utc)
    minutes, seconds = divmod(max(0, int((until - moment(start)).total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def size(count: int) -> str:
    """Bytes of files, disks and networks as people read them: `1.2 MB`, a million each."""
    value, unit = float(count), "bytes"
    for name in UNITS:
        if value < 1000:
            break
        value, unit = value / 1000, name
    return _("%(count)s bytes", count=count) if unit == "bytes" else f"{value:.1f} {unit}"


def said_or_as_it_is(text: str) -> str:
    """A sentence of ours in the reader's language; a value of others as it is."""
    return said(text) if isinstance(text, Sentence) else text


def ticks(text: str) -> Markup:
    """What was said, in the reader's language and escaped; `code` between backticks is code."""
    return Markup(_TICKS.sub(r"<code>\1</code>", str(escape(said(text)))))


def markdown(text: str) -> Markup:
    """A text of others as HTML: no scripts, no styles, no images, links marked as not ours.

    A relative link leads to a file of the repository, which has no page here: it stays text.
    """
    return Markup(nh3.clean(_MARKDOWN.render(text), tags=_TAGS, attributes={"a": {"href"}},
                            attribute_filter=_absolute,
                            url_schemes={"http", "https", "mailto"},
                            link_rel="nofollow noopener ugc"))


def _absolute(_tag: str, _attribute: str, value: str) -> str | None:
    return value if _SCHEME.match(value) else None


def reference_url(reference: str) -> str:
    """The page of a component that is named like `source:job/name@1.0.0`, else a search for it."""
    found = _VERSIONED.fullmatch(reference)
    if not found:
        return f"/?q={quote(reference)}"
    page = f"/c/{quote(found['type'])}/{quote(found['rest'], safe='@')}"
    return f"{page}?source={quote(found['source'])}" if found["source"] else page


def breakable(name: str) -> Markup:
    """A name that a narrow column breaks after `_`, `-` or `.` if it can."""
    return Markup(_BREAKS.sub(r"\1<wbr>", str(escape(name))))


def broken_reference(reference: str) -> Markup:
    """A reference that a narrow column breaks before its version if it can."""
    name, sign, version = reference.partition("@")
    ending = Markup('<wbr><span class="together">{}</span>').format(sign + version)
    return breakable(name) + ending if sign else breakable(name)


def first_paragraph(text: str) -> str:
    """How a description begins, as one line, for a list."""
    return " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())


def in_url(ip: str) -> str:
    """An address as a URL has it: IPv6 in brackets."""
    return f"[{ip}]" if ":" in ip else ip


def short_reference(reference: str) -> str:
    """A reference with its commit shortened, for people."""
    return _COMMIT.sub(r"@\1", reference)


def plain_log(text: str) -> str:
    """A log's text without colours, and of each line only what was left on the screen."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines)
