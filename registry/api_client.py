"""The registry's public HTTP API, as the command line and the demo use it."""
from __future__ import annotations

import uuid
from typing import Any, Iterator, Mapping
from urllib.parse import quote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.util.retry import Retry

from registry.errors import (
    ComponentError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidInputError,
    NotFoundError,
    Problem,
    RegistryError,
    RunnerUnavailableError,
    UnauthorizedError,
)

CONNECT_TIMEOUT_S = 5.0
CONNECT_TRIES = 3
PASSING_STATUS = (502, 503, 504)
ERRORS: Mapping[str, type[RegistryError]] = {
    kind.code: kind
    for kind in (ComponentError, InvalidInputError, UnauthorizedError, ForbiddenError,
                 NotFoundError, ConflictError, GoneError, RunnerUnavailableError)
}
ERRORS_BY_STATUS = {kind.status: kind for kind in ERRORS.values()} | {
    400: InvalidInputError, 422: InvalidInputError}


class ServerUnreachableError(RegistryError):
    """Nothing that speaks this API answers at the address."""

    code = "ServerUnreachable"
    status = 503


class _Bearer(AuthBase):
    """Sends the token; as an auth object it cannot be replaced by an entry of ~/.netrc."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class ApiClient:
    """Speaks to one registry; `token` None reads only what needs no login.

    `timeout_s` is the longest silence within one answer.
    Requests that do no harm twice are sent again after a connection error (for about 2 s) or a
    502, 503 or 504 (for about 6 s, in which a restarted runner is back). Every method raises a
    child of RegistryError.
    """

    def __init__(self, url: str, token: str | None = None, *,
                 timeout_s: float = 60) -> None:
        self.url = url.rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).hostname:
            raise InvalidInputError(f"{url!r} is no server address. Write one like "
                                    "http://127.0.0.1:8080.")
        self._timeout_s = (CONNECT_TIMEOUT_S, timeout_s)
        self._http = requests.Session()
        self._http.trust_env = urlsplit(self.url).hostname not in ("127.0.0.1", "localhost", "::1")
        self._http.auth = _Bearer(token) if token else None
        retry = Retry(total=None, connect=CONNECT_TRIES, read=3, status=4, redirect=0, other=0,
                      backoff_factor=0.4, status_forcelist=PASSING_STATUS, raise_on_status=False)
        self._http.mount(self.url, HTTPAdapter(max_retries=retry))
        # A job's POST carries a key that makes sending it twice harmless.
        self._http.mount(f"{self.url}/api/v3/jobs",
                         HTTPAdapter(max_retries=retry.new(allowed_methods=None)))

    def get(self, *path: object, **query: object) -> Any:
        return self._call("GET", path, params=query).json()

    def post(self, *path: object, body: object = None) -> Any:
        response = self._call("POST", path, json=body)
        return response.json() if response.content else None

    def put(self, *path: object, body: object = None) -> None:
        self._call("PUT", path, json=body)

    def delete(self, *path: object, **query: object) -> None:
        self._call("DELETE", path, params=query)

    def submit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Submit a job exactly once, however often the connection breaks."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        return self._call("POST", ("jobs",), json=body, headers=headers).json()

    def run_again(self, id_: str, attempt: int) -> dict[str, Any]:
        """Run what an attempt ran once more, exactly once however often the connection breaks."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        return self._call("POST", ("jobs", id_, "again"), params={"attempt": attempt},
                          headers=headers).json()

    def download(self, *path: object) -> Iterator[bytes]:
        """The bytes of one file, piece by piece."""
        with self._call("GET", path, stream=True) as response:
            try:
                yield from response.iter_content(65536)
            except requests.RequestException as error:
                raise ServerUnreachableError(
                    f"{self.url} broke off in the middle of a file. Try again.") from error

    def _call(self, method: str, path: tuple[object, ...], **rest: Any) -> requests.Response:
        address = "/".join([self.url, "api/v3", *(quote(str(part), safe="/") for part in path)])
        try:
            response = self._http.request(method, address, timeout=self._timeout_s,
                                          allow_redirects=False, **rest)
        except requests.RequestException as error:
            raise ServerUnreachableError(
                f"No PAIShare server answers at {self.url}. Start one with `paishare serve`, or "
                "name another with --server or PAISHARE_URL.") from error
        if response.status_code >= 300:
            raise _error(response, self.url)
        return response


def _error(response: requests.Response, url: str) -> RegistryError:
    """The registry's own error again, as it was raised there."""
    try:
        body = response.json()
        message, code = str(body["message"]), str(body["code"])
    except (ValueError, KeyError, TypeError):
        return ServerUnreachableError(f"{url} answered with status {response.status_code} and no "
                                      "message of a PAIShare server. Is the address right?")
    kind = ERRORS.get(code) or ERRORS_BY_STATUS.get(response.status_code, RegistryError)
    if kind is NotFoundError:
        return NotFoundError(message, body.get("nearest") or ())
    if kind is ConflictError:
        return ConflictError(message, body.get("choices") or ())
    return kind(message, [_problem(value) for value in body.get("errors") or ()])


def _problem(value: Mapping[str, Any]) -> Problem:
    return Problem(message=str(value.get("message", "")), path=str(value.get("path") or ""),
                   line=value.get("line"), column=value.get("column"),
                   severity=str(value.get("severity") or "error"))
