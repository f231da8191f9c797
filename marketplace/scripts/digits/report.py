"""What a training leaves behind: the model, its figures, and a picture of its mistakes."""
from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import network
import numpy as np
from dataset import CLASSES, Digits
from PIL import Image, ImageDraw, ImageFont

CELL_WIDTH, CELL_HEIGHT = 26, 18
LEFT, TOP = 44, 46  # room for the labels of rows and columns
ZOOM = 3  # the built-in font is small, so everything is drawn small and enlarged
INK, PAPER, BLUE, RED = (20, 20, 20), (255, 255, 255), (33, 102, 172), (214, 96, 77)


def output_dir() -> Path:
    """Where PAIShare looks for artifacts; ./output when the program runs outside of a job."""
    path = Path(os.environ.get("PAI_OUTPUT_DIR", "output"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def confusion(labels: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Count test images: row = the true digit, column = the predicted one."""
    matrix = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(matrix, (labels, predicted), 1)
    return matrix


def _centred(canvas: ImageDraw.ImageDraw, x: float, y: float, text: str,
             color: tuple[int, int, int]) -> None:
    font = ImageFont.load_default()
    left, top, right, bottom = canvas.textbbox((0, 0), text, font=font)
    canvas.text((round(x - (left + right) / 2), round(y - (top + bottom) / 2)), text,
                fill=color, font=font)


def _shade(count: int, row_total: int, is_right: bool) -> tuple[int, int, int]:
    """White for 0; bluer with every right answer, redder with every wrong one."""
    share = count / max(row_total, 1)
    strength = share if is_right else min(1.0, 4 * share)
    target = BLUE if is_right else RED
    red, green, blue = (round(p + (t - p) * strength) for p, t in zip(PAPER, target))
    return red, green, blue


def draw_confusion(matrix: np.ndarray, title: str) -> Image.Image:
    """A table of counts: the diagonal is right, everything beside it is a mistake."""
    width, height = LEFT + CLASSES * CELL_WIDTH + 8, TOP + CLASSES * CELL_HEIGHT + 8
    picture = Image.new("RGB", (width, height), PAPER)
    canvas = ImageDraw.Draw(picture)
    canvas.fontmode = "1"  # no half tones: sharp when enlarged
    _centred(canvas, width / 2, 10, title, INK)
    _centred(canvas, LEFT + CLASSES * CELL_WIDTH / 2, 25, "predicted digit", INK)
    _centred(canvas, LEFT / 2 - 6, TOP - 8, "true", INK)
    for row in range(CLASSES):
        _centred(canvas, LEFT + (row + 0.5) * CELL_WIDTH, TOP - 8, str(row), INK)
        _centred(canvas, LEFT / 2 + 6, TOP + (row + 0.5) * CELL_HEIGHT, str(row), INK)
        for column in range(CLASSES):
            _draw_cell(canvas, matrix, row, column)
    return picture.resize((width * ZOOM, height * ZOOM), Image.Resampling.NEAREST)


def _draw_cell(canvas: ImageDraw.ImageDraw, matrix: np.ndarray, row: int, column: int) -> None:
    count = int(matrix[row, column])
    color = _shade(count, int(matrix[row].sum()), row == column)
    x, y = LEFT + column * CELL_WIDTH, TOP + row * CELL_HEIGHT
    canvas.rectangle((x, y, x + CELL_WIDTH, y + CELL_HEIGHT), fill=color, outline=(200, 200, 200))
    if count:
        text_color = PAPER if sum(color) < 450 else INK
        _centred(canvas, x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2, str(count), text_color)


def _metrics(weights: network.Weights, digits: Digits, matrix: np.ndarray) -> dict[str, Any]:
    train = network.accuracy(weights, digits.train_images, digits.train_labels)
    right = np.diag(matrix)
    return {
        "test_accuracy": round(float(right.sum() / matrix.sum()), 4),
        "test_accuracy_by_digit": {
            str(digit): round(float(right[digit] / matrix[digit].sum()), 4)
            for digit in range(CLASSES)},
        "train_accuracy": round(train, 4),
        "train_images": len(digits.train_labels),
        "test_images": len(digits.test_labels),
    }


def finish(weights: network.Weights, digits: Digits, options: argparse.Namespace) -> None:
    """Write model.npz, confusion_matrix.png and metrics.json, and print the test accuracy."""
    folder = output_dir()
    matrix = confusion(digits.test_labels, network.predict(weights, digits.test_images))
    metrics = _metrics(weights, digits, matrix)
    title = (f"{np.trace(matrix)} of {matrix.sum()} test images right "
             f"({metrics['test_accuracy']:.1%})")
    network.save(weights, folder / "model.npz")
    draw_confusion(matrix, title).save(folder / "confusion_matrix.png")
    metrics["options"] = {name: value for name, value in vars(options).items() if name != "data"}
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    print(f"wrote model.npz, confusion_matrix.png and metrics.json to {folder}")
    print(f"test accuracy {metrics['test_accuracy']:.4f}", flush=True)
