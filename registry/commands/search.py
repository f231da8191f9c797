"""The command search: find components in the language of docs/search.md."""
from __future__ import annotations

from typing import Any, Mapping

import click
from rich.cells import cell_len

from registry.api_client import ApiClient
from registry.clauses import Filter, clause_text
from registry.commands.options import api_command
from registry.component_rules import TYPES
from registry.error_text import printable
from registry.errors import InvalidInputError
from registry.hits import SORTS
from registry.query import around
from registry.terminal import Terminal, first_sentence

ALL_VERSIONS = "versions:all"


class QueryRefused(click.ClickException):
    """The server cannot read the query: wrong usage."""

    exit_code = 2


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1)
@click.option("--type", "types", type=click.Choice(TYPES), multiple=True,
              help="Only this type; may be given more than once.")
@click.option("--sort", type=click.Choice(SORTS), default=SORTS[0], show_default=True,
              help="Without words, relevance is newest first.")
@click.option("--all-versions", is_flag=True, help="Look through older versions, too.")
@click.option("--facets", "is_counting", is_flag=True,
              help="Print how many there are by contributor, tag, image …, each as a filter.")
@click.option("--page", default=1, show_default=True, type=click.IntRange(1))
@click.option("--page-size", default=20, show_default=True, type=click.IntRange(1, 100))
@api_command
def search(client: ApiClient, terminal: Terminal, query: tuple[str, ...], types: tuple[str, ...],
           sort: str, all_versions: bool, is_counting: bool, page: int, page_size: int) -> None:
    """Find components by words and filters.

    "phrases", -without and OR work, too. `cifar10` finds tensorflow_cifar10. Filters are such as
    type:job, by:openpai, 'gpu:<=4' or 'updated:>2026-01-01'; what holds quotes, parentheses, < or >
    goes into single quotes. Without words, every component is listed.
    """
    words = _checked(query)
    text = " ".join((ALL_VERSIONS, *words) if all_versions else words)
    try:
        found = client.get("components", q=text, type=list(types), sort=sort, page=page,
                           page_size=page_size)
    except InvalidInputError as error:
        raise _refusal(error, text) from error
    if terminal.is_json:
        terminal.json(found)
    elif is_counting:
        terminal.table(["filter", "count"], _counts(found["facets"]))
    else:
        _print_hits(terminal, found)


def _checked(query: tuple[str, ...]) -> tuple[str, ...]:
    """The words; what looks like an option that nobody knows is a mistake rather than a word."""
    for word in query:
        if word.startswith("--") and len(word) > 2:
            raise click.UsageError(f"There is no option {word}. To search for the word itself, "
                                   f"put it into quotes twice: '\"{word}\"'")
    return query


def _refusal(error: InvalidInputError, text: str) -> Exception:
    """The error with the query and a caret under the place."""
    for problem in error.problems:
        if problem.path == "q" and problem.column:
            before, after = around(text, problem.column - 1)
            lines = (printable(problem.message), f"  {before}{after}",
                     f"  {' ' * cell_len(before)}^")
            return QueryRefused("\n".join(lines))
    return error


def _counts(facets: Mapping[str, list[dict[str, Any]]]) -> list[tuple[str, str]]:
    return [(clause_text(Filter(field, "=", value["value"])), str(value["count"]))
            for field, values in facets.items() for value in values]


def _print_hits(terminal: Terminal, found: Mapping[str, Any]) -> None:
    terminal.table(["reference", "description", "contributor"],
                   [(hit["reference"], first_sentence(hit["description"]), hit["contributor"])
                    for hit in found["components"]])
    shown = (found["page"] - 1) * found["page_size"] + len(found["components"])
    if not found["total"]:
        terminal.say(_nothing_found(found["suggestions"]))
    elif shown < found["total"]:
        terminal.say(f"{shown} of {found['total']}; more with --page {found['page'] + 1}.")
    else:
        terminal.say(f"{found['total']} found.")


def _nothing_found(suggestions: list[str]) -> str:
    hint = f" Did you mean {', '.join(suggestions)}?" if suggestions else ""
    return f"Nothing found.{hint}"
