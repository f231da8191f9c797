"""A neural network with one hidden layer, in numpy: 64 pixels -> hidden units -> 10 scores.

The weights are a plain dict of arrays, so that they can be saved, sent and averaged as they are.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
from dataset import CLASSES, PIXELS

HIDDEN = 128

Weights = dict[str, np.ndarray]


def create(seed: int, hidden: int = HIDDEN) -> Weights:
    """New weights: small random numbers, scaled so that signals keep their size (He et al.)."""
    rng = np.random.default_rng(seed)
    return {
        "w1": rng.normal(0, np.sqrt(2 / PIXELS), (PIXELS, hidden)),
        "b1": np.zeros(hidden),
        "w2": rng.normal(0, np.sqrt(2 / hidden), (hidden, CLASSES)),
        "b2": np.zeros(CLASSES),
    }


def _hidden(weights: Weights, images: np.ndarray) -> np.ndarray:
    return np.maximum(0, images @ weights["w1"] + weights["b1"])  # ReLU


def _softmax(scores: np.ndarray) -> np.ndarray:
    # Less the largest score: exp() then cannot overflow, and the result is the same.
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def probabilities(weights: Weights, images: np.ndarray) -> np.ndarray:
    """For each image (a row), how likely it shows a 0, a 1, … a 9."""
    return _softmax(_hidden(weights, images) @ weights["w2"] + weights["b2"])


def predict(weights: Weights, images: np.ndarray) -> np.ndarray:
    return probabilities(weights, images).argmax(axis=1)


def accuracy(weights: Weights, images: np.ndarray, labels: np.ndarray) -> float:
    return float((predict(weights, images) == labels).mean())


def gradients(weights: Weights, images: np.ndarray, labels: np.ndarray) -> tuple[float, Weights]:
    """The mean cross-entropy loss of a batch, and how it changes with each weight."""
    hidden = _hidden(weights, images)
    chances = _softmax(hidden @ weights["w2"] + weights["b2"])
    rows = np.arange(len(labels))
    loss = float(-np.log(chances[rows, labels] + 1e-12).mean())
    error = chances  # d loss / d scores is `chances` less 1 at the true label
    error[rows, labels] -= 1
    error /= len(labels)
    hidden_error = error @ weights["w2"].T * (hidden > 0)
    return loss, {
        "w1": images.T @ hidden_error,
        "b1": hidden_error.sum(axis=0),
        "w2": hidden.T @ error,
        "b2": error.sum(axis=0),
    }


def descend(weights: Weights, slopes: Weights, lr: float) -> None:
    """One step of gradient descent, in place."""
    for name, slope in slopes.items():
        weights[name] -= lr * slope


def save(weights: Weights, path: Path) -> None:
    np.savez_compressed(path, **weights)


def load(path: Path) -> Weights:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)
