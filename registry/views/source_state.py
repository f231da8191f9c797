"""How a source stands, in words: what happened, and what its readers or its owner can do."""
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Mapping

from registry import source_words
from registry.source_words import EMPTY, GONE, REPLACED, SHORT
from registry.sources import GITHUB, Source
from registry.views.language import gettext as _
from registry.views.text import ago, iso, span
from registry.wording import N_

STAGES: Mapping[str, str] = {
    "history": N_("Fetching the history"), "files": N_("Fetching files"),
    "record": N_("Writing the catalogue")}
_SETTLED = "ok"
_NOTHING, _UNREADABLE = N_("nothing upstream"), N_("upstream cannot be read")
_UNSEEN = {_SETTLED: N_("upstream not seen yet"), "empty": _NOTHING, "gone": _NOTHING,
           "replaced": _NOTHING, "forbidden": _UNREADABLE, "blocked": _UNREADABLE}


@dataclass(frozen=True, kw_only=True)
class State:
    """One thing to know about a source; `tone` is good, busy, warn or bad, as the pages have it."""

    code: str
    tone: str
    title: str
    text: str


def is_on_github(source: Source) -> bool:
    return source.kind == GITHUB


def is_busy(source: Source) -> bool:
    """Whether a sync runs, or is about to."""
    is_wanted = source.sync_requested_at is not None and source.paused_at is None
    return source.progress is not None or is_wanted


def is_behind(source: Source) -> bool:
    """Whether GitHub told of a commit that the catalog does not show yet."""
    return source.upstream_state == _SETTLED and bool(source.upstream_head) \
        and source.upstream_head != source.head


def freshness(source: Source, now: datetime | None = None) -> str:
    """`indexed abc1234 · upstream def5678 · 2 minutes behind`; `now` None: this moment."""
    shown = _("indexed %(commit)s", commit=source.head[:SHORT]) if source.head else \
        _("not indexed yet")
    if not is_on_github(source):
        return shown
    if source.upstream_state != _SETTLED or not source.upstream_head:
        return f"{shown} · {_(_UNSEEN[source.upstream_state])}"
    upstream = _("upstream %(commit)s", commit=source.upstream_head[:SHORT])
    return " · ".join((shown, upstream, _behind(source, now) if is_behind(source)
                       else _("up to date")))


def _behind(source: Source, now: datetime | None) -> str:
    since = source.upstream_at or source.checked_at
    length = span(since, now) if since else ""
    return _("%(span)s behind", span=length) if length else _("less than a minute behind")


def progress_of(source: Source) -> dict[str, Any] | None:
    """What a sync does now, and how far it is with that."""
    told = source.progress
    if told is None:
        return None
    return {"stage": told["stage"], "title": _(STAGES.get(told["stage"], N_("Syncing"))),
            "done": told["done"], "total": told["total"]}


def states_of(source: Source) -> list[State]:
    """Everything that is not as it should be, the worst first; empty where all is well."""
    found = [_paused(source), _upstream(source), _held(source), _failed(source), _moved(source)]
    return [state for state in found if state]


def trouble_of(source: Source) -> str | None:
    """What is wrong with it, in the words of its page; None: all is well, or was decided."""
    texts = [source.sync_error if state.code == "failed" else state.text
             for state in states_of(source) if state.tone in ("bad", "warn")]
    return " ".join(filter(None, texts)) or None


def verdict(source: Source) -> State:
    """How it stands in two words, for a list."""
    for state in states_of(source):
        if state.code != "moved":
            return state
    if source.progress is not None or (source.synced_at is None and is_busy(source)):
        return State(code="syncing", tone="busy", title=_("Syncing"), text=_("A sync runs now."))
    if is_behind(source):
        return State(code="behind", tone="warn", title=_("Behind"), text=freshness(source))
    if source.head is None:
        return State(code="new", tone="busy", title=_("Not synced yet"),
                     text=_("Its first sync has not ended yet."))
    return State(code="ok", tone="good", title=_("Up to date"), text=freshness(source))


