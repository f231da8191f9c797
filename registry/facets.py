"""How many hits have which type, contributor, source, tag, image and number of GPUs."""
from __future__ import annotations

from typing import Mapping

import numpy as np

from registry.document import fold_value
from registry.hits import FACETS, MAX_FACET_VALUES
from registry.snapshot import LISTED, Snapshot

GPU_BUCKETS = ("0", "<=1", "<=2", "<=4", "<=8", ">8")


def facets_of(snapshot: Snapshot, every: np.ndarray, chosen: np.ndarray
              ) -> dict[str, Mapping[str, int]]:
    """Counts by facet: of `type` over the mask `every`, of the others over `chosen`."""
    return {name: _gpus(snapshot, chosen) if name == "gpu"
            else _counts(snapshot, name, every if name == "type" else chosen) for name in FACETS}


def _counts(snapshot: Snapshot, name: str, mask: np.ndarray) -> dict[str, int]:
    """Most frequent first; a value is spelled as in the first hit that has it by name."""
    column = snapshot.values[name]
    inside = mask[column.owners]
    codes, places = column.codes[inside], snapshot.by_name[column.owners[inside]]
    counts = np.bincount(codes, minlength=len(column.names))
    first = np.full(len(column.names), snapshot.count)
    np.minimum.at(first, codes, places)
    largest = _largest(counts)
    best = sorted((-int(count), column.names[code], code) for code, count in zip(
        largest, counts[largest]) if count and column.names[code])
    found: dict[str, int] = {}
    for negative, folded, code in best[:MAX_FACET_VALUES]:
        number = int(snapshot.names_order[first[code]])
        found[_spelled(snapshot, name, number, folded)] = -negative
    return found


def _largest(counts: np.ndarray) -> np.ndarray:
    """The codes of the most frequent values, and of all that are as frequent as the last."""
    if len(counts) <= MAX_FACET_VALUES:
        return np.arange(len(counts))
    least = np.partition(counts, -MAX_FACET_VALUES - 1)[-MAX_FACET_VALUES - 1]
    return np.flatnonzero(counts >= max(least, 1))


def _spelled(snapshot: Snapshot, name: str, number: int, folded: str) -> str:
    value = snapshot.fact(name, number)
    values = value if name in LISTED else [value]
    return min(each for each in values if fold_value(each) == folded)


def _gpus(snapshot: Snapshot, mask: np.ndarray) -> dict[str, int]:
    """Buckets as the filter takes them; each but the last holds those before it."""
    gpus = snapshot.numbers["gpu"][mask]
    gpus = gpus[gpus >= 0]
    counts = [int(np.count_nonzero(gpus == 0)),
              *(int(np.count_nonzero(gpus <= most)) for most in (1, 2, 4, 8)),
              int(np.count_nonzero(gpus > 8))]
    return {name: count for name, count in zip(GPU_BUCKETS, counts) if count}
