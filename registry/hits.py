"""What a search gives back: hits, a page of them, and what it counted on the way."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

SORTS = ("relevance", "updated", "used", "name")
FACETS = ("type", "by", "source", "tag", "image", "gpu")
MAX_FACET_VALUES = 20


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One component on a list page, or one version of it where all were asked for.

    `updated` is ISO 8601; `used` counts the jobs that ran it and the components that name it;
    `score` is 0 where nothing is asked. `why` lists what the score is made of, where an
    explanation was asked for.
    """

    source: str
    type: str
    name: str
    version: str
    contributor: str
    description: str
    reference: str
    updated: str
    used: int = 0
    tags: tuple[str, ...] = ()
    is_deprecated: bool = False
    score: float = 0.0
    why: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of what was found.

    `total` counts all hits of the chosen types. `facets` maps each of FACETS to its values and how
    many hits have them, most frequent first; each value is what a filter takes after `facet:`.
    Those of `type` count hits of every type, chosen or not; the others only the chosen.
    `suggestions` are queries that find something where this one does not. `terms` are the words
    that were looked for, folded, to highlight. `is_ready` False: there is no index yet, the sync
    process makes one; what is found meanwhile comes from the catalogue, in a rougher order.
    """

    hits: tuple[Hit, ...] = ()
    total: int = 0
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    page: int
    page_size: int
    suggestions: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    is_ready: bool = True


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A name that begins with, or has a part that begins with, what was typed."""

    type: str
    name: str
