"""Commands about what jobs truly ran: receipt, again."""
from __future__ import annotations

import click

from registry import receipts
from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.terminal import Terminal

_attempt = click.option("--attempt", type=click.IntRange(1), help="This attempt, else the newest.")


@click.command()
@click.argument("id_", metavar="ID")
@_attempt
@click.option("--with", "other", metavar="ID", help="Show only in what this other job differs.")
@click.option("--other-attempt", type=click.IntRange(1), help="Of the other job.")
@api_command
def receipt(client: ApiClient, terminal: Terminal, id_: str, attempt: int | None,
            other: str | None, other_attempt: int | None) -> None:
    """Show what an attempt truly ran with, or compare two."""
    if other:
        found = client.get("jobs", id_, "receipt", "differences", other=other,
                           attempt=attempt or 0, other_attempt=other_attempt or 0)
        if terminal.is_json:
            terminal.json(found)
        elif not found["differences"]:
            terminal.result("Both ran the same, on the same, to the same end.")
        else:
            terminal.table(["of", "what", id_, other], [
                (each["group"], each["what"], each["first"], each["second"])
                for each in found["differences"]])
        return
    found = client.get("jobs", id_, "receipt", attempt=attempt or 0)
    if terminal.is_json:
        terminal.json(found)
        return
    terminal.table(["of", "what", "value"], [
        (fact.group, fact.what, fact.value) for fact in receipts.facts(found)])


@click.command()
@click.argument("id_", metavar="ID")
@_attempt
@api_command
def again(client: ApiClient, terminal: Terminal, id_: str, attempt: int | None) -> None:
    """Run exactly what a job ran: the same images and inputs."""
    made = client.run_again(id_, attempt or 0)
    if terminal.is_json:
        terminal.json(made)
        return
    terminal.result(made["id"])
    terminal.say(f"{made['url']}\nFollow it with: paishare logs -f {made['id']}")
