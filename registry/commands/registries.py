"""The command registry: one's logins to image registries."""
from __future__ import annotations

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command, ask_password
from registry.terminal import Terminal, local_time
from runner.spec import registry_name


@click.group()
def registry() -> None:
    """Your logins to image registries, for jobs whose images are private."""


@registry.command()
@click.argument("name", metavar="SERVER")
@click.option("--username", "-u", prompt="User name", help="Asked for where it is left out.")
@click.option("--password-stdin", "is_from_stdin", is_flag=True,
              help="Read the password or token from a line of standard input, for scripts.")
@api_command
def add(client: ApiClient, terminal: Terminal, name: str, username: str, is_from_stdin: bool
        ) -> None:
    """Keep a login to a registry, such as ghcr.io; it replaces an older one.

    The password or token is asked for, never taken from the command line.
    """
    secret = ask_password("Password or token", is_from_stdin)
    server = registry_name(name)
    client.put("user", "registries", server, body={"username": username, "secret": secret})
    if terminal.is_json:
        terminal.json({"server": server, "username": username})
    terminal.say(f"Your jobs log in to {server} as {username} from now on.")


@registry.command("list")
@api_command
def list_(client: ApiClient, terminal: Terminal) -> None:
    """List your logins, without the secrets."""
    found = client.get("user", "registries")
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["registry", "user name", "added", "last used"], [
        (each["server"], each["username"], local_time(each["created_at"]),
         local_time(each["last_used_at"]) or "never") for each in found["logins"]])


@registry.command()
@click.argument("name", metavar="SERVER")
@api_command
def remove(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Delete a login."""
    server = registry_name(name)
    client.delete("user", "registries", server)
    terminal.say(f"The login to {server} is deleted.")
    if terminal.is_json:
        terminal.json({"server": server})
