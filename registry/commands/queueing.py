"""The command queue: see the machine's queue, pause it, let it go on, empty the machine."""
from __future__ import annotations

import time
from typing import Any

import click

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.terminal import Terminal

POLL_S = 1.0


@click.group()
def queue() -> None:
    """See the machine's queue; as an admin, pause it."""


@queue.command()
@api_command
def show(client: ApiClient, terminal: Terminal) -> None:
    """Show how many jobs wait and run, and what each virtual cluster has left."""
    found = client.get("machine")
    if terminal.is_json:
        terminal.json({key: found[key] for key in ("queue", "virtual_clusters")})
        return
    terminal.fields([("state", found["queue"]["paused"] or "Jobs start."),
                     ("waiting", str(found["queue"]["waiting"])),
                     ("running", str(found["queue"]["running"]))])
    terminal.result("")
    terminal.table(["virtual cluster", "members", "jobs", "CPUs", "memory MiB", "GPUs"], [
        (each["name"], "everybody" if each["members"] is None else " ".join(each["members"]),
         *(_left(each, name) for name in ("jobs", "cpus", "memory_mb", "gpus")))
        for each in found["virtual_clusters"]])


@queue.command()
@click.option("--reason", default="", help="What people are told whose jobs wait.")
@api_command
def pause(client: ApiClient, terminal: Terminal, reason: str) -> None:
    """Start no more jobs; running ones go on. For an admin.

    Lasts until `paishare queue resume`, also over a restart.
    """
    _tell(terminal, client.post("queue", "pause", body={"reason": reason}))


@queue.command()
@api_command
def resume(client: ApiClient, terminal: Terminal) -> None:
    """Let jobs start again. For an admin."""
    _tell(terminal, client.post("queue", "resume", body={}))


@queue.command()
@click.option("--reason", default="maintenance", show_default=True,
              help="What people are told whose jobs wait.")
@api_command
def drain(client: ApiClient, terminal: Terminal, reason: str) -> None:
    """Pause the queue and wait until no job runs. For an admin.

    The machine can be serviced then. Ctrl-C ends the waiting, not the pause.
    """
    found, said = client.post("queue", "pause", body={"reason": reason}), 0
    while found["running"]:
        if found["running"] != said:
            said = found["running"]
            terminal.say(f"{said} running job{'s' if said > 1 else ''} left")
        time.sleep(POLL_S)
        found = client.get("queue")
    _tell(terminal, found)


def _tell(terminal: Terminal, found: dict[str, Any]) -> None:
    if terminal.is_json:
        terminal.json(found)
    else:
        terminal.result(found["paused"] or "Jobs start.")
        terminal.say(f"{found['waiting']} jobs wait, {found['running']} run.")


def _left(cluster: dict[str, Any], name: str) -> str:
    quota = cluster["quota"][name]
    return "" if quota is None else f"{max(0, cluster['free'][name])} of {quota} free"
