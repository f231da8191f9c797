"""The storages that the operator names: folders, buckets, HDFS; who may use which, and how."""
from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence
from urllib.parse import urlsplit

from runner.errors import RunnerError, StagingError
from runner.sentence import Sentence
from runner.uris import RemotePath, mask, split_remote

log = logging.getLogger(__name__)

_NAME = re.compile(r"(?!\.)[A-Za-z0-9._~-]{1,255}")


@dataclass(frozen=True, kw_only=True)
class Storage:
    """What the operator says of each storage; `members` None: every user may use it."""

    name: str
    members: frozenset[str] | None = None
    is_read_only: bool = False

    def is_for(self, user: str) -> bool:
        return self.members is None or user in self.members


@dataclass(frozen=True, kw_only=True)
class Folder(Storage):
    """A folder of this machine, reached as `storage://name/…`.

    `must_be_mounted`: a file system, such as one by NFS, has to be mounted there; what would
    otherwise be written to the empty folder below would be lost to everyone.
    """

    path: Path
    must_be_mounted: bool = False


@dataclass(frozen=True, kw_only=True)
class Bucket(Storage):
    """A bucket of an S3 server, reached as `s3://bucket/…`; without keys, as anybody may."""

    bucket: str
    endpoint: str
    region: str = "us-east-1"
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class Hdfs(Storage):
    """A Hadoop file system, spoken to by WebHDFS.

    `web` is the name node's web address; jobs name its host and port as `webhdfs://…`, or
    `rpc` as `hdfs://…`. Redirects are followed to `data_nodes` alone, each `host:port`, or `host`
    for every port of it.
    """

    web: str
    rpc: str = ""
    data_nodes: tuple[str, ...] = ()
    user: str = ""
    token: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


class StoragesFile:
    """The storages as their file says them now; a file that is not there names none.

    `kept` are folders that no storage may hold, nor lie in: what others rely on.
    """

    def __init__(self, path: Path, kept: Sequence[Path] = ()) -> None:
        """Raises RunnerError where the file is wrong."""
        self._path, self._kept = path, tuple(folder.resolve() for folder in kept)
        self._seen = self._stamp()
        self._storages = self._read()

    def find(self, uri: str, user: str) -> tuple[Storage, RemotePath]:
        """The storage that a URI names and this user may use; raises StagingError."""
        place = split_remote(uri)
        named = [storage for storage in self._now() if _is_named(storage, place)]
        for storage in named:
            if storage.is_for(user):
                return storage, place
        what = f"{place.scheme}://{place.host}"
        if named:
            raise StagingError(Sentence(
                "User {user} may not use {what}. Ask the operator of this machine to be made a "
                "member of it.", user=user, what=what))
        raise StagingError(Sentence(
            "{uri}: this machine does not know {what}. Its operator names storages, with their "
            "addresses and keys, in the file RUNNER_STORAGES.", uri=mask(uri), what=what))

    def _now(self) -> tuple[Storage, ...]:
        """A change of the file counts from the next call on, unless it is wrong."""
        stamp = self._stamp()
        if stamp != self._seen:
            self._seen = stamp
            try:
                self._storages = self._read()
                log.info("%s was read again", self._path)
            except RunnerError as error:
                log.error("%s The storages from before stay.", error.message)
        return self._storages

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_mode

    def _read(self) -> tuple[Storage, ...]:
        if self._seen is None:
            return ()
        if self._seen[2] & 0o077:
            raise RunnerError(f"{self._path} holds keys and can be read by others than its owner. "
                              f"Say: chmod 600 {self._path}")
        try:
            storages = storages_from_json(json.loads(self._path.read_text()))
        except OSError as error:
            raise RunnerError(f"{self._path} cannot be read: {error.strerror}.") from error
        except ValueError:
            raise RunnerError(f"{self._path} is not JSON.") from None  # its text holds keys
        except RunnerError as error:
            raise RunnerError(f"{self._path}: {error.message}") from error
        for storage in storages:
            if isinstance(storage, Folder):
                self._check_apart(storage)
        return storages

    def _check_apart(self, storage: Folder) -> None:
        folder = storage.path.resolve()
        for kept in self._kept:
            if kept.is_relative_to(folder) or folder.is_relative_to(kept):
                raise RunnerError(f"{self._path}: {storage.name}.path names {folder}, which jobs "
                                  f"could write to, but {kept} must stay out of their reach.")


