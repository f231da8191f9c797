"""A real web server on 127.0.0.1 with the virtues and vices that downloads meet."""
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer:
    """`files` by path; `requests` in order: (path, headers).

    `challenges` by path: what who brings no authorization is told. `redirects` by path; `statuses`
    by path: answered once each, in turn, before the file is.
    `break_after` bytes of a body the connection breaks, as often as `breaks` says. The second half
    of each body waits for `delay`.
    """

    def __init__(self):
        self.files, self.redirects, self.statuses = {}, {}, {}
        self.challenges = {}
        self.requests = []
        self.etag, self.has_ranges = '"one"', True
        self.break_after, self.breaks = 0, 0
        self.on_break = lambda: None
        self.delay = threading.Event()
        self.delay.set()
        self.repositories = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a client that was killed is no news
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.delay.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self):
        return self._server.server_port

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def paths(self):
        return [path for path, _ in self.requests]


def _handler(web):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            web.requests.append((self.path, dict(self.headers)))
            if self.path in web.challenges and "Authorization" not in self.headers:
                self.answer(401, **{"www-authenticate": web.challenges[self.path]})
            elif web.statuses.get(self.path):
                self.answer(web.statuses[self.path].pop(0))
            elif self.path in web.redirects:
                self.answer(302, location=web.redirects[self.path])
            elif self.path in web.files:
                self.send_file(web.files[self.path])
            elif web.repositories:
                self.run_git(b"")
            else:
                self.answer(404)

        def do_HEAD(self):
            content = web.files.get(self.path)
            if self.path in web.redirects:
                self.answer(302, location=web.redirects[self.path])
            elif content is None:
                self.answer(404)
            else:
                self.answer(200, **{"content-length": str(len(content))})

        def do_POST(self):
            self.run_git(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, status, **headers):
            self.send_response(status)
            for name, value in {"content-length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def send_file(self, content):
            etag = {"etag": web.etag} if web.etag else {}
            if web.etag and self.headers.get("If-None-Match") == web.etag:
                return self.answer(304, **etag)
            begin, status, more = 0, 200, {}
            asked = self.headers.get("Range")
            if asked and web.has_ranges and self.headers.get("If-Range") == web.etag:
                begin, status = int(asked.removeprefix("bytes=").removesuffix("-")), 206
                more = {"content-range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
            body = content[begin:]
            self.answer(status, **{"content-length": str(len(body)), **etag, **more})
            if web.breaks:
                web.breaks -= 1
                body, self.close_connection = body[:web.break_after], True
                web.on_break()
            self.send_slowly(body)

        def send_slowly(self, body):
            middle = len(body) // 2
            self.wfile.write(body[:middle])
            web.delay.wait(20)
            self.wfile.write(body[middle:])

        def run_git(self, body):
            """The smart protocol, as git itself speaks it."""
            path, _, query = self.path.partition("?")
            environ = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(web.repositories),
                "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                "REQUEST_METHOD": self.command, "REMOTE_ADDR": "127.0.0.1",
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)), "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
            done = subprocess.run(["git", "http-backend"], input=body, env=environ,
                                  stdout=subprocess.PIPE, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.decode().split(": ", 1) for line in head.splitlines())
            status = int(headers.pop("Status", "200").split()[0])
            self.answer(status, **{**headers, "content-length": str(len(content))})
            self.wfile.write(content)

    return Handler
