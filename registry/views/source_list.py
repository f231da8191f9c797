"""Sources and users as lists have them: found by a text or by how they stand, page by page."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

from flask import request

from registry.sources import Source
from registry.views.finding import page_number
from registry.views.source_state import State, verdict

ROWS_A_PAGE = 50
TROUBLE, PAUSED = "trouble", "paused"


def listed(sources: Sequence[Source]) -> dict[str, Any]:
    """What the address asks for: `?q=` words of name or place, `?state=trouble` or `paused`."""
    state = request.args.get("state", "")
    rows = [(source, verdict(source)) for source in sources]
    texts = {source.id: f"{source.name} {source.location}" for source in sources}
    return {**paged([(source, stands) for source, stands in rows
                     if is_wanted(texts[source.id]) and _is(stands, state)]),
            "state": state if state in (TROUBLE, PAUSED) else "", "total": len(rows),
            "counts": {each: sum(_is(stands, each) for _, stands in rows)
                       for each in (TROUBLE, PAUSED)}}


def is_wanted(text: str) -> bool:
    """Whether it holds every word that the address asks for with `?q=`."""
    return all(word in text.casefold() for word in request.args.get("q", "").casefold().split())


def paged(found: Sequence[Any]) -> Mapping[str, Any]:
    """The page of them that the address asks for; the last where there is no such page."""
    last = max(1, -(-len(found) // ROWS_A_PAGE))
    page = min(page_number(), last)
    return {"listed": found[(page - 1) * ROWS_A_PAGE:page * ROWS_A_PAGE], "found": len(found),
            "page": page, "last": last, "q": request.args.get("q", "").strip()}


def _is(stands: State, wanted: str) -> bool:
    """Whether it is among those that are asked for; any other word means all."""
    return {TROUBLE: stands.tone in ("bad", "warn"), PAUSED: stands.code == PAUSED}.get(
        wanted, True)
