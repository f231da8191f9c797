"""WebSockets: accepted from our own pages alone, counted, and let go of when the server ends."""
from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from functools import partial
from typing import Any, Callable, Mapping
from urllib.parse import urlsplit

import simple_websocket
from flask import Response, request

from registry.errors import BusyError, ForbiddenError, RegistryError
from registry.views.language import gettext as _
from registry.views.language import said

MAX_MESSAGE_BYTES = 1 << 18
RECEIVE_BYTES = 1 << 14
SILENCE_S = 60  # without an answer of the other side, after which it is gone
GOING_AWAY = 1001


class Closed(Exception):
    """The other side, or this server's end, has closed the connection."""


class Connection:
    """One accepted WebSocket; several threads may send, one receives."""

    def __init__(self, server: simple_websocket.Server) -> None:
        self._server = server
        self._sending = threading.Lock()

    def receive(self, wait_s: float) -> str | bytes | None:
        """The next message, None where none comes within `wait_s`; raises Closed."""
        try:
            return self._server.receive(wait_s)
        except simple_websocket.ConnectionClosed as error:
            raise Closed from error

    def send(self, data: str | bytes) -> None:
        """Raises Closed."""
        try:
            with self._sending:
                self._server.send(data)
        except (simple_websocket.ConnectionClosed, OSError) as error:
            raise Closed from error

    def tell(self, **values: Any) -> None:
        """A JSON text; raises Closed."""
        self.send(json.dumps(values))

    def close(self, code: int = 1000) -> None:
        """Again is no error."""
        with suppress(simple_websocket.ConnectionClosed, OSError), self._sending:
            self._server.close(code)
        self._server.connected = False
        self._server.event.set()
        with suppress(OSError):  # what a web server says after its request belongs to nobody
            self._server.sock.shutdown(socket.SHUT_WR)

    @property
    def is_open(self) -> bool:
        return self._server.connected


class Sockets:
    """All open connections of this process, at most `most`; each holds a thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._open: set[Connection] = set()
        self._is_ended = False

    def serve(self, handle: Callable[[Connection], None]) -> Response:
        """Accept the request's connection and hand it over; it is closed when that returns.

        What goes wrong then is the last thing that is said in it. Raises ForbiddenError for a page
        of another site.
        """
        check_origin(request.headers.get("Origin"), request.host)
        made = Connection(_accepted(request.environ))
        try:
            self._admit(made)
            handle(made)
        except Closed:
            pass
        except RegistryError as error:
            with suppress(Closed):
                made.tell(type="end", code=error.code, message=said(error.message))
        finally:
            made.close()
            with self._lock:
                self._open.discard(made)
        return Handled()

    def _admit(self, made: Connection) -> None:
        with self._lock:
            if self._is_ended or len(self._open) >= self._most:
                raise BusyError(_("As many pages as this server can keep live are open. This one "
                                  "is looked after more slowly; reload it later."))
            self._open.add(made)

    @property
    def count(self) -> int:
        """How many are open."""
        return len(self._open)

    def end(self) -> None:
        """Close all and take no more: the server ends."""
        with self._lock:
            self._is_ended, found = True, list(self._open)
        for each in found:
            each.close(GOING_AWAY)


def check_origin(origin: str | None, host: str) -> None:
    """A browser says which page asks: it must be one of this host. Programs say nothing.

    Raises ForbiddenError.
    """
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        raise ForbiddenError(_("Only pages of this server may open such a connection."))


class Handled(Response):
    """The answer where the connection was taken over: there is nothing left to say."""

    def __call__(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Any:
        if "gunicorn.socket" in environ:
            raise StopIteration  # gunicorn's own word for it
        return super().__call__(environ, start_response)  # type: ignore[arg-type]


def _accepted(environ: Mapping[str, Any]) -> simple_websocket.Server:
    found = environ.get("werkzeug.socket") or environ.get("gunicorn.socket")
    if isinstance(found, socket.socket) and found.family != socket.AF_UNIX:
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_S * 1000)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return simple_websocket.Server.accept(
        environ, receive_bytes=RECEIVE_BYTES, max_message_size=MAX_MESSAGE_BYTES,
        thread_class=partial(threading.Thread, daemon=True))
