"""Addresses of components that name the source first; each leads to the page that it means."""
from __future__ import annotations

import re

from flask import url_for

from registry.component import TYPES

_PLACE = re.compile(
    r"(?:(?P<source>[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)?)/)?"
    rf"(?P<type>{'|'.join(TYPES)})/(?P<name>[A-Za-z0-9._~-]+)"
    r"(?:@(?P<selector>[^/]+)|/v/(?P<version>.+)|/compare/(?P<a>.+?)\.\.\.(?P<b>.+)"
    r"|/(?P<feed>versions\.atom))?")


def page_of(place: str) -> str | None:
    """The page that `source/type/name` with what may follow it means; None: it is none of these.

    What may follow: `/v/VERSION`, `/compare/A...B` and `/versions.atom`, also without a source.
    """
    found = _PLACE.fullmatch(place)
    if found is None or not (found["source"] or found["version"] or found["a"] or found["feed"]):
        return None
    source, type, name = found["source"], found["type"], found["name"]
    if found["feed"]:
        return url_for("feeds.component", type_name=type, name=name, source=source)
    if found["a"]:
        whole = f"{source}:{type}/{name}" if source else f"{type}/{name}"
        return url_for("versions.compare", a=f"{whole}@{found['a']}", b=f"{whole}@{found['b']}")
    selector = found["selector"] or found["version"]
    rest = f"{name}@{selector}" if selector else name
    return url_for("marketplace.show", type_name=type, rest=rest, source=source)
