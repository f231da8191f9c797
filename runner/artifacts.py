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
from runner.sentence import Sentence, restored, stored
from runner.task_log import write_notice

MAX_ARTIFACTS = 100_000
NO_CHARACTER = "\ufffd"
ATTEMPTS = "[1-9]*"  # folders of attempts among those of a job


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One file below the output folder of a task; `path` relative to it, `size` in bytes."""

    attempt: int
    role: str
    index: int
    path: str
    size: int
    modified: datetime

    @property
    def place(self) -> str:
        """Where the file is among all of its job."""
        return f"{self.attempt}/{self.role}-{self.index}/{self.path}"

    def order(self) -> tuple[int, str, int, str]:
        """By what the artifacts of a job are sorted."""
        return self.attempt, self.role, self.index, self.path


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which artifacts of a job are meant; `attempt` 0, `role` "", `index` None, `folder` "": all.

    `folder` is a path in the output folder, or of one file there.
    """

    attempt: int = 0
    role: str = ""
    index: int | None = None
    folder: str = ""

    def has(self, item: Artifact) -> bool:
        """Whether the file is one of them."""
        return (self.attempt in (0, item.attempt) and self.role in ("", item.role)
                and self.index in (None, item.index)
                and f"{item.path}/".startswith(f"{self.folder.strip('/')}/".lstrip("/")))


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
        return sum(log.stat().st_size for log in self.root.glob(f"{job_id}/{ATTEMPTS}/*/log"))

    def kept_bytes(self, job_id: str) -> int:
        """How much logs and outputs of a job hold, nothing where they were removed."""
        outputs = any(self.root.glob(f"{job_id}/{ATTEMPTS}/*/output"))
        if self.notice(job_id) is not None and not outputs:
            return 0
        return self.log_bytes(job_id) + sum(item.size for item in self.artifacts(job_id))

    def notice(self, job_id: str) -> str | None:
        """Why logs and outputs of a job are gone; None where they are not."""
        try:
            return restored((self.root / job_id / "removed").read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def leave_notice(self, job_id: str, text: str) -> None:
        path = self.root / job_id / "removed"
        path.with_suffix(".new").write_text(stored(text), "utf-8")
        os.replace(path.with_suffix(".new"), path)

    def drop_kept(self, job_id: str, text: str) -> None:
        """Remove logs and outputs of a job; where a log was, it says `text`."""
        for path in self.root.glob(f"{job_id}/{ATTEMPTS}/*/log"):
            write_notice(path, f"{text}\n")
        for path in self.root.glob(f"{job_id}/{ATTEMPTS}/*/output"):
            remove_tree(path)

    def drop_work(self, job_id: str, attempt: int, role: str, index: int) -> None:
        """Remove what was staged for the task; its log and output stay."""
        remove_tree(self.work(job_id, attempt, role, index))

    def artifacts(self, job_id: str) -> list[Artifact]:
        """The regular files in the output folders of the job, at most MAX_ARTIFACTS of them.

        Links are left out. What is no UTF-8 in a path stands there as U+FFFD.
        """
        found: list[Artifact] = []
        for output in sorted(self.root.glob(f"{job_id}/{ATTEMPTS}/*/output")):
            role, _, index = output.parent.name.rpartition("-")
            for path, status in islice(_regular_files(output), MAX_ARTIFACTS - len(found)):
                found.append(Artifact(
                    attempt=int(output.parent.parent.name), role=role, index=int(index),
                    path=_shown(path), size=status.st_size,
                    modified=datetime.fromtimestamp(status.st_mtime, timezone.utc)))
        return sorted(found, key=Artifact.order)

    def artifact(self, job_id: str, attempt: int, role: str, index: int, path: str) -> IO[bytes]:
        """The file itself, open; raises NotFoundError for anything that is not an artifact."""
        output = self.output(job_id, attempt, role, index)
        if NO_CHARACTER in path:
            same = (known for known, _ in _regular_files(output) if _shown(known) == path)
            path = next(same, path)
        try:
            return open(_open_below(output, path), "rb")
        except (OSError, ValueError) as error:
            raise NotFoundError(Sentence(
                "There is no artifact {path!r} of task {role}-{index}.", path=path, role=role,
                index=index)) from error


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
