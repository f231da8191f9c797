"""The command github: connect one's GitHub account, show it, disconnect it."""
from __future__ import annotations

from typing import Any

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command, ask_password
from registry.terminal import Terminal, local_time


@click.group()
def github() -> None:
    """Your access to GitHub: private repositories, and pull requests."""


@github.command()
@click.option("--token-stdin", "is_from_stdin", is_flag=True,
              help="Read the token from a line of standard input, for scripts.")
@api_command
def connect(client: ApiClient, terminal: Terminal, is_from_stdin: bool) -> None:
    """Connect GitHub with a personal access token, or replace the one before.

    The token is asked for, never taken from the command line. The page Settings has links to
    make one with just the scopes that are needed.
    """
    token = ask_password("Personal access token", is_from_stdin)
    client.put("user", "github", body={"token": token.strip()})
    _show(terminal, client.get("user", "github"))


@github.command()
@api_command
def status(client: ApiClient, terminal: Terminal) -> int:
    """Show as whom GitHub is connected and what will not work; ends with 1 where it is not."""
    found = client.get("user", "github")
    _show(terminal, found)
    return 0 if found["is_connected"] and not found["problem"] else 1


@github.command()
@api_command
def disconnect(client: ApiClient, terminal: Terminal) -> None:
    """Delete the token on the server, and with it the sight of private repositories."""
    client.delete("user", "github")
    terminal.say("GitHub is disconnected. Revoke the token on GitHub, too, if nothing else uses "
                 "it.")
    if terminal.is_json:
        terminal.json({"is_connected": False})


def _show(terminal: Terminal, found: dict[str, Any]) -> None:
    if terminal.is_json:
        terminal.json(found)
        return
    if not found["is_connected"]:
        terminal.say(f"{found['host']} is not connected. Run `paishare github connect`.")
        return
    scopes = "as chosen on GitHub" if found["scopes"] is None else ", ".join(found["scopes"])
    for name, value in (
            ("account", f"{found['login']} on {found['host']}"),
            ("token", f"{found['kind']}, ends in {found['last_four']}"),
            ("scopes", scopes or "none"), ("ends", found["ends"]),
            ("last used", local_time(found["last_used_at"]))):
        terminal.result(f"{name}: {value}")
    for text in filter(None, [found["message"], found["sso"], found["sso_url"],
                              *found["limitations"]]):
        terminal.say(text, "yellow")
