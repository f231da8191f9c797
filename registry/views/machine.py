"""The page of the machine: its GPUs and who holds them, what is free, what runs and what waits."""
from __future__ import annotations

from typing import Any, Mapping

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from registry.accounts import User
from registry.views import auth
from registry.views.job_access import shown_jobs
from registry.views.services import services

blueprint = Blueprint("machine", __name__)


@blueprint.get("/machine")
def show() -> ResponseReturnValue:
    user = auth.required_user()
    return render_template("machine/show.html", **machine_of(user))


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
