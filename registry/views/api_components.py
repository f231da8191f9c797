"""The HTTP API's routes about components: search, show, check. They need no login."""
from __future__ import annotations

from typing import Any

from registry.component import parse
from registry.errors import ComponentError, NotFoundError
from registry.hits import Hit
from registry.views import api_models as models
from registry.views.api_openapi import Access, Api
from registry.views.auth import viewer_id
from registry.views.entries import entry_json, find_entry, version_json, versions_of
from registry.views.errors import API_PREFIX
from registry.views.services import services

api = Api("api_components", API_PREFIX)


@api.route("GET", "/components", access=Access.PUBLIC, query=models.SearchQuery,
           result=models.ComponentPage)
def search_components(query: models.SearchQuery) -> dict[str, Any]:
    """Find components by words in their names, descriptions, contributors and commands."""
    page = services().search.search(query.q, types=tuple(query.type), page=query.page,
                                    page_size=query.page_size, user_id=viewer_id())
    return {"total": page.total, "page": page.page, "page_size": page.page_size,
            "facets": dict(page.facets.get("type", {})), "suggestions": list(page.suggestions),
            "components": [_hit_json(hit) for hit in page.hits]}


@api.route("GET", "/components/<type_name>/<name>", access=Access.PUBLIC,
           query=models.ComponentQuery, result=models.ComponentEntry, errors=(404, 409))
def show_component(type_name: str, name: str, query: models.ComponentQuery) -> dict[str, Any]:
    """One version of a component with its text, its origin and all versions."""
    return entry_json(find_entry(type_name, name, query.version, query.source))


@api.route("GET", "/components/<type_name>/<name>/versions", access=Access.PUBLIC,
           query=models.SourceQuery, result=models.Versions, errors=(404,))
def list_versions(type_name: str, name: str, query: models.SourceQuery) -> dict[str, Any]:
    """Every version of a component, newest first."""
    versions = versions_of(type_name, name, query.source or None)
    if not versions:
        raise NotFoundError(f"There is no component {type_name}/{name}.")
    return {"versions": [version_json(entry) for entry in versions]}


@api.route("POST", "/validate", access=Access.PUBLIC, body=models.YamlText,
           result=models.Validation)
def validate(body: models.YamlText) -> dict[str, Any]:
    """Check a YAML text; the answer is 200 also where the text is wrong."""
    try:
        component = parse(body.yaml)
    except ComponentError as error:
        found = [problem.as_json() for problem in error.problems]
        return {"component": None,
                "errors": [each for each in found if each["severity"] == "error"],
                "warnings": [each for each in found if each["severity"] != "error"]}
    return {"component": {
        "type": component.type, "name": component.name, "version": component.version,
        "contributor": component.contributor, "description": component.description,
        "reference": component.reference, "parameters": component.parameters},
        "errors": [], "warnings": [problem.as_json() for problem in component.warnings]}


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {"reference": hit.reference, "source": hit.source, "type": hit.type, "name": hit.name,
            "version": hit.version, "contributor": hit.contributor,
            "description": hit.description, "updated_at": hit.updated}
