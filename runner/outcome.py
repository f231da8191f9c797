"""How an attempt ends, why, and whether another one follows. Pure."""
from __future__ import annotations

import dataclasses
import re
import signal
from collections import Counter
from dataclasses import dataclass
from typing import Any, Sequence

from runner import spec as states
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
    126: "a command was found but may not be executed",
    127: "a command was not found in the image",
}
_SIGNAL_MEANINGS = {
    signal.SIGKILL: "by itself or from outside, but not for its own memory limit",
    signal.SIGSEGV: "it used memory that is not its own",
    signal.SIGABRT: "it gave up by itself",
    signal.SIGILL: "the processor does not know an instruction of it",
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


STOPPED_BY_REQUEST = Decision(state=states.STOPPED, cause=STOPPED,
                              reason="The job was stopped on request.")


def decide(spec: JobSpec, tasks: Sequence[TaskResult]) -> Decision | None:
    """Apply the completion rules to the tasks in the order in which they ended.

    The first task that brings its role to `min_failed_task_count` fails the job, the first that
    brings it to `min_succeeded_task_count` makes it succeed; when all have ended without either,
    it has succeeded. None: the job goes on.
    """
    roles = {role.name: role for role in spec.task_roles}
    ended = sorted((task for task in tasks if task.state in states.FINAL_STATES),
                   key=lambda task: task.finished_at or "")
    counts: Counter[tuple[str, str]] = Counter()
    for task in ended:
        counts[task.role, task.state] += 1
        count = counts[task.role, task.state]
        decision = _triggered(spec, roles[task.role], task, count)
        if decision:
            return _with_warnings(decision, roles, ended)
    if len(ended) < spec.task_count:
        return None
    return _with_warnings(_all_ended(spec, ended), roles, ended)


def failed_start(text: str, *, is_platform: bool) -> Decision:
    """The containers of an attempt could not all be started, as `text` says."""
    cause = PLATFORM if is_platform else IMAGE
    if _PORT_IS_TAKEN.search(text):
        cause = PORT
    return Decision(state=states.FAILED, cause=cause,
                    reason=f"The job could not be started: {text.rstrip('.')}.")


def time_is_up(limit_s: float) -> Decision:
    """The attempt has run for as long as it may."""
    minutes = max(1, round(limit_s / 60))
    text = "1 minute" if minutes == 1 else f"{minutes} minutes"
    return Decision(state=states.FAILED, cause=TIME, reason=(
        f"The job was stopped: it reached its time limit of {text}. Submit it again with a larger "
        "timeLimitMinutes if it needs longer."))


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
        limit = "memory limit" if memory_mb is None else f"{memory_mb} MB"
        if code == 0:
            return f"exit code 0, but a process was killed for using more than the task's {limit}"
        return f"out of memory: the task used more than its {limit} (exit code {code})"
    meaning = _EXIT_MEANINGS.get(code) or _signal_text(code - 128)
    return f"exit code {code}: {meaning}" if meaning else f"exit code {code}"


def _signal_text(number: int) -> str:
    try:
        found = signal.Signals(number)
    except ValueError:
        return ""
    meaning = _SIGNAL_MEANINGS.get(found)
    return f"killed ({found.name}: {meaning})" if meaning else f"killed ({found.name})"


def _triggered(spec: JobSpec, role: TaskRoleSpec, task: TaskResult, count: int) -> Decision | None:
    """The decision that this task forces as the `count`-th of its role to end as it did."""
    if task.state == states.FAILED and _is_reached(role.min_failed_task_count, count):
        reason = f"{_name(spec, task)} failed: {_exit_text(role, task)}."
        if count > 1:
            reason += (f" It is the failure number {count} in role {role.name}, where the job "
                       f"ends (minFailedTaskCount: {role.min_failed_task_count}).")
        return Decision(state=states.FAILED, reason=reason,
                        cause=exit_cause(task.exit_code, task.oom_killed))
    if task.state == states.SUCCEEDED and _is_reached(role.min_succeeded_task_count, count):
        tasks = "1 task" if count == 1 else f"{count} tasks"
        return Decision(state=states.SUCCEEDED, reason=(
            f"{tasks} of role {role.name} succeeded, which is enough for the job "
            f"(minSucceededTaskCount: {role.min_succeeded_task_count})."))
    return None


def _is_reached(limit: int | None, count: int) -> bool:
    return limit is not None and count >= limit


def _all_ended(spec: JobSpec, ended: Sequence[TaskResult]) -> Decision:
    failed = [task for task in ended if task.state == states.FAILED]
    if any(task.state == states.STOPPED for task in ended):
        return Decision(state=states.STOPPED, cause=STOPPED, reason="The tasks were stopped.")
    if failed:
        names = ", ".join(f"{task.role} {task.index}" for task in failed)
        return Decision(state=states.SUCCEEDED, reason=(
            f"All {len(ended)} tasks have ended. {len(failed)} of them failed ({names}), which "
            "minFailedTaskCount allows." if len(ended) > 1 else
            "The task has ended. It failed, which minFailedTaskCount allows."))
    return Decision(state=states.SUCCEEDED, reason=(
        "The task succeeded." if spec.task_count == 1 else f"All {len(ended)} tasks succeeded."))


def _with_warnings(decision: Decision, roles: dict[str, TaskRoleSpec],
                   ended: Sequence[TaskResult]) -> Decision:
    """A success in spite of a process that was killed for its memory says so."""
    if decision.state != states.SUCCEEDED:
        return decision
    warnings = [
        f" Warning: a process of task {task.role} {task.index} was killed for using more than "
        f"its {roles[task.role].resources.memory_mb} MB of memory; the result may be incomplete."
        for task in ended if task.oom_killed and task.state == states.SUCCEEDED]
    return dataclasses.replace(decision, reason=decision.reason + "".join(warnings))


def _name(spec: JobSpec, task: TaskResult) -> str:
    return "The task" if spec.task_count == 1 else f"Task {task.role} {task.index}"


def _exit_text(role: TaskRoleSpec, task: TaskResult) -> str:
    if task.exit_text:
        return task.exit_text
    if task.exit_code is None:
        return "its container was lost"
    return describe_exit(task.exit_code, task.oom_killed, memory_mb=role.resources.memory_mb)
