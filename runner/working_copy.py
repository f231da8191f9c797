"""A job's copy of a folder of a bucket or of HDFS: brought at the start, what changed sent back."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Iterator, Mapping

from runner.cache import Watch, remove
from runner.errors import StagingError
from runner.remote_files import BrokenOff, RemoteFile, RemoteFiles, files_below
from runner.sentence import Sentence
from runner.uris import is_plain

TRIES = 5
_UNSENT = "unsent"


@dataclass(frozen=True, kw_only=True)
class _Known:
    """A file as it was when both sides had the same: `version` there, the rest here."""

    name: str
    version: str
    size: int
    changed_ns: int
    inode: int


class WorkingCopy:
    """One job alone works on it, and nobody else while files are brought or sent.

    `folder` is what tasks see. What both sides had last stands in a file beside it, one line for
    each file that was brought or sent, so that a kill at any moment loses no more than one file's
    transfer. Nothing that a task has put there is followed: links lead nowhere.
    """

    def __init__(self, root: Path, files: RemoteFiles, path: str) -> None:
        self.folder = root / "files"
        self._part, self._list, self._unsent = root / "part", root / "known", root / _UNSENT
        self._files, self._path = files, path

    def bring(self, watch: Watch) -> None:
        """Fetch what is new there; what tasks have changed and was not sent yet stays as it is."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o777)
        known = self._known()
        there = [each for each in files_below(self._files, self._path, watch)
                 if self._is_wanted(known.get(each[0]), *each)]
        total = sum(file.size for _, file in there)
        self._check_space(total)
        done = 0
        for name, file in there:
            done = self._bring_one(name, file, done, total, watch)

    def expect_changes(self) -> None:
        """Tasks work on it from now on: until all is sent, it is not to be thrown away."""
        self._unsent.touch()

    def send(self, watch: Watch, *, deletes: bool) -> tuple[int, list[str]]:
        """Send what tasks have made or changed; returns how many files, and which of them others
        had changed there meanwhile: what was sent last stays.

        `deletes`: what is gone here goes there too, unless others have changed it.
        """
        known = self._known()
        here = dict(self._here())
        there = {name: file.version for name, file in files_below(self._files, self._path, watch)}
        changed = [name for name, facts in here.items() if not _is_same(known.get(name), facts)]
        for name in changed:
            if not is_plain(name.rpartition("/")[2]):
                raise StagingError(Sentence(
                    "{name!r} cannot be the name of a file elsewhere. The task has to give its "
                    "files names that can be printed.", name=name[:200]))
        total, done, overwritten = sum(here[name].st_size for name in changed), 0, []
        for name in changed:
            watch.check()
            watch.progress(Sentence("Sending {name}", name=name), done, total)
            was = known[name].version if name in known else None
            if there.get(name) not in (None, was):
                overwritten.append(name)
            self._send_one(name)
            done += here[name].st_size
        watch.progress("Sending storage", total, total)
        if deletes:
            self._delete(known, here, there, watch)
        self._unsent.unlink(missing_ok=True)
        return len(changed), overwritten

    # -- bringing -----------------------------------------------------------------------------

    def _is_wanted(self, known: _Known | None, name: str, file: RemoteFile) -> bool:
        facts = self._facts(name)
        if facts is None:
            return True
        return known is not None and _is_same(known, facts) and known.version != file.version

    def _bring_one(self, name: str, file: RemoteFile, done: int, total: int, watch: Watch) -> int:
        text, tries = Sentence("Fetching {name}", name=name), 0
        part = self._part_for(name, file)
        while True:
            begin = part.stat().st_size if part.exists() else 0
            try:
                with open(part, "ab") as written:
                    for chunk in self._files.read(file, begin):
                        written.write(chunk)
                        watch.check()
                        watch.progress(text, done + written.tell(), total)
                break
            except BrokenOff as error:
                tries = 1 if part.stat().st_size > begin else tries + 1
                now = self._files.look(file.path)
                if tries >= TRIES:
                    raise StagingError(Sentence(
                        "{path} broke off {tries} times at byte {begin}. Try again later: it goes "
                        "on from there.", path=file.path, tries=tries, begin=begin),
                                       is_platform=True) from error
                if now != file:
                    file, part = now, self._part_for(name, now)
                watch.wait(0.1 * 2 ** tries)
        part.chmod(0o666)
        place = self._place(name)
        os.replace(part, place)
        self._note(name, file.version)
        return done + file.size

    def _part_for(self, name: str, file: RemoteFile) -> Path:
        """Where a file grows; one of another version is no beginning of it."""
        self._part.mkdir(exist_ok=True)
        wanted = hashlib.sha256(f"{name} {file.version}".encode()).hexdigest()
        for other in self._part.iterdir():
            if other.name != wanted:
                remove(other)
        return self._part / wanted

    def _place(self, name: str) -> Path:
        """Where a file belongs, in folders that are true ones; what is in the way goes."""
        place = self.folder
        for part in name.split("/")[:-1]:
            place = place / part
            if place.is_symlink() or not place.is_dir():
                remove(place)
                place.mkdir()
                place.chmod(0o777)
        place = place / name.rpartition("/")[2]
        if place.is_dir() and not place.is_symlink():
            remove(place)
        return place

    # -- sending ------------------------------------------------------------------------------

    def _here(self) -> Iterator[tuple[str, os.stat_result]]:
        """Every plain file; links, pipes and the like belong to no bucket."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = Path(folder, name)
                facts = path.lstat()
                if stat.S_ISREG(facts.st_mode):
                    yield str(path.relative_to(self.folder)), facts

    def _send_one(self, name: str) -> None:
        path = f"{self._path}/{name}".lstrip("/")
        before = self._facts(name)
        file = self._files.write(self.folder / name, path)
        if before is None or file.size != before.st_size:
            raise StagingError(Sentence(
                "{path} did not arrive whole. It is sent again.", path=path), is_platform=True)
        self._note(name, file.version)

    def _delete(self, known: Mapping[str, _Known], here: Mapping[str, os.stat_result],
                there: Mapping[str, str], watch: Watch) -> None:
        for name, was in known.items():
            if name not in here and there.get(name) == was.version:
                watch.check()
                self._files.remove(f"{self._path}/{name}".lstrip("/"))

    # -- both ---------------------------------------------------------------------------------

    def _facts(self, name: str) -> os.stat_result | None:
        """Of a plain file that is reached without any link; None where there is none."""
        place = self.folder
        for part in name.split("/"):
            if place.is_symlink():
                return None
            place = place / part
        try:
            facts = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return facts if stat.S_ISREG(facts.st_mode) else None

    def _known(self) -> dict[str, _Known]:
        known = {}
        with open(self._list, "a+") as lines:
            lines.seek(0)
            for line in lines:
                try:
                    found = _Known(**json.loads(line))
                except (ValueError, TypeError):
                    continue  # a kill cut it short: the file is looked at again
                known[found.name] = found
        return known

    def _note(self, name: str, version: str) -> None:
        facts = (self.folder / name).lstat()
        line = json.dumps(asdict(_Known(
            name=name, version=version, size=facts.st_size, changed_ns=facts.st_mtime_ns,
            inode=facts.st_ino)))
        with open(self._list, "a") as lines:
            lines.write(f"\n{line}\n")

    def _check_space(self, total: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if total > free:
            raise StagingError(Sentence(
                "The storage needs {total} MB on the disk, {free} MB are free. Make room, then the "
                "job goes on.", total=total >> 20, free=free >> 20), is_platform=True)


def has_unsent(root: Path) -> bool:
    """Whether a copy may hold what was never sent."""
    return (root / _UNSENT).exists()


def _is_same(known: _Known | None, facts: os.stat_result) -> bool:
    return known is not None and (known.size, known.changed_ns, known.inode) == (
        facts.st_size, facts.st_mtime_ns, facts.st_ino)
