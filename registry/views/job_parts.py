"""What of a job can be published: the whole of it, or an image, data or a script of it apart."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping

from flask import url_for

from registry.component import TYPES, Component, dump, parse
from registry.difference import compare
from registry.entry import Entry
from registry.errors import ComponentError, NotFoundError
from registry.placeholders import as_text
from registry.redaction import redacted
from registry.reference import version_order
from registry.runs import PRIVATE
from registry.views.finding import Link
from registry.views.language import gettext as _
from registry.views.services import services

FIRST_VERSION = "1.0.0"
_VERSION_LINE = re.compile(r"(?m)^version[ \t]*:[^\n#]*?(?=[ \t]*(?:#|$))")
_NAME_LINE = re.compile(r"(?m)^name[ \t]*:.*\n?")


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """A job on its way to a component: what the editor begins with.

    `parts` are the choices, the present one among them; `notes` are what to know of the text;
    `repository` is where the job's template came from, empty: from none on GitHub.
    """

    job: Mapping[str, Any]
    text: str
    parts: tuple[tuple[str, Link], ...]
    notes: tuple[str, ...]
    repository: str


def harvest(job: Mapping[str, Any], part: str, *, user_id: int) -> Harvest:
    """The job's text as it was submitted, or one part of it, with the version that comes next.

    Values that were set for this run are not in it. Raises NotFoundError where there is no such
    part, or the job was submitted without a text.
    """
    given = job["spec"]["yaml"]
    if not given:
        raise NotFoundError(_("Job %(id)s was submitted without a YAML, so there is nothing to "
                              "publish.", id=job["id"]))
    whole = redacted(given)
    notes = [_("Tokens stood in the text; they are taken out.")] if whole != given else []
    parts = _parts(whole)
    if part and part not in parts:
        raise NotFoundError(_("Job %(id)s has no part %(part)s.", id=job["id"], part=part))
    text = _text_of(parts[part]) if part else whole
    notes += [] if part else _notes_on(job, text)
    versioned, note = _next(text, user_id)
    return Harvest(job=job, text=versioned, notes=(*notes, *filter(None, [note])),
                   parts=_links(job, parts, part), repository=_repository(job, user_id))


def _parts(text: str) -> dict[str, Mapping[str, Any]]:
    """What is written out in the job and can be a component by itself, by `type/name`."""
    try:
        job = parse(text)
    except ComponentError:
        return {}
    return {f"{item['type']}/{item['name']}": {
        "contributor": job.contributor, "version": FIRST_VERSION, **item}
        for item in job.document.get("prerequisites") or []
        if isinstance(item, dict) and item.get("type") in TYPES}


def _text_of(part: Mapping[str, Any]) -> str:
    first = ("type", "name", "version", "contributor", "description")
    return dump({**{key: part[key] for key in first if part.get(key)},
                 **{key: value for key, value in part.items() if key not in first}})


def _links(job: Mapping[str, Any], parts: Mapping[str, Any], chosen: str
           ) -> tuple[tuple[str, Link], ...]:
    def link(part: str, text: str) -> Link:
        return Link(text=text, is_current=part == chosen,
                    url=url_for("publish.index", job=job["id"], part=part or None))
    return (("job", link("", _("The whole job"))),
            *((part.partition("/")[0], link(part, part.partition("/")[2])) for part in parts))


def _notes_on(job: Mapping[str, Any], text: str) -> list[str]:
    """What of the run is not in its text, and who may not see what it takes."""
    spec = job["spec"]
    notes = []
    try:
        defaults = parse(text).parameters
    except ComponentError:
        defaults = {}
    ran = {name: redacted(as_text(value)) for name, value in spec["parameters"].items()}
    changed = [f"{name} = {value}" for name, value in ran.items()
               if name in defaults and value != as_text(defaults[name])]
    if changed:
        notes.append(_("It ran with %(values)s; the text keeps its own defaults.",
                       values=", ".join(changed)))
    if PRIVATE in spec["origin"]:
        notes.append(_("It takes something from a private repository: others can run it only "
                       "where they may read that, and they will read its address."))
    return notes


def _next(text: str, user_id: int) -> tuple[str, str]:
    """The text with the version that its changes ask for, and what was done."""
    try:
        component = parse(text)
    except ComponentError:
        return text, ""
    newest = _newest(component, user_id)
    if newest is None:
        return (text, "") if component.version else (_with_version(text, FIRST_VERSION), "")
    alike = parse(_with_version(text, newest.version)) if newest.version else component
    wanted = compare(parse(newest.text), alike).suggested
    if not wanted or newest.text == text:
        return text, ""
    if component.version and version_order(component.version, 0) > version_order(
            newest.version, 0):
        return text, ""
    return _with_version(text, wanted), _(
        "The newest version here is %(newest)s; what changed asks for %(wanted)s.",
        newest=newest.version, wanted=wanted)


def _newest(component: Component, user_id: int) -> Entry | None:
    known = services().catalog.versions(component.type, component.name, user_id=user_id)
    return next((entry for entry in known if entry.is_present and entry.version), None)


def _with_version(text: str, version: str) -> str:
    """The text with only its version changed."""
    if _VERSION_LINE.search(text):
        return _VERSION_LINE.sub(f"version: {version}", text, count=1)
    return _NAME_LINE.sub(lambda found: f"{found[0].rstrip()}\nversion: {version}\n", text, count=1)


def _repository(job: Mapping[str, Any], user_id: int) -> str:
    source = job["spec"]["origin"].get("source")
    return next((each.location for each in services().sources.visible(user_id=user_id)
                 if each.name == source and each.repo_id), "")
