"""The OpenAPI document, and a page that reads it out."""
from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Mapping

from flask import Blueprint, jsonify, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from registry.views import (
    api_account,
    api_components,
    api_dumps,
    api_files,
    api_jobs,
    api_marks,
    api_publications,
    api_publish,
    api_relations,
    api_sources,
    api_terminals,
    api_webhooks,
)
from registry.views.addresses import origin
from registry.views.api_openapi import Access, Api, document
from registry.views.programs import API_PREFIX
from registry.wording import N_

TITLE = "PAIShare"
SECTIONS = {"components": N_("Components"), "publish": N_("Publishing"),
            "publications": N_("Publishing to GitHub"),
            "relations": N_("What changed, what is used by whom"),
            "marks": N_("What owners say about versions"),
            "jobs": N_("Jobs"), "terminals": N_("Terminals"), "files": N_("Files that jobs left"),
            "sources": N_("Sources and the server"),
            "webhooks": N_("What GitHub tells of by itself"),
            "dumps": N_("Dumps of the whole catalog"), "account": N_("Account"),
            "docs": N_("This document")}

_STAND_INS: Mapping[str, Any] = {"string": "…", "integer": 1, "number": 1.0, "boolean": True,
                                 "array": [], "object": {}}

api = Api("api_docs", API_PREFIX)
blueprint = Blueprint("api_page", __name__, url_prefix="/api")
APIS = (api_components.api, api_relations.api, api_marks.api, api_jobs.api, api_terminals.api,
        api_sources.api,
        api_dumps.api, api_files.api,
        api_webhooks.api, api_publish.api, api_publications.api, api_account.api, api)


@api.route("GET", "/openapi.json", access=Access.PUBLIC, media="application/json")
def show_openapi() -> ResponseReturnValue:
    """This API, described in OpenAPI 3.1."""
    return jsonify(openapi())


@blueprint.get("")
def index() -> ResponseReturnValue:
    return redirect(url_for("api_page.show"), 301)


@blueprint.get("/docs")
def show() -> ResponseReturnValue:
    return render_template("api/index.html", document=openapi(), sections=_sections(),
                           prefix=API_PREFIX, origin=origin())


@blueprint.get("/openapi.json")
def whole() -> ResponseReturnValue:
    return jsonify(openapi())


@cache
def openapi() -> dict[str, Any]:
    """The document, made at the first call."""
    return document(APIS, {"title": TITLE, "version": _version()}, API_PREFIX)


def _version() -> str:
    try:
        return version("paishare")
    except PackageNotFoundError:
        return "0"


def _example(operation: Mapping[str, Any]) -> str | None:
    """What a program must send as its JSON, each value a stand-in; None: it sends none."""
    if "requestBody" not in operation:
        return None
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    model = openapi()["components"]["schemas"][name.rpartition("/")[2]]
    return json.dumps({
        field: _STAND_INS.get(model["properties"][field].get("type", "string"))
        for field in model.get("required", ())}, ensure_ascii=False)


def _sections() -> list[tuple[str, list[dict[str, Any]]]]:
    """Title and operations of each section, with path and method in each."""
    operations = [{"path": path, "method": method.upper(), **operation,
                   "example": _example(operation)}
                  for path, methods in openapi()["paths"].items()
                  for method, operation in methods.items()]
    return [(title, [each for each in operations if each["tags"] == [tag]])
            for tag, title in SECTIONS.items()]
