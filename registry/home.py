"""What PAISHARE_HOME holds from the first start: database, first admin, bundled source."""
from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from registry import db
from registry.accounts import Accounts
from registry.config import Settings
from registry.errors import InvalidInputError, RegistryError
from registry.sources import Sources

BUNDLED = "bundled"
IMPORTED = "imported.json"  # the manifest of the dump that the home was made from
MAX_SOCKET_PATH = 107
MIN_FREE_MB = 16


def make(home: Path) -> None:
    """Make the folder of all state; raises RegistryError where nothing can be written there."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            free_mb = shutil.disk_usage(home).free >> 20
    except OSError as error:
        raise RegistryError(f"Nothing can be kept in {home}: {error.strerror}. Set PAISHARE_HOME "
                            "to a folder that you may write to.") from error
    if free_mb < MIN_FREE_MB:
        raise RegistryError(f"The disk of {home} is full: {free_mb} MB are free, and at least "
                            f"{MIN_FREE_MB} are needed. Make room, or set PAISHARE_HOME to a "
                            "folder on another disk. Nothing was changed.")


def prepare(settings: Settings) -> str | None:
    """Make the home ready, for its owner alone; the password of `admin` at the first start."""
    _check_socket(settings)
    settings.home.chmod(0o700)
    (settings.home / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    password = Accounts(engine).ensure_admin()
    sources = Sources(engine)
    if not ((settings.home / IMPORTED).exists() and sources.all()):
        add_bundled(sources, settings.marketplace_dir)
    engine.dispose()
    return password


def add_bundled(sources: Sources, folder: Path) -> None:
    """Index the marketplace that came with this program; one that has moved is indexed anew."""
    known = {source.name: Path(source.location) for source in sources.visible()}
    if folder in known.values() or (BUNDLED in known and known[BUNDLED].is_dir()):
        return
    if BUNDLED in known:
        sources.remove(BUNDLED)
    sources.add_folder(str(folder), name=BUNDLED, owner_id=None)


def _check_socket(settings: Settings) -> None:
    path = settings.runner_url.removeprefix("unix:")
    if path != settings.runner_url and len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise InvalidInputError(f"{path} is too long for a socket ({MAX_SOCKET_PATH} bytes at "
                                "most). Set PAISHARE_HOME to a folder with a shorter path.")
