"""OpenPAI's template API, as its releases 0.8 to 0.12 had it: list, search, get, publish."""
from __future__ import annotations

import re
from typing import Any, Mapping

from flask import Blueprint, Response, jsonify, request
from flask.typing import ResponseReturnValue

from registry.catalog import Entry
from registry.component import TYPES, Component
from registry.dialects import component_text, form_values, template
from registry.errors import InvalidInputError, NotFoundError, RegistryError
from registry.hits import Hit
from registry.reference import is_referable
from registry.views import auth
from registry.views.entries import component_of
from registry.views.services import services

PAGE_SIZE = 5
DEFAULT_BRANCH = "master"
PREFIXES = {"openpai": "/api/v2", "openpai_by_proxy": "/rest-server/api/v2"}
_PAGE = re.compile("[1-9][0-9]{0,5}")

blueprint = Blueprint("openpai", __name__)


@blueprint.get("/template")
def search_templates() -> ResponseReturnValue:
    query = request.args.get("query", "").strip()
    if not query:
        raise InvalidInputError('Failed to extract "query" parameter in the request.')
    type_name = request.args.get("type")
    if type_name:
        _require_type(type_name)
    return jsonify(_page(query, (type_name,) if type_name else ()))


@blueprint.get("/template/<type_name>")
def list_templates(type_name: str) -> ResponseReturnValue:
    _require_type(type_name)
    return jsonify(_page("", (type_name,)))


@blueprint.get("/template/<type_name>/<name>")
def show_template(type_name: str, name: str) -> ResponseReturnValue:
    """One version; which one it is, its commit says in a header, and its own number in itself."""
    _require_type(type_name)
    wanted = request.args.get("version", "")
    entry = _find(type_name, name, "" if wanted == DEFAULT_BRANCH else wanted)
    component = component_of(entry)
    response = jsonify(template(component.document, _written_out(component), entry.commit))
    response.headers["X-Template-Commit"] = entry.commit
    response.headers["X-Template-Source"] = entry.source
    return response


@blueprint.post("/template")
def publish_template() -> ResponseReturnValue:
    user = auth.required_user()
    published = services().shelves.publish(user, _given_text())
    component = published.component
    return jsonify(type=component.type, name=component.name, version=published.commit,
                   contributor=user.name), 201 if published.is_first else 200


@blueprint.after_request
def open_to_other_pages(response: Response) -> Response:
    """As OpenPAI's server did. Cookies are not sent along from there, tokens may be."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
    response.headers["Access-Control-Allow-Methods"] = "GET, POST, OPTIONS"
    return response


def _require_type(type_name: str) -> None:
    if type_name not in TYPES:
        raise InvalidInputError("Found illegal type value in the request.")


def _page(query: str, types: tuple[str, ...]) -> dict[str, Any]:
    """Five of them; `pageNo` comes back as it was given, which is a text."""
    number = request.args.get("pageno")
    if number and not _PAGE.fullmatch(number):
        raise InvalidInputError("Found illegal pageno value in the request.")
    page = services().search.search(query, types=types, page=int(number or 1),
                                    page_size=PAGE_SIZE, user_id=auth.viewer_id())
    return {"totalCount": page.total, "pageNo": number or 1, "pageSize": PAGE_SIZE,
            "items": [item for item in map(_item, page.hits) if item]}


def _item(hit: Hit) -> dict[str, Any] | None:
    """The commit as `version`: with it, `GET /template/TYPE/NAME` gives just this one.

    None where the index is a moment behind, and the component is gone.
    """
    version = f"@{hit.version}" if is_referable(hit.version) else ""
    try:
        entry = services().catalog.get(f"{hit.source}:{hit.type}/{hit.name}{version}",
                                       user_id=auth.viewer_id())
    except RegistryError:
        return None
    return {"type": hit.type, "name": hit.name, "contributor": entry.contributor,
            "version": entry.commit, "description": entry.description, "score": hit.score}


def _find(type_name: str, name: str, version: str) -> Entry:
    source = request.args.get("source")
    reference = (f"{source}:" if source else "") + f"{type_name}/{name}"
    try:
        return services().catalog.get(reference + (f"@{version}" if version else ""),
                                      user_id=auth.viewer_id())
    except NotFoundError as error:
        raise NotFoundError("Failed to find any matched template.", error.nearest) from error


def _written_out(component: Component) -> list[Mapping[str, Any]]:
    """Its prerequisites as that protocol has them: a reference becomes what it refers to."""
    return [_referred(item["reference"], item["type"]) or
            {"name": item["name"], "type": item["type"] or ""}
            if "reference" in item else item for item in component.prerequisites]


def _referred(reference: str, type_name: str | None) -> Mapping[str, Any] | None:
    try:
        entry = services().catalog.get(reference, type=type_name, user_id=auth.viewer_id())
    except RegistryError:
        return None
    return template(component_of(entry).document, (), entry.commit)


def _given_text() -> str | bytes:
    """YAML as it is, else what the fields of the JSON or the form come to."""
    if request.mimetype in ("text/yaml", "application/x-yaml", "application/yaml", "text/plain"):
        return request.get_data()
    if request.form:
        return component_text(form_values(request.form.items(multi=True)))
    return component_text(request.get_json(silent=True))
