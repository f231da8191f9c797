"""The HTTP API's routes about sources, and about the server itself."""
from __future__ import annotations

from typing import Any

from registry.versions import FileProblem
from registry.views import auth
from registry.views.api_openapi import Access, Api
from registry.views.models import sources as models
from registry.views.models.machine import Health, Machine
from registry.views.programs import API_PREFIX
from registry.views.services import services
from registry.views.source_access import (
    AskedSource,
    add_source,
    last_sync,
    make_webhook,
    managed_source,
    owned_source,
    required_webhook,
    source_json,
    sponsor,
    status_json,
    visible_source,
)
from registry.views.text import iso

api = Api("api_sources", API_PREFIX)


@api.route("GET", "/sources", result=models.Sources)
def list_sources() -> dict[str, Any]:
    """Every source and how its last sync went."""
    user = auth.required_user()
    found = services().sources.visible(user_id=user.id)
    return {"sources": [source_json(source) for source in found]}


@api.route("POST", "/sources", body=models.NewSource, status=201, result=models.Source,
           errors=(403, 404, 409))
def create_source(body: models.NewSource) -> dict[str, Any]:
    """Index a repository on GitHub or, for an admin, a folder. Its first sync begins at once.

    GitHub is asked once, as you, whether you see the repository; 503 where it does not answer.
    """
    return source_json(add_source(AskedSource(
        location=body.location, name=body.name or "", branch=body.branch or "",
        sub_paths=body.sub_paths, tag_prefix=body.tag_prefix, is_sponsored=body.use_my_token)))


@api.route("DELETE", "/sources/<path:name>", status=204, errors=(403, 404))
def remove_source(name: str) -> None:
    """Take a source and its components out of the catalog; for its owner or an admin."""
    services().sources.remove(managed_source(auth.required_user(), name).name)


@api.route("GET", "/sources/<path:name>/status", result=models.SourceStatus, errors=(404,))
def show_source(name: str) -> dict[str, Any]:
    """How one source stands: how far its sync is, how fresh it is, what is wrong with it."""
    return status_json(visible_source(auth.required_user(), name))


@api.route("POST", "/sources/<path:name>/pause", status=204, errors=(403, 404))
def pause_source(name: str) -> None:
    """Sync it no more until it is resumed; its versions keep serving. For its owner or an admin."""
    user = auth.required_user()
    services().sources.pause(managed_source(user, name), user.id)


@api.route("POST", "/sources/<path:name>/resume", status=204, errors=(403, 404))
def resume_source(name: str) -> None:
    """Sync a paused source again, first of all now; for its owner or an admin."""
    services().sources.resume(managed_source(auth.required_user(), name))


@api.route("POST", "/sources/<path:name>/sync", status=202, errors=(404, 409))
def sync_source(name: str) -> dict[str, Any]:
    """Ask for a sync now; it begins within a second. 409 where the source is paused."""
    source = visible_source(auth.required_user(), name)
    services().sources.request_sync(source.name)
    return {}


@api.route("GET", "/sources/<path:name>/problems", query=models.FilesQuery,
           result=models.FileProblems, errors=(404,))
def list_problems(name: str, query: models.FilesQuery) -> dict[str, Any]:
    """The files of a source that are no valid components, and advice about those that are."""
    source, sources = visible_source(auth.required_user(), name), services().sources
    part: dict[str, Any] = {"limit": query.page_size, "path": query.path,
                            "offset": (query.page - 1) * query.page_size}
    return {"problem_count": source.problems, "page": query.page, "page_size": query.page_size,
            "warning_count": sources.warning_counts(source.id).get(source.id, 0),
            "problems": list(map(_file_json, sources.problems(source.id, **part))),
            "warnings": list(map(_file_json, sources.warnings(source.id, **part)))}


@api.route("POST", "/sources/<path:name>/agree", body=models.HeldHead, status=202,
           errors=(403, 404, 409))
def agree_to_head(name: str, body: models.HeldHead) -> dict[str, Any]:
    """Have a commit shown that was held back because it takes away much; for the owner."""
    services().sources.agree(owned_source(auth.required_user(), name), body.head)
    return {}


@api.route("POST", "/sources/<path:name>/keep", status=202, errors=(403, 404))
def keep_what_is_shown(name: str) -> dict[str, Any]:
    """Have what is shown stay, whatever commit was held back; for the owner."""
    services().sources.keep(owned_source(auth.required_user(), name))
    return {}


@api.route("PUT", "/sources/<path:name>/sponsor", status=204, errors=(403, 404, 409))
def use_my_token(name: str) -> None:
    """Have the source synced with your own token from now on; GitHub is asked whether it may."""
    sponsor(auth.required_user(), name)


@api.route("GET", "/sources/<path:name>/webhook", result=models.WebhookFacts, errors=(403, 404))
def show_webhook(name: str) -> dict[str, Any]:
    """Where GitHub may tell of pushes, and the secret that it signs with; for the owner alone."""
    return required_webhook(auth.required_user(), name)


@api.route("POST", "/sources/<path:name>/webhook", status=201, result=models.WebhookFacts,
           errors=(403, 404, 409))
def create_webhook(name: str) -> dict[str, Any]:
    """Have GitHub make the webhook, with your own token; for the owner of the source."""
    user = auth.required_user()
    found = required_webhook(user, name)
    make_webhook(user, owned_source(user, name))
    return found


@api.route("GET", "/catalog/hash", result=models.CatalogHash, errors=(403,))
def show_hash() -> dict[str, Any]:
    """One SHA-256 over all that the catalog holds; for an admin.

    Equal on two servers that have the same sources at the same commits and the same settings.
    """
    auth.required_admin("see the hash of the whole catalog")
    return {"hash": services().fingerprints.live()}


def _file_json(file: FileProblem) -> dict[str, Any]:
    return {"path": file.path, "commit": file.commit,
            "errors": [problem.as_json() for problem in file.problems]}


@api.route("GET", "/health", access=Access.PUBLIC, result=Health)
def show_health() -> dict[str, Any]:
    """Which parts of the server answer."""
    is_up, is_github_up = services().runner.is_up(), services().is_github_up()
    return {"status": "ok" if is_up and is_github_up else "degraded", "web": True,
            "runner": is_up, "github": is_github_up, "sync": {"last": iso(last_sync())}}


@api.route("GET", "/machine", result=Machine, errors=(503,))
def show_machine() -> dict[str, Any]:
    """What the machine that runs the jobs has, and what of it is free."""
    auth.required_user()
    return services().runner.machine()
