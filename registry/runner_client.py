"""The runner's HTTP API, typed: over its unix socket, or over TCP with a token."""
from __future__ import annotations

import json
import socket
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from math import ceil
from typing import Any, Iterable, Iterator, Mapping, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from registry.config import Secret
from registry.errors import (
    InvalidInputError,
    NotFoundError,
    Problem,
    RunnerUnavailableError,
)
from runner.sentence import Sentence, heard
from runner.spec import JobSpec, Login

TIMEOUT_S = 10.0
SEARCH_S = 30.0  # a log of a gigabyte is read from its beginning
CHUNK_BYTES = 1 << 16
AWAY = Sentence("The runner does not answer, so no job can be started, stopped or looked at now. "
                "What runs goes on.")


class _UnixConnection(HTTPConnection):
    """HTTP over the socket file at `path`."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Download:
    """A file on its way, piece by piece; `size` in bytes, None where the runner does not say.

    Close it, also where nothing was read.
    """

    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._connection, self._response = connection, response
        size = response.getheader("Content-Length")
        self.size = int(size) if size else None

    def __iter__(self) -> Iterator[bytes]:
        with closing(self):
            while chunk := self._response.read(CHUNK_BYTES):
                yield chunk

    def head(self, count: int) -> bytes:
        """The first `count` bytes, fewer where there are no more."""
        return self._response.read(count)

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class RunnerClient:
    """One connection a call, so any number of threads may share a client.

    Every method raises RunnerUnavailableError where nobody answers, NotFoundError and
    InvalidInputError where the runner says so. Jobs are the runner's own JSON objects.
    """

    def __init__(self, url: str, token: Secret | None = None) -> None:
        self.url = url
        self._token = token
        self.seen_at: datetime | None = None  # when it last answered; None: never so far

    def machine(self) -> dict[str, Any]:
        return self._json("GET", ("machine",))

    def overview(self) -> dict[str, Any]:
        """`{"running", "waiting", "gpu_jobs", "disk", "versions", "engine_problem"}`."""
        return self._json("GET", ("overview",))

    def limits(self) -> dict[str, Any]:
        """`{"file", "text", "per_user", "users"}`: what users and virtual clusters may have."""
        return self._json("GET", ("limits",))

    def change_limits(self, text: str) -> dict[str, Any]:
        """Put other limits into the runner's file; raises InvalidInputError for wrong ones."""
        return self._json("PUT", ("limits",), body={"text": text})

    def exposition(self) -> Download:
        """What the machine, the queue and the tasks do, as Prometheus reads it."""
        return self._download(("metrics",), {})

    def is_up(self) -> bool:
        """Whether the runner answers within 2 s."""
        try:
            self._json("GET", ("health",), timeout_s=2)
        except RunnerUnavailableError:
            return False
        return True

    def explain(self, spec: JobSpec) -> dict[str, Any]:
        """Whether the job fits `now`, `later` or `never`, and the reason."""
        return self._json("POST", ("explain",), body={"spec": spec.as_json()})

    def outlook(self, spec: JobSpec, logins: Iterable[Login] = ()) -> dict[str, Any]:
        """What the job would find if it were submitted now; some of it is asked of the web."""
        return self._json("POST", ("outlook",), body={
            "spec": spec.as_json(), "logins": [vars(login) for login in logins]})

    def submit(self, spec: JobSpec, key: str | None = None, logins: Iterable[Login] = ()
               ) -> dict[str, Any]:
        """Hand over a job and what its images are pulled with; the same `key` is the same job."""
        headers = {"Idempotency-Key": quote(key)} if key else {}
        return self._json("POST", ("jobs",), headers=headers, body={
            "spec": spec.as_json(), "logins": [vars(login) for login in logins]})

    def jobs(self, **query: object) -> dict[str, Any]:
        """`{"jobs", "next", "counts"}`: a page of jobs, and how many there are in each state.

        `query` may hold `user` (None: everyone's), `name`, `state`, `text`, `template`, `reader`,
        `sort`, `limit`, and `offset` or `before`.
        """
        return self._json("GET", ("jobs",), query=query)

    def changes(self, mark: str, wait_s: float) -> dict[str, Any]:
        """`{"mark", "is_all", "jobs", "logs"}` since a mark, waiting up to `wait_s` for something.

        `jobs` as in a list, those that are other than before; `logs` the ids of those whose logs
        have grown. `is_all`, also where `mark` is empty: anything may have changed.
        """
        return self._json("GET", ("changes",), timeout_s=TIMEOUT_S + wait_s,
                          query={"since": mark, "wait_s": ceil(wait_s)})

    def job(self, id_: str) -> dict[str, Any]:
        return self._json("GET", ("jobs", id_))

    def stop(self, id_: str) -> dict[str, Any]:
        return self._json("POST", ("jobs", id_, "stop"))

    def release(self, id_: str) -> dict[str, Any]:
        """Remove the containers that are kept of a job; the job as it is then."""
        return self._json("POST", ("jobs", id_, "release"))

    def queue(self) -> dict[str, Any]:
        """`{"paused", "waiting", "running"}`; `paused` is what people are told, or None."""
        return self._json("GET", ("queue",))

    def pause(self, reason: str) -> dict[str, Any]:
        return self._json("POST", ("queue", "pause"), body={"reason": reason})

    def resume(self) -> dict[str, Any]:
        return self._json("POST", ("queue", "resume"), body={})

    def log(self, id_: str, attempt: int, role: str, index: int, *, offset: int = 0,
            limit: int = 1 << 18, wait_s: float = 0, stream: str = "") -> dict[str, Any]:
        """`{"records", "offset", "is_complete"}` from `offset`; waits up to `wait_s` for more."""
        return self._json(
            "GET", (*_task(id_, attempt, role, index), "log"), timeout_s=TIMEOUT_S + wait_s,
            query={"offset": offset, "limit": limit, "wait_s": ceil(wait_s), "stream": stream})

    def raw_log(self, id_: str, attempt: int, role: str, index: int, *,
                stream: str = "", has_times: bool = False) -> Download:
        """The whole log as text, of both streams or of one, with the time before each line."""
        return self._download((*_task(id_, attempt, role, index), "log", "raw"),
                              {"stream": stream, "times": int(has_times)})

    def merged_log(self, id_: str, *, attempt: int = 0, role: str = "", stream: str = "",
                   cursor: str = "", limit: int = 1000, wait_s: float = 0) -> dict[str, Any]:
        """`{"lines", "cursor", "is_complete"}` of all tasks; waits up to `wait_s` for more."""
        return self._json(
            "GET", ("jobs", id_, "log"), timeout_s=TIMEOUT_S + wait_s,
            query={"attempt": attempt, "role": role, "stream": stream, "cursor": cursor,
                   "limit": limit, "wait_s": ceil(wait_s)})

    def merged_text(self, id_: str, *, attempt: int = 0, role: str = "", stream: str = "",
                    has_times: bool = False) -> Download:
        """All lines of all tasks as text, each with its task before it."""
        return self._download(("jobs", id_, "log", "raw"), {
            "attempt": attempt, "role": role, "stream": stream, "times": int(has_times)})

    def search_log(self, id_: str, attempt: int, role: str, index: int, text: str
                   ) -> dict[str, Any]:
        """`{"lines", "has_more"}`: the first lines of a task's log with this text in them."""
        return self._json("GET", (*_task(id_, attempt, role, index), "log", "search"),
                          query={"text": text}, timeout_s=SEARCH_S)

    def metrics(self, id_: str, attempt: int, role: str, index: int) -> list[dict[str, Any]]:
        """What a task used while it ran, oldest sample first."""
        return self._json("GET", (*_task(id_, attempt, role, index), "metrics"))["samples"]

    def receipt(self, id_: str, attempt: int) -> dict[str, Any]:
        """What an attempt that has ended truly ran with; raises NotFoundError before that."""
        return self._json("GET", ("jobs", id_, "attempts", attempt, "receipt"))

    def artifacts(self, id_: str, **query: object) -> dict[str, Any]:
        """`{"artifacts", "next", "count", "size", "is_cut", "notice"}`, a page of the files.

        `query` may hold `attempt`, `role`, `index`, `folder`, `limit`, `after` and `checksums`.
        """
        return self._json("GET", ("jobs", id_, "artifacts"), query=query, timeout_s=SEARCH_S)

    def archive(self, id_: str, **query: object) -> Download:
        """The files as a zip; `query` as in `artifacts`."""
        return self._download(("jobs", id_, "archive"), query)

    def artifact(self, id_: str, attempt: int, role: str, index: int, path: str) -> Download:
        return self._download(
            ("jobs", id_, "artifacts", attempt, role, index, *path.split("/")), {})

    # -- terminals: shells in running tasks, each named by what `open_terminal` gave ---------------

    def open_terminal(self, id_: str, attempt: int, role: str, index: int, columns: int, rows: int,
                      ) -> str:
        return self._json("POST", (*_task(id_, attempt, role, index), "terminals"),
                          body={"columns": columns, "rows": rows})["id"]

    def terminal_output(self, terminal: str, wait_s: float) -> bytes | None:
        """What is new on it, empty where nothing is within `wait_s`; None: the shell has ended."""
        response, data = self._asked("GET", ("terminals", terminal, "output"),
                                     query={"wait_s": ceil(wait_s)}, timeout_s=TIMEOUT_S + wait_s)
        return None if response.getheader("Terminal-Ended") else data

    def type_in(self, terminal: str, data: bytes) -> int:
        """How many of the bytes were taken, from the first on."""
        path = ("terminals", terminal, "input")
        return json.loads(self._asked("POST", path, body=data)[1])["taken"]

    def resize_terminal(self, terminal: str, columns: int, rows: int) -> None:
        self._json("POST", ("terminals", terminal, "size"), body={"columns": columns, "rows": rows})

    def close_terminal(self, terminal: str) -> None:
        """End the shell and what is on its terminal; again is no error."""
        self._json("DELETE", ("terminals", terminal))

    # -- the connection ---------------------------------------------------------------------------

    def _json(self, method: str, path: tuple[object, ...], *,
              query: Mapping[str, object] | None = None, body: Mapping[str, Any] | None = None,
              headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S) -> Any:
        text = None if body is None else json.dumps(body).encode()
        _, answer = self._asked(
            method, path, query=query, body=text, timeout_s=timeout_s,
            headers={"Content-Type": "application/json", **(headers or {})})
        with self._translated():
            return heard(json.loads(answer))

    def _asked(self, method: str, path: tuple[object, ...], *,
               query: Mapping[str, object] | None = None, body: bytes | None = None,
               headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S,
               ) -> tuple[HTTPResponse, bytes]:
        with self._translated():
            connection = self._connect(timeout_s)
            try:
                connection.request(method, _address(path, query or {}), body,
                                   {**self._auth(), **(headers or {})})
                response = connection.getresponse()
                answer = response.read()
                self.seen_at = datetime.now(UTC)
            finally:
                connection.close()
            if response.status >= 300:
                _refuse(response.status, answer)
            return response, answer

    def _download(self, path: tuple[object, ...], query: Mapping[str, object]) -> Download:
        with self._translated():
            connection = self._connect(TIMEOUT_S)
            try:
                connection.request("GET", _address(path, query), headers=self._auth())
                response = connection.getresponse()
                if response.status >= 300:
                    _refuse(response.status, response.read())
            except BaseException:
                connection.close()
                raise
            return Download(connection, response)

    def _connect(self, timeout_s: float) -> HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme == "unix":
            return _UnixConnection(parts.path, timeout_s)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=timeout_s)

    def _auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token.reveal()}"} if self._token else {}

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """No answer, or one that is no answer of a runner, as the registry's own error."""
        try:
            yield
        except (OSError, HTTPException, ValueError, KeyError) as error:
            raise RunnerUnavailableError(AWAY, Sentence(
                "It is expected at {url}. Start it with `paishare serve`, or set "
                "PAISHARE_RUNNER_URL to where it listens.", url=self.url)) from error


