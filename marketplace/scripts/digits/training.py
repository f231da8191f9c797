"""Stochastic gradient descent: many small steps, each along the slope of one batch of images."""
from __future__ import annotations

from typing import Iterator

import network
import numpy as np
from dataset import Digits


def batches(size: int, batchsize: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The numbers 0 to size - 1 in a new random order, `batchsize` at a time."""
    order = rng.permutation(size)
    for start in range(0, size, batchsize):
        yield order[start:start + batchsize]


def train(digits: Digits, *, epochs: int, lr: float, batchsize: int,
          seed: int) -> Iterator[tuple[int, float, network.Weights]]:
    """Yield, after each epoch, its number from 1, its mean loss and the weights so far."""
    weights = network.create(seed)
    rng = np.random.default_rng(seed)
    for epoch in range(1, epochs + 1):
        losses = []
        for batch in batches(len(digits.train_labels), batchsize, rng):
            loss, slopes = network.gradients(
                weights, digits.train_images[batch], digits.train_labels[batch])
            network.descend(weights, slopes, lr)
            losses.append(loss)
        yield epoch, float(np.mean(losses)), weights
