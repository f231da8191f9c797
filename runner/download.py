"""Data files, from the web or this machine, into the cache: resumed where cut short, checked."""
from __future__ import annotations

import json
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Callable, Iterator, Mapping

import requests
import urllib3

from runner.cache import Cache, Watch, remove, sha256_of
from runner.errors import StagingError
from runner.network import Network, refusal
from runner.remote_files import BrokenOff, RemoteFile, RemoteFiles
from runner.sentence import Sentence
from runner.uris import AllowedFolders, local_path, mask, scheme_of, split_web

BODY_TRIES = 5
CHUNK_BYTES = 1 << 20
CHECK_SPACE_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Remote:
    """Where a file is in a storage that the operator names; `name` is the storage's.

    `known`: what it is, where that was found out just now.
    """

    name: str
    files: RemoteFiles
    path: str
    known: RemoteFile | None = None


class _Restart(Exception):
    """What was downloaded so far is no beginning of what the server has now."""


class Downloader:
    """Fetches `file` inputs into the cache."""

    def __init__(self, cache: Cache, network: Network, folders: AllowedFolders) -> None:
        self._cache, self._network, self._folders = cache, network, folders

    def fetch(self, uri: str, sha256: str | None, watch: Watch,
              remote: Remote | None = None) -> str:
        """Bring a file into the cache and return its SHA-256.

        `remote` is where to ask for a URI that is neither of the web nor of this machine.
        `sha256` given and here already: nothing is asked of anyone. None: what the cache has is
        taken if the server says that it has not changed since. Raises StagingError.
        """
        if remote:
            return self._fetch(uri, f"{remote.name} {uri}", sha256, watch, lambda transfer:
                               transfer.receive(remote))
        is_local = scheme_of(uri) == "file"
        source = self._folders.check(local_path(uri), uri) if is_local else None
        if not is_local:
            split_web(uri)
        return self._fetch(uri, uri, sha256, watch, lambda transfer: (
            transfer.copy(source, self._folders) if source else transfer.download(self._network)))

    def missing(self, uri: str, sha256: str | None) -> int | None:
        """How many bytes of a file have to come; 0: it is here, None: nobody knows.

        What is here may have changed where it came from; that is asked when a job fetches it.
        """
        if sha256 is None:
            sha256 = self._cache.note(self._cache.key(uri)).get("sha256")
        if self._cache.has_file(sha256) or scheme_of(uri) == "file":
            return 0
        return self._network.size(uri)

    def _fetch(self, uri: str, address: str, sha256: str | None, watch: Watch,
               bring: Callable[[_Transfer], str]) -> str:
        if self._cache.has_file(sha256):
            return str(sha256)
        asked_at, key = time.time(), self._cache.key(address)
        with self._cache.lock(key, watch):
            note = self._cache.note(key)
            if sha256 or not self._cache.has_file(note.get("sha256")):
                note = {}
            if self._cache.has_file(sha256):
                return str(sha256)
            if note and note["checked_at"] >= asked_at:
                return note["sha256"]
            return bring(_Transfer(self._cache, uri, key, sha256, note, watch))


