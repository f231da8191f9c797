"""The command validate: what the indexer would say, without a server."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from registry.commands.options import json_option
from registry.component_file import link_error, read_file
from registry.error_text import problem_line
from registry.errors import ComponentError, Problem
from registry.terminal import Terminal


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@json_option
def validate(files: tuple[Path, ...], is_json: bool) -> int:
    """Check component files on this machine.

    Says what the indexer would say, as FILE:LINE:COLUMN: PATH: MESSAGE, and ends with 1 when a
    file is invalid. Needs no server.
    """
    results = [_check(file) for file in files]
    if is_json:
        Terminal().json(results)
    else:
        for result in results:
            _print_check(result)
    return 0 if all(result["is_valid"] for result in results) else 1


def _check(file: Path) -> dict[str, Any]:
    """What is wrong with one file, as the JSON that --json prints."""
    try:
        if file.is_symlink():
            raise link_error()
        component = read_file(file.absolute().as_posix(), file.read_bytes())
    except OSError as error:
        problems: tuple[Problem, ...] = (Problem(message=f"cannot be read: {error.strerror}"),)
    except ComponentError as error:
        problems = error.problems
    else:
        return {"file": str(file), "is_valid": True, "reference": component.reference,
                "problems": [problem.as_json() for problem in component.warnings]}
    return {"file": str(file), "is_valid": False, "reference": None,
            "problems": [problem.as_json() for problem in problems]}


def _print_check(result: dict[str, Any]) -> None:
    for problem in result["problems"]:
        click.echo(problem_line(Problem(**problem), result["file"]))
    if result["is_valid"]:
        click.echo(f"{result['file']}: valid: {result['reference']}")
