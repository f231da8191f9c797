"""The bodies of the HTTP API, as the OpenAPI document describes them."""
from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from registry.hits import FACETS

TypeName = Literal["job", "data", "script", "dockerimage"]
Stream = Literal["", "stdout", "stderr"]
LogStream = Literal["stdout", "stderr", "notice"]  # notice: the runner's own words
MAX_YAML = 256_000


class Given(BaseModel):
    """What a caller sends: a field that nobody knows is a mistake, not a surprise."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """What a caller gets."""


class Problem(Answer):
    """One thing wrong: where it is, what it is, what to write instead."""

    path: str = Field(description="Such as `tasks[0].resource.portList`; empty: the whole.")
    line: int | None = Field(description="From 1; null where the text has no such place.")
    column: int | None
    message: str
    severity: Literal["error", "warning"]


class Error(Answer):
    """Every answer with a status of 400 and above."""

    code: str = Field(description="Stable, for programs: InvalidInput, NotFound …")
    message: str = Field(description="For people: what is wrong and what to do next.")
    errors: list[Problem]
    nearest: list[str] = Field(default=[], description="With 404: names that may be meant.")
    choices: list[str] = Field(default=[], description="With 409: references that tell apart "
                               "what the given one fits.")
    retry_at: datetime | None = Field(default=None, description="Where GitHub asks to wait: until "
                                      "when.")
    link: str | None = Field(default=None, description="Where GitHub lets you mend it.")


class Empty(Given):
    """No body."""


class Credentials(Given):
    username: str
    password: str
    name: str = Field(default="", max_length=255, description="To tell this token from others.")


class Token(Answer):
    token: str = Field(description="Shown only now. Send it as `Authorization: Bearer <token>`.")
    username: str
    is_admin: bool


class User(Answer):
    username: str
    is_admin: bool


class NewPassword(Given):
    old_password: str
    new_password: str


class ComponentQuery(Given):
    version: str = Field(default="", max_length=255, description="A version, `latest`, or a "
                         "commit of 7 to 40 hex digits. Empty: the latest.")
    source: str = Field(default="", max_length=255, description="Only of this source.")


class SourceQuery(Given):
    source: str = Field(default="", max_length=255, description="Only of this source.")


class Mark(Answer):
    """Why a version was yanked or deprecated."""

    reason: str
    successor: str | None = Field(description="A reference to use instead.")
    at: datetime


class Version(Answer):
    version: str
    source: str
    commit: str
    committed_at: datetime
    is_latest: bool = Field(description="What `@latest` means.")
    is_present: bool = Field(description="Still in the source at its head.")
    is_moved: bool = Field(description="The version was recorded before with other bytes, which "
                           "it keeps meaning; only its commit names this entry.")
    tags: list[str] = Field(description="The source's tags that name this version.")
    yanked: Mark | None = Field(description="null where it is not yanked.")
    deprecated: Mark | None


class Versions(Answer):
    versions: list[Version] = Field(description="Newest first.")


class Prerequisite(Answer):
    name: str
    type: str | None
    reference: str | None = Field(description="The component in the marketplace; null: inline.")
    problem: str | None = Field(description="Why its reference means nothing today; else null.")


class ComponentEntry(Version):
    id: int
    reference: str
    type: str
    name: str
    contributor: str
    description: str
    path: str
    blob: str
    text: str = Field(description="The YAML exactly as it is in the source.")
    document: dict[str, Any] = Field(description="The same as JSON, versions as text.")
    warnings: list[Problem]
    versions: list[Version]
    prerequisites: list[Prerequisite]


class YamlText(Given):
    yaml: str = Field(max_length=MAX_YAML)


class ComponentSummary(Answer):
    type: str
    name: str
    version: str
    contributor: str
    description: str
    reference: str
    parameters: dict[str, Any]


class Validation(Answer):
    component: ComponentSummary | None = Field(description="null where there are errors.")
    errors: list[Problem]
    warnings: list[Problem]


class ConversionRequest(Given):
    text: str = Field(max_length=MAX_YAML, description="A job in OpenPAI's v1 JSON, or YAML in "
                      "its protocol 2.")


class Converted(Answer):
    form: str | None = Field(description="The form that the text was in; null: already ours.")
    yaml: str
    notes: list[Problem] = Field(description="What of it means nothing here, field by field.")


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
    usage: Sample | None = Field(description="The newest sample; null where none was taken.")


class Attempt(Answer):
    number: int
    state: str
    cause: str
    reason: str
    started_at: datetime
    finished_at: datetime | None
    tasks: list[Task]


class Job(JobSummary):
    spec: dict[str, Any] = Field(description="The job spec, pinned as far as it is known.")
    events: list[Event]
    progress: Progress | None
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
    cpu_s: float | None = Field(description="CPU seconds; null where nothing was measured.")
    peak_memory: int | None = Field(description="Bytes.")
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
    group: Literal["inputs", "machine", "result"]
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


class Artifact(Answer):
    attempt: int
    role: str
    index: int
    path: str
    size: int = Field(description="In bytes.")
    modified: datetime
    url: str


class Artifacts(Answer):
    artifacts: list[Artifact]


class Source(Answer):
    name: str
    kind: str
    location: str
    head: str | None
    synced_at: datetime | None
    sync_error: str | None
    components: int
    problems: int = Field(description="Files that are no valid components.")
    owner: str | None = Field(description="null: the bundled source.")
    sub_paths: list[str] = Field(
        description="Folders below which components are looked for; empty: everywhere.")
    tag_prefix: str | None = Field(
        description="Tags that begin so and go on with a version name versions; null: none do.")
    is_private: bool = Field(description="Shown only to those whose own token reads it.")
    branch: str | None = Field(description="null: the repository's default branch, or a folder.")
    state: str = Field(description="`ok`, or in a word what is not as it should be.")
    freshness: str = Field(description="Which commit is indexed, which one is upstream.")
    upstream_head: str | None
    checked_at: datetime | None = Field(description="When GitHub was last asked for that.")
    next_sync_at: datetime | None
    is_syncing: bool = Field(description="A sync runs, or begins in a moment.")


class Sources(Answer):
    sources: list[Source]


class NewSource(Given):
    location: str = Field(min_length=1, max_length=4096,
                          description="A repository on GitHub as owner/name or by an address of "
                                      "it; for admins also the whole path of a folder or bare "
                                      "repository on the server's machine.")
    name: str | None = Field(default=None, max_length=255)
    branch: str | None = Field(default=None, max_length=255,
                               description="Of a repository; null: its default branch.")
    use_my_token: bool = Field(
        default=False, description="Your own token may be used to sync it in the background; for "
                                   "a private repository it must be.")
    sub_paths: list[str] = Field(
        default=[], max_length=100,
        description="Folders below it where components are looked for; empty: everywhere.")
    tag_prefix: str | None = Field(
        default=None, max_length=100,
        description="Have tags name versions: `v` takes v1.0.0 for 1.0.0; null: tags do not.")


class FileProblem(Answer):
    path: str
    commit: str
    errors: list[Problem]


class FileProblems(Answer):
    problems: list[FileProblem]
    warnings: list[FileProblem] = Field(
        description="Files that are components, and could be better.")


class LastSync(Answer):
    last: datetime | None


class Health(Answer):
    status: Literal["ok", "degraded"]
    web: bool
    runner: bool
    github: bool
    sync: LastSync


class Gpu(Answer):
    index: int
    model: str
    uuid: str
    memory_mb: int
    is_free: bool = True
    is_foreign: bool = Field(default=False, description="Programs that are no jobs use it.")
    is_declared: bool = Field(default=False, description="It is only said to be there.")


class FreeMachine(Answer):
    cpus: int
    memory_mb: int
    gpus: int


class Quota(Answer):
    """What jobs may hold together at once; null: no bound."""

    jobs: int | None
    cpus: int | None
    memory_mb: int | None
    gpus: int | None


class VirtualCluster(Answer):
    name: str
    members: list[str] | None = Field(description="Who may use it; null: everybody.")
    max_priority: int
    time_limit_s: int | None = Field(description="How long a job may run there; null: no end.")
    quota: Quota
    free: Quota = Field(description="What is left of the quota.")


class Queue(Answer):
    paused: str | None = Field(description="Why no job starts; null while jobs start.")
    waiting: int
    running: int


class Pause(Given):
    reason: str = Field(default="", max_length=1000, description="What people are told.")


class Machine(Answer):
    cpus: int
    memory_mb: int
    gpus: list[Gpu]
    free: FreeMachine
    gpu_reason: str | None = Field(description="Why there is no GPU; null where there is one.")
    host_ip: str
    virtual_clusters: list[VirtualCluster] = []
    queue: Queue | None = None


# --- search --------------------------------------------------------------------------------------

class SearchQuery(Given):
    q: str = Field(default="", max_length=1000, description="A query, such as `cifar10 type:job "
                   "-tag:old gpu:<=4`; see docs/search.md. Empty lists everything.")
    type: list[TypeName] = Field(default=[], description="Only these types.")
    sort: Literal["relevance", "updated", "used", "name"] = Field(
        default="relevance", description="Without words, relevance is newest first.")
    explain: bool = Field(default=False, description="Say of each hit why it is where it is.")
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=20, ge=1, le=100)


class Reason(Answer):
    reason: str
    points: float


class Highlights(Answer):
    """What to mark: [start, end) pairs, counted in Unicode characters from 0."""

    name: list[list[int]]
    description: list[list[int]]


class ComponentHit(Answer):
    reference: str
    source: str
    type: str
    name: str
    version: str
    contributor: str
    description: str
    updated_at: str
    used: int = Field(description="Jobs that ran it and components that name it.")
    tags: list[str]
    is_deprecated: bool
    highlights: Highlights
    why: list[Reason] = Field(description="What its rank is made of; empty without `explain`.")


class FacetValue(Answer):
    value: str = Field(description="What a filter takes: `field:value`.")
    count: int


class ComponentPage(Answer):
    total: int
    page: int
    page_size: int
    facets: dict[str, list[FacetValue]] = Field(
        description=f"By field: {', '.join(FACETS)}; most frequent first. Types are counted "
        "whatever `type` is chosen.")
    suggestions: list[str] = Field(description="Queries that find something, where this one does "
                                   "not.")
    is_ready: bool = Field(description="false: the index is being made; something may be missing.")
    components: list[ComponentHit]


class CompletionQuery(Given):
    q: str = Field(max_length=1000, description="What is typed so far.")
    limit: int = Field(default=8, ge=1, le=20)


class Completion(Answer):
    type: str
    name: str


class FilterCompletion(Answer):
    filter: str
    query: str = Field(description="The whole query with the filter at its end.")


class Completions(Answer):
    completions: list[Completion]
    filters: list[FilterCompletion] = Field(description="Fields, and values that are there.")


# --- references ----------------------------------------------------------------------------------

class ReferenceQuery(Given):
    reference: str = Field(min_length=1, max_length=1000, description="Such as `job/x@^1.0`, "
                           "`x`, `x@latest` or `source:job/x@<commit>`.")


class ResolvedReference(Version):
    type: str
    name: str
    path: str
    blob: str = Field(description="The Git id of the bytes.")
    exact_reference: str = Field(description="Names these bytes and no others, also later.")


class DumpKey(Answer):
    public_key: str = Field(description="`ed25519:` and 44 characters of base64.")
    key_id: str


class Dump(Answer):
    name: str
    size: int
    made_at: datetime


class Dumps(Answer):
    dumps: list[Dump] = Field(description="Newest first.")


class MarkQuery(Given):
    kind: Literal["yanked", "deprecated"]
    reference: str = Field(min_length=1, max_length=1000, description="An exact version, or its "
                           "commit. Without either, a component as a whole is deprecated.")


class NewMark(MarkQuery):
    reason: str = Field(description="Everyone who meets the version reads it.")
    successor: str = Field(default="", max_length=1000, description="With `deprecated`: a "
                           "reference to use instead.")


class NewPurge(Given):
    reference: str = Field(min_length=1, max_length=1000, description="An exact version, or its "
                           "commit.")
    reason: str = Field(description="Everyone who asks for the version reads it.")


class Purge(Answer):
    reference: str
    source: str
    commit: str
    blob: str


# --- what changed, and what is used by whom ------------------------------------------------------

Verdict = Literal["breaking", "compatible", "cosmetic"]


class CompareQuery(Given):
    a: str = Field(min_length=1, max_length=1000, description="A reference: the older version.")
    b: str = Field(min_length=1, max_length=1000, description="Another version of the same "
                   "component, also of another source.")


class Change(Answer):
    path: str = Field(description="Such as `tasks[worker].command`; empty: the whole text.")
    area: str = Field(description="parameters, resources, image, commands, inputs, ports …")
    sentence: str = Field(description="For people, with `code` between backticks.")
    verdict: Verdict
    is_new: bool = Field(description="It can something that it could not before.")


class Difference(Answer):
    verdict: Literal["breaking", "compatible", "cosmetic", "same"]
    step: Literal["major", "minor", "patch"] | None = Field(
        description="Which number the changes ask for; null where nothing changed.")
    suggested: str | None = Field(description="The version after the older one by that step.")
    warning: str = Field(description="Where the newer number promises more than it keeps.")
    changes: list[Change]


class Comparison(Difference):
    a: ResolvedReference
    b: ResolvedReference


class ChangelogQuery(SourceQuery):
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=20, ge=1, le=100)


class ChangelogStep(Answer):
    version: ResolvedReference
    before: ResolvedReference | None = Field(description="null: it is the first.")
    difference: Difference | None


class ChangelogPage(Answer):
    total: int = Field(description="How many versions there are.")
    page: int
    page_size: int
    steps: list[ChangelogStep] = Field(description="Newest first.")


class Use(Answer):
    kind: Literal["reference", "image", "data", "script"]
    type: str | None
    target: str = Field(description="The name of a reference, else the URI in its plain form.")
    source: str | None
    version: str | None = Field(description="As written; null: the latest.")


class FoundUse(Use):
    found: ResolvedReference | None = Field(description="What it means now; null: nothing.")


class Uses(Answer):
    version: ResolvedReference
    uses: list[FoundUse]


class UsingVersion(Answer):
    version: ResolvedReference = Field(description="The component's newest version that does.")
    use: Use
    older: int = Field(description="How many of its other versions do, too.")
    is_current: bool = Field(description="The version that lists show uses it.")


class Consequence(Answer):
    version: ResolvedReference
    use: Use
    after: ResolvedReference | None = Field(description="What it would mean; null: it breaks.")
    reason: str = Field(description="Why it would break; empty where it does not.")


class UsersQuery(ComponentQuery):
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=50, ge=1, le=200)


class UsedBy(Answer):
    version: ResolvedReference
    total: int = Field(description="How many components use it.")
    page: int
    page_size: int
    users: list[UsingVersion] = Field(description="Those that use it today first.")
    same: list[ResolvedReference] = Field(
        description="Other components that stand for the same image, data or script.")
    if_yanked: list[Consequence] = Field(
        description="The users whose reference would mean something else; at most `page_size`.")
    if_yanked_total: int


class TogetherQuery(ComponentQuery):
    limit: int = Field(default=10, ge=1, le=50)


class Companion(Answer):
    version: ResolvedReference
    runs: int = Field(description="Jobs in which both took part.")
    components: int = Field(description="Components that use both; of two jobs: what both use.")


class Together(Answer):
    version: ResolvedReference
    together: list[Companion]


class RecommendationsQuery(Given):
    type: list[TypeName] = Field(default=[], description="Only these types.")
    limit: int = Field(default=10, ge=1, le=50)


class MostUsed(Answer):
    version: ResolvedReference
    runs: int


class Recommendations(Answer):
    newest: list[ResolvedReference]
    most_used: list[MostUsed] = Field(description="None that was never run.")


class SubmittedJob(Job):
    warnings: list[Problem] = Field(description="What owners say of the versions that it uses.")


class Publication(Answer):
    reference: str
    source: str = Field(description="The shelf, which is a source of its own.")
    type: str
    name: str
    version: str
    commit: str = Field(description="What holds the bytes from now on.")
    is_known: bool = Field(description="true: just these bytes were there already.")
    warnings: list[Problem]


# --- the catalog as a whole ----------------------------------------------------------------------

class CatalogHash(Answer):
    hash: str = Field(description="SHA-256 in hexadecimal digits.")


# --- access to GitHub ----------------------------------------------------------------------------

class GitHubToken(Given):
    token: str = Field(max_length=1000, description="A personal access token; never shown again.")


class GitHubAccess(Answer):
    is_connected: bool
    server: str = Field(description="The address of the GitHub server.")
    login: str | None
    kind: Literal["classic", "fine-grained", "other"] | None
    scopes: list[str] | None = Field(description="Of a classic token; null: it has none to tell "
                                     "of.")
    last_four: str | None = Field(description="The token's last characters, to tell it by.")
    expires_at: datetime | None
    verified_at: datetime | None
    last_used_at: datetime | None
    problem: str | None = Field(description="A code; null: it works, as far as is known.")
    message: str | None = Field(description="What that means and what to do.")
    limitations: list[str] = Field(description="What will not work with this token.")


# --- sources from GitHub -------------------------------------------------------------------------

class SyncProgress(Answer):
    stage: str
    title: str
    done: int
    total: int = Field(description="0: nobody knows yet of how much.")


class SourceState(Answer):
    code: str
    title: str
    text: str


class SourceStatus(Source):
    warnings: int = Field(description="Components that could be better written.")
    progress: SyncProgress | None = Field(description="null: no sync runs.")
    states: list[SourceState] = Field(description="What is not as it should be, the worst first.")
    sponsor: str | None = Field(description="Whose token syncs it; null: none is used.")
    held_head: str | None = Field(description="A commit that waits for the owner's word.")
    held_count: int = Field(description="How many versions it would take away.")


class HeldHead(Given):
    head: str = Field(min_length=40, max_length=40,
                      description="The commit that you agree to, as the source tells it.")


class WebhookFacts(Answer):
    url: str = Field(description="Where GitHub sends what happens; content type application/json.")
    secret: str


class Taken(Answer):
    is_new: bool = Field(description="false: this delivery came before, so nothing was done.")


# --- publishing to GitHub ------------------------------------------------------------------------

class NewPublication(Given):
    yaml: str = Field(max_length=MAX_YAML)
    repository: str = Field(max_length=500, description="owner/name, or its address.")
    path: str = Field(default="", max_length=1000, description="Empty: where the component "
                      "stands now, else `<type>/<name>.yaml`.")
    title: str = Field(default="", max_length=1000, description="Of the pull request; empty: "
                       "one is made up.")
    body: str = Field(default="", max_length=100_000, description="Of the pull request; empty: "
                      "the description and what changes.")
    is_signed_off: bool = Field(default=False, description="Agree to a Signed-off-by line.")


class Confirmation(Given):
    seen: str = Field(default="", max_length=64, description="As the draft had it; empty: "
                      "whatever it is by now.")


class PublicationStep(Answer):
    name: str
    state: Literal["done", "now", "waits", "stopped", "todo"]
    detail: str


class PublicationProblem(Answer):
    code: str = Field(description="Stable, for programs.")
    title: str
    text: str = Field(description="What to do next.")
    detail: str = Field(description="GitHub's own words, where there are any.")
    goes_on: bool = Field(description="It goes on by itself, at `next_at`.")


class PullCheck(Answer):
    name: str
    state: str
    url: str | None


class PullReview(Answer):
    login: str
    state: str


class Pull(Answer):
    number: int
    url: str
    state: str
    is_mergeable: bool | None = Field(description="null: GitHub does not know yet.")
    checks: list[PullCheck]
    reviews: list[PullReview]


class PublicationState(Answer):
    id: int
    state: str = Field(description="DRAFT, CHECKED, FORKING, FORK_WAIT, COMMITTING, BRANCHING, "
                       "OPENING, OPEN, FINISH_ON_GITHUB, MERGED, PUBLISHED, ALREADY_PUBLISHED, "
                       "CLOSED, SUPERSEDED or WITHDRAWN.")
    word: str = Field(description="The state for people.")
    is_final: bool
    is_working: bool = Field(description="Its steps are being done now.")
    repository: str
    base_branch: str | None = Field(description="null: not looked up yet.")
    reference: str
    path: str
    yaml: str
    title: str
    body: str
    is_signed_off: bool
    fork: str | None
    branch: str | None
    commit: str | None
    pull: Pull | None
    compare_url: str | None = Field(description="Where to open the pull request by hand.")
    problem: PublicationProblem | None
    steps: list[PublicationStep]
    found: str | None = Field(description="The version here that it became.")
    next_at: datetime | None
    created_at: datetime
    updated_at: datetime


class PublicationDraft(PublicationState):
    seen: str = Field(description="Give it with the confirmation: it stands for this very diff.")
    is_new: bool = Field(description="Nothing stands at the path now.")
    diff: str = Field(description="A patch.")
    changes: list[str] = Field(description="The same in words.")
    checks: list[Problem] = Field(description="With an error it cannot be confirmed.")
    may_confirm: bool


class Publications(Answer):
    publications: list[PublicationState]
