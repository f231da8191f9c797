"""What depends on who looks: it is kept by nobody, and looking keeps one's access fresh."""
from __future__ import annotations

import contextlib

from flask import Flask, Response, request

from registry.accounts import User
from registry.errors import DatabaseUnavailableError, UnauthorizedError
from registry.views.auth import current_user
from registry.views.services import services

# What is asked for while one types is part of a page: no browser shows it when one comes back.
ASKED_BY = ("Cookie", "Authorization", "HX-Request")


def register(app: Flask) -> None:
    app.after_request(_keep_private)
    app.context_processor(lambda: {"closed_repositories": closed_repositories})


def closed_repositories() -> int:
    """How many private repositories the viewer sees again once GitHub has answered."""
    user = _viewer()
    return services().access.expired(user.id) if user else 0


def _keep_private(response: Response) -> Response:
    """No cache keeps what one user saw for another, nor for the time when it is closed again."""
    if request.endpoint == "static":
        return response
    response.vary.update(ASKED_BY)
    user = _viewer()
    if user:
        response.headers["Cache-Control"] = "private, no-store"
        with contextlib.suppress(DatabaseUnavailableError):
            services().access.want(user.id)
    return response


def _viewer() -> User | None:
    """Nobody, where that cannot be told; what was asked says so itself."""
    with contextlib.suppress(UnauthorizedError, DatabaseUnavailableError):
        return current_user()
    return None
