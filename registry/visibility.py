"""Who may see which source. Every read of the catalog and of the index goes through here."""
from __future__ import annotations

import sqlalchemy as sa

from registry.db import sources
from registry.source import LOCAL

PUBLIC = "public"


def audience(kind: str, source_id: int) -> str:
    """The audience that the components of a source are shown to."""
    return PUBLIC if kind == LOCAL else f"source {source_id}"


def audiences(user_id: int | None) -> frozenset[str]:
    """The audiences that a user belongs to; None is a visitor. Empty means: may see nothing."""
    return frozenset({PUBLIC})


def is_visible(user_id: int | None) -> sa.ColumnElement[bool]:
    """The condition on `sources` under which a user may see one; the same rule as `audiences`."""
    return sources.c.kind == LOCAL
