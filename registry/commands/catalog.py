"""The operator's commands about the catalog as a whole: its hash."""
from __future__ import annotations

import os

import click

from registry import db
from registry.catalog import Catalog
from registry.commands.options import json_option
from registry.config import Settings
from registry.rebuild import Fingerprints
from registry.terminal import Terminal


@click.group()
def catalog() -> None:
    """The catalog as a whole, for the operator, on the server's machine."""


@catalog.command("hash")
@click.option("--rebuild", "is_rebuilt", is_flag=True,
              help="Make the catalog anew from the stores, aside, and compare; ends with 1 where "
                   "the two differ.")
@json_option
def hash_(is_rebuilt: bool, is_json: bool) -> int:
    """Print one SHA-256 over all that the catalog holds.

    Over sources, versions with their bytes, marks, purges and problems. Row ids, times of syncing
    and the order in which anything was read do not count: two servers with the same sources at
    the same commits and the same settings print the same.
    """
    settings = Settings.from_environ(os.environ)
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    found = Fingerprints(engine, Catalog(engine, settings.git_dir))
    live, rebuilt = found.live(), found.rebuilt() if is_rebuilt else None
    engine.dispose()
    terminal = Terminal(is_json=is_json)
    if is_json:
        terminal.json({"hash": live, **({"rebuilt": rebuilt} if is_rebuilt else {})})
    else:
        terminal.result(live)
    if rebuilt in (None, live):
        return 0
    terminal.say(f"Made anew from the stores the catalog has another hash: {rebuilt}. Was it "
                 "syncing meanwhile? Else `paishare sync` all sources and compare again.", "red")
    return 1