class _Transfer:
    """One file on its way into the cache; the lock of its entry is held."""

    def __init__(self, cache: Cache, uri: str, key: str, sha256: str | None,
                 known: Mapping[str, Any], watch: Watch) -> None:
        self._cache, self._uri, self._sha256 = cache, uri, sha256
        self._known, self._watch = known, watch
        self._key = key
        self._part = cache.parts / self._key
        self._part_note = cache.parts / f"{self._key}.json"
        self._text = Sentence("Fetching {name}", name=uri.rstrip("/").rsplit("/", 1)[-1] or uri)

    # -- from the web -------------------------------------------------------------------------

    def download(self, network: Network) -> str:
        return self._persistently(lambda: self._download(network))

    def _download(self, network: Network) -> str:
        with network.session() as session, self._open(network, session) as response:
            if response.status_code == 304:
                return self._unchanged(self._known["validators"])
            return self._read(response)

    def _persistently(self, bring: Callable[[], str]) -> str:
        """Try again what broke off, until BODY_TRIES in a row have brought nothing new."""
        tries = 0
        while True:
            size_before = self._part_size()
            try:
                return bring()
            except (_Restart, BrokenOff, urllib3.exceptions.HTTPError) as error:
                tries = 1 if self._part_size() > size_before else tries + 1
                if isinstance(error, _Restart):
                    self._drop_part()
                if tries >= BODY_TRIES:
                    raise StagingError(Sentence(
                        "{uri} broke off {tries} times at byte {part_size}. Try again later: it "
                        "goes on from there.", uri=mask(self._uri), tries=tries,
                        part_size=self._part_size()),
                        is_platform=True) from error
                self._watch.wait(0.1 * 2 ** tries)

    def _open(self, network: Network, session: requests.Session) -> requests.Response:
        self._watch.check()
        self._watch.progress(self._text, 0, None)
        headers = {"Accept-Encoding": "identity", "User-Agent": "paishare",
                   **self._range(), **self._conditions()}
        response = network.get(session, self._uri, headers)
        if response.status_code not in (200, 206, 304):
            response.close()
            raise _Restart if response.status_code == 416 else refusal(
                self._uri, response.status_code)
        return response

    def _range(self) -> dict[str, str]:
        """Ask for the rest of a part, provided that the file is still the one it is a part of."""
        size = self._part_size()
        if not size:
            return {}
        validators = json.loads(self._part_note.read_text())
        return {"Range": f"bytes={size}-", "If-Range": _strong(validators)}

    def _conditions(self) -> dict[str, str]:
        if self._part_size():
            return {}
        validators = self._known.get("validators", {})
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        return {names[name]: value for name, value in validators.items()}

    def _part_size(self) -> int:
        """How much is here already; a part that cannot be continued safely counts as nothing."""
        return self._part.stat().st_size if self._part_note.exists() and self._part.exists() else 0

    def _read(self, response: requests.Response) -> str:
        validators = {name: response.headers[name] for name in ("etag", "last-modified")
                      if name in response.headers}
        begin = self._begin(response)
        if not begin:
            self._drop_part()
            if _strong(validators):
                self._part_note.write_text(json.dumps(validators))
        length = response.headers.get("content-length", "")
        total = begin + int(length) if length.isdigit() else None
        self._check_space(total, begin)
        self._append(iter(lambda: response.raw.read1(CHUNK_BYTES, decode_content=False), b""),
                     begin, total)
        return self._finish(validators)

    def _append(self, chunks: Iterator[bytes], begin: int, total: int | None) -> None:
        """Write what comes to the part."""
        checked = current = begin
        with open(self._part, "ab") as part:
            for chunk in chunks:
                part.write(chunk)
                current += len(chunk)
                self._watch.check()
                self._watch.progress(self._text, current, total)
                if total is None and current - checked > CHECK_SPACE_BYTES:
                    checked = current
                    self._check_growth(current)

    def _begin(self, response: requests.Response) -> int:
        """From which byte on the answer is; raises _Restart when that is not what was asked."""
        if response.status_code != 206:
            return 0
        size = self._part_size()
        if not size or not response.headers.get("content-range", "").startswith(f"bytes {size}-"):
            raise _Restart
        return size

    def _check_growth(self, current: int) -> None:
        """What says no size ends in time, and what has come of it fills no disk."""
        try:
            self._check_space(current + 2 * CHECK_SPACE_BYTES, current)
        except StagingError:
            self._drop_part()
            raise

    # -- from a storage of the operator's -----------------------------------------------------

    def receive(self, remote: Remote) -> str:
        known = [remote.known] if remote.known else []
        return self._persistently(lambda: self._receive(
            remote.files, known.pop() if known else remote.files.look(remote.path)))

    def _receive(self, files: RemoteFiles, found: RemoteFile) -> str:
        self._watch.check()
        self._watch.progress(self._text, 0, None)
        validators = {"version": found.version}
        if self._known.get("validators") == validators:
            return self._unchanged(validators)
        begin = self._part_size()
        if begin > found.size or begin and json.loads(self._part_note.read_text()) != validators:
            begin = 0
        if not begin:
            self._drop_part()
            self._part_note.write_text(json.dumps(validators))
        self._check_space(found.size, begin)
        self._append(files.read(found, begin), begin, found.size)
        return self._finish(validators)

    # -- from this machine --------------------------------------------------------------------

    def copy(self, source: Path, folders: AllowedFolders) -> str:
        """Copy a file of this machine; one with the same time and size is taken as unchanged."""
        with self._open_regular(source, folders) as file:
            facts = os.fstat(file.fileno())
            validators = {"file": f"{facts.st_ino}-{facts.st_mtime_ns}-{facts.st_size}"}
            if self._known.get("validators") == validators:
                return self._unchanged(validators)
            self._drop_part()
            self._check_space(facts.st_size, 0)
            with open(self._part, "wb") as part:
                while chunk := file.read(CHUNK_BYTES):
                    part.write(chunk)
                    self._watch.check()
                    self._watch.progress(self._text, part.tell(), facts.st_size)
        return self._finish(validators)

    def _open_regular(self, source: Path, folders: AllowedFolders) -> IO[bytes]:
        """Open a file and only then look where it is: nobody can exchange it any more."""
        try:
            number = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise StagingError(Sentence(
                "{uri} cannot be read: {strerror}. Check the path and who may read it.",
                uri=self._uri, strerror=error.strerror)) from error
        try:
            folders.check(Path(os.readlink(f"/proc/self/fd/{number}")), self._uri)
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise StagingError(Sentence(
                    "{uri} is no file. Name one file; a folder can be used from a Git repository, "
                    "or as storage.", uri=self._uri))
        except StagingError:
            os.close(number)
            raise
        return open(number, "rb")

    # -- both ---------------------------------------------------------------------------------

    def _unchanged(self, validators: Mapping[str, str]) -> str:
        self._drop_part()
        return self._take_note(self._known["sha256"], validators)

    def _finish(self, validators: Mapping[str, str]) -> str:
        """Check what has come and move it into the cache."""
        sha256 = sha256_of(self._part)
        if self._sha256 not in (None, sha256):
            self._drop_part()
            raise StagingError(Sentence(
                "{uri} has the checksum {sha256}, but the job is pinned to {wanted}. The file has "
                "changed: submit the job again to take the new one, or correct the checksum.",
                uri=mask(self._uri), sha256=sha256, wanted=self._sha256))
        self._cache.adopt(self._part, sha256)
        self._drop_part()
        return self._take_note(sha256, validators)

    def _take_note(self, sha256: str, validators: Mapping[str, str]) -> str:
        self._cache.take_note(self._key, {
            "sha256": sha256, "validators": dict(validators), "checked_at": time.time()})
        return sha256

    def _drop_part(self) -> None:
        remove(self._part)
        remove(self._part_note)

    def _check_space(self, total: int | None, begin: int) -> None:
        free = shutil.disk_usage(self._part.parent).free
        if total is not None and total - begin > free:
            raise StagingError(Sentence(
                "{uri} needs {total} MB on the disk, {free} MB are free. Make room, then the job "
                "goes on.", uri=mask(self._uri), total=total - begin >> 20,
                free=free >> 20), is_platform=True)


def _strong(validators: Mapping[str, str]) -> str:
    """What says that two files are the same byte for byte; empty when nothing does."""
    etag = validators.get("etag", "W/")
    return validators.get("last-modified", "") if etag.startswith("W/") else etag
