"""Two jobs side by side: what they ran with, how they ended, and what they left."""
from __future__ import annotations

from contextlib import closing
from typing import Any, Iterable, Mapping

from registry import receipts
from registry.errors import NotFoundError
from registry.views.figures import MAX_BYTES, figures_of, has_figures
from registry.views.job_access import receipt_of
from registry.views.language import gettext as _
from registry.views.services import services

MAX_FILES, MAX_READ = 200, 20


def group_titles() -> dict[str, str]:
    """The groups of facts in the order of the pages, with their headings."""
    return {receipts.PARAMETERS: _("Parameters"), receipts.FIGURES: _("What it measured"),
            receipts.INPUTS: _("Inputs"),
            receipts.RESOURCES: _("Resources"), receipts.RESULT: _("How it ended"),
            receipts.FILES: _("Files that it left"), receipts.MACHINE: _("Where it ran")}


def compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Every fact of either by its group, those first that differ; `is_cut`: not all files.

    Raises RunnerUnavailableError.
    """
    sides = [(_account_of(job), _files_of(job)) for job in (first, second)]
    rows = receipts.side_by_side(*(
        receipts.facts(account, files["artifacts"], _figures(job["id"], files["artifacts"]))
        for job, (account, files) in zip((first, second), sides)))
    return {"rows": rows, "is_cut": any(files["next"] for _account, files in sides),
            "unlike": sum(row.differs for row in rows)}


def _account_of(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """The receipt of the newest attempt or, before there is one, what is known of the job."""
    try:
        return receipt_of(job, 0)
    except NotFoundError:
        return {"spec": job["spec"], "machine": {}, "tasks": [], "state": job["state"],
                "reason": job["reason"], "wall_s": None}


def _figures(job_id: str, files: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the first MAX_READ small files say, each figure by its name and its file."""
    read = [each for each in files if has_figures(each["path"], each["size"])][:MAX_READ]
    found: dict[str, str] = {}
    for each in read:
        try:
            file = services().runner.artifact(
                job_id, each["attempt"], each["role"], each["index"], each["path"])
        except NotFoundError:  # cleaned up since it was listed
            continue
        with closing(file):
            figures = figures_of(each["path"], file.head(MAX_BYTES))
        place = f"{each['role']}-{each['index']}/{each['path']}"
        found |= {f"{name} ({place})" if name else place: value for name, value in figures.items()}
    return found


def _files_of(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """The files of the newest attempt, with the checksum of each."""
    if not job["attempts"]:
        return {"artifacts": [], "next": None}
    return services().runner.artifacts(job["id"], attempt=len(job["attempts"]), limit=MAX_FILES,
                                       checksums=1)
