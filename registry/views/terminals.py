"""Terminals: shells in running tasks, for whoever submitted the job, on a page or in a program."""
from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, render_template
from flask.typing import ResponseReturnValue

from registry.accounts import User
from registry.errors import (
    NotFoundError,
    RegistryError,
    RunnerUnavailableError,
    UnauthorizedError,
)
from registry.runner_client import RunnerClient
from registry.tickets import Ticket
from registry.views import auth
from registry.views.job_access import own_job, task_of
from registry.views.jobs import on_lost, on_missing
from registry.views.language import gettext as _
from registry.views.language import said
from registry.views.services import services
from registry.views.sockets import Closed, Connection

IDLE_S, WARN_S = 30 * 60, 2 * 60  # without a key, and how long before the end it is said
READ_S = 20.0  # then something is sent anyway, so that nothing between takes the line for dead
LOOK_S = 1.0
CHECK_S = 30.0
HELLO_S = 15.0

blueprint = Blueprint("terminals", __name__)
blueprint.register_error_handler(NotFoundError, on_missing)
blueprint.register_error_handler(RunnerUnavailableError, on_lost)


@blueprint.get("/jobs/<job_id>/terminal/<role>/<int:index>")
def show(job_id: str, role: str, index: int) -> ResponseReturnValue:
    job = own_job(auth.required_user(), job_id)
    task = task_of(job, role=role, index=index)
    is_running = any(
        each["state"] == "RUNNING" and (each["role"], each["index"]) == (role, index)
        for attempt in job["attempts"][task.attempt - 1:task.attempt] for each in attempt["tasks"])
    return render_template("jobs/terminal.html", job=job, task=task, is_running=is_running)


@blueprint.route("/live/terminal", websocket=True)
def connect() -> Response:
    """Both ways: bytes are the terminal's own; JSON texts tell of all else.

    The first message shows a ticket, so that it stands in no address and in no log.
    """
    return services().sockets.serve(_serve)


@dataclass(kw_only=True)
class Idle:
    """How long nobody has typed; `used_s` is when somebody last did."""

    used_s: float
    is_warned: bool = False

    def use(self, now_s: float) -> bool:
        """Somebody types; whether they had been warned."""
        was_warned, self.is_warned, self.used_s = self.is_warned, False, now_s
        return was_warned

    def look(self, now_s: float) -> str:
        """`warn`, once, or `end` where it is time for that; else empty."""
        idle_s = now_s - self.used_s
        if idle_s >= IDLE_S:
            return "end"
        if idle_s < IDLE_S - WARN_S or self.is_warned:
            return ""
        self.is_warned = True
        return "warn"


def _hello(connection: Connection) -> tuple[Ticket, int, int]:
    """What the first message asks for; raises NotFoundError where its ticket is worth nothing."""
    said_first = connection.receive(HELLO_S)
    try:
        given = json.loads(said_first or "{}")
        text, columns, rows = str(given["ticket"]), int(given["columns"]), int(given["rows"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text, columns, rows = "", 80, 24
    ticket = services().tickets.take(text)
    if ticket is None:
        raise NotFoundError(_("This way to the terminal was used before or is too old. Open the "
                              "terminal again."))
    return ticket, columns, rows


def _serve(connection: Connection) -> None:
    """From the shell's first prompt to its end; raises RegistryError where there is none."""
    ticket, columns, rows = _hello(connection)
    own_job(_still(ticket), ticket.job_id)
    runner = services().runner
    terminal = runner.open_terminal(ticket.job_id, ticket.attempt, ticket.role, ticket.index,
                                    columns, rows)
    ends = {"exit": _("The shell has ended."),
            "runner": _("The runner does not answer any more, or was started again, and the "
                        "terminal ended with it. The task itself goes on.")}
    output = threading.Thread(target=_show, args=(connection, runner, terminal, ends), daemon=True)
    try:
        connection.tell(type="open")
        output.start()
        _listen(connection, runner, terminal, ticket)
    except NotFoundError:
        connection.tell(type="end", code="runner", message=ends["runner"])
    except UnauthorizedError as error:
        connection.tell(type="end", code=error.code, message=said(error.message))
    finally:
        connection.close()  # else the shell's own end would be told as well
        with contextlib.suppress(RegistryError):
            runner.close_terminal(terminal)


def _show(connection: Connection, runner: RunnerClient, terminal: str, ends: dict[str, str],
          ) -> None:
    """Send what the terminal shows, until it shows nothing any more."""
    code = "exit"
    with contextlib.suppress(Closed):
        try:
            while (data := runner.terminal_output(terminal, READ_S)) is not None:
                if data:
                    connection.send(data)
                else:
                    connection.tell(type="alive")
        except RegistryError:
            code = "runner"
        connection.tell(type="end", code=code, message=ends[code])
    connection.close()


def _listen(connection: Connection, runner: RunnerClient, terminal: str, ticket: Ticket) -> None:
    """Type what comes, until nobody is there; raises Closed."""
    idle, checked_s = Idle(used_s=time.monotonic()), time.monotonic()
    while True:
        message, now_s = connection.receive(LOOK_S), time.monotonic()
        if message is not None and idle.use(now_s):
            connection.tell(type="awake")
        if isinstance(message, bytes):
            _type(connection, runner, terminal, message)
        elif message:
            _resize(runner, terminal, message)
        user = _still(ticket)
        if now_s - checked_s > CHECK_S:
            own_job(user, ticket.job_id)
            checked_s = now_s
        found = idle.look(now_s)
        if found == "warn":
            connection.tell(type="warn", seconds=WARN_S)
        elif found:
            connection.tell(type="end", code="idle", message=_(
                "Nobody typed for 30 minutes, so the shell was ended."))
            return


def _type(connection: Connection, runner: RunnerClient, terminal: str, data: bytes) -> None:
    """All of it, however slowly it is taken."""
    while data and connection.is_open:
        data = data[runner.type_in(terminal, data):]


def _resize(runner: RunnerClient, terminal: str, message: str) -> None:
    """Anything but a size means nothing here."""
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        given: Any = json.loads(message)
        runner.resize_terminal(terminal, int(given["columns"]), int(given["rows"]))


def _still(ticket: Ticket) -> User:
    """Who got the ticket, as they are now; raises UnauthorizedError where their login has ended."""
    found = services().presence.of(ticket.user_id, ticket.epoch)
    if found is None:
        raise UnauthorizedError(_("Your login has ended. Log in, then open the terminal again."))
    return found
