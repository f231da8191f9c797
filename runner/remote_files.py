"""Files on S3 servers and Hadoop, each storage by the same five calls. Wraps fsspec."""
from __future__ import annotations

import importlib.util
import json
import logging
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Iterator, Protocol
from urllib.parse import urlsplit

import fsspec
import requests
from fsspec.asyn import sync
from fsspec.implementations.webhdfs import WebHDFS

from runner.cache import Watch
from runner.errors import StagingError
from runner.network import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, Network
from runner.sentence import Sentence
from runner.storages import Bucket, Hdfs, Storage
from runner.uris import is_plain

CHUNK_BYTES = 4 << 20
MAX_ANSWER_BYTES = 64 << 20
MAX_FILES = 100_000
MAX_DEPTH = 64
_PAGE = 1000
_PART = ".paishare-part"  # of a file on its way, or of one whose way a kill has ended
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

for _name in ("fsspec", "s3fs", "webhdfs", "botocore", "aiobotocore"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # their debug lines hold signed requests


class BrokenOff(Exception):
    """The connection ended, or the file changed, while it was read: worth another try."""


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """`version` is another one whenever the content is."""

    path: str
    size: int
    version: str


class RemoteFiles(Protocol):
    """Paths have no slash in front. Everything raises StagingError; `read` BrokenOff too."""

    def look(self, path: str) -> RemoteFile:
        """What is at a path; a folder is no file."""

    def list(self, path: str) -> Iterator[RemoteFile]:
        """Every file below a folder, MAX_FILES at most; a folder that is not there has none."""

    def read(self, file: RemoteFile, offset: int) -> Iterator[bytes]:
        """The content from a byte on, to the last byte and not one beyond."""

    def write(self, local: Path, path: str) -> RemoteFile:
        """Send a file; what was there is replaced when all of it has arrived."""

    def remove(self, path: str) -> None:
        """Remove a file."""


def remote_files(storage: Storage, network: Network) -> RemoteFiles:
    """Speak to a storage that is no folder; nothing is asked of it yet."""
    if isinstance(storage, Bucket):
        return _BucketFiles(storage, network)
    assert isinstance(storage, Hdfs)
    return _HdfsFiles(storage, network)


def files_below(files: RemoteFiles, path: str, watch: Watch) -> Iterator[tuple[str, RemoteFile]]:
    """Every file of a folder by its path in it; raises StagingError where one cannot be here."""
    names: set[str] = set()
    above = f"{path}/" if path else ""
    for file in files.list(path):
        watch.check()
        name = file.path.removeprefix(above)
        if not file.path.startswith(above) or not all(map(is_plain, name.split("/"))):
            raise StagingError(Sentence(
                "{path!r} there cannot be the path of a file here. Rename it, or name a folder "
                "without it.", path=file.path[:200]))
        names.add(name)
        yield name, file
    folders = {str(above) for name in names for above in PurePosixPath(name).parents}
    for name in folders & names:
        raise StagingError(Sentence(
            "{name!r} there is a file and a folder at once, which cannot be here. Rename one, or "
            "name a folder without it.", name=name[:200]))


@contextmanager
def _told(storage: Storage, path: str) -> Iterator[None]:
    """Say in our words what went wrong.

    The libraries below raise errors of many kinds, and of libraries that may not be installed.
    Most texts can hold addresses with tokens in them, so only the kind is passed on; the two that
    fsspec makes of a server's refusal are the server's own words.
    """
    what = f"{storage.name}: {path or 'its top folder'}"
    try:
        yield
    except (StagingError, BrokenOff):
        raise
    except FileNotFoundError as error:
        raise StagingError(Sentence("{what} is not there. Check its name.", what=what)) from error
    except PermissionError as error:
        raise StagingError(Sentence(
            "{what} may not be used with the keys that this machine has. Ask its operator to look "
            "at them, and at what they allow.", what=what)) from error
    except requests.HTTPError as error:
        status = error.response.status_code
        raise StagingError(Sentence(
            "{what}: the server answers with HTTP status {status}.", what=what, status=status),
                           is_platform=status >= 500 or status == 429) from error
    except Exception as error:
        if type(error) in (RuntimeError, OSError):
            said = " ".join((getattr(error, "strerror", None) or str(error)).split())[:200]
            raise StagingError(Sentence(
                "{what}: the server says: {said}", what=what, said=said),
                is_platform=True) from error
        raise StagingError(Sentence(
            "{what} is out of reach ({kind}). Its operator may look at its address and at the "
            "network of this machine.", what=what, kind=type(error).__name__),
                           is_platform=True) from error


# -- S3 -------------------------------------------------------------------------------------------


class _BucketFiles:
    def __init__(self, storage: Bucket, network: Network) -> None:
        if importlib.util.find_spec("s3fs") is None:
            raise StagingError(Sentence(
                "This machine cannot speak to S3: its operator has to install paishare[s3]."),
                is_platform=False)
        self._storage, self._bucket = storage, storage.bucket
        host = urlsplit(storage.endpoint)
        port = host.port or (443 if host.scheme == "https" else 80)
        checked = _for_host(network, host.hostname or "")
        checked.addresses(host.hostname or "", port)  # says at once what is wrong with one

        def make_socket(found: Any) -> socket.socket:
            family, kind, protocol, _, (address, number, *_rest) = found
            if number != port or not checked.is_allowed(address):
                raise OSError(f"{address}:{number} is an address that jobs may not reach")
            return socket.socket(family, kind, protocol)

        self._fs = fsspec.filesystem(
            "s3", key=storage.access_key or None, secret=storage.secret_key or None,
            anon=not storage.access_key, skip_instance_cache=True, use_listings_cache=False,
            client_kwargs={"endpoint_url": storage.endpoint, "region_name": storage.region},
            config_kwargs={
                "connector_args": {"socket_factory": make_socket}, "proxies": {},
                "connect_timeout": CONNECT_TIMEOUT_S, "read_timeout": READ_TIMEOUT_S,
                "s3": {"addressing_style": "path"}, "retries": {"total_max_attempts": 3},
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required"})

    def look(self, path: str) -> RemoteFile:
        with _told(self._storage, path):
            found = self._fs.call_s3("head_object", Bucket=self._bucket, Key=path)
        return RemoteFile(path=path, size=found["ContentLength"], version=found["ETag"])

    def list(self, path: str) -> Iterator[RemoteFile]:
        prefix, count = f"{path}/" if path else "", 0
        more: dict[str, str] = {}
        while True:
            with _told(self._storage, path):
                page = self._fs.call_s3("list_objects_v2", Bucket=self._bucket, Prefix=prefix,
                                        MaxKeys=_PAGE, **more)
            found = page.get("Contents", [])
            count += max(len(found), 1)
            if count > MAX_FILES:
                raise _too_many(self._storage, path)
            for each in found:
                if not each["Key"].endswith("/"):  # what marks an empty folder
                    yield RemoteFile(path=each["Key"], size=each["Size"], version=each["ETag"])
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page.get("NextContinuationToken", "")}

    def read(self, file: RemoteFile, offset: int) -> Iterator[bytes]:
        if offset == file.size:
            return
        with _told(self._storage, file.path):
            try:
                answer = self._fs.call_s3(
                    "get_object", Bucket=self._bucket, Key=file.path, IfMatch=file.version,
                    Range=f"bytes={offset}-")
            except OSError as error:
                if "pre-condition" in str(error).lower() or "precondition" in str(error).lower():
                    raise BrokenOff(f"{file.path} was changed meanwhile") from error
                raise
            if not answer.get("ContentRange", "").startswith(f"bytes {offset}-"):
                raise BrokenOff("the server does not send what was asked for")
        body = answer["Body"]
        try:
            while offset < file.size:
                chunk = self._some(body)
                offset += len(chunk)
                if not chunk or offset > file.size:
                    raise BrokenOff(f"{file.path} is not as long as was said")
                yield chunk
        finally:
            body.close()

    def _some(self, body: Any) -> bytes:
        try:
            return sync(self._fs.loop, body.read, CHUNK_BYTES)
        except Exception as error:  # of aiohttp or botocore, which may not be installed
            raise BrokenOff(type(error).__name__) from error

    def write(self, local: Path, path: str) -> RemoteFile:
        if "?versionId=" in path:  # s3fs would take it for a version, and replace another file
            raise StagingError(Sentence(
                "{path!r} cannot be the name of a file in a bucket. The task has to give it "
                "another one.", path=path[:200]))
        with _told(self._storage, path):
            self._fs.put_file(str(local), f"{self._bucket}/{path}")
        return self.look(path)

    def remove(self, path: str) -> None:
        with _told(self._storage, path):
            self._fs.call_s3("delete_object", Bucket=self._bucket, Key=path)


# -- Hadoop ---------------------------------------------------------------------------------------


class _HdfsFiles:
    def __init__(self, storage: Hdfs, network: Network) -> None:
        self._storage = storage
        web = urlsplit(storage.web)
        port = web.port or (443 if web.scheme == "https" else 80)
        host = f"[{web.hostname}]" if ":" in str(web.hostname) else str(web.hostname)
        session = _Session(_for_host(network, host.strip("[]")),
                           {f"{host}:{port}", *storage.data_nodes})

        class CheckedWebHDFS(WebHDFS):
            """fsspec's own, by our session."""

            def _connect(self) -> None:
                self.session = session
                if self.user is not None and self.password is not None:
                    session.auth = (self.user, self.password)

        self._fs = CheckedWebHDFS(
            host, port=port, use_https=web.scheme == "https", user=storage.user or None,
            password=storage.password or None, token=storage.token or None,
            skip_instance_cache=True, use_listings_cache=False)

    def look(self, path: str) -> RemoteFile:
        with _told(self._storage, path), _understood(path):
            found = self._fs.info("/" + path)
        if found["type"] != "file":
            raise StagingError(Sentence(
                "{name}: {path} is no file. Name one file.", name=self._storage.name,
                path=path or "/"))
        return _hdfs_file(path, found)

    def list(self, path: str) -> Iterator[RemoteFile]:
        folders, count = [(path, 0)], 0
        while folders:
            folder, depth = folders.pop()
            try:
                with _told(self._storage, folder), _understood(folder):
                    entries = self._fs.ls("/" + folder, detail=True)
            except StagingError as error:
                if isinstance(error.__cause__, FileNotFoundError) and folder == path:
                    return
                raise
            count += len(entries) + 1
            if count > MAX_FILES or depth > MAX_DEPTH:
                raise _too_many(self._storage, path)
            for entry in entries:
                name = entry["pathSuffix"]
                if not is_plain(name):
                    raise StagingError(Sentence(
                        "{name}: {folder} has {name2!r} in it, which cannot be the name of a file "
                        "here.", name=self._storage.name, folder=folder or "/", name2=name[:80]))
                inner = f"{folder}/{name}".lstrip("/")
                if entry["type"] == "directory":
                    folders.append((inner, depth + 1))
                elif entry["type"] == "file" and not name.endswith(_PART):
                    yield _hdfs_file(inner, entry)

    def read(self, file: RemoteFile, offset: int) -> Iterator[bytes]:
        while offset < file.size:
            end = min(offset + CHUNK_BYTES, file.size)
            try:
                with _told(self._storage, file.path):
                    chunk = self._fs.cat_file("/" + file.path, offset, end)
            except StagingError as error:
                cause = error.__cause__
                if isinstance(cause, requests.RequestException) and not isinstance(
                        cause, requests.HTTPError):
                    raise BrokenOff(type(cause).__name__) from error
                raise
            if len(chunk) != end - offset:
                raise BrokenOff(f"{file.path} is not as long as was said")
            offset = end
            yield chunk
        if self.look(file.path) != file:
            raise BrokenOff(f"{file.path} was changed meanwhile")

    def write(self, local: Path, path: str) -> RemoteFile:
        aside = f"/{path}{_PART}"
        with _told(self._storage, path), _understood(path):
            self._fs.put_file(str(local), aside, block_size=CHUNK_BYTES)
            if self._fs.info(aside)["size"] != local.stat().st_size:
                raise StagingError(Sentence(
                    "{name}: {path} did not arrive whole.", name=self._storage.name, path=path),
                                   is_platform=True)
            self._fs.rm_file("/" + path)
            self._fs.mv(aside, "/" + path)
        return self.look(path)

    def remove(self, path: str) -> None:
        with _told(self._storage, path):
            self._fs.rm_file("/" + path)


class _Session(requests.Session):
    """Asks the name node and the data nodes alone; an answer is never larger than is bearable.

    Redirects are followed by fsspec, one at a time, so each comes by here.
    """

    def __init__(self, network: Network, nodes: set[str]) -> None:
        super().__init__()
        network.guard(self)
        self._nodes = {node.lower() for node in nodes}

    def request(self, method: str, url: Any, *args: Any,  # type: ignore[override]
                **more: Any) -> requests.Response:
        parts = urlsplit(url)
        if self._nodes.isdisjoint({parts.netloc.lower(), (parts.hostname or "").lower()}):
            raise StagingError(Sentence(
                "The name node sends this machine to {address}, which is none of the data nodes "
                "that its operator has named (dataNodes).",
                address=parts.netloc.rpartition("@")[2]))
        response = super().request(method, url, *args, **{
            **more, "stream": True, "allow_redirects": False,
            "timeout": (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)})
        response._content = _bounded(response)
        return response


def _bounded(response: requests.Response) -> bytes:
    pieces, size = [], 0
    with response:
        for piece in response.iter_content(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise StagingError(Sentence(
                    "The server answers with more than was asked for; it was left."))
    return b"".join(pieces)


@contextmanager
def _understood(path: str) -> Iterator[None]:
    """Answers that are JSON and what WebHDFS promises, or an error that says so."""
    try:
        yield
    except (json.JSONDecodeError, requests.JSONDecodeError, KeyError, TypeError, ValueError
            ) as error:
        raise StagingError(Sentence(
            "/{path}: the server does not answer as WebHDFS does ({kind}). Is it the web address "
            "of a name node?", path=path, kind=type(error).__name__)
                           ) from error


def _hdfs_file(path: str, found: Any) -> RemoteFile:
    return RemoteFile(path=path, size=int(found["length"]),
                      version=f"{found['modificationTime']}-{found['length']}")


# -- both -----------------------------------------------------------------------------------------


def _for_host(network: Network, host: str) -> Network:
    """Where the operator has named this machine itself, it may be spoken to."""
    return Network(allow_loopback=True) if host in _LOCAL_HOSTS else network


def _too_many(storage: Storage, path: str) -> StagingError:
    return StagingError(Sentence(
        "{name}: {path} holds more than {max_files} files, or folders too deep. Name a smaller "
        "folder.", name=storage.name, path=path or Sentence("its top folder"), max_files=MAX_FILES))
