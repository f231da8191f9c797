"""What the index keeps of a component: its words, what filters ask for, and what a list shows."""
from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, Iterator, Mapping

from registry.component import Component, parse_recorded, uris_of
from registry.component_rules import PLACEHOLDER
from registry.errors import ComponentError
from registry.hits import Hit
from registry.tokens import characters, fold, index_words, spoken, squash, starts
from registry.wording import N_

CARD_LENGTH = 300
MAX_README = 20_000
MAX_LISTED = 50
WEIGHTS = {N_("name"): 5.0, N_("tags"): 3.0, N_("contributor"): 2.0, N_("description"): 2.0,
           N_("type"): 1.0, N_("version"): 1.0, N_("images and addresses"): 1.0,
           N_("parameters"): 1.0, N_("prerequisites"): 1.0, N_("commands"): 0.7,
           N_("README"): 0.3}
PLACES = tuple(WEIGHTS)
FACTS = ("audience", "type", "source", "by", "name", "reference", "tag", "image", "gpu", "updated",
         "used", "length", "identity", "squashed", "starts")
UNKNOWN, MAX_GPUS = -1, 1_000_000
MAX_ENDS = 8


@dataclass(frozen=True, kw_only=True)
class Document:
    """One version of a component as the index takes it.

    `text` is its YAML, by which it is found too. `is_newest` False: it is found only where all
    versions are asked for. `commit` brought its bytes in. `clashes` are the audiences of other
    sources that have a component of this type and name: whoever sees one of these needs the source
    in a reference.
    """

    source_id: int
    audience: str
    hit: Hit
    older_versions: tuple[str, ...] = ()
    text: str
    readme: str = ""
    is_newest: bool = True
    commit: str = ""
    clashes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Of all versions of the component."""
        return document_id(self.source_id, self.hit.type, self.hit.name)

    @property
    def identity(self) -> int:
        """Of this version alone, whether it is the newest or an older one."""
        text = f"{self.id}\0{self.hit.version}\0{self.commit}"
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    @cached_property
    def component(self) -> Component | None:
        """None where today's code cannot read it."""
        try:
            return parse_recorded(self.text)
        except ComponentError:
            return None

    @cached_property
    def tags(self) -> tuple[str, ...]:
        return tags_of(self.component.document) if self.component else ()

    @property
    def shown(self) -> Hit:
        """What a list shows of it."""
        return replace(self.hit, description=_shortened(self.hit.description), tags=self.tags)

    @cached_property
    def images(self) -> tuple[str, ...]:
        return tuple(_images(self.component)) if self.component else ()


def document_id(source_id: int, type: str, name: str) -> str:
    return f"{source_id}/{type}/{name}"


def tags_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts in the lists `tags` and `keywords` of a component."""
    listed = [item for key in ("tags", "keywords") for item in _as_list(document.get(key))]
    return tuple(dict.fromkeys(str(item).strip() for item in listed[:MAX_LISTED]
                               if isinstance(item, (str, int, float)) and str(item).strip()))


def gpus_of(component: Component) -> int | None:
    """The GPUs of all tasks of a job together, by its parameters' defaults; None: unknown."""
    if component.type != "job":
        return None
    total = 0
    for task in component.tasks:
        resource = task.get("resource") or {}
        each = _number(resource.get("resourcePerInstance", {}).get("gpu", 0), component)
        instances = _number(resource.get("instances", 1), component)
        if each is None or instances is None:
            return None
        total += each * instances
    return total


def card_of(document: Document) -> dict[str, Any]:
    """What is kept to show a document in a list; `hit_of` reads it."""
    return {**asdict(document.shown), "clashes": document.clashes}


def hit_of(card: Mapping[str, Any], audiences: frozenset[str], **more: Any) -> Hit:
    """What a list shows to these audiences: of a clash only they who see both sides know."""
    values = dict(card)
    if not audiences.isdisjoint(values.pop("clashes")):
        values["reference"] = f"{values['source']}:{values['reference']}"
    return Hit(**{**values, "tags": tuple(values["tags"]), **more})


def fields_of(document: Document) -> dict[str, Any]:
    """The document field by field: words and keys to be found by, and three texts to be read."""
    try:
        return _fields_of(document)
    except (AttributeError, KeyError, TypeError, ValueError):  # it has a form of other rules
        return _fields_of(replace(document, text=""))


def _fields_of(document: Document) -> dict[str, Any]:
    texts = list(_texts(document))
    weights = weights_of(texts)
    return {"component": {document.id: 1.0}, "words": weights,
            "keys": dict.fromkeys(_keys(document), 1.0), "card": _json(card_of(document)),
            "facts": _json(_facts(document, sum(weights.values()))),
            "stream": stream_of(texts).encode()}


def weights_of(texts: list[tuple[str, str]]) -> dict[str, float]:
    """Every word that a component is found by, with how much it counts."""
    weights: defaultdict[str, float] = defaultdict(float)
    for place, text in texts:
        weight = WEIGHTS[place]
        # The numbers of a version are not joined: 1.0.0 is no 10.
        for word in spoken(text) if place == "version" else index_words(text):
            weights[word] += weight
        if place in ("name", "tags"):
            for char in characters(text):
                weights[char] += weight
        if place == "name":
            weights[squash(text)] += WEIGHTS["type"]
        elif place == "version":
            weights[text.casefold()] += weight
    weights.pop("", None)
    return weights


