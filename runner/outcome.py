"""How an attempt ends, why, and whether another one follows. Pure."""
from __future__ import annotations

import dataclasses
import re
import signal
from collections import Counter
from dataclasses import dataclass
from typing import Any, Sequence

from runner import spec as states
from runner.sentence import Sentence, ended, joined, plural, restored
from runner.spec import JobSpec, TaskRoleSpec

NO_CAUSE = ""
USER, CRASH, MEMORY = "user", "crash", "memory"
IMAGE, STAGING = "image", "staging"
PORT, PLATFORM = "port", "platform"
STOPPED = "stopped"
TIME = "time"
# Not the job's doing, and perhaps gone a moment later: tried again without counting.
PLATFORM_CAUSES = frozenset({PORT, PLATFORM})
# The same would happen again.
_LASTING_CAUSES = frozenset({CRASH, MEMORY, TIME})
# Nothing has run yet, and nothing would the next time.
_HOPELESS_CAUSES = frozenset({IMAGE, STAGING, STOPPED})

MAX_FAULTS_IN_ROW = 5
MAX_BACKOFF_S = 60.0
RETRY_FOREVER, RETRY_ALWAYS = -1, -2

_PORT_IS_TAKEN = re.compile("port is already allocated|address already in use", re.IGNORECASE)
_EXIT_MEANINGS = {
    126: Sentence("a command was found but may not be executed"),
    127: Sentence("a command was not found in the image"),
}
_SIGNAL_MEANINGS = {
    signal.SIGKILL: Sentence(
        "by itself or from outside, but not for its own memory limit"),
    signal.SIGSEGV: Sentence("it used memory that is not its own"),
    signal.SIGABRT: Sentence("it gave up by itself"),
    signal.SIGILL: Sentence("the processor does not know an instruction of it"),
}


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """How far one task has come.

    `exit_code` None in a final state: the container was lost. `finished_at` is UTC in ISO 8601;
    None: as early as can be.
    """

    role: str
    index: int
    state: str
    exit_code: int | None = None
    exit_text: str = ""
    oom_killed: bool = False
    finished_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The end of an attempt; `cause` is one of the constants above, `reason` whole sentences."""

    state: str
    reason: str
    cause: str = NO_CAUSE

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def decision_from_json(value: dict[str, Any]) -> Decision:
    """A decision as the store keeps it."""
    return Decision(**{**value, "reason": restored(value["reason"])})


STOPPED_BY_REQUEST = Decision(state=states.STOPPED, cause=STOPPED,
                              reason=Sentence("The job was stopped on request."))


def decide(spec: JobSpec, tasks: Sequence[TaskResult]) -> Decision | None:
    """Apply the completion rules to the tasks in the order in which they ended.

    The first task that brings its role to `min_failed_task_count` fails the job, the first that
    brings it to `min_succeeded_task_count` makes it succeed; when all have ended without either,
    it has succeeded. None: the job goes on.
    """
    roles = {role.name: role for role in spec.task_roles}
    finished = sorted((task for task in tasks if task.state in states.FINAL_STATES),
                      key=lambda task: task.finished_at or "")
    counts: Counter[tuple[str, str]] = Counter()
    for task in finished:
        counts[task.role, task.state] += 1
        count = counts[task.role, task.state]
        decision = _triggered(spec, roles[task.role], task, count)
        if decision:
            return _with_warnings(decision, roles, finished)
    if len(finished) < spec.task_count:
        return None
    return _with_warnings(_all_ended(spec, finished), roles, finished)


def failed_start(text: str, *, is_platform: bool) -> Decision:
    """The containers of an attempt could not all be started, as `text` says."""
    cause = PLATFORM if is_platform else IMAGE
    if _PORT_IS_TAKEN.search(text):
        cause = PORT
    return Decision(state=states.FAILED, cause=cause,
                    reason=Sentence("The job could not be started: {text}", text=ended(text)))


def time_is_up(limit_s: float) -> Decision:
    """The attempt has run for as long as it may."""
    minutes = max(1, round(limit_s / 60))
    return Decision(state=states.FAILED, cause=TIME, reason=plural(
        "The job was stopped: it reached its time limit of {count} minute. Submit it again with a "
        "larger timeLimitMinutes if it needs longer.",
        "The job was stopped: it reached its time limit of {count} minutes. Submit it again with a "
        "larger timeLimitMinutes if it needs longer.", minutes))


def should_retry(retry_count: int, retries_done: int, decision: Decision,
                 faults_in_row: int = 0) -> bool:
    """Say whether another attempt follows.

    `retries_done` counts the attempts after a failure of the job's own; `faults_in_row` the
    platform faults without one between, this one included.
    """
    cause = decision.cause
    if cause in _HOPELESS_CAUSES:
        return False
    if cause in PLATFORM_CAUSES:
        return faults_in_row <= MAX_FAULTS_IN_ROW
    if retry_count == RETRY_ALWAYS:
        return True
    if decision.state == states.SUCCEEDED or cause in _LASTING_CAUSES:
        return False
    return retry_count == RETRY_FOREVER or retries_done < retry_count


def backoff_s(tries: int) -> float:
    """Seconds to wait after so many tries: none at first, then doubling up to a minute."""
    return 0.0 if tries < 1 else min(MAX_BACKOFF_S, 2.0 ** min(tries - 1, 10))


def exit_cause(code: int | None, oom_killed: bool) -> str:
    """Whose doing it was that a task ended; `code` None: its container was lost."""
    if code is None:
        return PLATFORM
    if code == 0:
        return NO_CAUSE
    if oom_killed:
        return MEMORY
    return CRASH if code == 128 + signal.SIGSEGV else USER


def describe_exit(code: int, oom_killed: bool, *, memory_mb: int | None = None) -> str:
    """An exit code in words; `memory_mb` is the task's limit, None where it is not known."""
    if oom_killed:
        limit = Sentence("memory limit") if memory_mb is None else f"{memory_mb} MiB"
        if code == 0:
            return Sentence(
                "exit code 0, but a process was killed for using more than the task's {limit}",
                limit=limit)
        return Sentence("out of memory: the task used more than its {limit} (exit code {code})",
                        limit=limit, code=code)
    meaning = _EXIT_MEANINGS.get(code) or _signal_text(code - 128)
    return Sentence("exit code {code}: {meaning}", code=code, meaning=meaning) if meaning else \
        Sentence("exit code {code}", code=code)


