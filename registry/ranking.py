"""What a query finds and in which order, over the postings of an index."""
from __future__ import annotations

import bisect
import difflib
import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import Callable, Collection, Iterable, Mapping, Sequence

from registry.tokens import Asked, index_words, query_words, squash

K1, B = 1.2, 0.6
MAX_EXPANSIONS = 50
PREFIX_DISCOUNT = 0.6
CACHED_WORDS = 1000
CACHED_STARTS = 200
CACHED_AUDIENCES = 8
MAX_ASKED = 12
MAX_SUGGESTIONS = 3
Scores = Mapping[int, float]


@dataclass(frozen=True)
class Indexed:
    """What ranking knows of one document; `length` is how many words it has."""

    number: int
    type: str
    name: str
    audience: str
    updated: str
    length: int


class Ranking:
    """Ranks `documents`; `postings` gives the documents that have a word, with how often.

    `frequencies` says of every word how many documents have it, sorted by word.
    """

    def __init__(self, documents: Iterable[Indexed], frequencies: Mapping[str, int],
                 postings: Callable[[str], Scores]) -> None:
        self._documents = {document.number: document for document in documents}
        self._frequencies = frequencies
        self._words = list(frequencies)
        self._postings = postings
        self._scored = lru_cache(CACHED_WORDS)(self._score)
        self._beginning_with = lru_cache(CACHED_STARTS)(self._score_beginnings)
        count = max(1, len(self._documents))
        self._mean = sum(each.length for each in self._documents.values()) / count or 1.0
        newest = sorted(self._documents.values(), key=lambda each: (each.name, each.type))
        newest.sort(key=lambda each: each.updated, reverse=True)
        self._newest = [each.number for each in newest]
        self._place = {number: place for place, number in enumerate(self._newest)}
        self._by_name: dict[str, list[int]] = {}
        self._by_squashed: dict[str, list[int]] = {}
        for each in newest:
            self._by_name.setdefault(each.name.casefold(), []).append(each.number)
            self._by_squashed.setdefault(squash(each.name), []).append(each.number)
        self._types = {number: each.type for number, each in self._documents.items()}
        self._visible = lru_cache(CACHED_AUDIENCES)(self._find_visible)
        self._name_words = lru_cache(CACHED_AUDIENCES)(self._find_name_words)

    def find(self, query: str, audiences: frozenset[str]) -> dict[int, float]:
        """The documents of these audiences that have every word; all where nothing is asked.

        Of three words and more, half are enough where no document has all.
        """
        visible = self._visible(audiences)
        if not query.strip():
            return dict.fromkeys(visible, 0.0)
        asked = query_words(query)[:MAX_ASKED]
        found = self._all_of(asked) if asked else {}
        for number in self._by_name.get(_name_of(query), ()):
            found.setdefault(number, 0.0)
        if found.keys().isdisjoint(visible):
            found = self._half_of(asked)
        return {number: score for number, score in found.items() if number in visible}

    def best(self, query: str, scores: Scores, start: int, stop: int) -> list[int]:
        """A part of the order: the exact name, the name written otherwise, then by score.

        Of equal ones the newest comes first; that alone is the order where nothing is asked.
        """
        if not query.strip():
            return [number for number in self._newest if number in scores][start:stop]
        names = (*self._by_name.get(_name_of(query), ()), *self._by_squashed.get(squash(query), ()))
        first = [number for number in dict.fromkeys(names) if number in scores]
        rest = nsmallest(stop, ((-score, self._place[number], number)
                                for number, score in scores.items() if number not in first))
        return [*first, *(number for _, _, number in rest)][start:stop]

    def of_types(self, scores: dict[int, float], types: Collection[str]) -> dict[int, float]:
        """Those of the types; all of them where `types` is empty."""
        return {number: score for number, score in scores.items()
                if self._types[number] in types} if types else scores

    def facets(self, scores: Scores) -> dict[str, int]:
        return dict(sorted(Counter(map(self._types.__getitem__, scores)).items()))

    def suggest(self, query: str, audiences: frozenset[str]) -> tuple[str, ...]:
        """Queries like this one that find something: each unknown word replaced by a near one."""
        known = self._name_words(audiences)
        choices = [""]
        for word in query.split()[:MAX_ASKED]:
            near = [word] if self.find(word, audiences) else _nearest(word, known)
            choices = [f"{choice} {item}".strip() for choice in choices for item in near][:9]
        return tuple(choice for choice in choices
                     if choice and self.find(choice, audiences))[:MAX_SUGGESTIONS]

    # --- scores ---------------------------------------------------------------------------------

    def _all_of(self, asked: Sequence[Asked]) -> dict[int, float]:
        """What has every word. Two words of the query may be one in the document."""
        clauses = [self._clause(word, is_last=word is asked[-1]) for word in asked]
        for place, (first, second) in enumerate(zip(asked, asked[1:])):
            together = self._scored(first.joined + second.joined)
            for number in (place, place + 1):
                clauses[number] = _either(clauses[number], together)
        return _all_of(clauses)

    def _half_of(self, asked: Sequence[Asked]) -> dict[int, float]:
        parts = [part for word in asked for part in word.parts]
        if len(parts) < 3:
            return {}
        clauses = [self._clause(Asked((part,)), is_last=False) for part in parts]
        return _half_of(clauses)

    def _clause(self, word: Asked, *, is_last: bool) -> Scores:
        """What has all parts of a word, or them written together."""
        *rest, last = [self._scored(part) for part in word.parts]
        ending = self._beginning_with(word.parts[-1]) if is_last or not last else last
        found = _all_of([*rest, ending])
        if not rest:
            return found
        joined = self._beginning_with(word.joined) if is_last else self._scored(word.joined)
        return _either(found, joined)

    def _score(self, word: str) -> dict[int, float]:
        """BM25 of one word."""
        found = self._postings(word)
        rarity = math.log(1 + (len(self._documents) - len(found) + 0.5) / (len(found) + 0.5))
        return {number: rarity * (count * (K1 + 1)) / (count + K1 * (
            1 - B + B * self._documents[number].length / self._mean))
            for number, count in found.items()}

    def _score_beginnings(self, start: str) -> dict[int, float]:
        """The word itself, and less the most frequent words that it begins."""
        found: dict[int, float] = {}
        for word in self._expansions(start):
            scores = self._scored(word)
            found |= {**scores, **_higher(found, scores)}
        found = {number: score * PREFIX_DISCOUNT for number, score in found.items()}
        return _either(found, self._scored(start))

    def _expansions(self, start: str) -> list[str]:
        first = bisect.bisect_right(self._words, start)
        end = bisect.bisect_left(self._words, start + "\U0010ffff")
        return nlargest(MAX_EXPANSIONS, self._words[first:end], key=self._frequencies.__getitem__)

    def _find_visible(self, audiences: frozenset[str]) -> frozenset[int]:
        return frozenset(number for number, each in self._documents.items()
                         if each.audience in audiences)

    def _find_name_words(self, audiences: frozenset[str]) -> list[str]:
        return sorted({word for number in self._visible(audiences)
                       for word in index_words(self._documents[number].name)})


