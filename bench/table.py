"""How every benchmark shows and keeps its figures."""
from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any, Mapping, Sequence

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=f"{title} ({os.cpu_count()} cores, Python {platform.python_version()})")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    Console(width=110).print(table)


def save(name: str, figures: Mapping[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
