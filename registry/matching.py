"""Which documents a clause of a query asks for, and how well each fits: masks and scores."""
from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from datetime import datetime, timezone
from operator import ge, gt, le, lt
from typing import Callable, Iterable, Sequence

import numpy as np

from registry.document import WEIGHTS, fold_value
from registry.query import All, Any, Clause, Filter, Not, Phrase, Words
from registry.query_fields import is_range
from registry.reference import Range
from registry.snapshot import Snapshot, View
from registry.spelling import near_name_words
from registry.tokens import STOP_WORDS, Asked, query_words, spoken

K1, B = 1.2, 0.6
MAX_BEGINNINGS, FEW_BEGINNINGS = 50, 8
MAX_COUNTED = 3000
MANY_STARTS = 8  # so many beginnings in one query get all their words; a hundred would take long
NAME_BEGINNING, TEXT_BEGINNING, NEAR = 0.9, 0.4, 0.6
FEW = 2
_COMPARED: dict[str, Callable[..., np.ndarray]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, eq=False)
class Match:
    """Documents, and the score of each; it is 0 where the mask is False."""

    mask: np.ndarray
    score: np.ndarray


class Matcher:
    """Finds in one snapshot what one circle of users may see of it."""

    def __init__(self, snapshot: Snapshot, view: View) -> None:
        self.snapshot = snapshot
        self.view = view
        self._begun = 0

    def match(self, clause: Clause) -> Match:
        """What a clause asks for, nothing that it does not."""
        if isinstance(clause, Words):
            return self.all_of([self.word(asked, is_last=clause.is_last)
                                for asked in query_words(clause.text)])
        if isinstance(clause, Phrase):
            return self.phrase(clause.text)
        if isinstance(clause, Filter):
            return self._unscored(self.filter(clause))
        if isinstance(clause, Not):
            return self._unscored(~self._excluded(clause.clause) & self.view.mask)
        if isinstance(clause, Any):
            return either([self.match(each) for each in clause.clauses], self.nothing())
        return self._together(clause)

    def all_of(self, matches: Sequence[Match]) -> Match:
        """What all of them have; nothing where there are none."""
        if not matches:
            return self.nothing()
        mask = np.logical_and.reduce([match.mask for match in matches])
        return Match(mask, np.where(mask, sum(match.score for match in matches), 0))

    def everything(self) -> Match:
        return self._unscored(self.view.mask)

    def nothing(self) -> Match:
        return self._unscored(np.zeros(self.snapshot.count, bool))

    # --- words ----------------------------------------------------------------------------------

    def word(self, asked: Asked, *, is_last: bool = False) -> Match:
        """What has all parts of a word, or them written together, or nearly so.

        The end of a query may be unfinished; so may be a word that nothing has.
        """
        found = self.exactly(asked)
        if is_last or not found.mask.any():
            *rest, last = asked.parts
            ending = self.all_of([*map(self.scored, rest), self.beginning(last)])
            found = either([found, ending, *([self.beginning(asked.joined)] if rest else [])],
                           found)
        if np.count_nonzero(found.mask) <= FEW:
            found = either([found, self.nearly(asked)], found)
        return found

    def knows(self, text: str) -> bool:
        """Whether every word of a text is somewhere, as it is or as a beginning."""
        return all(all(map(self._is_seen, asked.parts)) or any(map(
            self._is_seen, self._beginnings("words", asked.joined, MAX_BEGINNINGS)))
            for asked in query_words(text))

    def _is_seen(self, word: str) -> bool:
        return bool(self.view.mask[self.snapshot.postings("words", word)[0]].any())

    def exactly(self, asked: Asked) -> Match:
        """What has all parts of a word, or them written together; nothing else."""
        parts = self.all_of([self.scored(part) for part in asked.parts])
        if len(asked.parts) == 1:
            return parts
        return either([parts, self.scored(asked.joined)], parts)

    def scored(self, word: str) -> Match:
        """BM25 of one word, over what may be seen alone: nobody learns of the rest by a score."""
        return self.view.kept(("word", word), lambda: self._score(word))

    def beginning(self, start: str) -> Match:
        """The highest score of words that begin so: prominent ones count more than others."""
        self._begun += 1
        limit = MAX_BEGINNINGS if self._begun <= MANY_STARTS else FEW_BEGINNINGS
        return self.view.kept(("start", start, limit),
                              lambda: self._score_beginnings(start, limit))

    def _score(self, word: str) -> Match:
        numbers, weights = self.snapshot.postings("words", word)
        seen = self.view.mask[numbers]
        numbers, weights = numbers[seen], weights[seen]
        match = self.nothing()
        match.mask[numbers] = True
        match.score[numbers] = self._rarity(len(numbers)) * self._often(numbers, weights)
        return match

    def _score_beginnings(self, start: str, limit: int) -> Match:
        words = [name.removeprefix("name:")
                 for name in self._beginnings("keys", f"name:{start}", limit, without="name:=")]
        words += self._beginnings("words", start, limit)
        found = [self.snapshot.postings("words", word) for word in dict.fromkeys(words)]
        match = self.nothing()
        if not found:
            return match
        numbers, weights = (np.concatenate(arrays) for arrays in zip(*found))
        word_of = np.repeat(np.arange(len(found)), [len(each) for each, _ in found])
        seen = self.view.mask[numbers]
        numbers, weights, word_of = numbers[seen], weights[seen], word_of[seen]
        rarity = self._rarity(np.bincount(word_of, minlength=len(found)))[word_of]
        factor = np.where(weights >= WEIGHTS["name"], NAME_BEGINNING, TEXT_BEGINNING)
        match.mask[numbers] = True
        np.maximum.at(match.score, numbers, (
            factor * rarity * self._often(numbers, weights)).astype(np.float32))
        return match

    def _beginnings(self, field: str, start: str, limit: int, without: str = "") -> list[str]:
        """The most frequent words that begin so, counted over what may be seen alone."""
        if self.view.count == np.count_nonzero(self.snapshot.is_live):
            return list(self.snapshot.beginning(field, start, limit, without))
        counts = self.snapshot.beginning(field, start, MAX_COUNTED, without)
        seen: list[tuple[int, str]] = []
        for word, most in counts.items():
            if len(seen) == limit and most < -seen[-1][0]:
                break  # the rest is rarer even with what is hidden
            count = int(np.count_nonzero(self.view.mask[self.snapshot.postings(field, word)[0]]))
            if count:
                insort(seen, (-count, word))
                del seen[limit:]
        return [word for _, word in seen]

    def _rarity(self, count: int | np.ndarray) -> np.ndarray:
        return np.log(1 + (self.view.count - count + 0.5) / (count + 0.5))

    def _often(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What the weight of a word in a document counts, beside the length of that."""
        lengths = self.snapshot.numbers["length"][numbers]
        return weights * (K1 + 1) / (weights + K1 * (1 - B + B * lengths / self.view.mean_length))

    def nearly(self, asked: Asked) -> Match:
        """What has each part in its name but for one letter, or them written together."""
        parts = self.all_of([self._near(part) for part in asked.parts])
        joined = [self._near(asked.joined)] if len(asked.parts) > 1 else []
        return either([parts, *joined], parts)

    def in_name(self, word: str) -> np.ndarray:
        """The documents that have a word in their name."""
        return self._having(f"name:{word}")

    def _near(self, part: str) -> Match:
        """The part itself, or words of names at one letter's distance, for less."""
        found = [self.scored(part)]
        for word in near_name_words(self.snapshot, self.view, part):
            match = self.scored(word)
            mask = match.mask & self.in_name(word)
            found.append(Match(mask, np.where(mask, match.score * NEAR, 0)))
        return either(found, self.nothing())

    # --- phrases and filters --------------------------------------------------------------------

    def phrase(self, text: str) -> Match:
        """What has these words beside each other, within one place of a component."""
        return self.view.kept(("phrase", text), lambda: self._read_phrase(text))

    def _read_phrase(self, text: str) -> Match:
        wanted = f" {' '.join(spoken(text))} ".encode()
        asked = [word for word in query_words(text) if word.joined not in STOP_WORDS]
        candidates = self.all_of([self.exactly(word) for word in asked]) if asked \
            else self.everything()
        if not wanted.strip():
            return self.nothing()
        mask = np.zeros(self.snapshot.count, bool)
        for part, base in zip(self.snapshot.parts, self.snapshot.bases.tolist()):
            end = base + part.segment.count
            inside = np.flatnonzero((candidates.mask & self.view.mask)[base:end]).tolist()
            mask[base:end][part.segment.having(inside, wanted)] = True
        return Match(mask, np.where(mask, candidates.score, 0))

    def filter(self, wanted: Filter) -> np.ndarray:
        """The documents that a filter lets through."""
        field, value = wanted.field, wanted.value.strip()
        if field == "versions":
            return self.view.mask
        if field == "gpu":
            return self._by_gpus(wanted.operator, value) & self.view.mask
        if field == "updated":
            return self._by_day(wanted.operator, value) & self.view.mask
        if field == "name":
            return self._by_words(field, value)
        if field == "version" and is_range(value):
            return self._by_range(value)
        exact = self._having(f"{field}:={fold_value(value)}")
        if exact.any() or field in ("type", "is", "version"):
            return exact
        return self._by_words(field, value)

    def _by_range(self, text: str) -> np.ndarray:
        """What is shown of each component, where its version is within a range."""
        wanted = Range.parse(text)
        return self.view.kept(("range", text), lambda: self._read_range(wanted)) if wanted \
            else self.nothing().mask

    def _read_range(self, wanted: Range) -> np.ndarray:
        versions = [version for part in self.snapshot.parts for version in part.versions]
        inside = {version for version in set(versions) if wanted.contains(version)}
        return np.array([version in inside for version in versions], bool) & self.view.mask

    def _by_words(self, field: str, value: str) -> np.ndarray:
        found = [self._having_all([f"{field}:{part}" for part in word.parts])
                 | self._having(f"{field}:{word.joined}") for word in query_words(value)]
        return np.logical_and.reduce(found) if found else self.nothing().mask

    def _by_gpus(self, operator: str, value: str) -> np.ndarray:
        digits = value.lstrip("<>=")
        operator = value[:len(value) - len(digits)] or operator
        gpus = self.snapshot.numbers["gpu"]
        number = min(int(digits), 10**9) if digits.isdecimal() else -1
        compare = _COMPARED.get(operator)
        return (gpus >= 0) & (compare(gpus, number) if compare else gpus == number)

    def _by_day(self, operator: str, value: str) -> np.ndarray:
        """Whole days in UTC: after a day means from the next one on."""
        begin = _day(value)
        if begin is None:
            return self.nothing().mask
        end, updated = begin + 86_400, self.snapshot.numbers["updated"]
        if operator in ("<", ">="):
            return updated < begin if operator == "<" else updated >= begin
        if operator in ("<=", ">"):
            return updated < end if operator == "<=" else updated >= end
        return (updated >= begin) & (updated < end)

    def _having(self, key: str) -> np.ndarray:
        mask = np.zeros(self.snapshot.count, bool)
        mask[self.snapshot.postings("keys", key)[0]] = True
        return mask & self.view.mask

    def _having_all(self, keys: Iterable[str]) -> np.ndarray:
        return np.logical_and.reduce([self._having(key) for key in keys])

    # --- groups ---------------------------------------------------------------------------------

    def _together(self, clause: All) -> Match:
        words = [each for each in clause.clauses if isinstance(each, Words)]
        others = [self.match(each) for each in clause.clauses if not isinstance(each, Words)]
        if not words:
            return self.all_of([self.everything(), *others])
        asked = [(word, each.is_last) for each in words for word in query_words(each.text)]
        rare = [pair for pair in asked if pair[0].joined not in STOP_WORDS] or asked[-1:]
        found = self.beside([word for word, _ in rare],
                            [self.word(word, is_last=is_last) for word, is_last in rare])
        return self.all_of([*found, *others]) if found else self.nothing()

    def beside(self, asked: Sequence[Asked], matches: Sequence[Match]) -> list[Match]:
        """The matches of words, where two that follow each other may be one in the document."""
        found = list(matches)
        for place, (first, second) in enumerate(zip(asked, asked[1:])):
            together = self.scored(first.joined + second.joined)
            if together.mask.any():
                for number in (place, place + 1):
                    found[number] = either([found[number], together], together)
        return found

    def _excluded(self, clause: Clause) -> np.ndarray:
        """What a clause without its tolerance has: only that is taken out."""
        if isinstance(clause, Words):
            words = [self.beginning(word.joined) if clause.is_last and len(word.parts) == 1
                     else self.exactly(word) for word in query_words(clause.text)]
            return self.all_of(words).mask
        if isinstance(clause, (All, Any)):
            combine = np.logical_and if isinstance(clause, All) else np.logical_or
            return combine.reduce([self._excluded(each) for each in clause.clauses]
                                  or [self.view.mask])
        return self.match(clause).mask

    def _unscored(self, mask: np.ndarray) -> Match:
        return Match(mask, np.zeros(self.snapshot.count, np.float32))


def either(matches: Sequence[Match], otherwise: Match) -> Match:
    """What one of them has, with the highest of its scores."""
    if len(matches) < 2:
        return matches[0] if matches else otherwise
    return Match(np.logical_or.reduce([match.mask for match in matches]),
                 np.maximum.reduce([match.score for match in matches]))


def _day(value: str) -> int | None:
    try:
        return int(datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return None
