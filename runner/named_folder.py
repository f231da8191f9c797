"""A folder of this machine that the operator has named as a storage: whether it can be used now."""
from __future__ import annotations

import os
import threading
from pathlib import Path

from runner.errors import StagingError
from runner.sentence import Sentence
from runner.storages import Folder
from runner.uris import RemotePath

ANSWER_S = 20.0


def named_folder(storage: Folder, place: RemotePath) -> Path:
    """The folder of a storage, as Docker can mount it; raises StagingError.

    `place` must be its top: what jobs write below it may be exchanged for a link at any moment.
    A server of files that has gone leaves whoever asks waiting without end, so another thread asks.
    """
    if place.path or place.deletes:
        raise StagingError(Sentence(
            "storage://{name} is used as a whole. Leave out what follows the name, and name the "
            "folder inside it in the commands.", name=storage.name))
    found: list[Path | StagingError] = []
    asking = threading.Thread(target=lambda: found.append(_look(storage)), daemon=True)
    asking.start()
    asking.join(ANSWER_S)
    if not found:
        raise StagingError(Sentence(
            "storage://{name} does not answer: the server of its files may be away. The job goes "
            "on when it is back.", name=storage.name), is_platform=True)
    if isinstance(found[0], StagingError):
        raise found[0]
    return found[0]


def _look(storage: Folder) -> Path | StagingError:
    what = f"storage://{storage.name}"
    try:
        if storage.must_be_mounted and not os.path.ismount(storage.path):
            return StagingError(Sentence(
                "{what} is not mounted on this machine. Its operator has to mount {path}; the job "
                "goes on then.", what=what, path=storage.path), is_platform=True)
        folder = storage.path.resolve(strict=True)
    except OSError as error:
        return StagingError(Sentence(
            "{what}: {strerror} ({filename}). Its operator may look after the folder and its "
            "rights.", what=what, strerror=error.strerror,
            filename=error.filename), is_platform=True)
    if not folder.is_dir():
        return StagingError(Sentence(
            "{what} is no folder of this machine. Its operator has to correct its path.",
            what=what))
    return folder
