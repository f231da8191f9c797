"""What the runner asks of whatever runs its containers, one machine or many. Knows no driver."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Collection, Mapping, Protocol, Sequence

from runner.devices import Gpu, Machine
from runner.scheduler import Fit, Placement
from runner.sentence import Sentence
from runner.spec import JobSpec, Login
from runner.supplies import Supply

GangKey = tuple[str, int]  # a job and the number of its attempt
Slot = tuple[str, int]  # a task: its role and its index there

CREATED, RUNNING, ENDED = "created", "running", "ended"
STOPPED_OUTSIDE = Sentence("somebody stopped the container from outside")
RESTARTED = Sentence("Docker was restarted, or this machine")
LOST = Sentence("Docker lost track of the container")


@dataclass(frozen=True, kw_only=True)
class Gang:
    """All tasks of one attempt and what they were promised; `spec` with every input pinned."""

    key: GangKey
    spec: JobSpec
    placement: Placement

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple((task.role, task.index) for task in self.placement.tasks)


@dataclass(frozen=True, kw_only=True)
class Errand:
    """A job whose images and inputs are wanted, and who hears how that goes.

    `login` gives what its user logs in to a registry with; `say` takes a stage and a sentence,
    `report` a text, how much is here and of how much (None: not known).
    """

    job: str
    spec: JobSpec
    login: Callable[[str], Login | None]
    say: Callable[[str, str], None]
    report: Callable[[str, int, int | None], None]
    is_cancelled: Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How the container of a slot ended; `code` None: it is gone, and nobody knows how.

    `interruption`: what ended it, if neither its own processes nor `Engine.stop` did; else empty.
    """

    code: int | None
    oom_killed: bool = False
    interruption: str = ""


class Listener(Protocol):
    """Who hears of the slots of a gang. Called in any thread, so it takes note and returns."""

    def started(self, slot: Slot, container: str) -> None:
        """The slot's container runs, or did; it is followed from now on."""

    def ended(self, slot: Slot, how: Exit) -> None:
        """The whole log is in the job's folder. Told once or more often."""

    def failed(self, slot: Slot, error: Exception) -> None:
        """The slot could not be followed any further, such as for a full disk: adopt it again."""

    def log_grew(self) -> None:
        """Something new is in the log of one of the slots."""


class Console(Protocol):
    """A shell in a slot's container, on a terminal of its own. Any thread may call anything."""

    @property
    def is_ended(self) -> bool:
        """Whether the shell has ended and all that it wrote was read."""

    def read(self, wait_s: float) -> bytes:
        """What was written on the terminal; empty where there is nothing within `wait_s`."""

    def write(self, data: bytes, wait_s: float) -> int:
        """Type; returns how many of the bytes were taken within `wait_s`, from the first on."""

    def resize(self, columns: int, rows: int) -> None:
        """Tell the programs on the terminal how large its window is."""

    def close(self) -> None:
        """Hang up: the shell ends, and all that still runs on its terminal. Again is no error."""


class Engine(Protocol):
    """Runs gangs: promises all their places or none, then containers, which only it touches.

    Nothing is kept here that cannot be found again: a new engine is told by `hold` what the store
    says of promises, and finds containers by their labels. Logs, metrics and outputs of a slot
    appear in the job's folder (`artifacts.JobFolders`), where they stay.

    Where the engine is out of reach, calls raise EngineError; what runs, runs on.
    """

    def capacity(self) -> tuple[Machine, ...]:
        """The machines that can be reached, whole, with the GPUs that other programs use."""

    def versions(self) -> Mapping[str, str | None]:
        """Of engine, kernel and GPU driver, as a receipt tells them."""

    def prepare(self, errand: Errand) -> JobSpec:
        """Bring images and inputs to where the job may run; returns the spec with all pinned.

        Costs next to nothing where all is there. Raises EngineError, StagingError or Cancelled.
        """

    def supplies(self, spec: JobSpec, logins: Sequence[Login]) -> Sequence[Supply]:
        """What `prepare` would have to bring; nothing is brought.

        Registries are asked with the job's `logins`, the first to each.
        """

    def pulls(self, job: str) -> Sequence[Mapping[str, Any]]:
        """How far each pull of an image is that the job waits for."""

    def explain(self, spec: JobSpec) -> Fit:
        """Whether the engine could take such a gang now, later or never, and why."""

    def reserve(self, key: GangKey, spec: JobSpec, gpus: Collection[Gpu]) -> Placement | None:
        """Promise a place to every task, of GPUs none but these, or None and nothing is promised.

        A second call for a key returns what the first one did.
        """

    def hold(self, gang: Gang) -> None:
        """Count what was promised before this engine came to be."""

    def promised(self) -> set[GangKey]:
        """Whom something is promised to at this moment."""

    def release(self, key: GangKey) -> None:
        """Give back what was promised; its containers are gone by then. Again is no error."""

    def start(self, gang: Gang, slots: Collection[Slot], listener: Listener) -> None:
        """Create all containers, then start and follow them; those that exist are taken as found.

        Raises EngineError or StagingError where one cannot start; others may run then.
        """

    def adopt(self, gang: Gang, slots: Collection[Slot], listener: Listener) -> None:
        """Follow what was started, and start nothing; a container that is gone is told as ended."""

    def look(self, gang: Gang) -> Mapping[Slot, str]:
        """CREATED, RUNNING or ENDED of every slot that has a container."""

    def stop(self, gang: Gang, grace_s: float) -> None:
        """End all followed slots at once, by force after `grace_s`; returns without waiting."""

    def open_console(self, gang: Gang, slot: Slot, columns: int, rows: int) -> Console:
        """Start a shell in a running slot, bash where there is one.

        Those that an earlier engine left behind end when their slot is adopted.
        Raises EngineError where the slot does not run, NoShellError where its image has none.
        """

    def clear(self, gang: Gang) -> None:
        """Remove containers and work folders; logs and outputs stay and belong to the runner."""

    def found(self) -> set[GangKey]:
        """Every gang of this runner that has a container or a work folder."""

    def fence(self, key: GangKey) -> None:
        """Remove a gang's containers and work folders, whatever they do."""

    def close(self) -> None:
        """Let go of everything; containers run on."""
