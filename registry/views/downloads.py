"""What jobs wrote, handed to a browser such that none of it can act on our pages."""
from __future__ import annotations

from contextlib import closing
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from flask import Response

from registry.runner_client import Download
from registry.views.file_preview import (
    HEAD_BYTES,
    PLOT_BYTES,
    Preview,
    numbers_of,
    preview_of,
)
from registry.views.job_access import Task
from registry.views.security import as_file
from registry.views.services import services

# Pictures are shown in the page; everything else is saved, never opened.
IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
          ".webp": "image/webp"}


def is_image(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in IMAGES


def artifact_response(job_id: str, attempt: int, role: str, index: int, path: str) -> Response:
    """One file of a job: a picture inline, anything else to be saved under its name."""
    file = services().runner.artifact(job_id, attempt, role, index, path)
    name = PurePosixPath(path).name
    media = IMAGES.get(PurePosixPath(path).suffix.lower(), "application/octet-stream")
    response = _streamed(file, media)
    response.headers["Content-Disposition"] = (
        f"{'inline' if is_image(path) else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}")
    return response


def archive_response(job_id: str, **query: Any) -> Response:
    """Files of a job as a zip, saved under the job's number."""
    response = _streamed(services().runner.archive(job_id, **query), "application/zip")
    response.headers["Content-Disposition"] = f"attachment; filename={job_id}.zip"
    return response


def file_shown(job_id: str, attempt: int, role: str, index: int, path: str) -> dict[str, Any]:
    """What one file looks like: what its first bytes show, or that it is a picture."""
    file = services().runner.artifact(job_id, attempt, role, index, path)
    size = file.size or 0
    with closing(file):
        shown = Preview(kind="image") if is_image(path) else preview_of(
            path, file.head(HEAD_BYTES), size)
    return {**vars(shown), "size": size}


def numbers_shown(job_id: str, attempt: int, role: str, index: int, path: str) -> dict[str, Any]:
    """What of a table can be plotted, as its page's script takes it."""
    file = services().runner.artifact(job_id, attempt, role, index, path)
    with closing(file):
        found = numbers_of(path, file.head(PLOT_BYTES), file.size or 0)
    return {"names": [name for name, _values in found.columns], "is_cut": found.is_cut,
            "values": [values for _name, values in found.columns]}


def log_response(task: Task, stream: str, *, has_times: bool = False) -> Response:
    """A task's whole log as text, empty before the task has started."""
    if not task.is_started:
        return as_file(Response("", mimetype="text/plain"))
    return _streamed(services().runner.raw_log(*task.place, stream=stream, has_times=has_times),
                     "text/plain; charset=utf-8")


def merged_log_response(job_id: str, *, attempt: int, role: str, stream: str,
                        has_times: bool) -> Response:
    """All lines of all tasks of a job as text."""
    return _streamed(services().runner.merged_text(
        job_id, attempt=attempt, role=role, stream=stream, has_times=has_times),
        "text/plain; charset=utf-8")


def _streamed(file: Download, media: str) -> Response:
    response = as_file(Response(file, content_type=media))
    if file.size is not None:
        response.content_length = file.size
    return response
