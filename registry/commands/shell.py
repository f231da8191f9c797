"""The command shell: this terminal as one in a running task."""
from __future__ import annotations

import json
import os
import signal
import sys
import termios
import threading
import tty
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Iterator

import click
import simple_websocket

from registry.api_client import ApiClient, ServerUnreachableError
from registry.commands.options import api_command
from registry.errors import InvalidInputError
from registry.terminal import Terminal

READ_BYTES = 1 << 14
ALIVE_S = 60.0  # the server says something every 20 s


@click.command()
@click.argument("id_", metavar="ID")
@click.argument("task", metavar="[ROLE/INDEX]", default="")
@api_command
def shell(client: ApiClient, terminal: Terminal, id_: str, task: str) -> int:
    """Open a shell in a running task of one of your jobs.

    The first task where none is named. It ends with the connection, and so does what runs on its
    terminal; what is to stay is started with setsid, or in tmux.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInputError("A shell needs a terminal to be typed into. Run this command in "
                                "one, not in a pipe.")
    role, _, index = task.partition("/")
    if index and not (index.isascii() and index.isdigit()):
        raise InvalidInputError(f"A task is named ROLE/INDEX, such as worker/0, not {task}.")
    given = client.post("jobs", id_, "terminals", body={"role": role, "index": int(index or 0)})
    line = _connected(client.url, given["path"])
    _say(line, ticket=given["ticket"])
    with _raw():
        signal.signal(signal.SIGWINCH, lambda *_: _say(line))
        threading.Thread(target=_type, args=(line,), daemon=True).start()
        said = _show(line)
    if said["code"] != "exit":
        terminal.say(said["message"], "yellow")
    return 0 if said["code"] == "exit" else 1


def _connected(url: str, path: str) -> simple_websocket.Client:
    try:
        return simple_websocket.Client.connect(
            "ws" + url.removeprefix("http") + path,
            thread_class=partial(threading.Thread, daemon=True))
    except (OSError, simple_websocket.ConnectionError) as error:
        raise ServerUnreachableError(f"{url} opens no terminal: something between may let no "
                                     "WebSockets through.") from error


def _say(line: simple_websocket.Client, **values: Any) -> None:
    """How large the window is, and what else there is to say."""
    columns, rows = os.get_terminal_size(sys.stdin.fileno())  # not COLUMNS, which may be another's
    with suppress(simple_websocket.ConnectionClosed, OSError):
        line.send(json.dumps({"columns": columns, "rows": rows, **values}))


@contextmanager
def _raw() -> Iterator[None]:
    """Every key goes to the shell, Ctrl-C too; afterwards the terminal is as it was."""
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _type(line: simple_websocket.Client) -> None:
    with suppress(simple_websocket.ConnectionClosed, OSError):
        while data := os.read(sys.stdin.fileno(), READ_BYTES):
            line.send(data)
        line.close()


def _show(line: simple_websocket.Client) -> dict[str, str]:
    """Show what comes until the end; returns what is said then, `code` and `message`."""
    lost = {"code": "lost", "message": "The connection was lost, and the shell has ended with it. "
                                       "The task itself goes on."}
    try:
        while (message := line.receive(ALIVE_S)) is not None:
            if isinstance(message, bytes):
                sys.stdout.buffer.write(message)
                sys.stdout.buffer.flush()
            elif (news := json.loads(message))["type"] == "end":
                return news
            elif news["type"] == "warn":
                sys.stderr.write("\r\nNobody has typed for a while: press a key to keep the "
                                 "shell.\r\n")
    except simple_websocket.ConnectionClosed:
        pass
    return lost
