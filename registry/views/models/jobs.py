"""The API's bodies about jobs: what runs, what it wrote, what it truly ran with."""
from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from registry.views.models.base import MAX_YAML, Answer, Given, LogStream, Problem, Stream


class ConversionRequest(Given):
    text: str = Field(max_length=MAX_YAML, description="A job in OpenPAI's v1 JSON, or YAML in "
                      "its protocol 2.")


class Converted(Answer):
    form: str | None = Field(description="The form that the text was in; null: already ours.")
    yaml: str
    notes: list[Problem] = Field(description="What of it means nothing here, field by field.")


class FetchRequest(Given):
    address: str = Field(max_length=2000, description="Where a job is on the web, as a file of up "
                         "to 256 kB: https, on a public server. That of a page which shows the "
                         "file on GitHub or GitLab will do.")


class JobRequest(Given):
    """A component to run: from the marketplace, as a text, or a text that began as a component."""

    reference: str = Field(default="", max_length=1000, description="Such as `job/x@1.0.0`.")
    yaml: str = Field(default="", max_length=MAX_YAML, description="Instead of the component's "
                      "own text. With `reference`, relative URIs are those of that component.")
    parameters: dict[str, Any] = Field(default={}, description="Instead of the job's defaults.")
    name: str | None = Field(default=None, max_length=255, description="Instead of its name.")


class Fit(Answer):
    fit: Literal["now", "later", "never"]
    reason: str


class Resolution(Answer):
    spec: dict[str, Any] = Field(description="What the runner would get.")
    fit: Fit | None = Field(description="null where the runner does not answer.")
    warnings: list[Problem] = Field(description="What owners say of the versions that it uses.")


class Supply(Answer):
    kind: Literal["image", "file", "git", "storage"]
    uri: str
    missing: int | None = Field(description="How many bytes have to come before the job starts: "
                                "0 where it is here, null where nobody knows.")


class Amount(Answer):
    cpus: int
    memory_mb: int
    gpus: int


class Outlook(Answer):
    fit: Literal["now", "later", "never"]
    reason: str
    expected_start: datetime | None = Field(
        description="When it would start if everything were here; null where nobody knows.")
    supplies: list[Supply]
    whole: Amount = Field(description="All that the machine has for jobs.")
    free: Amount
    warnings: list[Problem] = Field(description="What owners say of the versions that it uses.")


class JobSummary(Answer):
    id: str
    name: str
    user: str
    virtual_cluster: str
    state: Literal["WAITING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"]
    stage: str
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    stop_requested: bool
    retries: int
    position: int | None = Field(
        default=None, description="Its place in the queue, from 1; null where it does not wait.")
    template: str = Field(description="`source:type/name@version` that its text came from; empty: "
                          "it came from none.")
    gpus: int = Field(description="GPUs of all its tasks together.")
    url: str = Field(description="The page of the job.")


class Event(Answer):
    time: datetime
    stage: str
    text: str
    attempt: int


class Progress(Answer):
    text: str
    current: int
    total: int | None


class Layer(Answer):
    id: str
    state: Literal["waiting", "downloading", "downloaded", "unpacking", "done", "here"]
    current: int = Field(description="Bytes that have come.")
    total: int | None


class Pull(Answer):
    """An image that the job waits for."""

    uri: str
    sharing: int = Field(description="How many jobs wait for this pull.")
    current: int = Field(description="Bytes of all layers.")
    total: int = Field(description="Bytes of the layers whose size is known.")
    is_total_final: bool = Field(description="The sizes of all layers are known.")
    rate: int | None = Field(description="Bytes a second, lately.")
    layers: list[Layer]


class GpuUse(Answer):
    uuid: str
    percent: int
    memory: int = Field(description="Bytes in use.")


class Sample(Answer):
    """What a task used up to one moment."""

    time: float = Field(description="Seconds since 1970, UTC.")
    cpu_s: float = Field(description="Seconds of CPU time since the start.")
    memory: int = Field(description="Bytes, without what the kernel could drop at once.")
    peak_memory: int = Field(description="The most bytes at any look so far.")
    read: int = Field(description="Bytes read from disks since the start.")
    written: int = Field(description="Bytes written to disks since the start.")
    received: int | None = Field(
        description="Bytes since the start; null where the task shares the machine's network.")
    sent: int | None
    gpus: list[GpuUse]


class Metrics(Answer):
    attempt: int
    role: str
    index: int
    samples: list[Sample] = Field(description="Oldest first, at most a few hundred.")


class Task(Answer):
    role: str
    index: int
    state: str
    ip: str | None
    ports: dict[str, list[int]]
    gpus: list[str]
    exit_code: int | None
    exit_text: str
    oom_killed: bool
    started_at: datetime | None
    finished_at: datetime | None
    container: str | None
    usage: Sample | None = Field(
        description="The newest sample; null before the first that tells anything, a second after "
                    "the begin of the task.")


class KeptTask(Answer):
    role: str
    index: int
    container: str = Field(description="The name of the stopped container.")


class Kept(Answer):
    """Containers of tasks that failed, kept because the job asks for it with `isDebug`."""

    until: datetime
    tasks: list[KeptTask]


class Attempt(Answer):
    number: int
    state: str
    cause: str
    reason: str
    started_at: datetime
    finished_at: datetime | None
    tasks: list[Task]
    kept: Kept | None = None


class Job(JobSummary):
    spec: dict[str, Any] = Field(description="The job spec, pinned as far as it is known.")
    events: list[Event]
    progress: Progress | None
    pulls: list[Pull] = Field(default=[], description="Images that are being pulled for it.")
    attempts: list[Attempt]
    expected_start: datetime | None = Field(
        default=None, description="Of a job that waits; null where nobody knows.")


class JobsQuery(Given):
    state: str = Field(default="", description="Only these states, separated by commas.")
    limit: int = Field(default=50, ge=1, le=200)
    before: str = Field(default="", max_length=64, description="The `next` of the page before.")
    all: bool = Field(default=False, description="Everyone's jobs; for an admin.")


class JobPage(Answer):
    jobs: list[JobSummary] = Field(description="Newest first.")
    next: str | None = Field(description="For `before`; null on the last page.")


class OneAttempt(Given):
    attempt: int = Field(default=0, ge=0, le=1_000_000, description="0: the newest.")


class TwoAttempts(OneAttempt):
    other: str = Field(max_length=64, description="The job to compare with; it may be the same.")
    other_attempt: int = Field(default=0, ge=0, le=1_000_000, description="0: its newest.")


class ReceiptOfTask(Answer):
    role: str
    index: int
    state: str
    exit_code: int | None
    exit_text: str
    oom_killed: bool
    started_at: datetime | None
    finished_at: datetime | None
    wall_s: float | None
    cpu_s: float | None = Field(
        description="CPU seconds; null where the task was too short to be measured.")
    peak_memory: int | None = Field(
        description="Most bytes that were seen; the whole limit where that ended the task.")
    gpus: list[dict[str, Any]] = Field(description="Model, UUID, and the peak of memory in use.")


class Receipt(Answer):
    format: int
    job: str
    attempt: int
    state: str
    cause: str
    reason: str
    started_at: datetime | None
    finished_at: datetime | None
    wall_s: float | None
    machine: dict[str, Any] = Field(description="What it ran on: sizes, and versions of what "
                                                "matters.")
    tasks: list[ReceiptOfTask]
    spec: dict[str, Any] = Field(description="The job spec with every image and input pinned.")


class ReceiptDifference(Answer):
    group: Literal["parameters", "inputs", "resources", "result", "files", "machine"]
    what: str
    first: str
    second: str


class ReceiptDifferences(Answer):
    differences: list[ReceiptDifference]


class OneTask(Given):
    role: str = Field(default="", description="Empty: the first task role.")
    index: int = Field(default=0, ge=0, le=100_000)
    attempt: int = Field(default=0, ge=0, le=1_000_000, description="0: the newest.")


class TaskQuery(OneTask):
    stream: Stream = Field(default="", description="Empty: both, in order.")


class LogQuery(TaskQuery):
    offset: int = Field(default=0, ge=0, lt=10 ** 18,
                        description="What the answer before said; 0: the start.")
    wait_s: float = Field(default=0, ge=0, le=25, description="How long to wait for more.")


