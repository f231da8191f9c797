"""SHA-256 of files that tasks left, each computed once for as long as it stays as it is."""
from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from typing import Sequence

from runner.artifacts import Artifact, JobFolders
from runner.errors import NotFoundError

AT_ONCE_BYTES = 2 << 30  # for one answer
REMEMBERED = 50_000
CHUNK_BYTES = 1 << 20

_Identity = tuple[int, int, int, int]


class Checksums:
    """Remembers what it computed by the file's device, number, size and time of change."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Identity, str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folders: JobFolders, job_id: str, files: Sequence[Artifact]) -> list[str | None]:
        """None where a file is gone, or where computing it would take too long for one answer."""
        left = AT_ONCE_BYTES
        found: list[str | None] = []
        for item in files:
            digest, read = self._one(folders, job_id, item, left)
            left -= read
            found.append(digest)
        return found

    def _one(self, folders: JobFolders, job_id: str, item: Artifact, limit: int,
             ) -> tuple[str | None, int]:
        """The checksum, and how many bytes were read for it."""
        try:
            file = folders.artifact(job_id, item.attempt, item.role, item.index, item.path)
        except NotFoundError:
            return None, 0
        with file:
            status = os.fstat(file.fileno())
            identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            with self._lock:
                known = self._known.get(identity)
            if known or status.st_size > limit:
                return known, 0
            digest = hashlib.sha256()
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
        with self._lock:
            self._known[identity] = digest.hexdigest()
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return digest.hexdigest(), status.st_size
