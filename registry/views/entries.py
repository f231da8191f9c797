"""What pages and API tell about one version of a component."""
from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Mapping

from flask import render_template, url_for
from flask.typing import ResponseReturnValue

from registry.component import Component, parse, uris_of
from registry.component_rules import INNER_TYPES
from registry.entry import Entry, Mark
from registry.errors import ConflictError, GoneError, InvalidInputError, NotFoundError
from registry.reference import REFERENCE, Reference, is_prerelease, shown_of
from registry.views.auth import viewer_id
from registry.views.services import services
from registry.views.text import iso

NO_QUERY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Prerequisite:
    """One thing that a job needs; `reference` None: written in the job itself, with its `uris`.

    `problem` says why a reference means nothing today; None: it does, or there is none.
    """

    name: str
    type: str | None
    reference: str | None
    problem: str | None
    uris: tuple[str, ...]
    description: str


def find_entry(reference: str, source: str = "") -> Entry:
    """The version that a reference means to the viewer; `source` where it does not say one.

    Raises InvalidInputError, NotFoundError, ConflictError naming the choices, or GoneError.
    """
    wanted = Reference.parse(reference)
    whole = replace(wanted, source=wanted.source or source)
    try:
        return services().catalog.get(str(whole), user_id=viewer_id())
    except NotFoundError as error:
        near = error.nearest or services().search.nearest(wanted.name, user_id=viewer_id())
        raise NotFoundError(error.message, near) from error


def last_good(reference: str, source: str = "") -> list[str]:
    """What lists show of a component of which a version was deleted; empty: nothing any more."""
    wanted = Reference.parse(reference)
    known = services().catalog.versions(wanted.type, wanted.name, wanted.source or source or None,
                                        user_id=viewer_id())
    found = shown_of(known, {each.version for each in known if each.yanked})
    return [f"{found.source}:{found.reference}"] if found else []


def choices_page(error: ConflictError, endpoint: str, query: Mapping[str, str] = NO_QUERY
                 ) -> ResponseReturnValue:
    """Which one is meant, with a link to `endpoint` for each; the error where it is another."""
    if not error.choices:
        raise error
    found = [(Reference.parse(choice), find_entry(choice)) for choice in error.choices]
    links = [url_for(endpoint, type_name=entry.type, rest=wanted.named, source=entry.source,
                     **query)  # type: ignore[arg-type]
             for wanted, entry in found]
    return render_template("marketplace/choices.html", name=found[0][1].name,
                           choices=list(zip(links, (entry for _, entry in found)))), error.status


def versions_of(type_name: str, name: str, source: str | None) -> list[Entry]:
    """Every version that the viewer may see, newest first; `source` None: of every source."""
    return services().catalog.versions(type_name, name, source, user_id=viewer_id())


def component_of(entry: Entry) -> Component:
    """The component of a version, which was valid when it was recorded."""
    return parse(entry.text)


def prerequisites_of(component: Component) -> list[Prerequisite]:
    return [_prerequisite(item) for item in component.prerequisites]


def version_json(entry: Entry) -> dict[str, Any]:
    return {"version": entry.version, "source": entry.source, "commit": entry.commit,
            "committed_at": iso(entry.committed_at), "is_present": entry.is_present,
            "is_latest": entry.is_latest and not is_prerelease(entry.version),
            "is_moved": entry.is_moved, "tags": list(entry.tags),
            "yanked": _mark_json(entry.yanked), "deprecated": _mark_json(entry.deprecated)}


def resolved_json(entry: Entry) -> dict[str, Any]:
    """What a reference means, without the text."""
    return {**version_json(entry), "type": entry.type, "name": entry.name, "path": entry.path,
            "blob": entry.blob, "exact_reference": entry.exact_reference}


def entry_json(entry: Entry) -> dict[str, Any]:
    """Everything about a version, its text and document included."""
    component = component_of(entry)
    versions = versions_of(entry.type, entry.name, entry.source)
    return {
        **version_json(entry), "id": entry.id, "reference": entry.reference, "type": entry.type,
        "name": entry.name, "contributor": entry.contributor, "description": entry.description,
        "path": entry.path, "blob": entry.blob, "text": entry.text,
        "document": component.document,
        "warnings": [problem.as_json() for problem in entry.warnings],
        "versions": [version_json(each) for each in versions],
        "prerequisites": [{"name": item.name, "type": item.type, "reference": item.reference,
                           "problem": item.problem} for item in prerequisites_of(component)]}


def _mark_json(mark: Mark | None) -> dict[str, Any] | None:
    if mark is None:
        return None
    return {"reason": mark.reason, "successor": mark.successor or None, "at": iso(mark.at)}


def _prerequisite(item: dict[str, Any]) -> Prerequisite:
    """A reference is looked up; what is written in the job is linked where it has a page, too."""
    is_inline = "reference" not in item
    reference = f"{item['type']}/{item['name']}" if is_inline else item["reference"]
    if not is_inline and item["type"] and not REFERENCE.fullmatch(reference):
        reference = f"{item['type']}/{reference}"
    found, problem = _found(reference, item["type"])
    if is_inline and found and uris_of(_document(found)) != uris_of(item):
        found = None
    return Prerequisite(
        name=item["name"], type=item["type"] or (found.type if found else None),
        reference=found.reference if found else None, problem=None if is_inline else problem,
        uris=uris_of(item),
        description=item.get("description") or (found.description if found else ""))


def _document(entry: Entry) -> dict[str, Any]:
    return dict(component_of(entry).document)


def _found(reference: str, type_name: str | None) -> tuple[Entry | None, str | None]:
    """What a reference means, or why nothing."""
    if type_name in INNER_TYPES:
        return None, None
    try:
        return services().catalog.get(reference, type=type_name, user_id=viewer_id()), None
    except (InvalidInputError, NotFoundError, ConflictError, GoneError) as error:
        return None, error.message
