"""What one component uses: references, and images, data and scripts in plain forms. Pure."""
from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

from registry.component import Component, uris_of
from registry.component_rules import PLACEHOLDER, PREREQUISITE_TYPES, REFERENCE

REFERENCE_USE, IMAGE, DATA, SCRIPT = "reference", "image", "data", "script"
LATEST = "latest"
# What the database's columns and indexes hold; nothing in the catalog is called anything longer.
MAX_TYPE, MAX_SOURCE, MAX_TARGET = 16, 255, 1000
_KINDS = {"dockerimage": IMAGE, "data": DATA, "script": SCRIPT}
_DOCKER_HUB = "docker.io"
_DOCKER_HUB_NAMES = frozenset({_DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
_DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22}
_REPOSITORY_SCHEMES = frozenset({"http", "https", "ssh", "git", "git+http", "git+https",
                                 "git+ssh"})
_SCP_LIKE = re.compile(r"(?:[\w.-]+@)?(?P<host>[\w.-]+\.[\w-]+):(?P<path>(?!//).+)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_PLAIN = "-._~!$&'()*+,;=:@/"


@dataclass(frozen=True, kw_only=True)
class Use:
    """One thing that a component uses.

    `kind` is reference, image, data or script. `target` is the name of a reference, else the URI
    in its plain form: equal for every spelling of the same thing. `target_type` and
    `target_source` are empty where they are not said, `target_version` where it is the latest.
    """

    kind: str
    target: str
    target_type: str = ""
    target_source: str = ""
    target_version: str = ""


def uses_of(component: Component, path: str = "",
            parameters: Mapping[str, Any] | None = None) -> tuple[Use, ...]:
    """Everything that a component uses, each once.

    `path` is where it stands in its source, from which relative URIs begin; `parameters` are the
    values of a run, None the job's own.
    """
    values = component.parameters if parameters is None else parameters
    found = [*_own(component, path), *_inline(component, path), *_references(component, values)]
    return tuple(dict.fromkeys(found))


def uses_of_item(item: Mapping[str, Any], path: str = "") -> tuple[Use, ...]:
    """What one item of Component.prerequisites stands for; nothing where it is storage."""
    if "reference" in item:
        return tuple(_by_reference(item["reference"], item["type"] or ""))
    return tuple(_by_uri(item, path)) if item["type"] in _KINDS else ()


def plain_image(image: str) -> str:
    """`busybox` → `docker.io/library/busybox:latest`; a digest stands in for the tag."""
    image = image.strip().removeprefix("docker://")
    name, _, digest = image.partition("@")
    first, slash, rest = name.partition("/")
    if not slash or not (set(".:") & set(first) or first.lower() == "localhost"):
        first, rest = _DOCKER_HUB, name
    host = first.lower()
    if host in _DOCKER_HUB_NAMES:
        host, rest = _DOCKER_HUB, rest if "/" in rest else f"library/{rest}"
    rest, _, tag = rest.rpartition(":") if ":" in rest else (rest, "", "")
    return _short(f"{host}/{rest}@{digest}" if digest else f"{host}/{rest}:{tag or LATEST}")


def plain_data(uri: str, path: str = "") -> str:
    """A data URI by the rules of RFC 3986: case, default port, dots, escapes; a path is a file."""
    uri = uri.strip()
    if uri.startswith("/"):
        uri = f"file://{quote(uri)}"
    if not _SCHEME.match(uri):
        return _short(_relative(uri, path))
    return _short(_plain_url(uri))


def plain_script(uri: str, path: str = "") -> tuple[str, str]:
    """A script's repository without `.git` and trailing `/`, and the commit, tag or branch."""
    uri = uri.strip()
    found = None if "://" in uri else _SCP_LIKE.fullmatch(uri)
    if found:
        uri = f"ssh://{found['host']}/{found['path']}"
    if uri.startswith("/"):
        uri = f"file://{quote(uri, safe='/@')}"
    if not _SCHEME.match(uri):
        return _short(_relative(uri, path)), ""
    plain = _plain_url(uri)
    try:
        parts = urlsplit(plain)
    except ValueError:
        return _short(plain), ""
    folder, _, ref = parts.path.partition("@")
    folder = folder.rstrip("/").removesuffix(".git").rstrip("/")
    scheme = "https" if parts.scheme in _REPOSITORY_SCHEMES else parts.scheme
    host = f"//{parts.netloc}" if parts.netloc or scheme == "file" else ""
    query = f"?{parts.query}" if parts.query else ""
    return _short(f"{scheme}:{host}{folder}{query}"), ref[:255]


# --- the parts of a component ------------------------------------------------------------------

def _own(component: Component, path: str) -> Iterator[Use]:
    """The URIs of a component that is itself an image, data or a script."""
    if component.type in _KINDS:
        yield from _by_uri(component.document, path)


def _inline(component: Component, path: str) -> Iterator[Use]:
    for item in component.document.get("prerequisites") or ():
        if isinstance(item, dict) and item.get("type") in _KINDS:
            yield from _by_uri(item, path)


def _by_uri(item: Mapping[str, Any], path: str) -> Iterator[Use]:
    kind = _KINDS[item["type"]]
    for uri in uris_of(item):
        if PLACEHOLDER.search(uri):
            continue  # references are not replaced there: such a URI names nothing
        if kind == SCRIPT:
            target, version = plain_script(uri, path)
            yield Use(kind=kind, target=target, target_type=item["type"], target_version=version)
        else:
            target = plain_image(uri) if kind == IMAGE else plain_data(uri, path)
            yield Use(kind=kind, target=target, target_type=item["type"])


def _references(component: Component, values: Mapping[str, Any]) -> Iterator[Use]:
    """The references that are listed, and those that tasks name beside them."""
    tasks = [_filled(task, values) for task in component.tasks]
    items = component.document.get("prerequisites") or []
    inline = {(item["type"], item["name"]) for item in items if isinstance(item, dict)}
    listed = [item for item in items if isinstance(item, str)]
    named = {(kind, task[kind]) for task in tasks for kind in _KINDS if kind in task}
    for reference in listed:
        yield from _by_reference(reference, _type_in_tasks(reference, named))
    for kind, wanted in sorted(named - inline):
        if not any(_stands_for(reference, kind, wanted) for reference in listed):
            yield from _by_reference(wanted, kind)


def _filled(task: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
    """What a task names, its `$$name$$` replaced; what has no value is left out."""
    scopes = {**values, **(task.get("parameters") or {})}
    found = {}
    for kind in PREREQUISITE_TYPES:
        text = PLACEHOLDER.sub(lambda match: str(scopes.get(match[1], match[0])),
                               str(task.get(kind) or ""))
        if text and not PLACEHOLDER.search(text):
            found[kind] = text
    return found


def _stands_for(reference: str, kind: str, wanted: str) -> bool:
    """Whether a task's word means a listed reference."""
    parts = REFERENCE.fullmatch(reference)
    return reference == wanted or bool(
        parts and parts["name"] == wanted and parts["type"] in (kind, None))


def _type_in_tasks(reference: str, named: Iterable[tuple[str, str]]) -> str:
    """What the tasks use a listed reference as, where they agree."""
    kinds = {kind for kind, wanted in named if _stands_for(reference, kind, wanted)}
    return kinds.pop() if len(kinds) == 1 else ""


def _by_reference(reference: str, kind: str) -> Iterator[Use]:
    parts = REFERENCE.fullmatch(reference)
    if parts is None:
        return
    type_name, source = parts["type"] or kind, parts["source"] or ""
    if len(type_name) <= MAX_TYPE and len(source) <= MAX_SOURCE:
        version = parts["version"] or ""
        yield Use(kind=REFERENCE_USE, target=parts["name"], target_type=type_name,
                  target_source=source, target_version="" if version == LATEST else version)


# --- plain forms -------------------------------------------------------------------------------

def _plain_url(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return uri
    scheme, host = parts.scheme, _host(parts.netloc)
    if port == _DEFAULT_PORTS.get(scheme):
        host = host.removesuffix(f":{port}")
    if scheme == "file" and host == "localhost":
        host = ""
    path = _without_dots(_unescaped(parts.path)) or ("/" if host else "")
    query = f"?{_unescaped(parts.query)}" if parts.query else ""
    return f"{scheme}:" + (f"//{host}" if host or scheme == "file" else "") + path + query


def _host(netloc: str) -> str:
    return netloc.rpartition("@")[2].lower().removesuffix(":")


def _unescaped(text: str) -> str:
    """Escapes only where they are needed, and in one spelling."""
    def spelled(match: re.Match[str]) -> str:
        char = unquote(match[0], encoding="latin-1")
        return char if char.isascii() and (char.isalnum() or char in "-._~") else match[0].upper()
    return quote(_ESCAPE.sub(spelled, text), safe=_PLAIN + "%?[]")


def _without_dots(path: str) -> str:
    if not path.startswith("/"):
        return path
    plain = posixpath.normpath(path)
    is_folder = path.endswith(("/", "/.", "/..")) and plain != "/"
    return "/" + plain.lstrip("/") + ("/" if is_folder else "")


def _relative(uri: str, path: str) -> str:
    """A path in the component's own source, from its root: `./files/digits.csv`."""
    return "./" + posixpath.normpath(posixpath.join(posixpath.dirname(path), uri)).rstrip("/")


def _short(target: str) -> str:
    """The target, or what it begins with and its checksum where it is longer than an index row."""
    data = target.encode()
    if len(data) <= MAX_TARGET:
        return target
    return data[:MAX_TARGET - 80].decode(errors="ignore") + "…" + hashlib.sha256(data).hexdigest()
