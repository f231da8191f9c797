"""Commands about one's login: login, logout."""
from __future__ import annotations

import os
import platform

import click

from registry.api_client import ApiClient
from registry.commands.options import (
    ask_password,
    json_option,
    password_stdin_option,
    server_option,
)
from registry.credentials import Credentials
from registry.errors import UnauthorizedError
from registry.terminal import Terminal


@click.command()
@server_option
@click.option("--username", help="Asked for when left out.")
@password_stdin_option
@json_option
def login(server: str, username: str | None, is_from_stdin: bool, is_json: bool) -> None:
    """Log in and keep a token.

    The token goes into ~/.config/paishare/credentials.json, readable by you alone, and is sent
    to this server only. Programs can set PAISHARE_TOKEN instead.
    """
    username = username or click.prompt("Username", default="admin", err=True)
    password = ask_password("Password", is_from_stdin)
    client = ApiClient(server)
    made = client.post("token", body={"username": username, "password": password,
                                      "name": f"paishare on {platform.node()}"})
    credentials = Credentials.from_environ(os.environ)
    credentials.save(client.url, username=made["username"], token=made["token"])
    terminal = Terminal()
    terminal.say(f"Logged in to {client.url} as {made['username']}.")
    if is_json:
        terminal.json({"server": client.url, "username": made["username"]})


@click.command()
@server_option
@json_option
def logout(server: str, is_json: bool) -> None:
    """Revoke and forget the token."""
    credentials = Credentials.from_environ(os.environ)
    terminal = Terminal()
    client = ApiClient(server, credentials.token(server.rstrip("/")))
    try:
        client.delete("token")
    except UnauthorizedError:
        terminal.say("The server knew no such token any more.")
    credentials.forget(client.url)
    terminal.say(f"Logged out of {client.url}.")
    if is_json:
        terminal.json({"server": client.url})
