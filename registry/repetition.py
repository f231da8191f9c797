"""What hinders others to run a component again, though nothing in it is wrong. Pure."""
from __future__ import annotations

from typing import Any, Iterator, Mapping

from registry.component import uris_of
from registry.component_rules import PLACEHOLDER, at_key
from registry.errors import Problem
from registry.reference import LATEST
from registry.uses import plain_image
from registry.yaml_nodes import Path
from registry.yaml_text import read
from runner.sentence import Sentence


def hindrances_in(text: str) -> tuple[Problem, ...]:
    """Images that change under their name or that nobody else has, and parameters without a use.

    Raises ComponentError where the text is no YAML.
    """
    document = read(text)
    found = [*_images(document.value), *_unused(document.value, text)]
    return tuple(at_key(document, path, words, "warning") for path, words in found)


def _images(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    items = value.get("prerequisites") if value.get("type") == "job" else None
    for steps, item in [((), value), *((("prerequisites", at), item)
                                       for at, item in enumerate(items or ()))]:
        if isinstance(item, dict) and item.get("type") == "dockerimage":
            for uri in uris_of(item):
                if not PLACEHOLDER.search(uri) and (words := _hindrance(uri)):
                    yield (*steps, "uri"), words


def _hindrance(uri: str) -> str:
    image = plain_image(uri)
    if image.startswith(("localhost/", "localhost:")):
        return Sentence(
            "The image {uri} is of the machine where it was built: others cannot pull it. Push it "
            "to a registry, or say in the description how it is built.", uri=uri)
    if image.endswith(f":{LATEST}"):
        return Sentence(
            "The image {uri} is another one whenever its tag moves, so nothing may run again as it "
            "ran. Name a version: a tag, or a digest with `@sha256:…`.", uri=uri)
    return ""


def _unused(value: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
    used = set(PLACEHOLDER.findall(text))
    for name in value.get("parameters") or () if value.get("type") == "job" else ():
        if name not in used:
            yield ("parameters", name), Sentence(
                "Nothing uses the parameter `{name}`: whoever sets it changes nothing. Write "
                "`$${name}$$` where its value belongs, or take it out.", name=name)