def stream_of(texts: list[tuple[str, str]]) -> str:
    """What is written in a component, part by part, each of PLACES on a line of its own.

    A place that has several texts has tabs between them, which no phrase reaches across.
    """
    lines = {place: [f" {' '.join(spoken(text))} " for where, text in texts if where == place]
             for place in PLACES}
    return "\n".join("\t".join(found) for found in lines.values())


def _texts(document: Document) -> Iterator[tuple[str, str]]:
    """Each text of a component with its place, one of PLACES."""
    hit = document.hit
    yield from (("name", hit.name), ("type", hit.type), ("contributor", hit.contributor),
                ("description", hit.description))
    if document.is_newest:  # of an old version nobody looks for that, and it is most of the text
        yield "README", document.readme[:MAX_README]
    yield from (("version", version) for version in (hit.version, *document.older_versions))
    yield from (("tags", tag) for tag in document.tags)
    if document.component:
        yield from _texts_of(document.component)


def _texts_of(component: Component) -> Iterator[tuple[str, str]]:
    for name, value in component.parameters.items():
        yield "parameters", f"{name} {value}"
    for uri in component.uris:
        yield "images and addresses", uri
    for item in component.prerequisites:
        yield "prerequisites", f"{item['name']} {item.get('reference', '')}"
        for uri in uris_of(item):
            yield "images and addresses", uri
    for task in component.tasks:
        yield "commands", str(task["role"])
        yield "commands", "\n".join(map(str, task["command"]))


def _keys(document: Document) -> Iterator[str]:
    """What filters ask for: `field:=value`, `field:word`; all folded."""
    hit = document.hit
    yield f"type:={hit.type}"
    if hit.is_deprecated:
        yield "is:=deprecated"
    for word in (*index_words(hit.name), *characters(hit.name), squash(hit.name)):
        yield f"name:{word}"
    yield f"name:={hit.name.casefold()}"
    yield from (f"version:={start}" for start in _version_starts(hit.version.casefold()))
    yield from _value_keys("by", (hit.contributor,))
    yield from _value_keys("source", (hit.source,))
    yield from _value_keys("tag", document.tags)
    yield from _value_keys("image", document.images)
    if document.component:
        yield from _value_keys("param", map(str, document.component.parameters))
        yield from _value_keys("uses", _used(document.component))
        yield from (f"uri:={end}" for uri in document.component.uris for end in uri_ends(uri))


def _value_keys(field: str, values: Any) -> Iterator[str]:
    for value in values:
        yield f"{field}:={fold_value(value)}"
        yield from (f"{field}:{word}" for word in (*index_words(value), *characters(value)))


def fold_value(value: str) -> str:
    """A value as filters and facets compare it: without accents, case and surplus spaces."""
    return " ".join(fold(value).casefold().split())[:MAX_README]


def uri_ends(uri: str) -> list[str]:
    """A URI as people write it: whole, without its scheme, or from one of its folders on."""
    parts = fold_value(uri).removesuffix(".git").rpartition("://")[2].split("/")
    return ["/".join(parts[place:]) for place in range(min(len(parts), MAX_ENDS))]


def _version_starts(version: str) -> Iterator[str]:
    """`1.2.3` is found as 1, as 1.2 and as 1.2.3."""
    parts = version.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _used(component: Component) -> Iterator[str]:
    """What a component uses: each as name, as type/name, and by its URIs."""
    for item in component.prerequisites:
        name = str(item["name"])
        yield name
        if item["type"]:
            yield f"{item['type']}/{name}"
        yield from uris_of(item)
    if component.type != "job":
        yield from component.uris


def _images(component: Component) -> Iterator[str]:
    if component.type == "dockerimage":
        yield from component.uris
    for item in component.prerequisites:
        if item["type"] == "dockerimage":
            yield from uris_of(item)


def _facts(document: Document, length: float) -> list[Any]:
    """What is kept in memory of each document, in the order of FACTS."""
    hit = document.hit
    gpus = gpus_of(document.component) if document.component else None
    images = list(dict.fromkeys(document.images))[:MAX_LISTED]
    return [document.audience, hit.type, hit.source, hit.contributor, hit.name, hit.reference,
            list(document.tags), images, UNKNOWN if gpus is None else min(gpus, MAX_GPUS),
            _seconds(hit.updated), hit.used, round(length, 1), document.identity, squash(hit.name),
            starts(hit.name)]


def _seconds(updated: str) -> int:
    moment = datetime.fromisoformat(updated)
    return int(moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp())


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CARD_LENGTH else line[:CARD_LENGTH - 1].rstrip() + "…"


def _number(value: Any, component: Component) -> int | None:
    """A number, or the default of the parameter that it is."""
    if isinstance(value, str):
        parameter = PLACEHOLDER.fullmatch(value.strip())
        value = component.parameters.get(parameter[1]) if parameter else value
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
