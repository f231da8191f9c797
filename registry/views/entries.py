"""What pages and API tell about one version of a component."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from registry.catalog import Entry
from registry.component import Component, parse, uris_of
from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.reference import REFERENCE
from registry.views.auth import viewer_id
from registry.views.services import services
from registry.views.text import iso


@dataclass(frozen=True, kw_only=True)
class Prerequisite:
    """One thing that a job needs; `reference` None: written in the job itself, with its `uris`."""

    name: str
    type: str | None
    reference: str | None
    uris: tuple[str, ...]
    description: str


def find_entry(type_name: str, name: str, version: str = "", source: str = "") -> Entry:
    """The version that is meant; raises NotFoundError, or ConflictError naming the choices."""
    reference = f"{source}:" if source else ""
    reference += f"{type_name}/{name}" + (f"@{version}" if version else "")
    return services().catalog.get(reference, type=type_name, user_id=viewer_id())


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
            "committed_at": iso(entry.committed_at), "is_latest": entry.is_latest,
            "is_present": entry.is_present}


def entry_json(entry: Entry) -> dict[str, Any]:
    """Everything about a version, its text and document included."""
    component = component_of(entry)
    versions = versions_of(entry.type, entry.name, entry.source)
    return {
        **version_json(entry), "id": entry.id, "reference": entry.reference, "type": entry.type,
        "name": entry.name, "contributor": entry.contributor, "description": entry.description,
        "path": entry.path, "blob": entry.blob, "text": entry.text,
        "document": component.document,
        "warnings": [problem.as_json() for problem in component.warnings],
        "versions": [version_json(each) for each in versions],
        "prerequisites": [{"name": item.name, "type": item.type, "reference": item.reference}
                          for item in prerequisites_of(component)]}


def _prerequisite(item: dict[str, Any]) -> Prerequisite:
    """A reference is looked up; what is written in the job is linked where it has a page, too."""
    is_inline = "reference" not in item
    reference = f"{item['type']}/{item['name']}" if is_inline else item["reference"]
    if not is_inline and item["type"] and not REFERENCE.fullmatch(reference):
        reference = f"{item['type']}/{reference}"
    found = _found(reference, item["type"])
    if is_inline and found and uris_of(_document(found)) != uris_of(item):
        found = None
    return Prerequisite(
        name=item["name"], type=item["type"] or (found.type if found else None),
        reference=found.reference if found else None, uris=uris_of(item),
        description=item.get("description") or (found.description if found else ""))


def _document(entry: Entry) -> dict[str, Any]:
    return dict(component_of(entry).document)


def _found(reference: str, type_name: str | None) -> Entry | None:
    if type_name == "storage":
        return None
    try:
        return services().catalog.get(reference, type=type_name, user_id=viewer_id())
    except (InvalidInputError, NotFoundError, ConflictError):
        return None
