"""Stands in for a Hadoop cluster: WebHDFS as Apache's page on it describes, with one data node.

What it answers is held to that page's JSON Schemas by itself.
"""
import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from jsonschema import validate


def _object(**properties):
    return {"type": "object", "required": list(properties), "properties": properties}


INTEGER, STRING = {"type": "integer"}, {"type": "string"}
FILE_STATUS = _object(
    accessTime=INTEGER, blockSize=INTEGER, group=STRING, length=INTEGER, modificationTime=INTEGER,
    owner=STRING, pathSuffix=STRING, permission=STRING, replication=INTEGER,
    type={"enum": ["FILE", "DIRECTORY", "SYMLINK"]})
SCHEMAS = {
    "FileStatus": _object(FileStatus=FILE_STATUS),
    "FileStatuses": _object(FileStatuses=_object(
        FileStatus={"type": "array", "items": FILE_STATUS})),
    "boolean": _object(boolean={"type": "boolean"}),
    "RemoteException": _object(RemoteException=_object(exception=STRING, message=STRING)),
}


class Hadoop:
    """`files` by path: [content, time of its last change]. `asked`: (who, method, op, path).

    `location`: where the name node sends readers to, instead of its data node. `break_after`: so
    many bytes of a body come, as often as `breaks` says. `more`: this is sent after each body.
    `answer`: what the name node says to everything; `refusal`: status, exception and message.
    """

    def __init__(self):
        self.files, self.asked = {}, []
        self.location, self.answer, self.refusal, self.token = None, None, None, None
        self.breaks, self.break_after, self.more = 0, 0, b""
        self._clock = itertools.count(1320171722771)
        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, is_data))
                         for is_data in (False, True)]
        for server in self._servers:
            server.daemon_threads = True
            server.handle_error = lambda *_: None  # a client that leaves early is no news
        self.name_node, self.data_node = (f"127.0.0.1:{server.server_port}"
                                          for server in self._servers)

    def __enter__(self):
        self._threads = [threading.Thread(target=server.serve_forever, args=(0.02,))
                         for server in self._servers]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for server, thread in zip(self._servers, self._threads):
            server.shutdown()
            thread.join()
            server.server_close()

    def put(self, path, content):
        self.files[path] = [content, next(self._clock)]

    def content(self, path):
        return self.files[path][0]

    def status(self, path, suffix):
        if path in self.files:
            content, changed = self.files[path]
            return self._status("FILE", suffix, len(content), changed)
        if path == "/" or any(name.startswith(path.rstrip("/") + "/") for name in self.files):
            return self._status("DIRECTORY", suffix, 0, 0)
        return None

    @staticmethod
    def _status(kind, suffix, length, changed):
        return {"accessTime": changed, "blockSize": 33554432, "group": "supergroup",
                "length": length, "modificationTime": changed, "owner": "webuser",
                "pathSuffix": suffix, "permission": "644", "replication": 1, "type": kind}

    def inside(self, path):
        """The entries of a folder; of a file itself, with an empty suffix."""
        if path in self.files:
            return [self.status(path, "")]
        folder = path.rstrip("/") + "/"
        names = {name[len(folder):].partition("/")[0] for name in self.files
                 if name.startswith(folder)}
        return [self.status(folder + name, name) for name in sorted(names)]


def _handler(hadoop, is_data_node):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_any(self):
            parts = urlsplit(self.path)
            assert parts.path.startswith("/webhdfs/v1")
            path = unquote(parts.path.removeprefix("/webhdfs/v1")) or "/"
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            op = query["op"].upper()
            hadoop.asked.append((query.get("user.name"), self.command, op, path))
            if hadoop.token and query.get("delegation") != hadoop.token:
                return self.refuse(401, "SecurityException", "Failed to obtain user group")
            if is_data_node:
                return self.data(op, path, query, body)
            if hadoop.refusal:
                return self.refuse(*hadoop.refusal)
            if hadoop.answer is not None:
                return self.send(200, hadoop.answer)
            return getattr(self, op.lower())(path, query)

        do_GET = do_PUT = do_POST = do_DELETE = do_any

        # -- the name node --------------------------------------------------------------------

        def getfilestatus(self, path, query):
            found = hadoop.status(path, "")
            self.told("FileStatus", {"FileStatus": found}) if found else self.missing(path)

        def liststatus(self, path, query):
            if hadoop.status(path, "") is None:
                return self.missing(path)
            self.told("FileStatuses", {"FileStatuses": {"FileStatus": hadoop.inside(path)}})

        def open(self, path, query):
            self.redirect(path) if path in hadoop.files else self.missing(path)

        create = append = lambda self, path, query: self.redirect(path)

        def mkdirs(self, path, query):
            self.told("boolean", {"boolean": True})

        def delete(self, path, query):
            self.told("boolean", {"boolean": hadoop.files.pop(path, None) is not None})

        def rename(self, path, query):
            goal = query["destination"]
            if path not in hadoop.files or goal in hadoop.files:
                return self.told("boolean", {"boolean": False})
            hadoop.files[goal] = hadoop.files.pop(path)
            self.told("boolean", {"boolean": True})

        def redirect(self, path):
            query = urlsplit(self.path).query
            node = hadoop.location or f"http://{hadoop.data_node}"
            self.send(307, b"", location=f"{node}/webhdfs/v1{quote(path)}?{query}")

        # -- the data node --------------------------------------------------------------------

        def data(self, op, path, query, body):
            if op == "CREATE":
                hadoop.put(path, body)
                return self.send(201, b"")
            if op == "APPEND":
                hadoop.put(path, hadoop.content(path) + body)
                return self.send(200, b"")
            begin = int(query.get("offset", 0))
            content = hadoop.content(path)[begin:]
            content = content[:int(query.get("length", len(content)))]
            self.send_response(200)
            self.send_header("content-length", str(len(content) + len(hadoop.more)))
            self.end_headers()
            if hadoop.breaks:
                hadoop.breaks -= 1
                content, self.close_connection = content[:hadoop.break_after], True
            self.wfile.write(content + hadoop.more)

        # -- answers --------------------------------------------------------------------------

        def told(self, schema, value):
            validate(value, SCHEMAS[schema])
            self.send(200, json.dumps(value).encode())

        def missing(self, path):
            self.refuse(404, "FileNotFoundException", f"File does not exist: {path}")

        def refuse(self, status, exception, message):
            value = {"RemoteException": {"exception": exception, "message": message,
                                         "javaClassName": f"java.io.{exception}"}}
            validate(value, SCHEMAS["RemoteException"])
            self.send(status, json.dumps(value).encode())

        def send(self, status, body, **headers):
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler
