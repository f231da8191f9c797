"""Follow one job through the HTTP API: its events and its tasks' logs, as they come."""
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Protocol

from registry.api_client import ApiClient
from registry.errors import NotFoundError
from runner.spec import FINAL_STATES

POLL_S = 0.3
LONG_POLL_S = 1
PAGES_AT_ONCE = 50  # then the job itself is looked at again

Job = dict[str, Any]  # as the HTTP API tells of it


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
    """Whose logs to read; None means every role, every index, the newest attempt and later ones.

    `has_all_attempts`: the earlier ones too. `stream` is `stdout`, `stderr` or empty for both.
    """

    role: str | None = None
    index: int | None = None
    attempt: int | None = None
    has_all_attempts: bool = False
    stream: str = ""


class _LogReader(Protocol):
    """Reads on where it was, through one attempt after the other."""

    def is_open(self, job: Job) -> bool:
        """Whether there is a log with something left to read."""

    def records(self, job: Job, wait_s: float) -> Iterator[Record]:
        """What is new; waits up to `wait_s` seconds for something."""


class _OneLog:
    """The log of one task, piece by piece."""

    def __init__(self, client: ApiClient, choice: TaskChoice, first: int, task: tuple[str, int],
                 ) -> None:
        self._client, self._choice = client, choice
        self._role, self._index = task
        self._attempt, self._offset = first, 0

    def is_open(self, job: Job) -> bool:
        return self._current(job) is not None

    def records(self, job: Job, wait_s: float) -> Iterator[Record]:
        for number in range(PAGES_AT_ONCE):
            task = self._current(job)
            if task is None:
                return
            page = self._client.get(
                "jobs", job["id"], "log", attempt=task.attempt, role=task.role, index=task.index,
                offset=self._offset, wait_s=0 if number else wait_s,
                stream=self._choice.stream or None)
            for record in page["records"]:
                yield Record(task=task, stream=record["stream"], time=record["time"],
                             text=record["text"])
            is_stuck, self._offset = page["offset"] == self._offset, page["offset"]
            # An ended job writes no more: no progress is the end even where nobody said so.
            if page["is_complete"] or (is_stuck and job["state"] in FINAL_STATES):
                self._attempt, self._offset = task.attempt + 1, 0
            elif is_stuck:
                return

    def _current(self, job: Job) -> Task | None:
        """The task in the first attempt that is not read whole and in which it has started."""
        started = (attempt["number"] for attempt in job["attempts"] for task in attempt["tasks"]
                   if (task["role"], task["index"]) == (self._role, self._index)
                   and task["started_at"])
        last = self._choice.attempt or len(job["attempts"])
        return next((Task(attempt=number, role=self._role, index=self._index)
                     for number in started if self._attempt <= number <= last), None)


class _MergedLog:
    """The logs of several tasks line by line, in the order of time."""

    def __init__(self, client: ApiClient, choice: TaskChoice, first: int,
                 chosen: frozenset[tuple[str, int]]) -> None:
        self._client, self._choice, self._chosen = client, choice, chosen
        self._attempt, self._cursor = first, ""

    def is_open(self, job: Job) -> bool:
        return max(1, self._attempt) <= (self._choice.attempt or len(job["attempts"]))

    def records(self, job: Job, wait_s: float) -> Iterator[Record]:
        for number in range(PAGES_AT_ONCE):
            if not self.is_open(job):
                return
            page = self._client.get(
                "jobs", job["id"], "log", "merged", attempt=max(1, self._attempt),
                role=self._choice.role, stream=self._choice.stream or None,
                cursor=self._cursor or None, wait_s=0 if number else wait_s)
            for line in page["lines"]:
                if (line["role"], line["index"]) in self._chosen:
                    task = Task(attempt=line["attempt"], role=line["role"], index=line["index"])
                    yield Record(task=task, stream=line["stream"], time=line["time"],
                                 text=line["text"] + "\n")
            is_stuck, self._cursor = page["cursor"] == self._cursor, page["cursor"]
            if page["is_complete"]:
                self._attempt, self._cursor = max(1, self._attempt) + 1, ""
            elif is_stuck:
                return


class JobStream:
    """The events and log records of a job, in order, until it has ended and all was read.

    `job` is the job as last seen. Raises NotFoundError where the job has no task of that choice.
    """

    def __init__(self, client: ApiClient, job_id: object, choice: TaskChoice = TaskChoice(),
                 ) -> None:
        self._client = client
        self._choice = choice
        self._events_seen = 0
        self.job: Job = client.get("jobs", job_id)
        self.chosen = self._chosen()
        first = choice.attempt or (1 if choice.has_all_attempts else len(self.job["attempts"]))
        self._log: _LogReader = (
            _OneLog(client, choice, first, *self.chosen) if len(self.chosen) == 1
            else _MergedLog(client, choice, first, self.chosen))

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
            is_last, began = self.has_ended, time.monotonic()
            yield from self._log.records(self.job, 0 if is_last else LONG_POLL_S)
            if is_last and not self._log.is_open(self.job):
                yield from self._new_events()
                return
            time.sleep(max(0.0, began + POLL_S - time.monotonic()))
            self.job = self._client.get("jobs", self.job["id"])

    def read(self) -> Iterator[Record]:
        """What the logs hold now, without waiting."""
        is_new = True
        while is_new:
            is_new = False
            for record in self._log.records(self.job, 0):
                is_new = True
                yield record

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

    def _new_events(self, before: str = "") -> Iterator[Event]:
        """The events since the last call, up to the first one of the stage `before`."""
        for event in self.job["events"][self._events_seen:]:
            if event["stage"] == before:
                return
            self._events_seen += 1
            yield Event(time=event["time"], stage=event["stage"], text=event["text"])
