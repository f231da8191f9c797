"""Makes room on the disk: inputs and pulled images go that nobody has used for longest."""
from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
from contextlib import suppress
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Iterable, Iterator

from runner.artifacts import JobFolders
from runner.config import Settings
from runner.docker_driver import DockerDriver
from runner.errors import EngineError
from runner.job_store import JobStore
from runner.retention import Retention, Rules
from runner.sentence import Sentence
from runner.spec import JobSpec
from runner.staging import Stager

log = logging.getLogger(__name__)

EVERY_S = 300.0
EVERY_FULL_S = 30.0  # while a disk is too full for jobs
MB = 1 << 20


class Housekeeper:
    """Looks every EVERY_S seconds, in a thread of its own.

    Of images, only those go that this runner has pulled; when each was last used stands in a file,
    so that a restart forgets nothing.
    """

    def __init__(self, settings: Settings, store: JobStore, driver: DockerDriver,
                 stager: Stager) -> None:
        self._settings, self._store = settings, store
        self._driver, self._stager = driver, stager
        self._retention = Retention(
            Rules(days=settings.keep_days, size_mb=settings.keep_mb),
            JobFolders(settings.home / "jobs"), store)
        self._path = settings.home / "images.json"
        self._lock = threading.Lock()
        self._is_closed = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._loop, name="housekeeper", daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()

    def note_image(self, digest: str, *, is_pulled: bool) -> None:
        """An image is used now; `is_pulled`: this runner has just brought it here."""
        with self._lock:
            known = self._images()
            if is_pulled or digest in known:
                self._keep({**known, digest: time.time()})

    def tidy(self) -> None:
        """Bring the cache below its limit, and free disks above what must stay free."""
        self._retention.apply(datetime.now(timezone.utc))
        needed = [job.spec for job in self._store.live()]
        inputs = [item for spec in needed for role in spec.task_roles for item in role.inputs]
        freed = self._stager.shrink(self._settings.cache_mb * MB, inputs)
        missing = self._missing(self._stager.folder)
        if missing:
            freed += self._stager.shrink(max(0, self._stager.size() - missing), inputs)
        if freed:
            log.info("removed %d MB of inputs that were not used for longest", freed // MB)
        self._drop_copies()
        self._drop_images(needed)

    def shortage(self) -> str | None:
        """Why no job may start now: which disk is too full for one, and what to do."""
        for whose, folder in self._disks():
            if self._missing(folder):
                return Sentence(
                    "The disk of {whose} is too full for jobs: at {folder}, {free} MB are free and "
                    "{wanted} MB must be (RUNNER_MIN_FREE_MB). Make room there; jobs start by "
                    "themselves then.", whose=whose, folder=folder,
                    free=shutil.disk_usage(folder).free // MB,
                    wanted=self._settings.min_free_mb)
        return None

    def _loop(self) -> None:
        while not self._is_closed.wait(EVERY_FULL_S if self.shortage() else EVERY_S):
            try:
                self.tidy()
            except Exception:
                log.exception("tidying up failed; it is tried again")

    def _disks(self) -> Iterator[tuple[str, Path]]:
        yield Sentence("the runner"), self._settings.home
        with suppress(EngineError):  # that Docker is away is told elsewhere
            if self._docker_root:
                yield "Docker", self._docker_root

    @cached_property
    def _docker_root(self) -> Path | None:
        """None where it is another machine's."""
        root = Path(self._driver.info()["DockerRootDir"])
        return root if root.exists() else None

    def _missing(self, folder: Path) -> int:
        """How many bytes a disk lacks of what must stay free on it."""
        return max(0, self._settings.min_free_mb * MB - shutil.disk_usage(folder).free)

    def _drop_copies(self) -> None:
        """Copies of storage, of jobs that have ended and have sent what their tasks changed."""
        found = list((self._settings.home / "jobs").glob("*/storage"))
        live = {job.id for job in self._store.live()}
        for folder in found:
            if folder.parent.name not in live and self._stager.drop_copies(folder):
                log.info("removed the copies of storage of job %s", folder.parent.name)

    def _drop_images(self, needed: Iterable[JobSpec]) -> None:
        """Pulled images, while Docker's disk is too full; those in use stay."""
        in_use = {role.image.digest for spec in needed for role in spec.task_roles}
        for digest, _ in sorted(self._images().items(), key=lambda item: item[1]):
            if not self._docker_root or not self._missing(self._docker_root):
                return
            if digest in in_use:
                continue
            try:
                self._driver.remove_image(digest)
                log.info("removed image %s, which was not used for longest", digest[:19])
            except EngineError as error:
                log.info("image %s stays: %s", digest[:19], error.message)
                continue
            with self._lock:
                self._keep({key: used for key, used in self._images().items() if key != digest})

    def _images(self) -> dict[str, float]:
        try:
            return json.loads(self._path.read_text())
        except (FileNotFoundError, ValueError):
            return {}

    def _keep(self, images: dict[str, float]) -> None:
        aside = self._path.with_suffix(".new")
        aside.write_text(json.dumps(images))
        os.replace(aside, self._path)
