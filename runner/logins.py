"""Logins to registries that jobs brought along: one file a job, until its images are here."""
from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Collection, Iterable

from runner.errors import InvalidSpecError
from runner.sentence import Sentence
from runner.spec import Login, registry_name

MAX_LOGINS, MAX_LENGTH = 50, 10_000
FIELDS = ("server", "username", "secret")


class Logins:
    """Files that only their owner reads; they outlive a kill of the runner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, job_id: str, logins: Iterable[Login]) -> None:
        if found := [asdict(login) for login in logins]:
            aside = self._path(job_id).with_suffix(".new")
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(found, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._path(job_id))

    def of(self, job_id: str, server: str) -> Login | None:
        """What the job logs in to that registry with; None: it is asked as nobody."""
        try:
            found = json.loads(self._path(job_id).read_text())
        except FileNotFoundError:
            return None
        return next((Login(**each) for each in found if each["server"] == server), None)

    def drop(self, job_id: str) -> None:
        self._path(job_id).unlink(missing_ok=True)

    def keep_only(self, job_ids: Collection[str]) -> None:
        """Drop what a kill has left of other jobs."""
        for path in self._folder.iterdir():
            if path.suffix != ".json" or path.stem not in job_ids:
                path.unlink(missing_ok=True)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"


def logins_from_json(value: Any) -> tuple[Login, ...]:
    """Read what came beside a job spec; raises InvalidSpecError, in which no secret stands."""
    items = [] if value is None else value
    is_good = isinstance(items, list) and len(items) <= MAX_LOGINS and all(
        isinstance(item, dict) and set(item) == set(FIELDS) and all(
            isinstance(text, str) and 0 < len(text) <= MAX_LENGTH for text in item.values())
        for item in items)
    if not is_good:
        raise InvalidSpecError(Sentence(
            "`logins` must be a list of at most {most} objects, each with the texts {fields}.",
            most=MAX_LOGINS, fields=", ".join(FIELDS)))
    return tuple(Login(server=registry_name(item["server"]), username=item["username"],
                       secret=item["secret"]) for item in items)
