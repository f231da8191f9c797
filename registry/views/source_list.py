"""Sources as lists have them: found by a text or by how they stand, and page by page."""
from __future__ import annotations

from typing import Any, Sequence

from flask import request

from registry.sources import Source
from registry.views.finding import page_number
from registry.views.source_state import State, verdict

SOURCES_A_PAGE = 50
TROUBLE, PAUSED = "trouble", "paused"


def listed(sources: Sequence[Source]) -> dict[str, Any]:
    """What the address asks for: `?q=` words of name or place, `?state=trouble` or `paused`."""
    words = request.args.get("q", "").casefold().split()
    state = request.args.get("state", "")
    rows = [(source, verdict(source)) for source in sources]
    found = [(source, stands) for source, stands in rows
             if all(word in f"{source.name} {source.location}".casefold() for word in words)
             and _is(stands, state)]
    last = max(1, -(-len(found) // SOURCES_A_PAGE))
    page = min(page_number(), last)
    return {"listed": found[(page - 1) * SOURCES_A_PAGE:page * SOURCES_A_PAGE],
            "found": len(found), "page": page, "last": last, "q": request.args.get("q", "").strip(),
            "state": state if state in (TROUBLE, PAUSED) else "", "total": len(rows),
            "counts": {each: sum(_is(stands, each) for _, stands in rows)
                       for each in (TROUBLE, PAUSED)}}


def _is(stands: State, wanted: str) -> bool:
    """Whether it is among those that are asked for; any other word means all."""
    return {TROUBLE: stands.tone in ("bad", "warn"), PAUSED: stands.code == PAUSED}.get(
        wanted, True)
