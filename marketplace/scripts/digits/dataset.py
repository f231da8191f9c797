"""Read the handwritten digits and split them into a part to train on and a part to test on."""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

PIXELS = 64  # an image is 8 rows of 8 pixels
MAX_PIXEL = 16  # 0 is paper, 16 is ink
CLASSES = 10
TEST_SHARE = 0.2
SPLIT_SEED = 1998


class Digits(NamedTuple):
    """Images as rows of 64 numbers from 0 to 1; labels as whole numbers from 0 to 9."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def read(path: Path) -> Digits:
    """Read the CSV file (plain or .gz): each line is 64 pixels and the digit they show.

    The split is always the same, whatever the seed of the training: only then can the accuracies
    of two runs be compared.
    """
    if not path.is_file():
        raise SystemExit(f"There is no data at {path}. Does the task name `data: digits`?")
    table = np.loadtxt(path, delimiter=",")
    if table.ndim != 2 or table.shape[1] != PIXELS + 1:
        raise SystemExit(f"{path} does not look like the digits: each line must hold "
                         f"{PIXELS} pixels and a label, separated by commas.")
    images, labels = table[:, :PIXELS] / MAX_PIXEL, table[:, PIXELS].astype(int)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(images))
    test_count = round(len(images) * TEST_SHARE)
    test, train = order[:test_count], order[test_count:]
    return Digits(images[train], labels[train], images[test], labels[test])
