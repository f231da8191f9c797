"""What every command that speaks to a server takes: the server's address and --json."""
from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable

import click

from registry.api_client import ApiClient
from registry.credentials import Credentials
from registry.errors import UnauthorizedError
from registry.terminal import Terminal

server_option = click.option(
    "--server", envvar="PAISHARE_URL", default="http://127.0.0.1:8080", metavar="URL",
    show_default=True, show_envvar=True, help="The PAIShare server.")
json_option = click.option(
    "--json", "is_json", is_flag=True, help="Print JSON on stdout, and nothing else there.")

password_stdin_option = click.option(
    "--password-stdin", "is_from_stdin", is_flag=True,
    help="Read passwords from lines of standard input, for scripts.")


def ask_password(text: str, is_from_stdin: bool, *, is_new: bool = False) -> str:
    """A password, never shown and never taken from the command line."""
    if is_from_stdin:
        return sys.stdin.readline().rstrip("\n")
    return click.prompt(text, hide_input=True, confirmation_prompt=is_new, err=True)


def stored_token(server: str) -> str | None:
    """PAISHARE_TOKEN, else the token of `paishare login` at this server, else None."""
    credentials = Credentials.from_environ(os.environ)
    return os.environ.get("PAISHARE_TOKEN") or credentials.token(server.rstrip("/"))


def api_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the command a client and a terminal in place of --server and --json."""
    @server_option
    @json_option
    @functools.wraps(function)
    def wrapped(*args: Any, server: str, is_json: bool, **kwargs: Any) -> Any:
        client = ApiClient(server, stored_token(server))
        try:
            return function(client, Terminal(is_json=is_json), *args, **kwargs)
        except UnauthorizedError as error:
            raise UnauthorizedError(_how_to_log_in(client.url)) from error
    return wrapped


def _how_to_log_in(url: str) -> str:
    if os.environ.get("PAISHARE_TOKEN"):
        return (f"The token in PAISHARE_TOKEN is not one of {url}, or is revoked. Set another, or "
                "unset it and run `paishare login`.")
    return f"You are not logged in at {url}. Run `paishare login`, or set PAISHARE_TOKEN."
