"""Containers of tasks that failed, kept for a while for whoever looks for the fault."""
from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Collection

from runner import spec as states
from runner.config import Settings
from runner.engine import Engine, Gang, GangKey, Slot
from runner.errors import EngineError
from runner.job_store import JobStore
from runner.launch import container_name
from runner.scheduler import placement_from_json

log = logging.getLogger(__name__)

MB = 1 << 20


class Kept:
    """What is kept stands in a file an attempt, so a restart forgets nothing.

    Of a job only the newest attempt that failed is kept. `clock` gives seconds since 1970.
    """

    def __init__(self, settings: Settings, store: JobStore, engine: Engine,
                 clock: Callable[[], float] = time.time) -> None:
        self._folder, self._settings = settings.home / "kept", settings
        self._store, self._engine, self._clock = store, engine, clock
        self._lock = threading.RLock()
        self._folder.mkdir(parents=True, exist_ok=True)

    def clear(self, gang: Gang) -> None:
        """Clear an attempt that has ended, but for the tasks that failed where the job asks so."""
        slots = self._failed(gang) if gang.spec.is_debug else ()
        with self._lock:
            path = self._path(gang.key)
            if slots and not path.exists():
                self.release(gang.key[0])
                self._write(path, gang, slots)
        # Without the lock: a removal that takes long holds up the end of no other job.
        self._engine.clear(_part(gang, set(gang.slots) - set(slots)))

    def of(self, key: GangKey) -> dict[str, Any] | None:
        """Until when the containers of which tasks of an attempt are kept; None: none is."""
        try:
            found = json.loads(self._path(key).read_text())
        except (FileNotFoundError, ValueError):
            return None
        until = datetime.fromtimestamp(found["until"], timezone.utc)
        return {"until": until.isoformat(timespec="seconds").replace("+00:00", "Z"),
                "tasks": found["tasks"]}

    def keys(self) -> set[GangKey]:
        """Every attempt of which something is kept."""
        parts = [path.stem.rpartition("-") for path in self._folder.glob("*.json")]
        return {(job, int(number)) for job, _, number in parts}

    def release(self, job_id: str) -> int:
        """Remove what is kept of a job; returns how many containers that were."""
        with self._lock:
            return sum(self._release(key) for key in self.keys() if key[0] == job_id)

    def expire(self) -> None:
        """Remove what was kept for long enough; where the disk is too full, the oldest earlier."""
        for until, key in sorted((self._until(key), key) for key in self.keys()):
            if until <= self._clock() or self._is_disk_full():
                log.info("the kept containers of job %s are removed", key[0])
                with suppress(EngineError):  # Docker is away: the next look tries again
                    self._release(key)

    def _is_disk_full(self) -> bool:
        return shutil.disk_usage(self._folder).free < self._settings.min_free_mb * MB

    def _until(self, key: GangKey) -> float:
        return json.loads(self._path(key).read_text())["until"]

    def _release(self, key: GangKey) -> int:
        with self._lock:
            found = self.of(key)
            if found is None:
                return 0
            slots = {(task["role"], task["index"]) for task in found["tasks"]}
            self._engine.clear(_part(self._gang(key), slots))
            self._path(key).unlink(missing_ok=True)
        return len(slots)

    def _gang(self, key: GangKey) -> Gang:
        placement = placement_from_json(self._store.attempt(*key)["placement"])
        return Gang(key=key, spec=self._store.get(key[0]).spec, placement=placement)

    def _failed(self, gang: Gang) -> list[Slot]:
        return [(row["role"], row["idx"]) for row in self._store.tasks(*gang.key)
                if row["state"] == states.FAILED and row["exit_code"] is not None]

    def _write(self, path: Path, gang: Gang, slots: Collection[Slot]) -> None:
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps({"until": self._clock() + self._settings.debug_s, "tasks": [
            {"role": role, "index": index, "container": container_name(gang, (role, index))}
            for role, index in slots]}))
        os.replace(aside, path)

    def _path(self, key: GangKey) -> Path:
        return self._folder / f"{key[0]}-{key[1]}.json"


def _part(gang: Gang, slots: Collection[Slot]) -> Gang:
    """The same gang with only these of its slots."""
    tasks = tuple(task for task in gang.placement.tasks if (task.role, task.index) in slots)
    return replace(gang, placement=replace(gang.placement, tasks=tasks))
