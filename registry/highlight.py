"""Where in a text the words of a query stand, whatever their case, accents and separators. Pure."""
from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable, Iterator, Sequence

from registry.clauses import Phrase, Words
from registry.query import Query
from registry.tokens import fold, query_words

MAX_TERMS, MAX_LENGTH = 40, 64
MIN_SEPARABLE = 5  # of a shorter term, "l r" is no `lr`
_SEPARATOR = r"[\s_\-./:]?"
Span = tuple[int, int]


def terms_of(query: Query, found: Iterable[str] = ()) -> tuple[str, ...]:
    """What to mark for a query: its words, and the words that the index found for them.

    A term that ends in `*` is the beginning of a word.
    """
    own = [term for clause in query.wanted for term in _terms(clause)]
    return tuple(dict.fromkeys([*own, *found]))[:MAX_TERMS]


def spans(text: str, terms: Sequence[str]) -> list[Span]:
    """The parts of `text` that are one of the terms, as (start, end), in order and apart."""
    if not terms or not text:
        return []
    folded, places = _folded(text)
    found: list[Span] = []
    for start, end in _matches(folded, text, places, tuple(terms)):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def pieces(text: str, terms: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The text cut into pieces, each with whether it is a match."""
    at = 0
    for start, end in spans(text, terms):
        if start > at:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False


def _terms(clause: Words | Phrase) -> Iterator[str]:
    asked = query_words(clause.text)
    is_last = isinstance(clause, Words) and clause.is_last
    for word in asked:
        star = "*" * (is_last and word is asked[-1])
        yield from (*word.parts[:-1], word.parts[-1] + star)
        if len(word.parts) > 1:
            yield word.joined + star


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The text in small letters without accents, and for each character where it came from."""
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    parts = [fold(char).lower() for char in text]
    places = [place for place, part in enumerate(parts) for _ in part]
    return "".join(parts), [*places, len(text)]


def _matches(folded: str, text: str, places: Sequence[int], terms: tuple[str, ...]
             ) -> Iterator[Span]:
    pattern = _pattern(terms)
    at = 0
    while match := pattern.search(folded, at):
        start, end = places[match.start()], places[match.end() - 1] + 1
        kind, at = match.lastgroup, match.start() + 1
        if kind == "inner" or _is_border(text, start) and (
                kind == "start" or _is_border(text, end)):
            yield start, end
            at = at if kind == "inner" else match.end()


@lru_cache(maxsize=64)
def _pattern(terms: tuple[str, ...]) -> re.Pattern[str]:
    """A `start` begins a word, a `whole` one is one, an `inner` one stands anywhere."""
    kinds: dict[str, list[str]] = {"start": [], "inner": [], "whole": []}
    for term in sorted(terms, key=len, reverse=True):
        stem = term.rstrip("*").lower()
        if 0 < len(stem) <= MAX_LENGTH:
            kind = "inner" if _is_cjk(stem) else "whole" if stem == term else "start"
            between = _SEPARATOR if len(stem) >= MIN_SEPARABLE else ""
            kinds[kind].append(between.join(map(re.escape, stem)))
    return re.compile("|".join(f"(?P<{kind}>{'|'.join(found)})"
                               for kind, found in kinds.items() if found) or "(?!)")


def _is_cjk(term: str) -> bool:
    return term[0] >= "\u3040"


def _is_border(text: str, place: int) -> bool:
    """Whether a word, or a part of one such as in `ResNet50`, begins or ends here."""
    before, after = text[place - 1:place], text[place:place + 1]
    if not before.isalnum() or not after.isalnum() or _is_cjk(before) or _is_cjk(after):
        return True
    return before.isdigit() != after.isdigit() or (after.isupper() and not before.isupper()) \
        or (before.isupper() and after.isupper() and text[place + 1:place + 2].islower())
