"""Figures in a file that a job left: JSON, a table's last row, a text of one line. Pure."""
from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any, Iterator

from registry.views.file_preview import DELIMITERS, numbers_of, preview_of

MAX_BYTES, MAX_FIGURES, MAX_TEXT, MAX_DEPTH = 1 << 16, 50, 100, 4
KINDS = {".json", ".jsonl", ".txt", *DELIMITERS}


def has_figures(path: str, size: int) -> bool:
    """Whether a file may hold figures that are worth reading it."""
    return 0 < size <= MAX_BYTES and PurePosixPath(path).suffix.lower() in KINDS


def figures_of(path: str, data: bytes) -> dict[str, str]:
    """Each figure by its name, as it is written; the only one of a text has no name.

    Empty where there is none.
    """
    kind = PurePosixPath(path).suffix.lower()
    if kind in DELIMITERS:
        columns = numbers_of(path, data, len(data)).columns
        found = [(name, f"{values[-1]:g}") for name, values in columns
                 if values and values[-1] is not None]
    else:
        text = preview_of(path, data, len(data)).text.strip()
        if kind == ".txt":
            found = [("", text)] if "\n" not in text and 0 < len(text) <= MAX_TEXT else []
        else:
            found = list(_leaves(_parsed(text if kind == ".json" else text[text.rfind("\n") + 1:])))
    return dict(found[:MAX_FIGURES])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and depth < MAX_DEPTH:
        for key, each in value.items():
            yield from _leaves(each, f"{name}.{key}" if name else key, depth + 1)
    elif isinstance(value, bool):
        yield name, json.dumps(value)
    elif isinstance(value, str) and len(value) <= MAX_TEXT:
        yield name, value
