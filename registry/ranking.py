"""What a query finds and in which order: exact names first, then by score, then the newest."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Collection, Mapping, Sequence

import numpy as np

from registry.document import PLACES, fold_value, uri_ends
from registry.matching import Match, Matcher, either
from registry.query import All, Any, Clause, Phrase, Words
from registry.snapshot import Snapshot
from registry.spelling import suggestions
from registry.tokens import STOP_WORDS, TYPES_IN_CHINESE, Asked, spoken, squash, typed_words
from registry.wording import N_
from runner.sentence import Sentence, listed

ENOUGH_WORDS = 3
COVERAGE = 100.0  # more than any score: who has more of the words comes first
TYPE_BONUS = 2.0
SENTENCE_TYPE = 20.0
MAX_SUGGESTED_WORDS = 6
FILLERS = frozenset("how what which where who do does did i we you should my me there looking need "
                    "want example examples show shows use using find ready run runs take best some "
                    "have has get give like any about".split())
TYPE_WORDS = {word: type for type, words in {
    "data": "dataset datasets", "dockerimage": "image images docker dockerimage dockerimages",
    "script": "script scripts", "job": "job jobs"}.items() for word in words.split()}
TYPE_WORDS |= TYPES_IN_CHINESE


@dataclass(frozen=True, eq=False)
class Found:
    """What a query finds: a mask, scores, and which have the name that was asked for.

    `parts` are what the scores are made of: a word of the query and what it gives each document.
    """

    mask: np.ndarray
    score: np.ndarray
    is_name: np.ndarray
    is_nearly_name: np.ndarray
    parts: tuple[tuple[str, np.ndarray], ...] = ()


class Ranking:
    """Finds and orders in one snapshot, as one circle of users sees it."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self.snapshot: Snapshot = matcher.snapshot

    def find(self, clause: Clause) -> Found:
        """What a query asks for. Of three words and more most are enough; who has all is first."""
        matcher = self._matcher
        clauses = clause.clauses if isinstance(clause, All) else (clause,)
        words = [each for each in clauses if isinstance(each, Words)]
        rest = [(each, matcher.match(each)) for each in clauses if not isinstance(each, Words)]
        others = matcher.all_of([matcher.everything(), *(match for _, match in rest)])
        parts = [(_label(each), match.score) for each, match in rest if match.score.any()]
        if not words:
            return self._found(others, others, "", tuple(parts))
        asked, is_sentence = _asked(words)
        matches = [(word, self._match(word, is_last, len(asked) > 1)) for word, is_last in asked]
        beside = matcher.beside([word for word, _ in asked], [match for _, match in matches])
        found = matcher.all_of(beside)
        if is_sentence:
            found = self._most_of(asked, beside)
        parts = [(word.joined, match.score) for (word, _), match in zip(asked, beside)] + parts
        text = " ".join(each.text for each in words)
        return self._found(found, others, text, tuple(parts))

    def of_types(self, mask: np.ndarray, types: Collection[str]) -> np.ndarray:
        """Those of the types; all of them where `types` is empty."""
        if not types:
            return mask
        column = self.snapshot.values["type"]
        wanted = np.array([name in types for name in column.names], bool)
        return mask & wanted[column.codes] if len(column.codes) else mask

    def order(self, found: Found, chosen: np.ndarray, sort: str, start: int, stop: int
              ) -> np.ndarray:
        """A part of the order of the chosen documents; every document has its place in it."""
        numbers = np.flatnonzero(chosen)
        if sort == "name":
            return _smallest(numbers, (self.snapshot.by_name[numbers],), start, stop)
        newest = self.snapshot.by_updated[numbers]
        if sort == "updated":
            return _smallest(numbers, (newest,), start, stop)
        if sort == "used":
            return _smallest(numbers, (self.snapshot.by_used[numbers],), start, stop)
        tier = found.is_name[numbers] * 2 + found.is_nearly_name[numbers]
        score = -(found.score[numbers].astype(np.float64) + tier * 1e6)
        return _smallest(numbers, (score, newest), start, stop)

    def explain(self, found: Found, number: int) -> tuple[tuple[str, float], ...]:
        """What the score of a document is made of, with the places where its words stand."""
        part, inside = self.snapshot.place(number)
        lines = dict(zip(PLACES, part.segment.stream(inside).decode().split("\n")))
        why = []
        for word, scores in found.parts:
            if scores[number] > 0:
                places = _places(word, lines)
                why.append((Sentence("“{word}” in its {places}", word=word,
                                     places=listed(map(Sentence, places))),
                            round(float(scores[number]), 3)))
        rest = float(found.score[number]) - sum(value for _, value in why)
        if abs(rest) > 0.01:
            why.append((Sentence("how much of the query it has"), round(rest, 3)))
        if found.is_name[number] or found.is_nearly_name[number]:
            why.insert(0, (Sentence(
                "its name or its URI is what was asked for: first of all"), 0.0))
        return tuple(why)

    def suggest(self, clause: Clause) -> tuple[str, ...]:
        """Queries like this one, with near words of names for those that nothing has."""
        clauses = clause.clauses if isinstance(clause, All) else (clause,)
        others = tuple(each for each in clauses if not isinstance(each, Words))
        words = [each.text for each in clauses if isinstance(each, Words)][:MAX_SUGGESTED_WORDS]
        unknown = {text for text in words if not self._matcher.knows(text)}
        if not unknown:
            return ()

        def is_found(text: str) -> bool:
            asked = tuple(Words(word) for word in text.split())
            return bool(self.find(All((*asked, *others))).mask.any())
        return suggestions(self.snapshot, self._matcher.view, words, unknown, is_found)

    def _match(self, word: Asked, is_last: bool, has_others: bool) -> Match:
        """A word; beside others, `dataset` and the like also mean the type."""
        match = self._matcher.word(word, is_last=is_last)
        type = TYPE_WORDS.get(word.joined)
        if not type or not has_others:
            return match
        mask = self._is_type(type) & self._matcher.view.mask
        return either([match, Match(mask, (match.score + TYPE_BONUS) * mask)], match)

    def _most_of(self, asked: Sequence[tuple[Asked, bool]], matches: Sequence[Match]) -> Match:
        """What nearly all of the words have that anything has; who has more comes first.

        A rare word counts more than a common one. A word for a type is no condition.
        """
        seen = self._matcher.view
        pairs = [(match, TYPE_WORDS.get(word.joined)) for (word, _), match in zip(asked, matches)]
        wanted = [match for match, type in pairs if not type and match.mask.any()]
        kinds = {type for _, type in pairs if type}
        if len(wanted) < 2:
            return self._matcher.all_of(matches)
        rarity = [math.log(1 + seen.count / np.count_nonzero(match.mask)) for match in wanted]
        counts = np.sum([match.mask for match in wanted], axis=0)
        share = sum(rare * match.mask for rare, match in zip(rarity, wanted)) / sum(rarity)
        most = int(counts[seen.mask].max(initial=0))
        least = most if most == len(wanted) == 2 else max(most - 1, (len(wanted) + 1) // 2)
        mask = (counts >= least) & seen.mask
        score = np.sum([match.score for match in wanted], axis=0) + COVERAGE * share
        for type in kinds:
            score = score + SENTENCE_TYPE * self._is_type(type)
        return Match(mask, np.where(mask, score, 0))

    def _is_type(self, type: str) -> np.ndarray:
        column = self.snapshot.values["type"]
        is_it = np.array([name == type for name in column.names], bool)
        return is_it[column.codes] if len(column.codes) else np.zeros(self.snapshot.count, bool)

    def _found(self, match: Match, others: Match, text: str,
               parts: tuple[tuple[str, np.ndarray], ...]) -> Found:
        is_name, is_nearly = self._named(text)
        mask = (match.mask | is_name) & others.mask & self._matcher.view.mask
        score = np.where(mask, match.score + (others.score if match is not others else 0), 0)
        return Found(mask, score, is_name & mask, is_nearly & mask, parts)

    def _named(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Which documents have this name, and which but for case and separators, or this URI."""
        snapshot = self.snapshot
        is_name, is_nearly = np.zeros((2, snapshot.count), bool)
        name, squashed = _name_of(text), squash(text)
        if name:
            is_name[snapshot.postings("keys", f"name:={name}")[0]] = True
            is_nearly[snapshot.postings("keys", f"uri:={uri_ends(text)[0]}")[0]] = True
        if squashed:
            for number in snapshot.postings("keys", f"name:{squashed}")[0].tolist():
                is_nearly[number] |= snapshot.fact("squashed", number) == squashed
        return is_name, is_nearly


def _places(word: str, lines: Mapping[str, str]) -> list[str]:
    """Where a word stands: as it is, as a beginning, as a part or in parts; else nearly so."""
    for text in (f" {word} ", f" {word}", word):
        places = [place for place, line in lines.items() if text in line]
        if places:
            return places
    joined = squash(word)
    places = [place for place, line in lines.items() if joined in line.replace(" ", "")]
    if places:
        return places
    return ["type"] if word in TYPE_WORDS else [N_("name, but for a letter")]


def _label(clause: Clause) -> str:
    """A phrase or a choice in words."""
    if isinstance(clause, (Words, Phrase)):
        return " ".join(spoken(clause.text))
    choices = clause.clauses if isinstance(clause, (All, Any)) else ()
    return " or ".join(filter(None, map(_label, choices)))


def _asked(words: Sequence[Words]) -> tuple[list[tuple[Asked, bool]], bool]:
    """What is asked for, and whether each may be unfinished; and whether it is a sentence.

    What says nothing is left out.
    """
    asked = [(word, each.is_last) for each in words for word in typed_words(each.text)]
    rare = [pair for pair in asked if pair[0].joined not in STOP_WORDS]
    is_sentence = len(asked) >= ENOUGH_WORDS
    if is_sentence:
        rare = [pair for pair in rare if pair[0].joined not in FILLERS] or rare
    return rare or asked[-1:], is_sentence


def _smallest(numbers: np.ndarray, keys: tuple[np.ndarray, ...], start: int, stop: int
              ) -> np.ndarray:
    """A part of the numbers in the order of their keys, the first key first."""
    first = keys[0]
    if stop < len(numbers):
        last = np.partition(first, stop)[stop]
        near = np.flatnonzero(first <= last)
        numbers, keys = numbers[near], tuple(key[near] for key in keys)
    return numbers[np.lexsort(keys[::-1])][start:stop]


def _name_of(query: str) -> str:
    """The name in `type/name@version`, or all of a query that is no such reference."""
    return fold_value(query.strip().rpartition("/")[2].partition("@")[0])
