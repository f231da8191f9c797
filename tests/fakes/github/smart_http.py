"""Git over HTTP as GitHub offers it: `git http-backend` behind the same tokens."""
from __future__ import annotations

import base64
import gzip
import os
import re
import subprocess
import tempfile
from typing import Any, Iterator

from flask import Blueprint, Response, g, request
from werkzeug.wrappers import Response as AnyResponse

from tests.fakes.github.answers import ApiError
from tests.fakes.github.records import Repository, Token
from tests.fakes.github.repository import GitRepository
from tests.fakes.github.world import World

CHUNK = 1 << 16
_ASK = {"WWW-Authenticate": 'Basic realm="GitHub"'}


def blueprint(world: World) -> Blueprint:
    git = Blueprint("git", __name__)

    @git.get("/<owner>/<name>.git/info/refs")
    def refs(owner: str, name: str) -> AnyResponse:
        service = request.args.get("service", "")
        g.git = {"command": "advertise"}
        return _backend(_allowed(world, owner, name, is_write=service == "git-receive-pack"),
                        "info/refs")

    @git.post("/<owner>/<name>.git/git-upload-pack")
    def fetch(owner: str, name: str) -> AnyResponse:
        g.git = _wanted()
        return _backend(_allowed(world, owner, name, is_write=False), "git-upload-pack")

    @git.post("/<owner>/<name>.git/git-receive-pack")
    def push(owner: str, name: str) -> AnyResponse:
        g.git = {"command": "push"}
        found = _allowed(world, owner, name, is_write=True)
        before = found.git.refs()
        answer = _backend(found, "git-receive-pack")
        answer.get_data()
        after = found.git.refs()
        for ref in sorted(before.keys() | after.keys()):
            if before.get(ref) != after.get(ref):
                world.pushed(found, ref, before.get(ref), after.get(ref), g.token.user)
        return answer

    return git


def _wanted() -> dict[str, Any]:
    """What a fetch asks for, as `Seen` notes it."""
    raw = request.get_data()
    raw = gzip.decompress(raw) if request.headers.get("Content-Encoding") == "gzip" else raw
    named = re.search(rb"command=([a-z-]+)", raw[:100])
    filtered = re.search(rb"filter ([^\n]+)", raw)
    return {"command": named[1].decode() if named else "fetch v0",
            "wants": len(re.findall(rb"want [0-9a-f]{40}", raw)),
            "filter": filtered[1].decode() if filtered else ""}


def _allowed(world: World, owner: str, name: str, *, is_write: bool) -> Repository:
    """The repository for who asks: 401 without a token, 404 where it is hidden, 403 for a push."""
    found = world.find(owner, name) or world.moved_to(owner, name)
    g.token = _token(world)
    is_seen = found is not None and world.may(g.token, found, "read")
    if (not is_seen or is_write) and g.token is None:
        raise ApiError(401, "Authentication required", headers=_ASK)
    if found is None or not is_seen:
        raise ApiError(404, "Repository not found.")
    if found.is_blocked:
        raise ApiError(451, "Repository unavailable due to DMCA takedown.")
    if is_write and (found.is_archived or not world.may(g.token, found, "write")):
        raise ApiError(403, f"Permission to {found.full_name}.git denied.")
    if not world.is_ready(found):
        raise ApiError(404, "Repository not found.")
    _redirect_if_moved(found, f"{owner}/{name}")
    return found


def _redirect_if_moved(found: Repository, name: str) -> None:
    """The old name leads to the new one, which git follows and says so."""
    if found.full_name.lower() != name.lower():
        query = f"?{request.query_string.decode()}" if request.query_string else ""
        path = request.path.replace(f"/{name}.git", f"/{found.full_name}.git", 1)
        raise ApiError(301, "Moved Permanently", headers={
            "Location": f"{request.host_url.rstrip('/')}{path}{query}"})


def _token(world: World) -> Token | None:
    """The token that stands as the password of Basic authentication."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    _, _, password = base64.b64decode(value).decode(errors="replace").partition(":")
    found = world.token(password)
    if found is None:
        raise ApiError(401, "Invalid username or token.", headers=_ASK)
    return found


def _backend(found: Repository, service: str) -> AnyResponse:
    return found.git_answer(g.git["command"], lambda: _run(found, service))


def _run(found: Repository, service: str) -> Response:
    """One CGI request; its answer streams, so that a large one is never held whole."""
    with tempfile.TemporaryFile() as body:
        body.write(request.get_data())
        body.seek(0)
        process = subprocess.Popen(["git", "http-backend"], stdin=body, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=_environ(found.git, service))
    status, headers = _head(process)
    return Response(_streamed(process), status, headers)


def _head(process: subprocess.Popen[bytes]) -> tuple[int, list[tuple[str, str]]]:
    status, headers = 200, []
    for line in iter(process.stdout.readline, b"\r\n"):  # type: ignore[union-attr]
        if not line:
            break
        name, _, value = line.decode().strip().partition(": ")
        if name == "Status":
            status = int(value.split()[0])
        else:
            headers.append((name, value))
    return status, headers


def _streamed(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    try:
        with process:
            yield from iter(lambda: process.stdout.read(CHUNK), b"")  # type: ignore[union-attr]
    finally:
        process.kill()


def _environ(git: GitRepository, service: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_PROJECT_ROOT": str(git.path.parent),
        "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": f"/{git.path.name}/{service}",
        "REQUEST_METHOD": request.method, "QUERY_STRING": request.query_string.decode(),
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": "somebody", "REMOTE_ADDR": "127.0.0.1"}
