"""A server that speaks S3 and means ill: what it says is bounded, and leads nowhere else."""
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runner.cache import Watch
from runner.errors import StagingError
from runner.network import Network
from runner.remote_files import BrokenOff, RemoteFile, files_below, remote_files
from runner.storages import Bucket
from tests.runner.web_server import WebServer

FILE = RemoteFile(path="a", size=10, version='"1"')


class HostileServer:
    """`answer`: (status, headers, body) to everything; `asked`: how often."""

    def __enter__(self):
        self.answer, self.asked = (200, {}, b""), 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a client that leaves early is no news
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def lists(self, *keys, is_truncated=False):
        self.answer = (200, {"content-type": "application/xml"}, (
            "<ListBucketResult><Name>b</Name><KeyCount>0</KeyCount>"
            f"<IsTruncated>{str(is_truncated).lower()}</IsTruncated>"
            "<NextContinuationToken>again</NextContinuationToken>" + "".join(
                f"<Contents><Key>{key}</Key><Size>1</Size><ETag>1</ETag></Contents>"
                for key in keys) + "</ListBucketResult>").encode())

    def _handler(hostile):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_any(self):
                hostile.asked += 1
                status, headers, body = hostile.answer
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)
                self.close_connection = True

            do_GET = do_HEAD = do_any

        return Handler


@pytest.fixture
def server():
    with HostileServer() as running:
        yield running


@pytest.fixture
def files(server):
    return remote_files(Bucket(name="b", bucket="b", endpoint=server.url), Network())


def below(files, path="in"):
    return list(files_below(files, path, Watch(report=lambda *_: None,
                                               is_cancelled=lambda: False)))


def test_a_listing_without_end_and_without_files_is_left(server, files, monkeypatch):
    monkeypatch.setattr("runner.remote_files.MAX_FILES", 5)
    server.lists(is_truncated=True)
    with pytest.raises(StagingError, match="more than 5 files"):
        below(files)
    assert server.asked == 6


@pytest.mark.parametrize("key", ["../evil", "in/../../evil", "elsewhere/a", "in//a", "/etc/passwd",
                                 "in/a&#10;b", "in/."])
def test_keys_that_lead_elsewhere_are_refused(server, files, key):
    server.lists(key)
    with pytest.raises(StagingError, match="cannot be the path of a file here"):
        below(files)


@pytest.mark.parametrize("status", [301, 307])
def test_redirects_are_not_followed(server, files, status):
    with WebServer() as inner:
        inner.files["/b/a"] = b"secret"
        server.answer = (status, {"location": f"{inner.url}/b/a"}, b"")
        with pytest.raises(StagingError):
            files.look("a")
        with pytest.raises((StagingError, BrokenOff)):
            list(files.read(FILE, 0))
        assert inner.requests == []


@pytest.mark.parametrize("status, headers, body", [
    (200, {}, b"0123456789"),
    (206, {"content-range": "bytes 0-9/10"}, b"0123456789"),
    (206, {"content-range": "bytes 4-9/10"}, b"456789 and more"),
    (206, {"content-range": "bytes 4-9/10"}, b"45")])
def test_another_piece_than_was_asked_for_is_not_taken(server, files, status, headers, body):
    server.answer = (status, {"etag": '"1"', **headers}, body)
    with pytest.raises(BrokenOff):
        list(files.read(FILE, 4))


def test_entities_in_a_listing_do_not_grow(server, files):
    bomb = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    server.answer = (200, {"content-type": "application/xml"}, (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "x">{bomb}]><ListBucketResult>'
        "<Name>&e9;</Name></ListBucketResult>").encode())
    with pytest.raises(StagingError) as caught:
        below(files)
    assert len(caught.value.message) < 500
