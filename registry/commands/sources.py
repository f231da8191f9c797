"""Commands about sources: source add, show, list, remove and what owners decide, and sync."""
from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from registry import source_words
from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.error_text import problem_line
from registry.errors import ConflictError, Problem, RegistryError
from registry.source_words import advice, counted, invalid, served
from registry.terminal import Terminal, local_time

SYNC_TIMEOUT_S = 120
POLL_S = 0.3
PAGE_SIZE = 200


@click.group()
def source() -> None:
    """Add, list, show or remove the repositories and folders that are indexed."""


@source.command()
@click.argument("location")
@click.option("--name", help="A short name; owner/name or the folder's name when left out.")
@click.option("--branch", help="The branch of a repository; its default one when left out.")
@click.option("--sub-path", "sub_paths", multiple=True, metavar="FOLDER",
              help="Look for components only below this folder; may be given several times.")
@click.option("--tag-prefix", metavar="TEXT",
              help="Have tags name versions: `v` takes the tag v1.0.0 for version 1.0.0.")
@click.option("--use-my-token", is_flag=True,
              help="Your GitHub token may be used to sync it; a private repository needs that.")
@api_command
def add(client: ApiClient, terminal: Terminal, location: str, sub_paths: tuple[str, ...],
        **options: Any) -> int:
    """Index the components of a repository on GitHub or, for an admin, of a folder.

    LOCATION is owner/name or an address of the repository; or a folder on the server's machine:
    one inside a Git working tree, a bare repository, or a plain folder. What looks like
    owner/name and is a folder here is meant as that folder. Waits for the first sync and says
    what it found.
    """
    where = str(Path(location).resolve()) if Path(location).exists() else location
    made = client.post("sources", body={
        "location": where, "sub_paths": list(sub_paths),
        **{name: value for name, value in options.items() if value not in (None, False)}})
    return _report(client, terminal, [_wait(client, terminal, made["name"], None)])


