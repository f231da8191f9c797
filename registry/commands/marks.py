"""Commands for owners of components: yank, deprecate, purge."""
from __future__ import annotations

from typing import Any

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.reference import DEPRECATED, YANKED
from registry.terminal import Terminal

reason_option = click.option("--reason", metavar="TEXT", default="",
                             help="Why; everyone who meets the version reads it.")
undo_option = click.option("--undo", "is_undone", is_flag=True, help="Take it back.")


@click.command()
@click.argument("reference")
@reason_option
@undo_option
@api_command
def yank(client: ApiClient, terminal: Terminal, reference: str, reason: str,
         is_undone: bool) -> None:
    """Hide a version from `latest`, ranges and lists.

    REFERENCE names the version exactly: job/x@1.0.0, or its commit. Who names it so still gets
    it, with your reason. For the owner of its source, or an admin.
    """
    _change(client, terminal, YANKED, reference, reason, is_undone)


@click.command()
@click.argument("reference")
@reason_option
@click.option("--successor", metavar="REFERENCE", default="", help="What to use instead.")
@undo_option
@api_command
def deprecate(client: ApiClient, terminal: Terminal, reference: str, reason: str, successor: str,
              is_undone: bool) -> None:
    """Advise against a component or version.

    It is found and runs as before, with your reason beside it. Without a version, REFERENCE
    means every version. For the owner of its source, or an admin.
    """
    _change(client, terminal, DEPRECATED, reference, reason, is_undone, successor)


@click.command()
@click.argument("reference")
@reason_option
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask whether you are sure.")
@api_command
def purge(client: ApiClient, terminal: Terminal, reference: str, reason: str,
          is_confirmed: bool) -> None:
    """Delete the text of one version for good.

    REFERENCE names the version exactly: job/x@1.0.0, or its commit. Nothing brings it back: no
    sync, and no copy of the catalog. References to it answer "gone" with your reason. For an
    admin.
    """
    _required(reason)
    if not is_confirmed:
        click.confirm(f"Delete {reference} for good? This cannot be undone.", abort=True, err=True)
    gone = client.post("purges", body={"reference": reference, "reason": reason})
    if terminal.is_json:
        terminal.json(gone)
    else:
        terminal.result(f"{gone['source']}:{gone['reference']} (blob {gone['blob'][:12]}) is "
                        "deleted for good.")


def _change(client: ApiClient, terminal: Terminal, kind: str, reference: str, reason: str,
            is_undone: bool, successor: str = "") -> None:
    if is_undone:
        client.delete("marks", kind=kind, reference=reference)
        terminal.say(f"{reference} is no longer {kind}.")
        return
    body = {"kind": kind, "reference": reference, "reason": _required(reason),
            "successor": successor}
    found: dict[str, Any] = client.post("marks", body=body)
    if terminal.is_json:
        terminal.json(found)
    else:
        terminal.say(f"{reference} is {kind}. Take it back with --undo.")


def _required(reason: str) -> str:
    if not reason.strip():
        raise click.UsageError("Give a --reason; everyone who meets the version reads it.")
    return reason
