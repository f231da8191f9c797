"""The command artifacts: list what a job wrote, or bring it here."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterable

import click
from rich.progress import Progress, TaskID

from registry.api_client import ApiClient
from registry.commands.options import api_command
from registry.errors import RegistryError
from registry.terminal import Terminal, local_time, size

PAGE_SIZE = 1000
FILE_TYPE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("id_", metavar="ID")
@click.option("--download", "folder", metavar="DIR",
              type=click.Path(file_okay=False, path_type=Path),
              help="Write the files to DIR/<attempt>/<task>/<path>.")
@click.option("--archive", "target", metavar="FILE", type=FILE_TYPE,
              help="Write all of them to one zip.")
@click.option("--checksums", "has_checksums", is_flag=True, help="List the SHA-256 of each file.")
@api_command
def artifacts(client: ApiClient, terminal: Terminal, id_: str, folder: Path | None,
              target: Path | None, has_checksums: bool) -> None:
    """List the files that a job wrote, or download them.

    Artifacts are what a task writes under $PAI_OUTPUT_DIR. A zip has their checksums in its file
    SHA256SUMS: sha256sum -c SHA256SUMS.
    """
    if target is not None:
        _archive(client, terminal, id_, target)
        return
    found, notice = _listed(client, id_, has_checksums)
    if notice:
        terminal.say(notice, "yellow")
    if folder is not None:
        _download(client, terminal, id_, found, folder)
    elif terminal.is_json:
        terminal.json({"artifacts": found})
    else:
        sums = ["sha256"] if has_checksums else []
        terminal.table(["path", "size", "modified", *sums], [
            (_path(each), size(each["size"]), local_time(each["modified"]),
             *(each[name] or "" for name in sums)) for each in found])


def _listed(client: ApiClient, job_id: str, has_checksums: bool
            ) -> tuple[list[dict[str, Any]], str | None]:
    """All files, page by page, and why some are gone, if they are."""
    found: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None:
        page = client.get("jobs", job_id, "artifacts", limit=PAGE_SIZE, after=after or None,
                          checksums="true" if has_checksums else None)
        found += page["artifacts"]
        after = page["next"]
    return found, page["notice"]


def _archive(client: ApiClient, terminal: Terminal, job_id: str, target: Path) -> None:
    with terminal.progress(is_bytes=True) as progress:
        bar = progress.add_task(target.name, total=None)
        _write(target, client.download("jobs", job_id, "archive"), progress, bar)
    if terminal.is_json:
        terminal.json({"files": [str(target)]})
    else:
        terminal.result(str(target))


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
    bar = progress.add_task(_path(artifact), total=artifact["size"])
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, client.download("jobs", job_id, "artifacts", artifact["attempt"],
                                   artifact["role"], artifact["index"], artifact["path"]),
           progress, bar)


def _write(target: Path, pieces: Iterable[bytes], progress: Progress, bar: TaskID) -> None:
    """Write aside and swap, so that a file with its name is always whole."""
    aside = target.with_name(f".{target.name}.part")
    with aside.open("wb") as file:
        for piece in pieces:
            file.write(piece)
            progress.advance(bar, len(piece))
    os.replace(aside, target)


def _path(artifact: dict[str, Any]) -> str:
    return (f"{artifact['attempt']}/{artifact['role']}-{artifact['index']}/"
            f"{artifact['path']}")
