"""The command-line options that the programs here share, each checked with a clear message."""
from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, Callable

MAX_SEED = 2**32 - 1
MAX_RATE = 10


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def seed(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_SEED:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 0 to {MAX_SEED}, not {text!r}")
    return int(text)


def rate(text: str) -> float:
    """A number above 0; larger steps than MAX_RATE would only jump about."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_RATE:
        raise argparse.ArgumentTypeError(
            f"must be a number above 0 and at most {MAX_RATE}, such as 0.1, not {text!r}")
    return value


OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "data": (Path, "the digits, as digits.csv.gz"),
    "epochs": (count, "how often to go through the training images"),
    "lr": (rate, "the learning rate: how far each step goes"),
    "batchsize": (count, "how many images each step looks at"),
    "seed": (seed, "where the random numbers start: the same seed gives the same model"),
}


def parse(description: str | None, **defaults: Any) -> argparse.Namespace:
    """Read the options named in `defaults` from the command line; None: it must be given."""
    parser = argparse.ArgumentParser(description=description)
    for name, default in defaults.items():
        read, text = OPTIONS[name]
        text += "" if default is None else f" (default: {default})"
        parser.add_argument(f"--{name}", type=read, default=default, help=text,
                            required=default is None, metavar=name.upper())
    return parser.parse_args()
