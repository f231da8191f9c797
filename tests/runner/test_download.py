"""Data files: fetched once, resumed where cut short, checked."""
import errno
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

from runner.cache import Cache, FetchCancelled, Watch
from runner.download import Downloader
from runner.errors import StagingError
from runner.network import Network
from runner.uris import AllowedFolders
from tests.runner.web_server import WebServer

CONTENT = os.urandom(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def web():
    with WebServer() as server:
        server.files["/data.bin"] = CONTENT
        yield server


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def allowed(tmp_path):
    (tmp_path / "allowed").mkdir()
    return tmp_path / "allowed"


@pytest.fixture
def fetch(cache, allowed):
    downloader = Downloader(cache, Network(allow_loopback=True), AllowedFolders([allowed]))

    def call(uri, pinned=None, report=lambda *_: None, is_cancelled=lambda: False):
        return downloader.fetch(uri, pinned, Watch(report=report, is_cancelled=is_cancelled))
    return call


class EndlessServer:
    """Says no length and sends until nobody listens any more."""

    def __enter__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *_):
        self._thread.join()
        self._socket.close()

    def _serve(self):
        connection, _ = self._socket.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while True:
                connection.sendall(b"x" * 10_000)


def refused(fetch, uri, pinned=None):
    with pytest.raises(StagingError) as caught:
        fetch(uri, pinned)
    return str(caught.value), caught.value.is_platform


def has_part(cache):
    """Whether an unfinished download holds some of the file already."""
    return any(part.suffix != ".json" and part.stat().st_size for part in cache.parts.iterdir())


def test_a_file_comes_into_the_cache_under_its_checksum(web, cache, fetch):
    reports = []
    assert fetch(f"{web.url}/data.bin", report=lambda *values: reports.append(values)) == SHA256
    assert cache.file(SHA256).read_bytes() == CONTENT
    assert reports[0] == ("Fetching data.bin", 0, None)
    assert reports[-1][0].startswith("Fetching data.bin")
    assert reports[-1][1:] == (len(CONTENT), len(CONTENT))
    assert not list(cache.parts.iterdir())


def test_an_empty_file_is_a_file(web, cache, fetch):
    web.files["/empty"] = b""
    assert cache.file(fetch(f"{web.url}/empty")).read_bytes() == b""


def test_a_pinned_file_that_is_here_asks_nobody(web, fetch):
    fetch(f"{web.url}/data.bin")
    web.requests.clear()
    assert fetch(f"{web.url}/data.bin", SHA256) == SHA256
    assert fetch("https://no.such.host.invalid/elsewhere", SHA256) == SHA256
    assert not web.requests


def test_an_unchanged_file_is_not_sent_again(web, fetch):
    fetch(f"{web.url}/data.bin")
    assert fetch(f"{web.url}/data.bin") == SHA256
    assert web.requests[1][1]["If-None-Match"] == '"one"'
    assert len(web.requests) == 2


def test_a_changed_file_is_fetched_anew(web, cache, fetch):
    fetch(f"{web.url}/data.bin")
    web.files["/data.bin"], web.etag = b"new", '"two"'
    assert fetch(f"{web.url}/data.bin") == sha256(b"new")
    assert cache.has_file(SHA256)


def test_a_file_that_was_lost_from_the_cache_is_fetched_again(web, cache, fetch):
    fetch(f"{web.url}/data.bin")
    cache.file(SHA256).unlink()
    assert fetch(f"{web.url}/data.bin") == SHA256
    assert cache.has_file(SHA256)


def test_a_wrong_checksum_is_refused_and_leaves_nothing(web, cache, fetch):
    text, is_platform = refused(fetch, f"{web.url}/data.bin", "0" * 64)
    assert text == (
        f"{web.url}/data.bin has the checksum {SHA256}, but the job is pinned to {'0' * 64}. The "
        "file has changed: submit the job again to take the new one, or correct the checksum.")
    assert not is_platform
    assert not list(cache.data.iterdir()) and not list(cache.parts.iterdir())


def test_a_connection_that_breaks_is_resumed_where_it_broke(web, cache, fetch):
    web.break_after, web.breaks = 1_000_000, 1
    assert fetch(f"{web.url}/data.bin") == SHA256
    assert web.requests[1][1]["Range"] == "bytes=1000000-"
    assert web.requests[1][1]["If-Range"] == '"one"'


def test_a_server_that_cannot_resume_is_asked_from_the_start(web, fetch):
    web.break_after, web.breaks, web.has_ranges = 1_000_000, 1, False
    assert fetch(f"{web.url}/data.bin") == SHA256


def test_without_a_validator_nothing_is_resumed(web, fetch):
    web.break_after, web.breaks, web.etag = 1_000_000, 1, None
    assert fetch(f"{web.url}/data.bin") == SHA256
    assert "Range" not in web.requests[1][1]


def test_a_file_that_changes_between_two_parts_is_not_mixed(web, fetch):
    web.break_after, web.breaks = 1_000_000, 1

    def change():
        web.files["/data.bin"], web.etag = b"other" * 500_000, '"two"'
    web.on_break = change
    assert fetch(f"{web.url}/data.bin") == sha256(b"other" * 500_000)
    assert web.requests[1][1]["If-Range"] == '"one"'


def test_a_connection_that_always_breaks_is_given_up_but_kept(web, cache, fetch):
    web.break_after, web.breaks = 0, 99
    text, is_platform = refused(fetch, f"{web.url}/data.bin")
    assert text == (f"{web.url}/data.bin broke off 5 times at byte 0. Try again later: it goes on "
                    "from there.")
    assert is_platform


def test_a_server_that_is_busy_is_asked_again(web, fetch):
    web.statuses["/data.bin"] = [503, 429]
    assert fetch(f"{web.url}/data.bin") == SHA256
    assert len(web.requests) == 3