@source.command()
@click.argument("name")
@api_command
def show(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Show how a source stands: its sync, how fresh it is, every invalid file, and advice."""
    found = client.get("sources", name, "status")
    files = _files(client, name)
    if terminal.is_json:
        terminal.json({**found, "files": files})
        return
    for fact, value in _facts(found):
        terminal.result(f"{fact + ':':<12} {value}")
    _say_states(terminal, found)
    _print_files(terminal, files["problems"])
    _print_files(terminal, files["warnings"])


@source.command("list")
@api_command
def list_(client: ApiClient, terminal: Terminal) -> None:
    """List the sources and how their last sync went."""
    found = client.get("sources")
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["name", "location", "head", "synced", "components", "invalid", "state",
                    "error"], [
        (each["name"], each["location"], (each["head"] or "")[:12], local_time(each["synced_at"]),
         each["components"], each["problems"], each["state_title"], each["sync_error"])
        for each in found["sources"]])


@source.command()
@click.argument("name")
@api_command
def remove(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Take a source and its components out of the catalog; the repository stays as it is."""
    client.delete("sources", name)
    terminal.say(f"{name} is removed.")
    if terminal.is_json:
        terminal.json({"removed": name})


@source.command()
@click.argument("name")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask before it is taken over.")
@api_command
def agree(client: ApiClient, terminal: Terminal, name: str, is_confirmed: bool) -> None:
    """Take over a commit that was held back because it takes away much; for the owner."""
    found = client.get("sources", name, "status")
    if not found["held_head"]:
        raise ConflictError(f"Nothing is held back of {name}.")
    _say_states(terminal, found)
    if not is_confirmed:
        click.confirm(f"Take {found['held_count']} versions out of the marketplace?", abort=True,
                      err=True)
    client.post("sources", name, "agree", body={"head": found["held_head"]})
    _done(terminal, source_words.AGREED, name)


@source.command()
@click.argument("name")
@api_command
def keep(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Keep what is in the marketplace, whatever commit was held back; for the owner."""
    client.post("sources", name, "keep")
    _done(terminal, source_words.DECIDED_TO_KEEP, name)


@source.command()
@click.argument("name")
@api_command
def pause(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Sync a source no more until it is resumed; its versions keep serving. For the owner."""
    client.post("sources", name, "pause")
    _done(terminal, source_words.PAUSED, name)


@source.command()
@click.argument("name")
@api_command
def resume(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Sync a paused source again, first of all now; for the owner."""
    client.post("sources", name, "resume")
    _done(terminal, source_words.RESUMED, name)


@source.command("use-my-token")
@click.argument("name")
@api_command
def use_my_token(client: ApiClient, terminal: Terminal, name: str) -> None:
    """Have a source synced in the background with your own GitHub token from now on."""
    client.put("sources", name, "sponsor")
    _done(terminal, source_words.SPONSORED, name)


@source.command()
@click.argument("name")
@click.option("--make", "is_made", is_flag=True,
              help="Have GitHub make it, with your token, which needs the right to.")
@api_command
def webhook(client: ApiClient, terminal: Terminal, name: str, is_made: bool) -> None:
    """Show the address and secret of a source's webhook, or make it; for the owner."""
    method = client.post if is_made else client.get
    found = method("sources", name, "webhook")
    if terminal.is_json:
        terminal.json(found)
    elif is_made:
        _done(terminal, source_words.HOOKED, name)
    else:
        for fact, value in (("address", found["url"]), ("content type", "application/json"),
                            ("secret", found["secret"]), ("events", source_words.HOOK_EVENTS)):
            terminal.result(f"{fact + ':':<13} {value}")


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@api_command
def sync(client: ApiClient, terminal: Terminal, names: tuple[str, ...]) -> int:
    """Bring the catalog to a source's newest commit.

    Without a name, every source is synced that is not paused. Waits for the end and ends with 1
    when a sync failed or a file of it is invalid.
    """
    found = client.get("sources")["sources"]
    before = {each["name"]: each["synced_at"] for each in found}
    chosen = names or tuple(each["name"] for each in found if not each["paused_at"])
    for name in chosen:
        client.post("sources", name, "sync")
    return _report(client, terminal,
                   [_wait(client, terminal, name, before.get(name)) for name in chosen])


def _wait(client: ApiClient, terminal: Terminal, name: str, before: str | None) -> dict[str, Any]:
    """How the source stands once its time of sync differs from `before`; a sync may take long."""
    give_up_at = time.monotonic() + SYNC_TIMEOUT_S
    with terminal.progress() as progress:
        bar = progress.add_task(f"sync {name}", total=None)
        while time.monotonic() < give_up_at:
            found = client.get("sources", name, "status")
            if found["synced_at"] not in (None, before):
                return found
            if told := found["progress"]:
                give_up_at = time.monotonic() + SYNC_TIMEOUT_S
                progress.update(bar, description=f"{name}: {told['title']}",
                                completed=told["done"], total=told["total"] or None)
            time.sleep(POLL_S)
    raise RegistryError(f"No sync of {name} within {SYNC_TIMEOUT_S} s. Is the sync process "
                        "running? Its log is <PAISHARE_HOME>/logs/sync.log.")


def _report(client: ApiClient, terminal: Terminal, sources: list[dict[str, Any]]) -> int:
    """Say what each sync found; 1 where one failed or left a file out."""
    if terminal.is_json:
        terminal.json({"sources": sources})
    for each in [] if terminal.is_json else sources:
        terminal.result(f"{each['name']}: {counted(each['components'], 'component')} at "
                        f"{(each['head'] or 'no commit')[:12]}, {invalid(each['problems'])}, "
                        f"{advice(each['warnings'])}")
        if each["sync_error"]:
            terminal.say(f"{each['name']}: {each['sync_error']}", "red")
        if each["problems"]:
            _print_files(terminal, _files(client, each["name"])["problems"])
        if each["warnings"]:
            terminal.say(f"{each['name']}: `paishare source show {each['name']}` gives the "
                         "advice.")
    return 1 if any(each["sync_error"] or each["problems"] for each in sources) else 0


def _files(client: ApiClient, name: str) -> dict[str, list[dict[str, Any]]]:
    """Every invalid file, and every one with advice, however many pages that takes."""
    files: dict[str, list[dict[str, Any]]] = {"problems": [], "warnings": []}
    number, most = 0, 1
    while number * PAGE_SIZE < most:
        number += 1
        page = client.get("sources", name, "problems", page=number, page_size=PAGE_SIZE)
        for kind, found in files.items():
            found += page[kind]
        most = max(page["problem_count"], page["warning_count"])
    return files


def _facts(found: dict[str, Any]) -> list[tuple[str, Any]]:
    told = found["progress"]
    return [(fact, value) for fact, value in [
        ("source", found["name"] + (" (private)" if found["is_private"] else "")),
        ("location", found["location"]), ("branch", _branch(found)),
        ("state", found["state_title"]),
        ("progress", told and f"{told['title']}, {told['done']} of {told['total']}"),
        ("freshness", found["freshness"]), ("last sync", local_time(found["synced_at"])),
        ("next sync", local_time(found["next_sync_at"])),
        ("components", served(found["components"], found["withdrawn"])),
        ("invalid", counted(found["problems"], "file")),
        ("advice", counted(found["warnings"], "component")),
        ("owner", found["owner"]), ("token of", found["sponsor"]),
    ] if value not in (None, "")]


def _branch(found: dict[str, Any]) -> str | None:
    named = found["default_branch"] and f"{found['default_branch']}, the default one"
    return found["branch"] or named


def _say_states(terminal: Terminal, found: dict[str, Any]) -> None:
    for state in found["states"]:
        terminal.say(f"{state['title']}. {state['text']}", "yellow")


def _done(terminal: Terminal, text: str, name: str) -> None:
    terminal.say(text.format(name=name))
    if terminal.is_json:
        terminal.json({"source": name})


def _print_files(terminal: Terminal, files: list[dict[str, Any]]) -> None:
    for file in files:
        for error in file["errors"]:
            terminal.say(problem_line(Problem(**error), file["path"]))