def _signal_text(number: int) -> str:
    try:
        found = signal.Signals(number)
    except ValueError:
        return ""
    meaning = _SIGNAL_MEANINGS.get(found)
    return Sentence("killed ({signal}: {meaning})", signal=found.name, meaning=meaning) \
        if meaning else Sentence("killed ({signal})", signal=found.name)


def _triggered(spec: JobSpec, role: TaskRoleSpec, task: TaskResult, count: int) -> Decision | None:
    """The decision that this task forces as the `count`-th of its role to end as it did."""
    if task.state == states.FAILED and _is_reached(role.min_failed_task_count, count):
        reason = Sentence("{task} failed: {how}.", task=_name(spec, task),
                          how=_exit_text(role, task))
        which = Sentence(
            "It is the failure number {number} in role {role}, where the job ends "
            "(minFailedTaskCount: {limit}).", number=count, role=role.name,
            limit=role.min_failed_task_count) if count > 1 else ""
        return Decision(state=states.FAILED, reason=joined(reason, which),
                        cause=exit_cause(task.exit_code, task.oom_killed))
    if task.state == states.SUCCEEDED and _is_reached(role.min_succeeded_task_count, count):
        return Decision(state=states.SUCCEEDED, reason=plural(
            "{count} task of role {role} succeeded, which is enough for the job "
            "(minSucceededTaskCount: {limit}).",
            "{count} tasks of role {role} succeeded, which is enough for the job "
            "(minSucceededTaskCount: {limit}).",
            count, role=role.name, limit=role.min_succeeded_task_count))
    return None


def _is_reached(limit: int | None, count: int) -> bool:
    return limit is not None and count >= limit


def _all_ended(spec: JobSpec, finished: Sequence[TaskResult]) -> Decision:
    failed = [task for task in finished if task.state == states.FAILED]
    if any(task.state == states.STOPPED for task in finished):
        return Decision(state=states.STOPPED, cause=STOPPED, reason=Sentence(
            "The tasks were stopped."))
    if failed:
        names = ", ".join(f"{task.role} {task.index}" for task in failed)
        return Decision(state=states.SUCCEEDED, reason=plural(
            "The task has ended. It failed, which minFailedTaskCount allows.",
            "All {count} tasks have ended. {failed} of them failed ({names}), which "
            "minFailedTaskCount allows.", len(finished), failed=len(failed), names=names))
    return Decision(state=states.SUCCEEDED, reason=plural(
        "The task succeeded.", "All {count} tasks succeeded.", spec.task_count))


def _with_warnings(decision: Decision, roles: dict[str, TaskRoleSpec],
                   finished: Sequence[TaskResult]) -> Decision:
    """A success in spite of a process that was killed for its memory says so."""
    if decision.state != states.SUCCEEDED:
        return decision
    warnings = [
        Sentence(
            "Warning: a process of task {role} {index} was killed for using more than its "
            "{memory_mb} MiB of memory; the result may be incomplete.", role=task.role,
            index=task.index, memory_mb=roles[task.role].resources.memory_mb)
        for task in finished if task.oom_killed and task.state == states.SUCCEEDED]
    return dataclasses.replace(decision, reason=joined(decision.reason, *warnings))


def _name(spec: JobSpec, task: TaskResult) -> str:
    return Sentence("The task") if spec.task_count == 1 else Sentence(
        "Task {role} {index}", role=task.role, index=task.index)


def _exit_text(role: TaskRoleSpec, task: TaskResult) -> str:
    if task.exit_text:
        return task.exit_text
    if task.exit_code is None:
        return Sentence("its container was lost")
    return describe_exit(task.exit_code, task.oom_killed, memory_mb=role.resources.memory_mb)
