"""Every payload in every field that a repository can fill: packs of them, one component each."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Sequence

import yaml

from tests.browser.payloads import PAYLOADS
from tests.fakes.web_home import write_home

KINDS = ("data", "script", "storage", "dockerimage")
TASK = {"role": "main", "dockerimage": "image",
        "resource": {"resourcePerInstance": {"cpu": 1, "memoryMB": 100, "gpu": 0}}}
# No file and no YAML can hold the one of NUL.
TEXTS = tuple(each.replace("\0", "") for each in PAYLOADS)


def packs(size: int) -> list[tuple[str, ...]]:
    """The payloads, so many to a component."""
    return [TEXTS[at:at + size] for at in range(0, len(TEXTS), size)]


def fields(pack: Sequence[str]) -> dict[str, Any]:
    """What every type of component has."""
    return {"version": pack[0], "contributor": " ".join(pack), "description": "\n\n".join(pack),
            "tags": list(pack), **{f"x {each} x": each for each in pack}}


def job(name: str, pack: Sequence[str]) -> dict[str, Any]:
    """A job whose every text is of the pack."""
    image = {"name": "image", "type": "dockerimage", "uri": "busybox:1"}
    inputs = [{"name": f"input{number}", "type": KINDS[number % 3], "version": each,
               "contributor": each, "description": each, "uri": [each]}
              for number, each in enumerate(pack)]
    return {"type": "job", "name": name, **fields(pack), "virtualCluster": pack[-1],
            "gpuType": pack[-1], "parameters": {each: each for each in pack},
            "prerequisites": [image, *inputs], "tasks": [{**TASK, "command": list(pack)}]}


def components(packs_: Sequence[Sequence[str]]) -> dict[str, str]:
    """A repository of components, by path."""
    found: dict[str, Any] = {}
    for number, pack in enumerate(packs_):
        name = f"corpus{number}"
        found[f"job/{name}.yaml"] = job(name, pack)
        for type_name, uri in (("data", list(pack)), ("script", list(pack)),
                               ("dockerimage", "busybox:1")):
            found[f"{type_name}/{name}.yaml"] = {
                "type": type_name, "name": name, **fields(pack), "uri": uri}
    return {path: yaml.safe_dump(value, sort_keys=False) for path, value in found.items()}


def broken_files() -> dict[str, str]:
    """Files that are no components, named like the payloads, with errors that quote them."""
    return {f"job/{each.replace('/', '∕')[:80]}.yaml": yaml.safe_dump(
        {"type": "job", "name": each, each: each, "tasks": [{each: each}]}) for each in TEXTS}


def write_corpus(home: Path, size: int) -> None:
    """A home with its source, each component in two versions, committed with payloads as words."""
    chosen = packs(size)
    turned = [(*pack[1:], pack[0]) for pack in chosen]
    write_home(home, components(chosen) | broken_files(), components(turned))
    _commit(home.parent / "examples", "\n".join(TEXTS))


def _commit(folder: Path, message: str) -> None:
    name = "\"'`${x}&amp; onload=ran(0) "
    subprocess.run(["git", "-C", folder, "-c", f"user.name={name}", "-c", "user.email=x",
                    "commit", "-q", "--allow-empty", "-F", "-"], input=message.encode(),
                   check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
