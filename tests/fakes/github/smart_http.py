"""Git over HTTP as GitHub offers it: `git http-backend` behind the same tokens."""
from __future__ import annotations

import base64
import os
import subprocess
from typing import Any

from flask import Blueprint, Response, request

from tests.fakes.github.answers import ApiError
from tests.fakes.github.repository import GitRepository
from tests.fakes.github.webhooks import Webhooks
from tests.fakes.github.world import Repository, Token, World

CHUNK = 1 << 16


def blueprint(world: World, hooks: Webhooks) -> Blueprint:
    git = Blueprint("git", __name__)

    @git.get("/<owner>/<name>.git/info/refs")
    def refs(owner: str, name: str) -> Response:
        service = request.args.get("service", "")
        found, _ = _allowed(world, owner, name, is_write=service == "git-receive-pack")
        return _backend(found, "info/refs")

    @git.post("/<owner>/<name>.git/git-upload-pack")
    def fetch(owner: str, name: str) -> Response:
        found, _ = _allowed(world, owner, name, is_write=False)
        return _backend(found, "git-upload-pack")

    @git.post("/<owner>/<name>.git/git-receive-pack")
    def push(owner: str, name: str) -> Response:
        found, token = _allowed(world, owner, name, is_write=True)
        before = found.git.refs()
        answer = _backend(found, "git-receive-pack")
        answer.get_data()
        for ref in before.keys() | found.git.refs().keys():
            old, new = before.get(ref), found.git.refs().get(ref)
            if old != new and token:
                hooks.pushed(found, ref, old, new, token.user)
        return answer

    return git


def _allowed(world: World, owner: str, name: str, *,
             is_write: bool) -> tuple[Repository, Token | None]:
    """The repository for who asks: 401 without a token, 404 where it is hidden, 403 for a push."""
    found, token = world.find(owner, name) or world.moved_to(owner, name), _token(world)
    is_seen = found is not None and world.may(token, found, "read")
    if (not is_seen or is_write) and token is None:
        raise ApiError(401, "Authentication required", headers={
            "WWW-Authenticate": 'Basic realm="GitHub"'})
    if found is None or not is_seen:
        raise ApiError(404, "Not Found")
    if is_write and (found.is_archived or not world.may(token, found, "write")):
        raise ApiError(403, "Permission denied")
    if found.ready_at and found.ready_at > world.now:
        raise ApiError(404, "Not Found")
    return found, token


def _token(world: World) -> Token | None:
    """The token that stands as the password of Basic authentication."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    _, _, password = base64.b64decode(value).decode(errors="replace").partition(":")
    found = world.token(password)
    if found is None:
        raise ApiError(401, "Bad credentials", headers={
            "WWW-Authenticate": 'Basic realm="GitHub"'})
    return found


def _backend(found: Repository, service: str) -> Response:
    """One CGI request; its answer streams, so that a large one is never held whole."""
    process = subprocess.Popen(
        ["git", "http-backend"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=_environ(found.git, service))
    assert process.stdin and process.stdout
    process.stdin.write(request.get_data())
    process.stdin.close()
    status, headers = 200, []
    for line in iter(process.stdout.readline, b"\r\n"):
        if not line:
            break
        name, _, value = line.decode().strip().partition(": ")
        if name == "Status":
            status = int(value.split()[0])
        else:
            headers.append((name, value))

    def stream() -> Any:
        with process:
            yield from iter(lambda: process.stdout.read(CHUNK), b"")

    return Response(stream(), status, headers)


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
