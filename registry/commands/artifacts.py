"""The command artifacts: list what a job wrote, or bring it here."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.errors import RegistryError
from registry.terminal import Terminal, local_time, size


@click.command()
@click.argument("id_", metavar="ID")
@click.option("--download", "folder", metavar="DIR",
              type=click.Path(file_okay=False, path_type=Path),
              help="Write the files to DIR/<attempt>/<task>/<path>.")
@api_command
def artifacts(client: ApiClient, terminal: Terminal, id_: str, folder: Path | None) -> None:
    """List the files that a job wrote, or download them.

    Artifacts are what a task writes under $PAI_OUTPUT_DIR.
    """
    found = client.get("jobs", id_, "artifacts")["artifacts"]
    if folder is not None:
        _download(client, terminal, id_, found, folder)
    elif terminal.is_json:
        terminal.json({"artifacts": found})
    else:
        terminal.table(["path", "size", "modified"], [
            (_path(each), size(each["size"]), local_time(each["modified"])) for each in found])


def _download(client: ApiClient, terminal: Terminal, job_id: str, found: list[dict[str, Any]],
              folder: Path) -> None:
    files = []
    with terminal.progress(is_bytes=True) as progress:
        for each in found:
            target = folder / _path(each)
            if not target.resolve().is_relative_to(folder.resolve()):
                raise RegistryError(f"{_path(each)} would be written outside {folder}.")
            _fetch(client, job_id, each, target, progress)
            files.append(str(target))
    if terminal.is_json:
        terminal.json({"files": files})
    else:
        terminal.result("\n".join(files) or "The job has no artifacts.")


def _fetch(client: ApiClient, job_id: str, artifact: dict[str, Any], target: Path,
           progress: Progress) -> None:
    """Write aside and swap, so that a file with its name is always whole."""
    bar = progress.add_task(_path(artifact), total=artifact["size"])
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.part")
    with aside.open("wb") as file:
        for piece in client.download("jobs", job_id, "artifacts", artifact["attempt"],
                                     artifact["role"], artifact["index"], artifact["path"]):
            file.write(piece)
            progress.advance(bar, len(piece))
    os.replace(aside, target)


def _path(artifact: dict[str, Any]) -> str:
    return (f"{artifact['attempt']}/{artifact['role']}-{artifact['index']}/"
            f"{artifact['path']}")
