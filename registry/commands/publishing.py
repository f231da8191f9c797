"""The command publish: a component file goes to one's shelf on the server."""
from __future__ import annotations

from pathlib import Path

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.component import MAX_BYTES
from registry.error_text import problem_line
from registry.errors import InvalidInputError, Problem
from registry.terminal import Terminal


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@api_command
def publish(client: ApiClient, terminal: Terminal, file: Path) -> None:
    """Publish a component file to your shelf on the server.

    The shelf is a Git repository of yours there, made with the first file, and a source like any
    other. A version that is on it never changes: write a higher one to publish a change.
    """
    found = client.post("components", body={"yaml": _text(file)})
    for warning in found["warnings"]:
        terminal.say(problem_line(Problem(**warning), str(file)), "yellow")
    if terminal.is_json:
        terminal.json(found)
        return
    what = "was there already" if found["is_known"] else "is published"
    terminal.result(f"{found['reference']} {what}: {found['source']}, commit "
                    f"{found['commit'][:12]}.")


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
        if len(content) <= MAX_BYTES:
            return content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file} is no UTF-8 text. Save it as UTF-8.") from error
    raise InvalidInputError(f"{file} is larger than a component may be, {MAX_BYTES} bytes.")
