"""The HTTP API's routes about components: search, show, check. They need no login."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

from flask import jsonify
from flask.typing import ResponseReturnValue

from registry.component import parse
from registry.component_rules import SCHEMAS, sentences
from registry.errors import ComponentError, NotFoundError
from registry.highlight import spans, terms_of
from registry.hits import Hit
from registry.query import parse_query
from registry.views import completions
from registry.views.api_openapi import Access, Api
from registry.views.auth import viewer_id
from registry.views.entries import (
    entry_json,
    find_entry,
    resolved_json,
    version_json,
    versions_of,
)
from registry.views.finding import suggestions
from registry.views.language import HEADER, language, said
from registry.views.models import components as models
from registry.views.models.search import CompletionQuery, Completions, ComponentPage, SearchQuery
from registry.views.programs import API_PREFIX
from registry.views.services import services
from runner.sentence import Sentence, joined

COMPLETIONS_KEPT_S = 60
SCHEMAS_KEPT_S = 3600
api = Api("api_components", API_PREFIX)


@api.route("GET", "/components", access=Access.PUBLIC, query=SearchQuery,
           result=ComponentPage)
def search_components(query: SearchQuery) -> dict[str, Any]:
    """Find components: words, "phrases", -without, OR, (groups) and filters such as type:job.

    A query that cannot be read is answered with 400 and the column of its mistake.
    """
    asked = parse_query(query.q)
    page = services().search.search(
        asked.clause, types=tuple(query.type), sort=query.sort, page=query.page,
        page_size=query.page_size, user_id=viewer_id(), explain=query.explain)
    terms = terms_of(asked, page.terms)
    return {"total": page.total, "page": page.page, "page_size": page.page_size,
            "facets": {field: [{"value": value, "count": count} for value, count in found.items()]
                       for field, found in page.facets.items()},
            "suggestions": suggestions(asked, page),
            "is_ready": page.is_ready,
            "components": [_hit_json(hit, terms) for hit in page.hits]}


@api.route("GET", "/complete", access=Access.PUBLIC, query=CompletionQuery,
           result=Completions)
def complete_name(query: CompletionQuery) -> ResponseReturnValue:
    """What a query may be going to: names that begin like its words, filters like its end."""
    answer = jsonify(
        completions=[{"type": each.type, "name": each.name}
                     for each in completions.names(query.q, query.limit)],
        filters=[{"filter": each.filter, "query": each.query}
                 for each in completions.filters(query.q, query.limit)])
    answer.headers["Cache-Control"] = f"private, max-age={COMPLETIONS_KEPT_S}"
    return answer


@api.route("GET", "/components/<type_name>/<name>", access=Access.PUBLIC,
           query=models.ComponentQuery, result=models.ComponentEntry, errors=(404, 409, 410))
def show_component(type_name: str, name: str, query: models.ComponentQuery) -> dict[str, Any]:
    """One version of a component with its text, its origin and all versions."""
    version = query.version and f"@{query.version}"
    return entry_json(find_entry(f"{type_name}/{name}{version}", query.source))


@api.route("GET", "/components/<type_name>/<name>/versions", access=Access.PUBLIC,
           query=models.SourceQuery, result=models.Versions, errors=(404,))
def list_versions(type_name: str, name: str, query: models.SourceQuery) -> dict[str, Any]:
    """Every version of a component, newest first."""
    versions = versions_of(type_name, name, query.source or None)
    if not versions:
        near = services().search.nearest(name, type_name, user_id=viewer_id())
        raise NotFoundError(Sentence(
            "There is no component {type_name}/{name}.", type_name=type_name, name=name),
                            [f"{type_name}/{each}" for each in near])
    return {"versions": [version_json(entry) for entry in versions]}


@api.route("GET", "/resolve", access=Access.PUBLIC, query=models.ReferenceQuery,
           result=models.ResolvedReference, errors=(404, 409, 410))
def resolve_reference(query: models.ReferenceQuery) -> dict[str, Any]:
    """What a reference means now: one version, with the commit and blob that hold its bytes.

    A type or source that it leaves out is found; 409 names the choices where several fit.
    """
    return resolved_json(find_entry(query.reference))


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


@api.route("GET", "/schemas", access=Access.PUBLIC, result=models.Schemas)
def list_schemas() -> ResponseReturnValue:
    """The JSON Schemas that components are checked with, by type; for editors that complete."""
    answer = jsonify(SCHEMAS if language() == "en" else _described(SCHEMAS))
    answer.vary.add(HEADER)
    answer.headers["Cache-Control"] = f"private, max-age={SCHEMAS_KEPT_S}"
    return answer


def _described(schema: Any) -> Any:
    """A schema whose titles and descriptions are in the language of this response."""
    if isinstance(schema, list):
        return [_described(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: _described(item) for key, item in schema.items()}
    if isinstance(found.get("title"), str):
        found["title"] = said(found["title"])
    if isinstance(found.get("description"), str):
        found["description"] = said(joined(*map(Sentence, sentences(found["description"]))))
    return found


def _hit_json(hit: Hit, terms: Sequence[str]) -> dict[str, Any]:
    return {"reference": hit.reference, "source": hit.source, "type": hit.type, "name": hit.name,
            "version": hit.version, "contributor": hit.contributor,
            "description": hit.description, "updated_at": hit.updated, "used": hit.used,
            "tags": list(hit.tags), "is_deprecated": hit.is_deprecated,
            "highlights": {"name": spans(hit.name, terms),
                           "description": spans(hit.description, terms)},
            "why": [{"reason": reason, "points": points} for reason, points in hit.why]}
