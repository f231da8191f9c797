"""Real Git repositories for tests, made by the git command."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Collection, Mapping

ENVIRON = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
           "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}


def git(folder: Path, *arguments: str, ok: Collection[int] = (0,), **environ: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env={**ENVIRON, **environ}, text=True,
                          capture_output=True)
    assert done.returncode in ok, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


class Repository:
    """A working tree; each commit is a minute younger than the one before."""

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        self.path = path
        self._time_s = 1_700_000_000
        if is_new:
            path.mkdir(parents=True)
            git(path, "init", "-q", "-b", "main")

    @property
    def head(self) -> str:
        return git(self.path, "rev-parse", "HEAD")

    def commit(self, files: Mapping[str, str | None]) -> str:
        """Write these files, None deletes one, and commit all that the working tree has."""
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
        self._time_s += 60
        date = f"{self._time_s} +0000"
        git(self.path, "add", "-A")
        git(self.path, "commit", "-q", "--allow-empty", "-m", "a change",
            GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
        return self.head
