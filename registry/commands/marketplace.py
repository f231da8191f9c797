"""Commands that read the marketplace: search and show."""
from __future__ import annotations

from typing import Any

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.component_rules import TYPES
from registry.terminal import Terminal, first_sentence, local_time


@click.command()
@click.argument("query", nargs=-1)
@click.option("--type", "types", type=click.Choice(TYPES), multiple=True,
              help="Only this type; may be given more than once.")
@click.option("--page", default=1, show_default=True, type=click.IntRange(1))
@click.option("--page-size", default=20, show_default=True, type=click.IntRange(1, 100))
@api_command
def search(client: ApiClient, terminal: Terminal, query: tuple[str, ...], types: tuple[str, ...],
           page: int, page_size: int) -> None:
    """Find components by words.

    Words match names, descriptions, contributors, parameters and commands: `cifar10` finds
    tensorflow_cifar10. Without words, every component is listed.
    """
    found = client.get("components", q=" ".join(query), type=list(types), page=page,
                       page_size=page_size)
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["reference", "description", "contributor"],
                   [(hit["reference"], first_sentence(hit["description"]), hit["contributor"])
                    for hit in found["components"]])
    shown = (page - 1) * page_size + len(found["components"])
    if not found["total"]:
        terminal.say(_nothing_found(found["suggestions"]))
    elif shown < found["total"]:
        terminal.say(f"{shown} of {found['total']}; more with --page {page + 1}.")


@click.command()
@click.argument("reference")
@click.option("--yaml", "is_yaml", is_flag=True, help="Print the component's YAML only.")
@api_command
def show(client: ApiClient, terminal: Terminal, reference: str, is_yaml: bool) -> None:
    """Show one component: description, parameters, versions.

    REFERENCE is [SOURCE:][TYPE/]NAME[@VERSION], for example job/digits_classifier@1.0.0.
    """
    entry = _entry(client, reference)
    if is_yaml:
        click.echo(entry["text"], nl=False)
    elif terminal.is_json:
        terminal.json(entry)
    else:
        _show_entry(terminal, entry)


def _nothing_found(suggestions: list[str]) -> str:
    hint = f" Did you mean {', '.join(suggestions)}?" if suggestions else ""
    return f"Nothing found.{hint}"


def _entry(client: ApiClient, reference: str) -> dict[str, Any]:
    """The whole entry; type and source are those that the server finds."""
    found = client.get("resolve", reference=reference)
    return client.get("components", found["type"], found["name"], source=found["source"],
                      version=reference.partition("@")[2])


def _show_entry(terminal: Terminal, entry: dict[str, Any]) -> None:
    parameters = entry["document"].get("parameters") or {}
    terminal.fields([
        ("reference", f"{entry['type']}/{entry['name']}@{entry['version'] or entry['commit']}"),
        ("source", entry["source"]), ("path", entry["path"]), ("commit", entry["commit"]),
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
         "latest" if version["is_latest"] else "" if version["is_present"] else "withdrawn")
        for version in entry["versions"]])
    for warning in entry["warnings"]:
        terminal.say(f"warning: {warning['path']}: {warning['message']}", "yellow")
