"""A search query: its text → what is wanted, or an error that says where it goes wrong. Pure."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """One word as it was typed; `is_last`: the end of the query, which may be unfinished."""

    text: str
    is_last: bool = False


@dataclass(frozen=True)
class Phrase:
    """Words that stand beside each other, in this order."""

    text: str


@dataclass(frozen=True)
class Filter:
    """`field:value`; `operator` is one of `=`, `<`, `<=`, `>`, `>=`.

    `field` is a key of FIELDS. `value` is the text as it was typed, without its quotes.
    """

    field: str
    operator: str
    value: str


@dataclass(frozen=True)
class Not:
    """What must not be there."""

    clause: Words | Phrase | Filter | All | Any


@dataclass(frozen=True)
class All:
    """Every one of these; none at all: everything."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Any:
    """One of these at least."""

    clauses: tuple[Clause, ...]


Clause = Words | Phrase | Filter | Not | All | Any
