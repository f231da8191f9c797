"""How the stand-in answers at all: who asks, limits, faults, errors, pages, and what is logged."""
from __future__ import annotations

import hashlib
import re
from typing import Any, Callable, Iterator, Sequence, TypeVar
from urllib.parse import urlencode

from flask import Flask, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException

from tests.fakes.github.bodies import PREFIX
from tests.fakes.github.limits import HELP, Limits, name_of
from tests.fakes.github.records import Fault, Seen, Token
from tests.fakes.github.repository import GitError
from tests.fakes.github.world import World

DOCS = "https://docs.github.com/rest"
WAIT_S = 60
_NUMBERED = re.compile(f"{PREFIX}/repositories/(\\d+)(/.*)?")
_NAMED = re.compile(f"{PREFIX}/repos/([^/]+)/([^/]+)(/.*)?")
T = TypeVar("T")


class ApiError(Exception):
    """An answer that is no success; `errors` as GitHub's validation errors have them."""

    def __init__(self, status: int, message: str, errors: Sequence[dict[str, str]] = (),
                 headers: dict[str, str] | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors
        self.headers, self.fields = headers or {}, fields


class DroppedError(ConnectionError):
    """The connection ends in place of an answer."""


def register(app: Flask, world: World) -> None:
    """Have every request of `app` authenticated, limited, logged and answered as GitHub does."""
    app.wsgi_app = _Outside(app.wsgi_app, world)  # type: ignore[method-assign]
    limits = Limits(world)

    @app.before_request
    def begin() -> Response | None:
        g.token, g.fault, g.needed, g.git, g.headers = None, None, "", {}, {}
        request.get_data()
        is_rest = request.path.startswith(PREFIX)
        if is_rest:
            g.token = _authenticate(world)
            world.took_off(name_of(g.token))
            g.is_flying = True
        _meet_fault(world)
        if is_rest:
            _count(limits)
        return _moved(world) if is_rest else None

    @app.after_request
    def end(answer: Response) -> Response:
        if g.fault and g.fault.is_done:
            _drop_if(world, g.fault)
            answer = _error(_failure(g.fault))
        if request.path.startswith(PREFIX):
            _add_headers(limits, answer)
            _make_conditional(limits, answer)
        _log(world, answer)
        return answer

    @app.teardown_request
    def finish(error: BaseException | None) -> None:
        if g.get("is_flying"):
            world.landed(name_of(g.token))

    @app.errorhandler(ApiError)
    def api_error(error: ApiError) -> Response:
        return _error(error)

    @app.errorhandler(GitError)
    def git_error(error: GitError) -> Response:
        return _error(ApiError(422, str(error)))

    @app.errorhandler(HTTPException)
    def other(error: HTTPException) -> Response:
        return _error(ApiError(error.code or 500, error.name))


class _Outside:
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
    page, links = _page(items)
    answer = jsonify([shape(item) for item in page])
    if links:
        answer.headers["Link"] = links
    return answer


def counted_page_of(name: str, items: Sequence[T], shape: Callable[[T], Any]) -> Response:
    """As `page_of`, under a name and with the count of all."""
    page, links = _page(items)
    answer = jsonify({"total_count": len(items), name: [shape(item) for item in page]})
    if links:
        answer.headers["Link"] = links
    return answer


def _page(items: Sequence[T]) -> tuple[Sequence[T], str]:
    size = min(max(1, request.args.get("per_page", 30, int)), 100)
    number = max(1, request.args.get("page", 1, int))
    last = max(1, -(-len(items) // size))
    links = [(number + 1, "next"), (last, "last")] if number < last else []
    links += [(number - 1, "prev"), (1, "first")] if number > 1 else []
    return items[(number - 1) * size:number * size], ", ".join(
        f'<{request.base_url}?{urlencode({**request.args, "page": page})}>; rel="{name}"'
        for page, name in links)


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


def _meet_fault(world: World) -> None:
    g.fault = _take_fault(world)
    if g.fault and g.fault.gate:
        g.fault.gate.wait(WAIT_S)
    if g.fault and g.fault.status is None:
        g.headers, g.fault = dict(g.fault.headers), None
    if g.fault and not g.fault.is_done:
        _drop_if(world, g.fault)
        raise _failure(g.fault)


def _take_fault(world: World) -> Fault | None:
    with world.lock:
        for fault in world.faults:
            if fault.matches(request.method, request.path):
                fault.times -= 1
                return fault
    return None


def _drop_if(world: World, fault: Fault) -> None:
    if fault.status == 0:
        _note(world, 0)
        raise DroppedError


def _failure(fault: Fault) -> ApiError:
    return ApiError(fault.status or 0, fault.message, headers=fault.headers)


def _count(limits: Limits) -> None:
    if request.path != f"{PREFIX}/rate_limit" and not limits.count(g.token):
        who = f"user ID {g.token.user.id}" if g.token else "127.0.0.1"
        raise ApiError(403, f"API rate limit exceeded for {who}. {HELP}")


def _moved(world: World) -> Response | None:
    """The old name of a repository leads to its id; reads lose nothing, writes ask for 307."""
    match = _NAMED.fullmatch(request.path)
    if match is None or world.find(match[1], match[2]):
        return None
    found = world.moved_to(match[1], match[2])
    if found is None or not world.may(g.token, found, "read", "metadata"):
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
    found: dict[str, Any] = {"message": error.message, **error.fields}
    if error.errors:
        found["errors"] = list(error.errors)
    answer = jsonify(**{"documentation_url": DOCS, "status": str(error.status), **found})
    answer.status_code = error.status
    answer.headers.update(error.headers)
    return answer


def _add_headers(limits: Limits, answer: Response) -> None:
    for name, value in _own_headers(limits).items():
        answer.headers.setdefault(name, value)
    answer.headers.update(g.headers)


def _own_headers(limits: Limits) -> dict[str, str]:
    found = {**limits.headers(g.token), "X-GitHub-Media-Type": "github.v3; format=json",
             "X-GitHub-Api-Version-Selected": "2022-11-28"}
    if g.token and g.token.is_classic:
        found["X-OAuth-Scopes"] = ", ".join(sorted(g.token.scopes))
    elif g.token:
        found["X-Accepted-GitHub-Permissions"] = g.needed or "allows_permissionless_access=true"
    if g.token and g.token.expires_at:
        found["GitHub-Authentication-Token-Expiration"] = _expiry(g.token)
    return found


def _expiry(token: Token) -> str:
    """In UTC by its name, or with the offset of a time zone: both occur."""
    assert token.expires_at
    if token.offset is None:
        return f"{token.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{token.expires_at + token.offset:%Y-%m-%d %H:%M:%S} {_zone(token)}"


def _zone(token: Token) -> str:
    assert token.offset is not None
    minutes = int(token.offset.total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"


def _make_conditional(limits: Limits, answer: Response) -> None:
    """A weak ETag that differs by who asks; what is unchanged costs nothing of the limit."""
    if request.method != "GET" or answer.status_code != 200:
        return
    who = g.token.value if g.token else ""
    tag = f'W/"{hashlib.sha256(who.encode() + answer.get_data()).hexdigest()}"'
    answer.headers["ETag"] = tag
    answer.headers["Vary"] = "Accept, Authorization, Cookie, X-GitHub-OTP"
    if request.headers.get("If-None-Match") == tag:
        answer.status_code = 304
        answer.set_data(b"")
        limits.count(g.token, -1)
        answer.headers.update(limits.headers(g.token))


def _log(world: World, answer: Response) -> None:
    seen = _note(world, answer.status_code)
    if answer.is_streamed:
        answer.response = _counted(answer.response, seen)
    else:
        seen.size = len(answer.get_data())


def _note(world: World, status: int) -> Seen:
    seen = Seen(
        method=request.method, path=request.path, query=request.query_string.decode(),
        status=status, size=0, received=len(request.get_data()),
        login=name_of(g.token) if g.token else None, **g.git)
    with world.lock:
        world.seen.append(seen)
    return seen


def _counted(chunks: Any, seen: Seen) -> Iterator[bytes]:
    """Counts each piece before it leaves, so that who got it all finds it counted."""
    try:
        for chunk in chunks:
            seen.size += len(chunk)
            yield chunk
    finally:
        if hasattr(chunks, "close"):
            chunks.close()
