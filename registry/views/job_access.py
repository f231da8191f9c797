"""Which jobs a user may see, and which task of a job is meant."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from registry.accounts import User
from registry.errors import ForbiddenError, NotFoundError
from registry.runs import PRIVATE
from registry.views.language import gettext as _
from registry.views.services import services
from runner.sentence import Sentence

HIDDEN_NAME = "(private)"


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of one attempt; `is_started` False: the job has no such attempt yet."""

    job_id: str
    attempt: int
    role: str
    index: int
    is_started: bool

    @property
    def place(self) -> tuple[str, int, str, int]:
        """What the runner's client asks for first."""
        return self.job_id, self.attempt, self.role, self.index


def job_of(user: User, id_: str) -> dict[str, Any]:
    """The job, where it is the user's own or the user is an admin; else NotFoundError.

    So it is for an admin who may not see all that it takes: its text, what it wrote and what it
    left are its submitter's.
    """
    job = job_to_stop(user, id_)
    if not is_open(user, job):
        raise NotFoundError(Sentence(
            "Job {id_} takes something from a private repository that your own GitHub token does "
            "not read, so it is shown to {user} alone. You may stop it.", id_=id_,
            user=job["user"]))
    return job


def job_to_stop(user: User, id_: str) -> dict[str, Any]:
    """The job whatever it takes, for its submitter or an admin; raises NotFoundError."""
    missing = NotFoundError(Sentence(
        "There is no job {id_}. `paishare jobs` and the page Jobs list yours.", id_=id_))
    try:
        job = services().runner.job(id_)
    except NotFoundError:
        raise missing from None
    if job["user"] != user.name and not user.is_admin:
        raise missing
    return job


def own_job(user: User, id_: str) -> dict[str, Any]:
    """The job, where the user submitted it; raises NotFoundError, ForbiddenError for an admin."""
    job = job_of(user, id_)
    if job["user"] != user.name:
        raise ForbiddenError(_("Only %(user)s, who submitted job %(id)s, may type into its tasks. "
                               "You may stop it.", user=job["user"], id=id_))
    return job


def shown_jobs(user: User, jobs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Jobs as a list shows them: of what others took from where the user may not look, no name."""
    others = [job["id"] for job in jobs if job["user"] != user.name]
    hidden = services().runs.hidden(others, user_id=user.id) if others else ()
    return [{**job, "name": HIDDEN_NAME, "reason": "", "template": ""} if job["id"] in hidden
            else dict(job) for job in jobs]


def without_content(job: Mapping[str, Any]) -> dict[str, Any]:
    """What everybody may know of a job that is not theirs to read."""
    return {**job, "name": HIDDEN_NAME, "reason": "", "template": "", "spec": {}, "events": [],
            "attempts": [], "progress": None, "pulls": []}


def is_open(user: User, job: Mapping[str, Any]) -> bool:
    """Whether the user may read a job: their own, or one that takes what they may see.

    Where what it took was removed since, the job itself says whether that was for everybody.
    """
    if job["user"] == user.name:
        return True
    runs = services().runs
    is_unknown = PRIVATE in job["spec"]["origin"] and not runs.is_noted(job["id"])
    return not is_unknown and not runs.hidden([job["id"]], user_id=user.id)


def task_of(job: Mapping[str, Any], *, role: str = "", index: int = 0, attempt: int = 0) -> Task:
    """The task that is meant: the first role and the newest attempt where none is named.

    Raises NotFoundError naming the tasks that there are.
    """
    roles = {each["name"]: each["instances"] for each in job["spec"]["task_roles"]}
    number = attempt or len(job["attempts"]) or 1
    name = role or next(iter(roles))
    if not 0 <= index < roles.get(name, 0) or number > max(1, len(job["attempts"])):
        known = [f"{each}-{at}" for each, count in roles.items() for at in range(count)]
        raise NotFoundError(Sentence(
            "Job {job} has no task {name}-{index} in attempt {number}. It has {attempts} attempts "
            "so far, each with the tasks {known}{more}.", job=job["id"], name=name, index=index,
            number=number, attempts=len(job["attempts"]), known=", ".join(known[:20]),
            more=" …" if len(known) > 20 else ""))
    return Task(job_id=job["id"], attempt=number, role=name, index=index,
                is_started=bool(job["attempts"]))


def receipt_of(job: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    """The receipt of an attempt, 0: of the newest; raises NotFoundError where there is none yet."""
    if not job["attempts"]:
        raise NotFoundError(Sentence(
            "Job {job} has run nothing, so there is no receipt of it.", job=job["id"]))
    return services().runner.receipt(job["id"], attempt or len(job["attempts"]))


def found_in_log(task: Task, text: str) -> dict[str, Any]:
    """The lines of a task's log that hold a text, with the task; none before it has started."""
    where = {"attempt": task.attempt, "role": task.role, "index": task.index}
    if not task.is_started:
        return {"lines": [], "has_more": False, **where}
    return {**services().runner.search_log(*task.place, text), **where}
