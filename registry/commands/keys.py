"""The operator's command rotate-keys: secrets in the database, sealed with a new key."""
from __future__ import annotations

import os

import click

from registry import db
from registry.commands.options import json_option
from registry.config import Settings
from registry.rotation import rotate_keys as rotate
from registry.terminal import Terminal


@click.command("rotate-keys")
@json_option
def rotate_keys(is_json: bool) -> None:
    """Seal every GitHub token and registry login with a new key.

    For the operator on the server's machine; the server may go on running. The new key is made in
    PAISHARE_HOME/sealing.key, and the old one deleted once nothing needs it. With
    PAISHARE_SEALING_KEY=NEW,OLD all is sealed with NEW instead: set that for the server
    and here, run this, then take OLD away.
    """
    settings = Settings.from_environ(os.environ)
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    done = rotate(engine, settings)
    engine.dispose()
    terminal = Terminal(is_json=is_json)
    if is_json:
        terminal.json({"key_id": done.key_id, "sealed": done.resealed, "lost": done.unreadable})
    terminal.say(f"{done.resealed} secrets are sealed anew, with the key {done.key_id}. " + (
        "Now take the old keys out of PAISHARE_SEALING_KEY." if settings.sealing_keys else
        "The old key is deleted; a copy of the database from before can no longer be used."))
    if done.unreadable:
        terminal.say(f"{done.unreadable} secrets could not be opened and stay as they are: their "
                     "key is not here. Is PAISHARE_SEALING_KEY set here as it is for the server? "
                     "If the key is lost, their users must connect GitHub again, and add their "
                     "logins to registries.", "yellow")
