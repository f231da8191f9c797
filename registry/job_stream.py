"""Follow one job through the HTTP API: its events and its tasks' logs, as they come."""
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator

from registry.api_client import ApiClient
from registry.errors import NotFoundError
from runner.spec import FINAL_STATES

POLL_S = 0.3
LONG_POLL_S = 1


@dataclass(frozen=True, kw_only=True)
class Task:
    """One container's place in a job."""

    attempt: int
    role: str
    index: int

    def __str__(self) -> str:
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to the job as a whole; `stage` as in runner.spec.STAGES."""

    time: str
    stage: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """A piece of a log; it may begin and end in the middle of a line."""

    task: Task
    stream: str
    time: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far something long has come, such as a download; `total` None: nobody knows."""

    text: str
    current: int
    total: int | None


@dataclass(frozen=True, kw_only=True)
class TaskChoice:
    """Whose logs to read; None means every role, every index, the newest attempt and later ones."""

    role: str | None = None
    index: int | None = None
    attempt: int | None = None


class JobStream:
    """The events and log records of a job, in order, until it has ended and all was read.

    `job` is the job as last seen. `stream` is `stdout`, `stderr` or empty for both.
    Raises NotFoundError where the job has no task of that choice.
    """

    def __init__(self, client: ApiClient, job_id: object, choice: TaskChoice = TaskChoice(),
                 stream: str = "") -> None:
        self._client = client
        self._choice = choice
        self._stream = stream
        self._offsets: dict[Task, Any] = {}
        self._complete: set[Task] = set()
        self._events_seen = 0
        self.job: dict[str, Any] = client.get("jobs", job_id)
        self._first_attempt = choice.attempt or len(self.job["attempts"])
        self.chosen = self._chosen()

    @property
    def has_ended(self) -> bool:
        return self.job["state"] in FINAL_STATES

    def follow(self, each_round: Callable[[], None] = lambda: None,
               ) -> Iterator[Event | Record | Progress]:
        """What has been and what comes, until the end; calls `each_round` before each look."""
        while True:
            each_round()
            yield from self._new_events(before="end")
            if self.job["progress"]:
                yield Progress(**self.job["progress"])
            is_last, open_tasks, began = self.has_ended, self._open_tasks(), time.monotonic()
            for task in open_tasks:
                wait_s = LONG_POLL_S if len(open_tasks) == 1 and not is_last else 0
                yield from self._new_records(task, wait_s)
            if is_last and not self._open_tasks():
                yield from self._new_events()
                return
            time.sleep(max(0.0, began + POLL_S - time.monotonic()))
            self.job = self._client.get("jobs", self.job["id"])

    def read(self) -> Iterator[Record]:
        """What the logs hold now, without waiting."""
        for task in self._open_tasks():
            before: Any = None
            while task not in self._complete and self._offsets.get(task, 0) != before:
                before = self._offsets.get(task, 0)
                yield from self._new_records(task, 0)

    def _chosen(self) -> frozenset[tuple[str, int]]:
        """Role and index of each task of the choice."""
        tasks = [(role["name"], index) for role in self.job["spec"]["task_roles"]
                 for index in range(role["instances"])]
        chosen = frozenset(
            (role, index) for role, index in tasks
            if self._choice.role in (None, role) and self._choice.index in (None, index))
        count = len(self.job["attempts"])
        if not chosen:
            raise NotFoundError(f"Job {self.job['id']} has no such task.",
                                [f"{role}-{index}" for role, index in tasks])
        if (self._choice.attempt or 0) > count:
            raise NotFoundError(f"Job {self.job['id']} has no attempt {self._choice.attempt}; it "
                                f"has made {count} so far.")
        return chosen

    def _is_chosen(self, task: Task) -> bool:
        is_in_time = (task.attempt == self._choice.attempt if self._choice.attempt
                      else task.attempt >= self._first_attempt)
        return is_in_time and (task.role, task.index) in self.chosen

    def _open_tasks(self) -> list[Task]:
        """Every chosen task that has a log with something left to read."""
        tasks = [Task(attempt=attempt["number"], role=task["role"], index=task["index"])
                 for attempt in self.job["attempts"] for task in attempt["tasks"]
                 if task["started_at"]]
        return [task for task in tasks if self._is_chosen(task) and task not in self._complete]

    def _new_events(self, before: str = "") -> Iterator[Event]:
        """The events since the last call, up to the first one of the stage `before`."""
        for event in self.job["events"][self._events_seen:]:
            if event["stage"] == before:
                return
            self._events_seen += 1
            yield Event(time=event["time"], stage=event["stage"], text=event["text"])

    def _new_records(self, task: Task, wait_s: float) -> Iterator[Record]:
        page = self._client.get(
            "jobs", self.job["id"], "log", attempt=task.attempt, role=task.role, index=task.index,
            offset=self._offsets.get(task, 0), wait_s=wait_s, stream=self._stream or None)
        # An ended job writes no more: no progress is the end even where nobody said so.
        is_stuck = page["offset"] == self._offsets.get(task, 0)
        self._offsets[task] = page["offset"]
        if page["is_complete"] or (self.has_ended and is_stuck):
            self._complete.add(task)
        for record in page["records"]:
            yield Record(task=task, stream=record["stream"], time=record["time"],
                         text=record["text"])