def note_of(source: Source) -> State | None:
    """What the reader of one of its components must know; None: nothing."""
    if source.upstream_state in _WITHDRAWN:
        return State(code=source.upstream_state, tone="warn", title=_("Withdrawn upstream"),
                     text=_(_WITHDRAWN[source.upstream_state]).format(name=source.location))
    if source.paused_at:
        return State(code="paused", tone="", title=_("Its source is paused"), text=_(
            "Newer versions are not seen here until it goes on."))
    if is_on_github(source) and is_behind(source):
        return State(code="behind", tone="", title=_("Behind its repository"),
                     text=freshness(source))
    return None


_WITHDRAWN = {
    "gone": N_(
        "The repository `{name}` is not on GitHub any more. What was indexed keeps serving."),
    "replaced": N_(
        "The repository is gone, and `{name}` is another one now. What was indexed keeps serving; "
        "of the new one nothing is read."),
    "forbidden": N_(
        "The repository `{name}` cannot be read at present, so newer versions are not seen here."),
}


_LOST = frozenset({GONE, REPLACED})  # what is not there any more is called nothing there


def _paused(source: Source) -> State | None:
    if source.paused_at is None:
        return None
    return State(code="paused", tone="", title=_("Paused"), text=_(
        "%(name)s paused it %(time)s. Nothing newer is indexed until its owner or an admin resumes "
        "it; what is in the marketplace stays and runs as before.",
        name=source.pauser or _("somebody"), time=ago(source.paused_at)))


def _upstream(source: Source) -> State | None:
    if source.sponsor_is_out and (source.is_private
                                  or source.upstream_state == source_words.FORBIDDEN):
        return State(code=source.sponsor_is_out, tone="bad", title=_("Its token is not used"),
                     text=source_words.sponsor_is_out(
                         source.sponsor_is_out, source.location, source.sponsor or "", say=_))
    if source.upstream_state not in source_words.TITLES:
        return None
    return State(code=source.upstream_state, tone="bad" if source.upstream_state != EMPTY
                 else "warn", title=_(source_words.TITLES[source.upstream_state]),
                 text=source_words.what_happened(source.upstream_state, source.location,
                                                 source.branch, say=_))


def _held(source: Source) -> State | None:
    if source.held_head is None:
        return None
    if source.confirmed_head == source.held_head:
        return State(code="confirmed", tone="busy", title=_("Taking the new head"),
                     text=_("Its owner agreed; the next sync shows it."))
    newest = source.held_head if source.held_head == source.upstream_head else None
    if source.confirmed_head and source.confirmed_head == source.head:
        return State(code="kept", tone="", title=_("Kept as it is"), text=source_words.kept(
            source.held_count, shown=source.head, newest=newest, say=_))
    return State(code="held", tone="warn", title=_("Held back"), text=source_words.held(
        source.held_count, shown=source.head, newest=newest, say=_))


def _failed(source: Source) -> State | None:
    is_told = source.upstream_state != _SETTLED or (source.held_head and not source.failures)
    if source.sync_error is None or is_told:
        return None
    again = "" if source.next_sync_at is None or source.paused_at else " " + _(
        "It is tried again at %(time)s.", time=iso(source.next_sync_at.replace(microsecond=0)))
    return State(code="failed", tone="bad", title=_("The last sync failed"),
                 text=f"{source.sync_error}{again}")


def _moved(source: Source) -> State | None:
    if not is_on_github(source) or source.upstream_state in _LOST or "/" not in source.name \
            or source.name.rpartition("-")[0] == source.location or source.name == source.location:
        return None
    return State(code="moved", tone="", title=_("Renamed on GitHub"), text=_(
        "The repository is called `%(location)s` there now. The source keeps its name, so "
        "references such as `%(name)s:job/name` keep their meaning.",
        location=source.location, name=source.name))
