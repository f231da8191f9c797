"""What this server is made of and how it does: versions, disk, and what its processes said last."""
from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import sqlalchemy as sa

from registry import lock
from registry.config import Settings
from registry.redaction import redacted

LOGS = ("web", "sync", "github", "runner")
PACKAGES = ("paishare", "Flask", "SQLAlchemy", "Whoosh", "dulwich", "gunicorn")
TAIL_BYTES, TAIL_LINES = 64_000, 200


@dataclass(frozen=True, kw_only=True)
class Disk:
    """The disk of PAISHARE_HOME, in bytes."""

    folder: Path
    total: int
    free: int


class Parts:
    """For an admin's eyes; nothing of it tells a secret."""

    def __init__(self, settings: Settings, engine: sa.Engine) -> None:
        self._settings = settings
        self._engine = engine

    def versions(self) -> dict[str, str]:
        """Name → version of what the registry runs with."""
        found = {name: known for name in PACKAGES if (known := _version(name))}
        with self._engine.connect() as connection:
            number = ".".join(map(str, connection.dialect.server_version_info or ()))
        database = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[self._engine.dialect.name]
        return found | {"Python": platform.python_version(), database: number}

    def is_sync_up(self) -> bool:
        """Whether the process runs that indexes sources."""
        return lock.is_held(self._settings.home / lock.SYNC)

    @property
    def example_folder(self) -> Path:
        """The marketplace that came with this program."""
        return self._settings.marketplace_dir

    def disk(self) -> Disk:
        usage = shutil.disk_usage(self._settings.home)
        return Disk(folder=self._settings.home, total=usage.total, free=usage.free)

    def log(self, name: str) -> str:
        """The last lines that a process said, without tokens; empty where there are none."""
        path = self._settings.home / "logs" / f"{name}.log"
        if name not in LOGS or not path.exists():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        return redacted("\n".join(lines[-TAIL_LINES:]))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
