"""What the page of one component shows: its text, its versions, its users, its company."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from registry.component import Component, uris_of
from registry.component_rules import INNER_TYPES, SCHEMAS
from registry.document import tags_of
from registry.entry import Entry
from registry.uses import uses_of_item
from registry.views.auth import viewer_id
from registry.views.entries import component_of
from registry.views.language import gettext as _
from registry.views.services import services
from registry.views.source_access import origin_of

VERSIONS, USERS, COMPANIONS = 12, 10, 6
USED = ("dockerimage", "data", "script", *INNER_TYPES)


@dataclass(frozen=True, kw_only=True)
class Need:
    """One prerequisite; `found` is what it means in the catalog now, None: nothing."""

    name: str
    type: str | None
    is_reference: bool
    uris: tuple[str, ...]
    description: str
    found: Entry | None


def component_page(entry: Entry) -> dict[str, Any]:
    """Everything that the template marketplace/show.html takes."""
    component = component_of(entry)
    versions = services().changelog.versions(entry, limit=VERSIONS, user_id=viewer_id())
    used_by = services().relations.used_by(entry, limit=USERS, user_id=viewer_id())
    recommendation = services().recommendation
    note, file_url = origin_of(entry)
    return {
        "entry": entry, "component": component,
        "broken": services().sources.problem_at(entry.source_id, entry.path),
        "listed": versions.entries,
        "versions": [*versions.entries, *versions.landmarks], "version_count": versions.total,
        "has_before": versions.has_before,
        "needed": needs_of(component, entry), "users": used_by.users,
        "user_count": used_by.total, "same": used_by.same[:USERS],
        "together": recommendation.together(entry, COMPANIONS, user_id=viewer_id()),
        "run_count": recommendation.run_count(entry), "unknown": unknown_fields(component),
        "tags": tags_of(component.document), "needs": _whole(component),
        "note": note, "file_url": file_url,
        "tasks": [_task_facts(task) for task in component.tasks]}


def needs_of(component: Component, entry: Entry) -> list[Need]:
    """The prerequisites of a job with what each means now, looked up all at once."""
    items = [(item, uses_of_item(item, entry.path)) for item in component.prerequisites]
    wanted = {use for _, uses in items for use in uses}
    found = services().relations.found(wanted, entry.source_id, user_id=viewer_id())
    return [_need(item, next((each for use in uses if (each := found[use])), None))
            for item, uses in items]


def unknown_fields(component: Component) -> dict[str, Any]:
    """The fields that PAIShare keeps and does not know."""
    known = SCHEMAS[component.type]["properties"]
    return {name: value for name, value in component.document.items() if name not in known}


def _need(item: Mapping[str, Any], found: Entry | None) -> Need:
    return Need(name=item["name"], type=item["type"] or (found.type if found else None),
                is_reference="reference" in item, uris=uris_of(item), found=found,
                description=item.get("description") or (found.description if found else ""))


def _whole(component: Component) -> dict[str, str]:
    """What all tasks of a job take together; a `$$name$$` makes a sum unknown."""
    tasks = [_task_facts(task) for task in component.tasks]

    def total(key: str) -> int | None:
        counts = [(task["instances"], 1 if key == "tasks" else task[key] or 0) for task in tasks]
        known = all(isinstance(each, int) for pair in counts for each in pair)
        return sum(one * many for one, many in counts) if known else None

    memory = total("memory")
    return {"gpu": _or_open(total("gpu")), "cpu": _or_open(total("cpu")),
            "memory": _or_open(None if memory is None else f"{memory} MiB"),
            "tasks": _or_open(total("tasks"))}


def _or_open(value: object) -> str:
    return _("by its parameters") if value is None else str(value)


def _task_facts(task: Mapping[str, Any]) -> dict[str, Any]:
    """One task in a table's words; a value may be a `$$name$$` still."""
    resource = task.get("resource") or {}
    each = resource.get("resourcePerInstance") or {}
    ports = [f"{port.get('label')} ({port.get('portNumber', 1)})"
             for port in resource.get("portList") or ()]
    return {"role": task.get("role"), "instances": resource.get("instances", 1),
            "cpu": each.get("cpu"), "memory": each.get("memoryMB"), "gpu": each.get("gpu"),
            "ports": ", ".join(ports), "command": task.get("command") or (),
            "needs": [(kind, task[kind]) for kind in USED if task.get(kind)]}
