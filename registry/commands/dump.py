"""The operator's commands export and import: the whole catalog as one signed file, and back."""
from __future__ import annotations

import os
from pathlib import Path

import click

from registry import db
from registry.catalog import Catalog
from registry.commands.options import json_option
from registry.config import Settings
from registry.dump import Dumps
from registry.dump_file import Manifest
from registry.errors import InvalidInputError
from registry.restore import restore
from registry.signing import SigningKey, key_id
from registry.terminal import Terminal


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--public-key", "is_key_wanted", is_flag=True,
              help="Print the key that checks this server's dumps, and do nothing else.")
@json_option
def export(file: Path | None, is_key_wanted: bool, is_json: bool) -> None:
    """Write the whole catalog into one signed file.

    For the operator, on the server's machine, also while the server runs: sources, every version
    with its bytes, marks, events, and the Git objects that jobs need. Users, passwords and tokens
    are not in it. `paishare import FILE` restores it on an empty machine without network.
    """
    if is_key_wanted == bool(file):
        raise click.UsageError("Name the file to write, or ask for --public-key.")
    settings = Settings.from_environ(os.environ)
    terminal = Terminal(is_json=is_json)
    if file:
        _say(terminal, f"The catalog is in {file}", _export(settings, file), file)
    else:
        _print_key(terminal, SigningKey.of_home(settings.home).public)


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--key", metavar="PUBLIC-KEY",
              help="Accept a dump of this key only; `paishare export --public-key` prints it.")
@json_option
def import_(file: Path, key: str | None, is_json: bool) -> None:
    """Restore a catalog that `paishare export` wrote.

    For the operator, into an empty PAISHARE_HOME and before its first `paishare serve`; needs no
    network. The signature and every part are checked before anything is changed. Without --key
    the signature says only that the file is whole, not who made it: import what you trust.
    """
    terminal = Terminal(is_json=is_json)
    manifest = restore(Settings.from_environ(os.environ), file, public_key=key)
    if key is None:
        terminal.say(f"The dump is signed by {manifest.public_key}. Compare that with the key of "
                     "the server that it is from, or give it with --key.", "yellow")
    _say(terminal, f"The catalog of {file} is here", manifest, file)


def _export(settings: Settings, file: Path) -> Manifest:
    if not (settings.home / "git").is_dir() and not (settings.home / "registry.db").exists():
        raise InvalidInputError(f"There is no catalog in {settings.home}. Set PAISHARE_HOME to the "
                                "folder that `paishare serve` names at its start.")
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    try:
        return Dumps(engine, Catalog(engine, settings.git_dir), settings.home).export(file)
    finally:
        engine.dispose()


def _print_key(terminal: Terminal, public_key: str) -> None:
    if terminal.is_json:
        terminal.json({"public_key": public_key, "key_id": key_id(public_key)})
    else:
        terminal.result(public_key)


def _say(terminal: Terminal, what: str, manifest: Manifest, file: Path) -> None:
    if terminal.is_json:
        terminal.json({"file": str(file), "catalog_hash": manifest.catalog_hash,
                       "created": manifest.created, "counts": dict(manifest.counts),
                       "key_id": key_id(manifest.public_key)})
        return
    terminal.result(f"{what}: {manifest.counts.get('versions', 0)} versions of "
                    f"{manifest.counts.get('sources', 0)} sources, catalogue hash "
                    f"{manifest.catalog_hash[:16]}…, signed by {key_id(manifest.public_key)}.")
