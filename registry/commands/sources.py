"""Commands about sources: source add, list, remove, and sync."""
from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.error_text import problem_line
from registry.errors import ForbiddenError, Problem, RegistryError
from registry.terminal import Terminal, local_time

SYNC_TIMEOUT_S = 120
POLL_S = 0.3


@click.group()
def source() -> None:
    """Add, list or remove the Git repositories that are indexed."""


@source.command()
@click.argument("location")
@click.option("--name", help="A short name; the folder's name when left out.")
@click.option("--sub-path", "sub_paths", multiple=True, metavar="FOLDER",
              help="Look for components only below this folder; may be given several times.")
@click.option("--tag-prefix", metavar="TEXT",
              help="Have tags name versions: `v` takes the tag v1.0.0 for version 1.0.0.")
@api_command
def add(client: ApiClient, terminal: Terminal, location: str, name: str | None,
        sub_paths: tuple[str, ...], tag_prefix: str | None) -> int:
    """Index the components of a repository; for an admin.

    LOCATION is a folder on the server's machine: one inside a Git working tree, a bare
    repository, or a plain folder. Waits for the first sync and says what it found.
    """
    where = str(Path(location).resolve()) if Path(location).exists() else location
    made = client.post("sources", body={
        "location": where, "sub_paths": list(sub_paths), **({"name": name} if name else {}),
        **({} if tag_prefix is None else {"tag_prefix": tag_prefix})})
    return _report(client, terminal, [_wait(client, terminal, made["name"], None)])


@source.command("list")
@api_command
def list_(client: ApiClient, terminal: Terminal) -> None:
    """List the sources and how their last sync went."""
    found = client.get("sources")
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["name", "location", "head", "synced", "components", "problems", "error"], [
        (each["name"], each["location"], (each["head"] or "")[:12], local_time(each["synced_at"]),
         each["components"], each["problems"], each["sync_error"]) for each in found["sources"]])


@source.command()
@click.argument("name")
@api_command
def remove(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Take a source and its components out of the catalog; the repository stays as it is."""
    client.delete("sources", name)
    terminal.say(f"{name} is removed.")
    if terminal.is_json:
        terminal.json({"removed": name})


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@api_command
def sync(client: ApiClient, terminal: Terminal, names: tuple[str, ...]) -> int:
    """Bring the catalog to a source's newest commit.

    Without a name, every source is synced. Waits for the end and ends with 1 when a sync failed
    or a file of it is invalid.
    """
    before = {each["name"]: each["synced_at"] for each in client.get("sources")["sources"]}
    chosen = names or tuple(before)
    for name in chosen:
        client.post("sources", name, "sync")
    return _report(client, terminal,
                   [_wait(client, terminal, name, before.get(name)) for name in chosen])


def _wait(client: ApiClient, terminal: Terminal, name: str, before: str | None) -> dict[str, Any]:
    """The source once its time of sync differs from `before`."""
    give_up_at = time.monotonic() + SYNC_TIMEOUT_S
    with terminal.progress() as progress:
        progress.add_task(f"sync {name}", total=None)
        while time.monotonic() < give_up_at:
            for each in client.get("sources")["sources"]:
                if each["name"] == name and each["synced_at"] not in (None, before):
                    return each
            time.sleep(POLL_S)
    raise RegistryError(f"No sync of {name} within {SYNC_TIMEOUT_S} s. Is the sync process "
                        "running? Its log is <PAISHARE_HOME>/logs/sync.log.")


def _report(client: ApiClient, terminal: Terminal, sources: list[dict[str, Any]]) -> int:
    """Say what each sync found; 1 where one failed or left a file out."""
    if terminal.is_json:
        terminal.json({"sources": sources})
    for each in [] if terminal.is_json else sources:
        terminal.result(f"{each['name']}: {_count(each['components'], 'component')} at "
                        f"{(each['head'] or 'no commit')[:12]}, "
                        f"{_count(each['problems'], 'invalid file')}")
        if each["sync_error"]:
            terminal.say(f"{each['name']}: {each['sync_error']}", "red")
        if each["problems"]:
            _print_problems(client, terminal, each["name"])
    return 1 if any(each["sync_error"] or each["problems"] for each in sources) else 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _print_problems(client: ApiClient, terminal: Terminal, name: str) -> None:
    try:
        found = client.get("sources", name, "problems")["problems"]
    except ForbiddenError:
        terminal.say(f"{name}: only its owner sees which files are invalid.")
        return
    for file in found:
        for error in file["errors"]:
            terminal.say(problem_line(Problem(**error), file["path"]))
