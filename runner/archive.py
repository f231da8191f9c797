"""Files of output folders as one zip, made while it is read; nothing is copied before."""
from __future__ import annotations

import hashlib
import os
import zipfile
from typing import Iterator, Sequence

from runner.artifacts import Artifact, JobFolders
from runner.errors import NotFoundError

SUMS = "SHA256SUMS"
CHUNK_BYTES = 1 << 18
LARGE_BYTES = 1 << 30
FIRST_YEAR, LAST_YEAR = 1980, 2107  # that a zip can tell


class _Sink:
    """What was written since the last `take`; it cannot be sought in, and zipfile copes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def zipped(folders: JobFolders, job_id: str, files: Sequence[Artifact]) -> Iterator[bytes]:
    """A zip of these files, uncompressed, each below `<attempt>/<role>-<index>/`.

    Its last member holds the SHA-256 of each, as sha256sum reads it. A file that is gone by the
    time it is its turn is named there too.
    """
    sink, sums = _Sink(), []
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
        for item in files:
            name, digest = item.place, hashlib.sha256()
            try:
                file = folders.artifact(job_id, item.attempt, item.role, item.index, item.path)
            except NotFoundError:
                sums.append(f"# {name} was removed while this archive was made\n")
                continue
            size = os.fstat(file.fileno()).st_size
            with file, archive.open(_member(item), "w", force_zip64=size > LARGE_BYTES) as member:
                while chunk := file.read(min(CHUNK_BYTES, size)):
                    size -= len(chunk)  # what is written to the file from here on is left out
                    digest.update(chunk)
                    member.write(chunk)
                    yield sink.take()
            sums.append(f"{digest.hexdigest()}  {name}\n")
        archive.writestr(SUMS, "".join(sums))
    yield sink.take()


def _member(item: Artifact) -> zipfile.ZipInfo:
    year = min(max(item.modified.year, FIRST_YEAR), LAST_YEAR)
    member = zipfile.ZipInfo(item.place, (year, *item.modified.timetuple()[1:6]))
    member.external_attr = 0o644 << 16
    return member
