"""The command convert: a job of OpenPAI's other forms becomes one that runs here."""
from __future__ import annotations

from typing import TextIO

import click

from registry.commands.options import json_option
from registry.conversion import convert as converted
from registry.error_text import error_lines, problem_line
from registry.errors import InvalidInputError
from registry.terminal import Terminal


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@json_option
def convert(file: TextIO, is_json: bool) -> int:
    """Turn a job of OpenPAI's other forms into one that runs here.

    FILE, or - for standard input, holds v1 JSON or YAML of protocol 2. The YAML that runs here
    goes to standard output; what of the job means nothing here is told beside it.
    """
    text = file.read()
    try:
        made = converted(text)
    except InvalidInputError as error:
        click.secho("\n".join(error_lines(error, file.name)), fg="red", err=True)
        return 1
    if is_json:
        Terminal().json({"form": made and made.form, "yaml": made.yaml if made else text,
                         "notes": [note.as_json() for note in made.notes] if made else []})
        return 0
    for note in made.notes if made else ():
        click.echo(problem_line(note, file.name), err=True)
    if made is None:
        click.echo(f"{file.name} is in no other form; it is printed as it is.", err=True)
    click.echo(made.yaml if made else text, nl=False)
    return 0
