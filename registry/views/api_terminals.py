"""The HTTP API's route to a terminal: a ticket, with which a WebSocket is opened."""
from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from flask import url_for

from registry.tickets import Ticket
from registry.views import auth
from registry.views.api_openapi import Api
from registry.views.job_access import own_job, task_of
from registry.views.models import terminals as models
from registry.views.programs import API_PREFIX
from registry.views.services import services

api = Api("api_terminals", API_PREFIX)


@api.route("POST", "/jobs/<job_id>/terminals", body=models.TerminalRequest,
           result=models.TerminalTicket, status=201, errors=(403, 404, 503))
def give_ticket(job_id: str, body: models.TerminalRequest) -> dict[str, Any]:
    """A ticket to type into one's own running task, through a WebSocket.

    Bytes are the terminal's own, both ways. JSON texts tell of all else: the size
    `{columns, rows}` there, `{type: open | alive | warn | awake | end}` back.
    """
    user = auth.required_user()
    task = task_of(own_job(user, job_id), role=body.role, index=body.index)
    ticket = Ticket(user_id=user.id, epoch=user.session_epoch, job_id=task.job_id,
                    attempt=task.attempt, role=task.role, index=task.index)
    return {"path": urlsplit(url_for("terminals.connect")).path,
            "ticket": services().tickets.give(ticket),
            "attempt": task.attempt, "role": task.role, "index": task.index}