def storages_from_json(value: Any) -> tuple[Storage, ...]:
    """Read the file's content; raises RunnerError with the place of the first mistake."""
    return tuple(_storage(name, each) for name, each in _object(value, "the file").items())


def _is_named(storage: Storage, place: RemotePath) -> bool:
    if isinstance(storage, Folder):
        return place.scheme == "storage" and place.host == storage.name
    if isinstance(storage, Bucket):
        return place.scheme == "s3" and place.host == storage.bucket
    assert isinstance(storage, Hdfs)
    ours = {"hdfs": storage.rpc, "webhdfs": urlsplit(storage.web).netloc}
    return place.host.lower() == ours.get(place.scheme, "").lower() != ""


# -- reading the file -----------------------------------------------------------------------------


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise RunnerError(f"{place} must be a text that is not empty.")
    return value


def _web(value: Any, place: str) -> str:
    text = _text(value, place)
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.path.strip("/") or parts.query or "@" in text:
        raise RunnerError(f"{place} must be an address such as https://host or http://host:port.")
    return text.rstrip("/")


def _truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise RunnerError(f"{place} must be true or false.")
    return value


def _path(value: Any, place: str) -> Path:
    path = Path(_text(value, place))
    if not path.is_absolute():
        raise RunnerError(f"{place} must be an absolute path.")
    return path


def _names(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise RunnerError(f"{place} must be a list of names.")
    return tuple(_text(each, place) for each in value)


def _members(value: Any, place: str) -> frozenset[str]:
    return frozenset(_names(value, place))


_Reader = Callable[[Any, str], Any]
_COMMON: Mapping[str, tuple[str, _Reader]] = {
    "members": ("members", _members), "readOnly": ("is_read_only", _truth)}
_KINDS: Mapping[str, tuple[type[Storage], Sequence[str], Mapping[str, tuple[str, _Reader]]]] = {
    "folder": (Folder, ("path",), {
        "path": ("path", _path), "mustBeMounted": ("must_be_mounted", _truth)}),
    "s3": (Bucket, ("bucket", "endpoint"), {
        "bucket": ("bucket", _text), "endpoint": ("endpoint", _web), "region": ("region", _text),
        "accessKey": ("access_key", _text), "secretKey": ("secret_key", _text)}),
    "hdfs": (Hdfs, ("web",), {
        "web": ("web", _web), "rpc": ("rpc", _text), "dataNodes": ("data_nodes", _names),
        "user": ("user", _text), "token": ("token", _text), "password": ("password", _text)}),
}


def _storage(name: str, value: Any) -> Storage:
    if not _NAME.fullmatch(name):
        raise RunnerError(f"{name!r} cannot be the name of a storage: letters, digits and . _ ~ -")
    found = dict(_object(value, name))
    kind = found.pop("kind", None)
    if kind not in _KINDS:
        raise RunnerError(f"{name}.kind must be one of {', '.join(_KINDS)}.")
    made, required, own = _KINDS[kind]
    fields = {**_COMMON, **own}
    for unknown in found.keys() - fields.keys():
        raise RunnerError(f"{name} has an unknown field {unknown!r}; of kind {kind} it takes "
                          f"{', '.join(fields)}.")
    for missing in (field for field in required if field not in found):
        raise RunnerError(f"{name}.{missing} is missing; a storage of kind {kind} needs it.")
    storage = made(name=name, **{ours: read(found[field], f"{name}.{field}")
                                 for field, (ours, read) in fields.items() if field in found})
    _check_keys(storage)
    return storage


def _check_keys(storage: Storage) -> None:
    if isinstance(storage, Bucket) and bool(storage.access_key) != bool(storage.secret_key):
        raise RunnerError(f"{storage.name} needs accessKey and secretKey, or neither of them.")
    if isinstance(storage, Hdfs) and storage.token and (storage.user or storage.password):
        raise RunnerError(f"{storage.name}.token says who asks: leave user and password out.")
    if isinstance(storage, Hdfs) and storage.password and not storage.user:
        raise RunnerError(f"{storage.name}.password needs a user.")


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RunnerError(f"{place} must be an object in braces.")
    return value
