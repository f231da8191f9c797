"""The page of the machine: its GPUs and who holds them, what is free, what runs and what waits."""
from __future__ import annotations

from typing import Any, Mapping

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from registry.accounts import User
from registry.errors import RegistryError, RunnerUnavailableError
from registry.views import auth, submissions
from registry.views.job_access import shown_jobs
from registry.views.services import services

blueprint = Blueprint("machine", __name__)


@blueprint.get("/machine")
def show() -> ResponseReturnValue:
    user = auth.required_user()
    return render_template("machine/show.html", **machine_of(user))


@blueprint.get("/machine/fit")
def fit() -> ResponseReturnValue:
    """A part of a job's page in the marketplace: whether it fits, and what must come here first."""
    user, reference = auth.required_user(), request.args.get("of", "")
    try:
        spec = submissions.resolved(user, submissions.Submission(reference=reference)).spec
        found = submissions.outlook(user, spec) if "supplies" in request.args else \
            submissions.fit_of(spec)
    except RunnerUnavailableError:
        found = None
    except RegistryError as error:
        return render_template("machine/fit.html", error=error)
    return render_template("machine/fit.html", found=found, reference=reference)


def machine_of(user: User) -> dict[str, Any]:
    """The machine as the user may see it; raises RunnerUnavailableError."""
    machine, now = services().runner.machine(), services().runner.overview()
    running, waiting = (_shown(user, now[name]) for name in ("running", "waiting"))
    by_id = {job["id"]: job for job in running}
    holders = {uuid: by_id.get(id_) for uuid, id_ in now["gpu_jobs"].items()}
    return {"machine": machine, "now": now, "running": running, "waiting": waiting,
            "gpus": [{**gpu, "job": holders.get(gpu["uuid"])} for gpu in machine["gpus"]]}


def _shown(user: User, jobs: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What others run has no name here for those who may not open it."""
    return [{**job, "is_open": user.is_admin or job["user"] == user.name}
            for job in shown_jobs(user, jobs)]
