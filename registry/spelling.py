"""Names that begin so, or are nearly so: completions, corrections, did-you-mean. Uses rapidfuzz."""
from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from registry.hits import Completion
from registry.snapshot import LAST, Snapshot, View
from registry.tokens import fold, squash

MIN_LETTERS = 4
MAX_NEAR, MAX_SUGGESTIONS, MAX_CHOICES = 10, 3, 9
MAX_LOOKED_AT = 400
MAX_LENGTH = 64
CUTOFF = 70.0


def near_name_words(snapshot: Snapshot, view: View, word: str) -> list[str]:
    """Words of visible names at the distance of one letter, or of two that changed places."""
    if not MIN_LETTERS <= len(word) <= MAX_LENGTH or word.isdecimal():
        return []
    return view.kept(("near", word), lambda: _near_name_words(snapshot, view, word))


def _near_name_words(snapshot: Snapshot, view: View, word: str) -> list[str]:
    found = {near for part in snapshot.parts for length in (-1, 0, 1)
             for near, distance, _ in process.extract(
                 word, part.name_words_by_length.get(len(word) + length, ()),
                 scorer=OSA.distance, score_cutoff=1, limit=None) if distance == 1}
    return list(islice(_seen(snapshot, view, sorted(found)), MAX_NEAR))


def completions(snapshot: Snapshot, view: View, prefix: str, limit: int) -> list[Completion]:
    """Visible names that begin so, then names of which a part does; the most used first."""
    start = squash(prefix[:MAX_LENGTH])
    if not start:
        return []
    found: dict[tuple[str, str], tuple[bool, int, int, str]] = {}
    for base, part in zip(snapshot.bases.tolist(), snapshot.parts):
        starts, owners = part.starts
        begin, end = bisect_left(starts, start), bisect_left(starts, start + LAST)
        owned = owners[begin:end][view.mask[owners[begin:end] + base]]
        if len(owned) > MAX_LOOKED_AT:
            owned = _most_used(owned, part.numbers["used"][owned], part.is_whole(owned, start))
        for number in owned.tolist():
            name = part.columns["name"][number]
            is_part = not part.columns["squashed"][number].startswith(start)
            key = part.columns["type"][number], name
            rank = is_part, -int(part.numbers["used"][number]), len(name), name
            found[key] = min(found.get(key, rank), rank)
    best = sorted(found, key=lambda key: (found[key], key))[:limit]
    return [Completion(type=type, name=name) for type, name in best]


def nearest_names(names: Sequence[tuple[str, str]], wanted: str, limit: int) -> list[str]:
    """The names like this one, nearest first; each comes with its squashed form."""
    squashed = squash(wanted[:MAX_LENGTH * 4])
    near = [(name, each) for name, each in names
            if len(squashed) < 2 * len(each) + 1 and len(each) < 2 * len(squashed) + 1]
    found = process.extract(squashed, [each for _, each in near], scorer=fuzz.ratio,
                            score_cutoff=CUTOFF, limit=limit * 4)
    ranked = sorted((-score, near[place][0]) for _, score, place in found)
    return list(dict.fromkeys(name for _, name in ranked))[:limit]


def suggestions(snapshot: Snapshot, view: View, words: Sequence[str], unknown: Collection[str],
                is_found: Callable[[str], bool]) -> tuple[str, ...]:
    """Queries like this one that find something: each unknown word replaced by a near one."""
    choices = [""]
    for word in words:
        near = _near(snapshot, view, word) if word in unknown else [word]
        choices = [f"{choice} {each}".strip() for choice in choices for each in near][:MAX_CHOICES]
    return tuple(choice for choice in choices if choice and is_found(choice))[:MAX_SUGGESTIONS]


def _near(snapshot: Snapshot, view: View, word: str) -> list[str]:
    """The nearest words of visible names."""
    folded = fold(word).casefold()[:MAX_LENGTH]
    found: dict[str, float] = {}
    for part in snapshot.parts:
        for near, score, _ in process.extract(folded, part.name_words, scorer=fuzz.ratio,
                                              score_cutoff=CUTOFF, limit=None):
            found[near] = max(score, found.get(near, 0.0))
    nearest = sorted(found, key=lambda near: (-found[near], near))
    return list(islice(_seen(snapshot, view, nearest), MAX_SUGGESTIONS))


def _seen(snapshot: Snapshot, view: View, words: Iterable[str]) -> Iterator[str]:
    """Those of the words that stand in a visible name."""
    return (word for word in words
            if view.mask[snapshot.postings("keys", f"name:{word}")[0]].any())


def _most_used(owned: np.ndarray, used: np.ndarray, is_whole: np.ndarray) -> np.ndarray:
    return owned[np.lexsort((owned, -used, ~is_whole))[:MAX_LOOKED_AT]]
