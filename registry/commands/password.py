"""The command passwd: one's own password, or as the operator anyone's."""
from __future__ import annotations

import os

import click

from registry import db
from registry.accounts import Accounts
from registry.api_client import ApiClient
from registry.commands.options import api_command, ask_password, password_stdin_option
from registry.config import Settings
from registry.terminal import Terminal


@click.command()
@click.argument("user", required=False)
@password_stdin_option
@api_command
def passwd(client: ApiClient, terminal: Terminal, user: str | None, is_from_stdin: bool) -> None:
    """Change a password.

    Without USER, your own, through the server. With USER, that user's, straight in the database
    under PAISHARE_HOME: for the operator on the server's machine, also when the old password is
    lost.
    """
    if user:
        _reset(user, ask_password("New password", is_from_stdin, is_new=True))
    else:
        old = ask_password("Old password", is_from_stdin)
        new = ask_password("New password", is_from_stdin, is_new=True)
        client.put("user", "password", body={"old_password": old, "new_password": new})
    terminal.say(f"The password of {user or 'your account'} is changed.")
    if terminal.is_json:
        terminal.json({"username": user})


def _reset(name: str, password: str) -> None:
    settings = Settings.from_environ(os.environ)
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    accounts = Accounts(engine)
    accounts.set_password(accounts.user_named(name), password)