class RawLogQuery(TaskQuery):
    times: bool = Field(default=False, description="The time before each line.")


class MergedTextQuery(Given):
    attempt: int = Field(default=0, ge=0, le=1_000_000,
                         description="0: all of them, one after the other.")
    role: str = Field(default="", max_length=255, description="Only tasks of this role.")
    stream: Stream = Field(default="", description="Empty: both, in order.")
    times: bool = Field(default=False, description="The time before each line.")


class MergedLogQuery(Given):
    attempt: int = Field(default=0, ge=0, le=1_000_000,
                         description="0: all of them, one after the other.")
    role: str = Field(default="", max_length=255, description="Only tasks of this role.")
    stream: Stream = Field(default="", description="Empty: both, in order.")
    cursor: str = Field(default="", max_length=8000,
                        description="What the answer before said; empty: the start.")
    limit: int = Field(default=1000, ge=1, le=5000, description="At most so many lines.")
    wait_s: float = Field(default=0, ge=0, le=25, description="How long to wait for more.")


class MergedLine(Answer):
    attempt: int
    role: str
    index: int
    stream: LogStream
    time: datetime
    text: str = Field(description="Without the newline; a line beyond 64 KiB comes in pieces.")


class MergedLog(Answer):
    lines: list[MergedLine] = Field(description="Oldest first; none is no sign of the end.")
    cursor: str = Field(description="Where to go on.")
    is_complete: bool = Field(description="Nothing more will come.")


class LogSearch(OneTask):
    text: str = Field(min_length=1, max_length=200, description="Capital letters do not matter.")


class LogLine(Answer):
    number: int = Field(description="From 1, in the whole log as text.")
    stream: LogStream
    time: datetime
    text: str = Field(description="Its first 1000 bytes.")


class LogLines(Answer):
    lines: list[LogLine]
    has_more: bool
    attempt: int
    role: str
    index: int


class LogRecord(Answer):
    stream: LogStream
    time: datetime
    text: str = Field(description="May end in the middle of a line.")


class Log(Answer):
    records: list[LogRecord]
    offset: int = Field(description="Where to go on.")
    is_complete: bool = Field(description="Nothing more will come.")
    attempt: int
    role: str
    index: int


class FilesQuery(Given):
    attempt: int = Field(default=0, ge=0, le=1_000_000, description="0: all.")
    role: str = Field(default="", max_length=255, description="Empty: all.")
    index: int | None = Field(default=None, ge=0, le=100_000, description="Left out: all.")
    folder: str = Field(default="", max_length=4096, description="Only below this folder.")


class ArtifactsQuery(FilesQuery):
    limit: int = Field(default=1000, ge=1, le=10_000)
    after: str = Field(default="", max_length=5000, description="The `next` of the page before.")
    checksums: bool = Field(default=False, description="With the SHA-256 of each file.")


class Artifact(Answer):
    attempt: int
    role: str
    index: int
    path: str
    size: int = Field(description="In bytes.")
    modified: datetime
    sha256: str | None = Field(
        default=None, description="Where it was asked for and takes no longer than an answer may.")
    url: str


class Artifacts(Answer):
    artifacts: list[Artifact] = Field(description="By attempt, task and path.")
    next: str | None = Field(description="For `after`; null on the last page.")
    count: int = Field(description="Of all pages.")
    size: int = Field(description="Bytes of all pages.")
    is_cut: bool = Field(description="There are more than are listed: 100,000 of a job at most.")
    notice: str | None = Field(description="Why files are gone, where they were removed.")


class FilePreview(Answer):
    kind: Literal["text", "table", "image", "binary"]
    size: int = Field(description="In bytes.")
    encoding: str
    text: str = Field(description="Its first 64 KiB at most.")
    rows: list[list[str]] = Field(description="Of a table, at most 101, the first one included.")
    is_cut: bool = Field(description="The file has more than `text` and `rows` have.")
    url: str = Field(description="The whole file.")


class SubmittedJob(Job):
    warnings: list[Problem] = Field(description="What owners say of the versions that it uses.")