def _name_of(query: str) -> str:
    """The name in `type/name@version`, or all of a query that is no such reference."""
    return query.strip().rpartition("/")[2].partition("@")[0].casefold()


def _all_of(clauses: Sequence[Scores]) -> dict[int, float]:
    """What every clause has, with the sum of its scores."""
    fewest, *others = sorted(clauses, key=len)
    numbers = set(fewest)
    for other in others:
        numbers &= other.keys()
    found = {number: fewest[number] for number in numbers}
    for other in others:
        found = {number: score + other[number] for number, score in found.items()}
    return found


def _half_of(clauses: Sequence[Scores]) -> dict[int, float]:
    """What half of the clauses have or more, with the sum of their scores."""
    counts = Counter(number for clause in clauses for number in clause)
    return {number: sum(clause.get(number, 0.0) for clause in clauses)
            for number, count in counts.items() if count * 2 >= len(clauses)}


def _either(first: Scores, second: Scores) -> dict[int, float]:
    """What one or both have, with the higher of the scores."""
    return {**first, **second, **_higher(first, second)}


def _higher(first: Scores, second: Scores) -> dict[int, float]:
    """The higher score of what both have."""
    return {number: max(first[number], second[number]) for number in first.keys() & second.keys()}


def _nearest(word: str, known: Sequence[str]) -> list[str]:
    folded = word.casefold()[:40]
    alike = [each for each in known if abs(len(each) - len(folded)) <= 3]
    return difflib.get_close_matches(folded, alike, n=MAX_SUGGESTIONS, cutoff=0.7)
