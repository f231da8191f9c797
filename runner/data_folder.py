"""A folder of a storage as data: every file in the cache, and all of them as one read-only tree."""
from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from urllib.parse import quote

from runner.cache import Cache, Watch, remove
from runner.download import Downloader, Remote
from runner.errors import StagingError
from runner.remote_files import RemoteFile, files_below
from runner.sentence import Sentence
from runner.uris import mask


class DataFolders:
    """A tree stands in the cache beside the files that it is made of, as links to them."""

    def __init__(self, cache: Cache, downloader: Downloader) -> None:
        self._cache, self._downloader = cache, downloader

    def fetch(self, uri: str, sha256: str | None, watch: Watch, remote: Remote) -> str:
        """Bring a folder into the cache; returns the SHA-256 of its list of names and checksums.

        `uri` ends with a slash. Raises StagingError, also where `sha256` says another list.
        """
        if self._cache.has_folder(sha256):
            return str(sha256)
        key = self._cache.key(f"{remote.name} {uri}")
        with self._cache.lock(key, watch):
            found = dict(files_below(remote.files, remote.path, watch))
            if not found:
                raise StagingError(Sentence(
                    "{uri} has no files in it. Check its name.", uri=mask(uri)))
            aside = self._cache.new / key
            remove(aside)
            listed = json.dumps(self._bring(uri, found, aside, watch, remote), sort_keys=True)
            made = hashlib.sha256(listed.encode()).hexdigest()
            if sha256 not in (None, made):
                remove(aside)
                raise StagingError(Sentence(
                    "{uri} has the checksum {made}, but the job is pinned to {sha256}. Files in it "
                    "have changed: submit the job again to take them as they are now.",
                    uri=mask(uri), made=made, sha256=sha256))
            self._cache.adopt_folder(aside, made)
        return made

    def _bring(self, uri: str, found: dict[str, RemoteFile], aside: Path, watch: Watch,
               remote: Remote) -> dict[str, str]:
        """Link every file as soon as it is here, so that nothing makes room of it meanwhile."""
        total, done, sums = sum(file.size for file in found.values()), 0, {}
        for name, file in found.items():
            watch.check()
            watch.progress(Sentence("Fetching {name}", name=name), done, total)
            place = aside / name
            place.parent.mkdir(parents=True, exist_ok=True)
            sums[name] = self._downloader.fetch(
                f"{uri}{quote(name)}", None, watch.within(done, total),
                Remote(name=remote.name, files=remote.files, path=file.path, known=file))
            os.link(self._cache.file(sums[name]), place)
            done += file.size
        return sums