def _task(id_: str, attempt: int, role: str, index: int) -> tuple[object, ...]:
    return ("jobs", id_, "attempts", attempt, "tasks", role, index)


def _address(path: tuple[object, ...], query: Mapping[str, object]) -> str:
    """The request's path; each part is one segment, so none can climb to another job."""
    parts = [str(part) for part in path]
    if any(part in ("", ".", "..") for part in parts):
        raise NotFoundError(Sentence("There is nothing at {path}.", path="/".join(parts)))
    given = {name: value for name, value in query.items() if value not in (None, "")}
    address = "".join(f"/{quote(part, safe='')}" for part in parts)
    return f"{address}?{urlencode(given)}" if given else address


def _refuse(status: int, text: bytes) -> NoReturn:
    """The runner's answer as the registry's own error."""
    body = heard(json.loads(text))
    message = body["message"]
    problems = [Problem(message=error.get("message", ""), path=error.get("path", ""))
                for error in body.get("errors") or ()]
    if status == 404:
        raise NotFoundError(message)
    if status == 401:
        raise RunnerUnavailableError(AWAY, Sentence(
            "The runner refused the registry's token. Give both the same one: RUNNER_TOKEN there, "
            "PAISHARE_RUNNER_TOKEN here."))
    if status < 500:
        raise InvalidInputError(message, problems)
    raise RunnerUnavailableError(
        Sentence("The runner could not do it: {message}", message=message),
        Sentence("Its log says more: logs/runner.log."))
