"""What Prometheus asks for: the runner's metrics, for an admin's token."""
from __future__ import annotations

from flask import Blueprint, Response

from registry.views import auth
from registry.views.services import services

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
blueprint = Blueprint("monitoring", __name__)


@blueprint.get("/metrics")
def show() -> Response:
    """Jobs, the machine and its running tasks, with the names of their users."""
    auth.required_admin("read the metrics of all jobs")
    return Response(b"".join(services().runner.exposition()), content_type=CONTENT_TYPE)
