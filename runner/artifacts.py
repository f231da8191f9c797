"""A job's folder: where the log of each task lies, and the files that it left."""
from __future__ import annotations

import os
import stat
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import IO, Iterator

from runner.errors import NotFoundError

MAX_ARTIFACTS = 10_000
NO_CHARACTER = "\ufffd"


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One file below the output folder of a task; `path` relative to it, `size` in bytes."""

    attempt: int
    role: str
    index: int
    path: str
    size: int
    modified: datetime


def remove_tree(folder: Path) -> None:
    """Remove a folder that a task has written to, as far as that is possible.

    Folders may be nested deeper than recursion or a path can reach; rm copes with them.
    """
    subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)


class JobFolders:
    """Where the files of each task lie, below the runner's `jobs` folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def task(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.root / job_id / str(attempt) / f"{role}-{index}"

    def log(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "log"

    def metrics(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "metrics"

    def output(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "output"

    def work(self, job_id: str, attempt: int, role: str, index: int) -> Path:
        return self.task(job_id, attempt, role, index) / "work"

    def storage(self, job_id: str) -> Path:
        """Copies of storage that lies elsewhere, which all tasks and attempts of a job share."""
        return self.root / job_id / "storage"

    def log_bytes(self, job_id: str) -> int:
        """How much the logs of a job hold on disk, of all its tasks and attempts."""
        return sum(log.stat().st_size for log in self.root.glob(f"{job_id}/*/*/log"))

    def drop_work(self, job_id: str, attempt: int, role: str, index: int) -> None:
        """Remove what was staged for the task; its log and output stay."""
        remove_tree(self.work(job_id, attempt, role, index))

    def artifacts(self, job_id: str) -> list[Artifact]:
        """The regular files in the output folders of the job, at most MAX_ARTIFACTS of them.

        Links are left out. What is no UTF-8 in a path stands there as U+FFFD.
        """
        found: list[Artifact] = []
        for output in sorted(self.root.glob(f"{job_id}/*/*/output")):
            role, _, index = output.parent.name.rpartition("-")
            for path, status in islice(_regular_files(output), MAX_ARTIFACTS - len(found)):
                found.append(Artifact(
                    attempt=int(output.parent.parent.name), role=role, index=int(index),
                    path=_shown(path), size=status.st_size,
                    modified=datetime.fromtimestamp(status.st_mtime, timezone.utc)))
        return sorted(found, key=lambda item: (item.attempt, item.role, item.index, item.path))

    def artifact(self, job_id: str, attempt: int, role: str, index: int, path: str) -> IO[bytes]:
        """The file itself, open; raises NotFoundError for anything that is not an artifact."""
        output = self.output(job_id, attempt, role, index)
        if NO_CHARACTER in path:
            same = (known for known, _ in _regular_files(output) if _shown(known) == path)
            path = next(same, path)
        try:
            return open(_open_below(output, path), "rb")
        except (OSError, ValueError) as error:
            raise NotFoundError(
                f"There is no artifact {path!r} of task {role}-{index}.") from error


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _regular_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Path below `root` and facts of each file, while its task may change and exchange them."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with suppress(OSError), _closing(_open_below(root, folder, os.O_DIRECTORY)) as opened:
            with os.scandir(opened) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(f"{folder}{entry.name}/")
                    elif stat.S_ISREG(status.st_mode):
                        yield f"{folder}{entry.name}", status


@contextmanager
def _closing(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)


def _open_below(root: Path, path: str, flags: int = 0) -> int:
    """Open what stands at `path` and only then look what and where it is, for links may come.

    Raises OSError for anything but a regular file or, with O_DIRECTORY, a folder inside `root`.
    """
    file = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags)
    is_inside = Path(os.readlink(f"/proc/self/fd/{file}")).is_relative_to(os.path.realpath(root))
    if not is_inside or not (flags or stat.S_ISREG(os.fstat(file).st_mode)):
        os.close(file)
        raise FileNotFoundError(path)
    return file
