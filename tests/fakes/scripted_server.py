"""An HTTP server that answers what a test wrote down, and remembers what it was asked."""
from __future__ import annotations

import json
import threading
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DROP = object()  # closes the connection in place of an answer


@dataclass(frozen=True)
class Answer:
    body: Any
    status: int = 200


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class ScriptedServer:
    """`answers["GET /jobs/7"]` is a list, of which each request takes one; the last one stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Any]] = {}
        self.requests: list[Request] = []
        self._taken: dict[str, int] = defaultdict(int)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def asked(self, key: str) -> list[Request]:
        return [each for each in self.requests if f"{each.method} {each.path}" == key]

    def _next(self, key: str) -> Any:
        script = self.answers.get(key, [Answer({"code": "NotFound", "message": f"no {key}",
                                                "errors": [], "nearest": []}, 404)])
        self._taken[key] += 1
        return script[min(self._taken[key], len(script)) - 1]

    def _handler(outer) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                parts = urlsplit(self.path)
                path = parts.path.removeprefix("/api/v3")
                text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append(Request(
                    self.command, path, {key: value[0] for key, value in
                                         parse_qs(parts.query).items()},
                    dict(self.headers), json.loads(text) if text else None))
                answer = outer._next(f"{self.command} {path}")
                if answer is DROP:
                    self.close_connection = True
                else:
                    self.send(answer if isinstance(answer, Answer) else Answer(answer))

            def send(self, answer: Answer) -> None:
                is_bytes = isinstance(answer.body, bytes)
                data = answer.body if is_bytes else json.dumps(answer.body).encode()
                data = b"" if answer.status == 204 else data
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

            do_GET = do_POST = do_PUT = do_DELETE = handle_any
        return Handler