@pytest.mark.parametrize("status, is_platform, hint", [
    (404, False, "Check it in a browser"), (401, False, "is it private"),
    (403, False, "may not be read"), (418, False, "in a browser"), (500, True, "Try again later")])
def test_a_refusal_says_what_to_do(web, fetch, status, is_platform, hint):
    web.statuses["/data.bin"] = [status] * 9
    text, found = refused(fetch, f"{web.url}/data.bin")
    assert text.startswith(f"{web.url}/data.bin answers with HTTP status {status}. ")
    assert hint in text and found == is_platform


def test_a_redirect_is_followed(web, fetch):
    web.redirects["/old"] = "/data.bin"
    assert fetch(f"{web.url}/old") == SHA256


def test_a_compressed_file_stays_as_it_is(web, cache, fetch):
    web.files["/x.gz"] = b"\x1f\x8b not really"
    assert cache.file(fetch(f"{web.url}/x.gz")).read_bytes() == b"\x1f\x8b not really"
    assert web.requests[0][1]["Accept-Encoding"] == "identity"


def test_many_at_once_are_one_download(web, cache, fetch):
    web.delay.clear()
    threads = [threading.Thread(target=fetch, args=(f"{web.url}/data.bin",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    web.delay.set()
    for thread in threads:
        thread.join()
    assert cache.has_file(SHA256)
    assert sum("If-None-Match" not in headers for _, headers in web.requests) == 1


def test_a_cancelled_download_stops_and_goes_on_later(web, cache, fetch):
    web.delay.clear()

    threading.Timer(0.4, web.delay.set).start()
    with pytest.raises(FetchCancelled):
        fetch(f"{web.url}/data.bin", is_cancelled=lambda: has_part(cache))
    assert not list(cache.data.iterdir())
    assert fetch(f"{web.url}/data.bin") == SHA256


def test_a_killed_download_is_resumed_and_never_seen_half(web, cache, fetch, tmp_path):
    web.delay.clear()
    program = (
        "import sys; from pathlib import Path; from runner.staging import Owner, Stager\n"
        "from runner.spec import Input\n"
        f"stager = Stager(Path({str(cache.root)!r}), Path('/nowhere'), [], allow_loopback=True)\n"
        f"item = Input(kind='file', uri='{web.url}/data.bin', target='d/data.bin')\n"
        "owner = Owner(user='ann', folder=Path('/x'))\n"
        "stager.fetch(item, owner, report=lambda *_: None, is_cancelled=lambda: False)")
    with subprocess.Popen([sys.executable, "-c", program]) as killed:
        while not has_part(cache) and killed.poll() is None:
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert not list(cache.data.iterdir()) and has_part(cache)
    web.delay.set()
    assert fetch(f"{web.url}/data.bin") == SHA256
    assert int(web.requests[-1][1]["Range"].strip("bytes=-")) > 0


def test_a_full_disk_is_named_before_the_download(web, fetch, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20})
    monkeypatch.setattr("runner.download.shutil.disk_usage", lambda _: usage)
    text, is_platform = refused(fetch, f"{web.url}/data.bin")
    assert text.endswith("needs 2 MB on the disk, 1 MB are free. Make room, then the job goes on.")
    assert is_platform


# -- files of this machine ------------------------------------------------------------------------


def test_a_local_file_is_copied_so_that_later_changes_do_not_matter(cache, fetch, allowed):
    source = allowed / "data.bin"
    source.write_bytes(b"first")
    assert fetch(str(source)) == fetch(f"file://{source}") == sha256(b"first")
    source.write_bytes(b"second")
    assert cache.file(sha256(b"first")).read_bytes() == b"first"
    assert fetch(str(source)) == sha256(b"second")


def test_an_unchanged_local_file_is_not_read_again(cache, fetch, allowed):
    source = allowed / "data.bin"
    source.write_bytes(b"first")
    fetch(str(source))
    reports = []
    assert fetch(str(source), report=lambda *values: reports.append(values)) == sha256(b"first")
    assert not reports


@pytest.mark.parametrize("name", ["../secret", "link", "/etc/passwd"])
def test_a_file_outside_of_the_allowed_folders_is_refused(fetch, allowed, tmp_path, name):
    (tmp_path / "secret").write_text("secret")
    (allowed / "link").symlink_to(tmp_path / "secret")
    text, _ = refused(fetch, f"{allowed / name}")
    assert "is outside of the folders that jobs may read here" in text
    assert refused(fetch, f"file://{allowed / name}", sha256(b"secret"))[0]


def test_what_is_no_file_is_refused(fetch, allowed):
    (allowed / "folder").mkdir()
    os.mkfifo(allowed / "pipe")
    for name in ("folder", "pipe"):
        assert "is no file" in refused(fetch, str(allowed / name))[0]
    assert "No such file" in refused(fetch, str(allowed / "nothing"))[0]


def test_a_disk_error_is_not_taken_for_a_broken_connection(web, cache, fetch, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(cache, "adopt", fail)
    with pytest.raises(OSError, match="No space left"):
        fetch(f"{web.url}/data.bin")
    assert len(web.requests) == 1


def test_a_file_that_never_ends_does_not_fill_the_disk(fetch, cache, monkeypatch):
    monkeypatch.setattr("runner.download.CHECK_SPACE_BYTES", 50_000)
    parts = cache.root / "parts"
    monkeypatch.setattr("runner.download.shutil.disk_usage", lambda _: SimpleNamespace(
        free=500_000 - sum(part.stat().st_size for part in parts.iterdir())))
    with EndlessServer() as url:
        said, is_platform = refused(fetch, f"{url}/endless")
    assert is_platform and "are free. Make room" in said
    assert not list(parts.iterdir())
