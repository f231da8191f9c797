"""How the stand-in answers at all: who asks, limits, faults, errors, pages, and what is logged."""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Callable, Sequence, TypeVar
from urllib.parse import urlencode

from flask import Flask, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException

from tests.fakes.github.bodies import PREFIX
from tests.fakes.github.repository import GitError
from tests.fakes.github.world import Fault, Seen, Token, World

DOCS = "https://docs.github.com/rest"
_NUMBERED = re.compile(f"{PREFIX}/repositories/(\\d+)(/.*)?")
_NAMED = re.compile(f"{PREFIX}/repos/([^/]+)/([^/]+)(/.*)?")
T = TypeVar("T")


class ApiError(Exception):
    """An answer that is no success; `errors` as GitHub's validation errors have them."""

    def __init__(self, status: int, message: str, errors: Sequence[dict[str, str]] = (),
                 headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors
        self.headers = headers or {}


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of a list, as the query asks for it."""

    items: list[Any]
    link: str


def register(app: Flask, world: World) -> None:
    """Have every request of `app` authenticated, limited, logged and answered as GitHub does."""
    app.wsgi_app = _Numbered(app.wsgi_app, world)  # type: ignore[method-assign]

    @app.before_request
    def begin() -> Response | None:
        g.token, g.fault = None, None
        if not request.path.startswith(PREFIX):
            return None
        g.token = _authenticate(world)
        g.fault = _take_fault(world)
        _count(world, g.token)
        if g.fault and not g.fault.is_done:
            raise _failure(g.fault)
        return _moved(world)

    @app.after_request
    def end(answer: Response) -> Response:
        if request.path.startswith(PREFIX):
            if g.fault and g.fault.is_done:
                answer = _error(_failure(g.fault))
            _add_headers(world, answer)
            _make_conditional(world, answer)
        _log(world, answer)
        return answer

    @app.errorhandler(ApiError)
    def api_error(error: ApiError) -> Response:
        return _error(error)

    @app.errorhandler(GitError)
    def git_error(error: GitError) -> Response:
        return _error(ApiError(422, str(error)))

    @app.errorhandler(HTTPException)
    def other(error: HTTPException) -> Response:
        return _error(ApiError(error.code or 500, error.name))


class _Numbered:
    """`/repositories/{id}` is the repository of that id, whatever it is called now."""

    def __init__(self, app: Callable[..., Any], world: World) -> None:
        self._app, self._world = app, world

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        match = _NUMBERED.fullmatch(environ["PATH_INFO"])
        if match:
            found = self._world.repositories.get(int(match[1]))
            name = found.full_name if found and not found.is_deleted else "nobody/nothing"
            environ["PATH_INFO"] = f"{PREFIX}/repos/{name}{match[2] or ''}"
        return self._app(environ, start_response)


def page_of(items: Sequence[T], shape: Callable[[T], Any]) -> Response:
    """The asked page of a list, each item in its shape, with links to the others."""
    size = min(max(1, request.args.get("per_page", 30, int)), 100)
    number = max(1, request.args.get("page", 1, int))
    last = max(1, -(-len(items) // size))
    answer = jsonify([shape(item) for item in items[(number - 1) * size:number * size]])
    links = [(number + 1, "next"), (last, "last")] if number < last else []
    links += [(number - 1, "prev"), (1, "first")] if number > 1 else []
    if links:
        answer.headers["Link"] = ", ".join(
            f'<{request.base_url}?{urlencode({**request.args, "page": page})}>; rel="{name}"'
            for page, name in links)
    return answer


def require_login() -> Token:
    if g.token is None:
        raise ApiError(401, "Requires authentication")
    return g.token


def body() -> dict[str, Any]:
    found = request.get_json(silent=True)
    if not isinstance(found, dict):
        raise ApiError(400, "Problems parsing JSON")
    return found


def _authenticate(world: World) -> Token | None:
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if not scheme:
        return None
    token = world.token(value) if scheme.lower() in ("token", "bearer") else None
    if token is None:
        raise ApiError(401, "Bad credentials")
    return token


def _take_fault(world: World) -> Fault | None:
    with world.lock:
        for fault in world.faults:
            if fault.matches(request.method, request.path):
                fault.times -= 1
                return fault
    return None


def _failure(fault: Fault) -> ApiError:
    return ApiError(fault.status, fault.message, headers=fault.headers)


def _account(token: Token | None) -> str:
    return token.user.login if token else "anonymous"


def _count(world: World, token: Token | None) -> None:
    if request.path == f"{PREFIX}/rate_limit":
        return
    with world.lock:
        who = _account(token)
        world.used[who] = world.used.get(who, 0) + 1
        if world.used[who] > world.limit:
            raise ApiError(403, f"API rate limit exceeded for user ID {who}.")


def _moved(world: World) -> Response | None:
    """The old name of a repository leads to its id; reads lose nothing, writes ask for 307."""
    match = _NAMED.fullmatch(request.path)
    if match is None or world.find(match[1], match[2]):
        return None
    found = world.moved_to(match[1], match[2])
    if found is None or not world.may(g.token, found, "read"):
        return None
    is_read = request.method in ("GET", "HEAD")
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    url = f"{request.host_url.rstrip('/')}{PREFIX}/repositories/{found.id}{match[3] or ''}{query}"
    answer = jsonify(message="Moved Permanently" if is_read else "Temporary Redirect", url=url,
                     documentation_url=f"{DOCS}/guides/best-practices-for-using-the-rest-api")
    answer.status_code = 301 if is_read else 307
    answer.headers["Location"] = url
    return answer


def _error(error: ApiError) -> Response:
    found: dict[str, Any] = {"message": error.message}
    if error.errors:
        found["errors"] = list(error.errors)
    answer = jsonify(**found, documentation_url=DOCS, status=str(error.status))
    answer.status_code = error.status
    answer.headers.update(error.headers)
    return answer


def _add_headers(world: World, answer: Response) -> None:
    used = world.used.get(_account(g.token), 0)
    answer.headers.update({
        "X-RateLimit-Limit": str(world.limit), "X-RateLimit-Used": str(used),
        "X-RateLimit-Remaining": str(max(0, world.limit - used)),
        "X-RateLimit-Reset": str(int(world.now.timestamp()) // 3600 * 3600 + 3600),
        "X-RateLimit-Resource": "core", "X-GitHub-Api-Version-Selected": "2022-11-28",
        "X-GitHub-Media-Type": "github.v3; format=json"})
    if g.token and g.token.scopes is not None:
        answer.headers["X-OAuth-Scopes"] = ", ".join(sorted(g.token.scopes))
    if g.token and g.token.expires_at:
        answer.headers["GitHub-Authentication-Token-Expiration"] = \
            g.token.expires_at.strftime("%Y-%m-%d %H:%M:%S UTC")


def _make_conditional(world: World, answer: Response) -> None:
    """A weak ETag that differs by who asks; what is unchanged costs nothing of the limit."""
    if request.method != "GET" or answer.status_code != 200:
        return
    who = _account(g.token)
    tag = f'W/"{hashlib.sha256(who.encode() + answer.get_data()).hexdigest()}"'
    answer.headers["ETag"] = tag
    if request.headers.get("If-None-Match") == tag:
        answer.status_code = 304
        answer.set_data(b"")
        with world.lock:
            world.used[who] -= 1


def _log(world: World, answer: Response) -> None:
    size = 0 if answer.is_streamed else len(answer.get_data())
    with world.lock:
        world.seen.append(Seen(
            method=request.method, path=request.path, status=answer.status_code, size=size,
            login=g.token.user.login if g.get("token") else None))
