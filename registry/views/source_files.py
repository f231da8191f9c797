"""The files of a source on its page: the invalid ones, and those with advice, page by page."""
from __future__ import annotations

from typing import Any

from flask import request

from registry.sources import Source
from registry.versions import FileProblem
from registry.views.finding import page_number
from registry.views.services import services
from registry.views.source_state import is_on_github

FILES_A_PAGE = 25
FIRST_OF_FILE = 5  # of what is wrong in one file; its own page has all of it
INVALID, ADVICE = "invalid", "advice"


def files_of(source: Source) -> dict[str, Any]:
    """What the address asks for: `?show=advice&page=2`, or all about one `?file=`."""
    known = services().sources
    counts = {INVALID: source.problems,
              ADVICE: known.warning_counts(source.id).get(source.id, 0)}
    path = request.args.get("file")
    if path:
        found = [*known.problems(source.id, path=path), *known.warnings(source.id, path=path)]
        return {"counts": counts, "kind": "", "page": 1, "last": 1, "file": path,
                "files": [_shown(source, file, None) for file in found]}
    kind = request.args.get("show", "")
    if kind not in counts or not counts[kind]:
        kind = INVALID if counts[INVALID] else ADVICE
    last = max(1, -(-counts[kind] // FILES_A_PAGE))
    page = min(page_number(), last)
    read = known.problems if kind == INVALID else known.warnings
    files = read(source.id, limit=FILES_A_PAGE, offset=(page - 1) * FILES_A_PAGE)
    return {"counts": counts, "kind": kind, "page": page, "last": last, "file": None,
            "files": [_shown(source, file, FIRST_OF_FILE) for file in files]}


def _shown(source: Source, file: FileProblem, most: int | None) -> dict[str, Any]:
    """A file and what is wrong in it, with where that can be read on GitHub; `most` None: all."""
    def url(line: int | None) -> str | None:
        return services().repositories.file_url(
            source, file.commit, file.path, line) if is_on_github(source) else None

    return {"path": file.path, "commit": file.commit, "url": url(None),
            "more": 0 if most is None else max(0, len(file.problems) - most),
            "problems": [(problem, url(problem.line)) for problem in file.problems[:most]]}
