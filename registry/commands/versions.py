"""Commands about what lies between versions, and who uses one: diff, changelog and uses."""
from __future__ import annotations

import difflib
from typing import Any, Mapping

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.terminal import Terminal, local_time


@click.command()
@click.argument("old")
@click.argument("new", required=False)
@click.option("--lines", "is_lines", is_flag=True, help="Print the YAML line by line instead.")
@api_command
def diff(client: ApiClient, terminal: Terminal, old: str, new: str | None, is_lines: bool) -> None:
    """Compare two versions of a component, in words.

    OLD and NEW are references, for example digits_classifier@1.0.0. Without NEW, OLD is compared
    with the latest. Each change is breaking, compatible or cosmetic.
    """
    found = client.get("compare", a=old, b=new or old.partition("@")[0])
    if is_lines:
        _print_lines(client, terminal, found)
    elif terminal.is_json:
        terminal.json(found)
    else:
        old_name, new_name = (found[each]["exact_reference"] for each in ("a", "b"))
        terminal.result(f"{old_name} → {new_name}: {found['verdict']}")
        _print_difference(terminal, found)


@click.command()
@click.argument("reference")
@click.option("--page", default=1, show_default=True, type=click.IntRange(1))
@click.option("--page-size", default=20, show_default=True, type=click.IntRange(1, 100))
@api_command
def changelog(client: ApiClient, terminal: Terminal, reference: str, page: int,
              page_size: int) -> None:
    """Tell what each version of a component changed, newest first."""
    entry = client.get("resolve", reference=reference)
    found = client.get("components", entry["type"], entry["name"], "changelog",
                       source=entry["source"], page=page, page_size=page_size)
    if terminal.is_json:
        terminal.json(found)
        return
    for step in found["steps"]:
        difference = step["difference"]
        terminal.result(f"{_named(step['version'])}  {local_time(step['version']['committed_at'])}"
                        f"  {difference['verdict'] if difference else 'the first version'}")
        if difference:
            _print_difference(terminal, difference)
        terminal.result("")
    shown = (page - 1) * page_size + len(found["steps"])
    if shown < found["total"]:
        terminal.say(f"{shown} of {found['total']}; more with --page {page + 1}.")


@click.command()
@click.argument("reference")
@api_command
def uses(client: ApiClient, terminal: Terminal, reference: str) -> None:
    """Tell what a version uses, who uses it, and what a yank would change."""
    entry = client.get("resolve", reference=reference)
    path = ("components", entry["type"], entry["name"])
    which = {"source": entry["source"], "version": reference.partition("@")[2]}
    found = {**client.get(*path, "uses", **which), **client.get(*path, "used-by", **which)}
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["uses", "kind", "in the catalog"], [
        (_written(use), use["kind"], use["found"]["exact_reference"] if use["found"] else "")
        for use in found["uses"]])
    terminal.result("")
    terminal.table(["used by", "as", "older versions"], [
        (user["version"]["exact_reference"], _written(user["use"]), user["older"] or "")
        for user in found["users"]])
    for each in found["if_yanked"]:
        after = f"would mean {each['after']['exact_reference']}" if each["after"] \
            else f"would break: {each['reason']}"
        terminal.say(f"If yanked: {_written(each['use'])} of "
                     f"{each['version']['exact_reference']} {after}", "yellow")


def _print_difference(terminal: Terminal, difference: Mapping[str, Any]) -> None:
    for grade in ("breaking", "compatible", "cosmetic"):
        for change in difference["changes"]:
            if change["verdict"] == grade:
                terminal.result(f"  {grade:<10}  {change['sentence']}")
    if difference["warning"]:
        terminal.say(difference["warning"], "yellow")


def _print_lines(client: ApiClient, terminal: Terminal, found: Mapping[str, Any]) -> None:
    old, new = (client.get("components", each["type"], each["name"], source=each["source"],
                           version=each["exact_reference"].rpartition("@")[2])["text"]
                for each in (found["a"], found["b"]))
    for line in difflib.unified_diff(
            old.splitlines(), new.splitlines(), found["a"]["exact_reference"],
            found["b"]["exact_reference"], lineterm=""):
        terminal.result(line)


def _named(version: Mapping[str, Any]) -> str:
    return f"{version['type']}/{version['name']}@{version['version'] or version['commit'][:12]}"


def _written(use: Mapping[str, Any]) -> str:
    source = f"{use['source']}:" if use["source"] else ""
    type_name = f"{use['type']}/" if use["kind"] == "reference" and use["type"] else ""
    version = f"@{use['version']}" if use["version"] else ""
    return f"{source}{type_name}{use['target']}{version}"
