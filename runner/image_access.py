"""Who may use the images that came here with somebody's login: kept in a file."""
from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any


class ImageAccess:
    """An image that came without a login is everybody's, and so is what the operator brought.

    Of each other one the file names the users that its registry gave it to. What a pull with a
    login began is written down first, so that a kill in between opens nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def may_use(self, digest: str, uri: str, user: str) -> bool:
        with self._lock:
            known = self._read()
        if digest in known["users"]:
            return user in known["users"][digest]
        return uri not in known["begun"]

    def begin(self, uri: str) -> None:
        """A pull with a login begins; nobody may use what it brings before `came`."""
        with self._lock:
            known = self._read()
            self._write({**known, "begun": sorted({*known["begun"], uri})})

    def came(self, digest: str, uri: str, user: str, *, is_new: bool, is_open: bool) -> None:
        """An image came for this user; `is_open`: its registry gives it to everybody.

        `is_new` False: it was here before, under whatever name. Then it stays whose it was, and
        is this user's, too: what another registry says opens nothing to everybody.
        """
        with self._lock:
            known = self._read()
            users = known["users"]
            if is_new:
                users.pop(digest, None)
            if digest in users or (is_new and not is_open):
                users[digest] = sorted({*users.get(digest, ()), user})
            self._write({"users": users, "begun": _without(known["begun"], uri)})

    def allow(self, digest: str, uri: str, user: str) -> None:
        """The registry gave an image that is here to this user, too."""
        with self._lock:
            known = self._read()
            users = {**known["users"], digest: sorted({*known["users"].get(digest, ()), user})}
            self._write({"users": users, "begun": _without(known["begun"], uri)})

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self._path.read_text())
        except FileNotFoundError:
            return {"users": {}, "begun": []}

    def _write(self, known: dict[str, Any]) -> None:
        aside = self._path.with_suffix(".new")
        with aside.open("w") as file:
            json.dump(known, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self._path)


def _without(uris: list[str], uri: str) -> list[str]:
    return [each for each in uris if each != uri]
