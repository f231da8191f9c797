"""The command show: one component of the marketplace."""
from __future__ import annotations

from typing import Any

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.reference import DEPRECATED, YANKED
from registry.terminal import Terminal, local_time


@click.command()
@click.argument("reference")
@click.option("--yaml", "is_yaml", is_flag=True, help="Print the component's YAML only.")
@api_command
def show(client: ApiClient, terminal: Terminal, reference: str, is_yaml: bool) -> None:
    """Show one component: description, parameters, versions.

    REFERENCE is [SOURCE:][TYPE/]NAME[@VERSION], for example job/digits_classifier@1.0.0.
    """
    exact, entry = _entry(client, reference)
    if is_yaml:
        click.echo(entry["text"], nl=False)
    elif terminal.is_json:
        terminal.json(entry)
    else:
        _show_entry(terminal, exact, entry)


def _entry(client: ApiClient, reference: str) -> tuple[str, dict[str, Any]]:
    """Its exact reference, and the whole; type and source are those that the server finds."""
    found = client.get("resolve", reference=reference)
    entry = client.get("components", found["type"], found["name"], source=found["source"],
                       version=reference.partition("@")[2])
    return found["exact_reference"], entry


def _show_entry(terminal: Terminal, exact: str, entry: dict[str, Any]) -> None:
    parameters = entry["document"].get("parameters") or {}
    terminal.fields([
        ("reference", exact), ("path", entry["path"]), ("commit", entry["commit"]),
        ("contributor", entry["contributor"]),
        ("parameters", ", ".join(f"{name}={value}" for name, value in parameters.items())),
        ("prerequisites", ", ".join(needed["reference"] or f"{needed['type']}/{needed['name']}"
                                    for needed in entry["prerequisites"])),
    ])
    terminal.result("")
    terminal.markdown(entry["description"])
    terminal.result("")
    terminal.table(["version", "committed", "commit", ""], [
        (version["version"], local_time(version["committed_at"]), version["commit"][:12],
         ", ".join(_states(version))) for version in entry["versions"]])
    for needed in entry["prerequisites"]:
        if needed["problem"]:
            terminal.say(f"prerequisite {needed['name']}: {needed['problem']}", "yellow")
    for kind in (YANKED, DEPRECATED):
        if entry[kind]:
            terminal.say(f"{kind}: {_advice(entry[kind])}", "yellow")
    for warning in entry["warnings"]:
        terminal.say(f"warning: {warning['path']}: {warning['message']}", "yellow")


def _states(version: dict[str, Any]) -> list[str]:
    """What there is to say of one version in the list."""
    states = {"latest": version["is_latest"], "withdrawn": not version["is_present"],
              "moved": version["is_moved"], YANKED: version[YANKED],
              DEPRECATED: version[DEPRECATED]}
    return [*(state for state, is_so in states.items() if is_so), *version["tags"]]


def _advice(mark: dict[str, Any]) -> str:
    return mark["reason"] + (f" Use {mark['successor']} instead." if mark["successor"] else "")
