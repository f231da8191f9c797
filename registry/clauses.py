"""What a query asks for, as a tree of words, phrases, filters and groups, and as text. Pure."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator

from registry.query_fields import FIELDS, comparisons

KEYWORDS = ("AND", "OR", "NOT")
QUOTES, MINUSES = '"“”„‟＂', "-－−"
_UNPLAIN = re.compile(rf"[\s()（）{QUOTES}]|^//")


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

    `field` is a key of FIELDS. `value` is the text as it was typed, without its quotes; of a
    number its digits, of a date the day as `2026-01-31`.
    """

    field: str
    operator: str
    value: str


@dataclass(frozen=True)
class Not:
    """What must not be there."""

    clause: Words | Phrase | Filter | Not | All | Any


@dataclass(frozen=True)
class All:
    """Every one of these; none at all: everything. Holds no All itself."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Any:
    """One of these at least; two or more. Holds no Any itself."""

    clauses: tuple[Clause, ...]


Clause = Words | Phrase | Filter | Not | All | Any


def filters_of(field: str, value: str) -> tuple[Filter, ...]:
    """What `field:value` asks for, all of which must hold; raises ValueProblem."""
    return tuple(Filter(field, *each) for each in comparisons(field, value))


def leaves(clause: Clause) -> Iterator[Words | Phrase | Filter]:
    if isinstance(clause, (Words, Phrase, Filter)):
        yield clause
    for each in (clause.clause,) if isinstance(clause, Not) else getattr(clause, "clauses", ()):
        yield from leaves(each)


def wanted(clause: Clause) -> Iterator[Words | Phrase]:
    if isinstance(clause, (Words, Phrase)):
        yield clause
    elif isinstance(clause, (All, Any)):
        for each in clause.clauses:
            yield from wanted(each)


def ends_finished(clause: Clause) -> bool:
    """Whether the text ends in a word that is not unfinished, which a space must say."""
    if isinstance(clause, All):
        others = [each for each in clause.clauses if not isinstance(each, Filter)]
        return bool(others) and ends_finished(others[-1])
    if isinstance(clause, Any):
        return ends_finished(clause.clauses[-1])
    return isinstance(clause, Words) and not clause.is_last


def printed(clause: Clause, is_end: bool = True) -> str:
    """The text of a clause; `is_end`: it ends the query, so an unfinished word needs no `*`."""
    if isinstance(clause, Words):
        needs_star = clause.is_last and not (is_end and clause.text not in KEYWORDS)
        return clause.text + "*" * needs_star
    if isinstance(clause, Phrase):
        return _in_quotes(clause.text)
    if isinstance(clause, Filter):
        return clause_text(clause)
    if isinstance(clause, Not):
        needs_group = isinstance(clause.clause, (Not, All, Any)) \
            or isinstance(clause.clause, Words) and clause.clause.text[0] in MINUSES
        inner = printed(clause.clause, is_end=False)
        return f"-({inner})" if needs_group else f"-{inner}"
    *rest, last = clause.clauses or (None,)
    if last is None:
        return ""
    parts = [*(_part(clause, each, False) for each in rest), _part(clause, last, is_end)]
    return (" " if isinstance(clause, All) else " OR ").join(parts)


def _part(parent: All | Any, clause: Clause, is_end: bool) -> str:
    is_grouped = isinstance(parent, Any) and isinstance(clause, All)
    text = printed(clause, is_end and not is_grouped)
    return f"({text})" if is_grouped else text


def clause_text(clause: Clause) -> str:
    """One clause as it is typed."""
    if not isinstance(clause, Filter):
        return printed(clause)
    is_compared = FIELDS[clause.field].kind != "text"
    sign = clause.operator if is_compared and clause.operator != "=" else ""
    is_plain = not _UNPLAIN.search(clause.value)
    return f"{clause.field}:{sign}{clause.value if is_plain else _in_quotes(clause.value)}"


def _in_quotes(text: str) -> str:
    doubled = re.sub(rf"([{QUOTES}])", r"\1\1", text)
    return f'"{doubled}"'
