"""The HTTP API's routes about files that jobs left: all as one archive, and what one looks like."""
from __future__ import annotations

from typing import Any

from flask import Response, url_for

from registry.views import auth
from registry.views.api_openapi import Api
from registry.views.downloads import archive_response, file_shown
from registry.views.job_access import job_of
from registry.views.models import jobs as models
from registry.views.programs import API_PREFIX

api = Api("api_files", API_PREFIX)


@api.route("GET", "/jobs/<job_id>/archive", query=models.FilesQuery, media="application/zip",
           errors=(404, 503))
def get_archive(job_id: str, query: models.FilesQuery) -> Response:
    """The files that the tasks left as one zip, with their checksums in SHA256SUMS."""
    job = job_of(auth.required_user(), job_id)
    return archive_response(job["id"], **query.model_dump())


@api.route("GET", "/jobs/<job_id>/preview/<int:attempt>/<role>/<int:index>/<path:path>",
           result=models.FilePreview, errors=(404, 503))
def preview_file(job_id: str, attempt: int, role: str, index: int, path: str) -> dict[str, Any]:
    """What one file looks like: the begin of a text or a table, or that it is a picture."""
    job = job_of(auth.required_user(), job_id)
    place = {"job_id": job["id"], "attempt": attempt, "role": role, "index": index, "path": path}
    return {**file_shown(**place), "url": url_for("api_jobs.get_artifact", **place)}
