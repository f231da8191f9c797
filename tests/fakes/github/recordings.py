"""Real answers of GitHub that PyGithub's own tests recorded, and how ours differ in their shape."""
from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

from tests.fakes.github.contract import UnreachableError

PACKAGE = "PyGithub==2.10.0"
CACHE = Path.home() / ".cache" / "paishare-tests" / "pygithub-2.10.0-recordings.json"
SINCE = 2023
_LINES = 10
Shape = dict[str, set[str]]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One exchange with the real GitHub."""

    method: str
    path: str
    status: int
    headers: dict[str, str]
    body: Any

    @property
    def year(self) -> int:
        date = self.headers.get("date")
        return parsedate_to_datetime(date).year if date else 0


@lru_cache(maxsize=None)
def load() -> list[Recording]:
    """Those since SINCE, out of the source package the first time and from a cache later.

    Raises UnreachableError.
    """
    if not CACHE.exists():
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        found = [vars(each) for each in _download() if each.year >= SINCE]
        aside = CACHE.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(found))
        aside.replace(CACHE)
    return [Recording(**each) for each in json.loads(CACHE.read_text())]


def _download() -> Iterator[Recording]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--retries=1", "--no-deps",
             "--no-binary", "PyGithub", "--dest", folder, PACKAGE], capture_output=True, text=True)
        if done.returncode:
            raise UnreachableError(f"{PACKAGE} cannot be had: {done.stderr}")
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as packed:
            for member in packed:
                if "/ReplayData/" in member.name and member.isfile():
                    raw = packed.extractfile(member)
                    assert raw is not None
                    yield from _read(raw.read().decode())


def _read(text: str) -> Iterator[Recording]:
    """Ten lines and an empty one for each exchange; what is no JSON is left out."""
    lines = text.split("\n")
    for start in range(0, len(lines) - _LINES + 1, _LINES + 1):
        _, method, _, _, path, _, _, status, headers, body = lines[start:start + _LINES]
        try:
            yield Recording(method=method, path=path.partition("?")[0], status=int(status),
                            headers={key.lower(): value
                                     for key, value in ast.literal_eval(headers)},
                            body=json.loads(body))
        except ValueError:
            continue


def shape_of(value: Any, path: str = "") -> Shape:
    """The types at each path; items of lists and of objects keyed by data fall together."""
    found: Shape = defaultdict(set)
    _add_shape(value, path, found)
    return found


def _add_shape(value: Any, path: str, found: Shape) -> None:
    found[path].add(_type_of(value))
    if isinstance(value, dict):
        for key, each in value.items():
            _add_shape(each, f"{path}.{key}", found)
    if isinstance(value, list):
        for each in value:
            _add_shape(each, f"{path}[]", found)


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
    return names.get(type(value), "object")


def differences(real: Iterable[Any], ours: Iterable[Any]) -> list[str]:
    """What real answers always have and ours never, ours have and real ones never, and types.

    What may be null is the description's to say: few recordings show it of each field.
    """
    shapes = [shape_of(each) for each in real]
    union = _union(shapes)
    always = set.intersection(*(_complete(each, union) for each in shapes))
    own = _union(map(shape_of, ours))
    found = [f"{path} is missing" for path in sorted(always - own.keys())
             if _parent(path) in own and _has_items(own, path)]
    found += [f"{path} is not in real ones" for path in sorted(own.keys() - union.keys())
              if _parent(path) in union and _has_items(union, path)]
    return found + [f"{path} is {kind}, in real ones {' or '.join(sorted(union[path]))}"
                    for path in sorted(own.keys() & union.keys())
                    for kind in sorted(own[path] - union[path] - {"null"})]


def _union(shapes: Iterable[Shape]) -> Shape:
    found: Shape = defaultdict(set)
    for shape in shapes:
        for path, types in shape.items():
            found[path] |= types
    return found


def _complete(shape: Shape, union: Shape) -> set[str]:
    """Its paths, and those below what is empty or null in it, of which it says nothing."""
    return {path for path in union if path in shape
            or not _parent(path) in shape or not _has_items(shape, path)}


def _parent(path: str) -> str:
    return re.sub(r"(\[\]|\.[^.\[]*)$", "", path)


def _has_items(shape: Shape, path: str) -> bool:
    """Whether the list or object around the path has anything in it."""
    around = _parent(path)
    is_object = "object" in shape[around] or around == ""
    return (is_object and not path.endswith("[]")) or any(
        each.startswith(around) and _parent(each) == around for each in shape)


def by_operation(recordings: Iterable[Recording],
                 template: Callable[[str, str], str | None]) -> dict[str, list[Any]]:
    """Bodies by `GET /repos/{owner}/{repo} 200`."""
    found: dict[str, list[Any]] = defaultdict(list)
    for each in recordings:
        path = template(each.method, each.path)
        if path:
            found[f"{each.method} {path} {each.status}"].append(each.body)
    return found
