"""YAML text → a tree of nodes, within fixed limits, or an error that says where and what to do."""
from __future__ import annotations

import bisect
import contextlib
import dataclasses
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Iterable, Iterator, Sequence

import yaml

from registry.errors import ComponentError, Problem
from runner.sentence import Sentence, joined, plural

MAX_BYTES = 256_000
MAX_PROBLEMS = 100
MAX_DEPTH = 50
MAX_NODES = 6_000
MAX_ALIASES = 20
MAX_CHARACTERS = 2 * MAX_BYTES

Path = tuple[str | int, ...]

_LINE_BREAK = re.compile("\r\n|\r|\n")
_TAB_INDENT = re.compile("^ *\t[ \t]*(?=[^ \t#\r\n])", re.MULTILINE)
_BLANK = re.compile(r"\s|#.*")
_SIMPLE_KEY = re.compile(r"[A-Za-z0-9_$~-]+")

# What libyaml says, and what a person can do about it.
_ADVICE = (
    ("mapping values are not allowed",
     Sentence(
         "A `:` cannot stand here. If it belongs to a text, put the whole text in quotes; if this "
         "is a field, give it a line of its own, indented like the fields around it.")),
    ("block sequence entries are not allowed",
     Sentence(
         "A list item `- …` cannot stand here. Begin the list on the next line, two spaces further "
         "in.")),
    ("did not find expected key",
     Sentence(
         "A new field was expected here. Indent this line like the fields above it; if it belongs "
         "to the value before it, put that whole value in one pair of quotes.")),
    ("did not find expected '-' indicator",
     Sentence(
         "A list item was expected here. Begin the line with `- `, indented like the items above "
         "it.")),
    ("did not find expected ',' or ']'",
     Sentence(
         "The list opened with `[` here is not closed. Separate its items by commas and write `]` "
         "at its end.")),
    ("did not find expected ',' or '}'",
     Sentence(
         "The fields opened with `{` here are not closed. Separate them by commas and write `}` at "
         "their end.")),
    ("found unexpected end of stream",
     Sentence("The quoted text that begins here is never closed. Write the closing quote.")),
    ("could not find expected ':'",
     Sentence(
         "This line is no field: a `:` and a space are missing after its name. Write "
         "`name: value`.")),
    ("found unknown escape character",
     Sentence(
         "This backslash sequence is unknown between double quotes. Write `\\\\` for a backslash, "
         "or use single quotes.")),
    ("found invalid Unicode character escape",
     Sentence(
         "This backslash sequence names no character. Write `\\\\` for a backslash, or use single "
         "quotes.")),
    ("did not find expected <document start>",
     Sentence("The document ends before this line. Indent it like the first line of the file.")),
    ("did not find expected alphabetic or numeric character",
     Sentence(
         "`*` and `&` begin an alias or an anchor of YAML. If a text is meant, put it in quotes.")),
    ("found undefined tag handle", Sentence("A value cannot begin with `!`. Put it in quotes.")),
    ("did not find expected comment or line break",
     Sentence("After `|` or `>` the text must begin on the next line, two spaces further in.")),
    ("did not find expected node content",
     Sentence(
         "A value is missing or misplaced here. Write the value; put a text that begins with `]`, "
         "`}`, `,` or `?` in quotes.")),
    ("found incompatible YAML document", Sentence(
        "Only YAML 1.2 is read. Remove the `%YAML` line.")),
    ("found unknown directive name", Sentence(
        "Lines that begin with `%` are not read. Remove the line.")),
)
# Not the end of the file, where libyaml notices, but where the quote or bracket was opened.
_MARKED_AT_THE_BEGIN = ("found unexpected end of stream", "did not find expected ','")


def path_text(path: Path) -> str:
    """Write a path for people: `tasks[0].resource`, `parameters["a.b"]`."""
    parts = [f"[{step}]" if isinstance(step, int)
             else f".{step}" if _SIMPLE_KEY.fullmatch(step) else f'["{step}"]' for step in path]
    return "".join(parts).removeprefix(".")


class Lines:
    """A text that can say on which line and column an offset is; both count from 1.

    `skipped` is 1 for a byte order mark, which neither libyaml nor a person counts.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.skipped = int(text.startswith("\ufeff"))

    @cached_property
    def _starts(self) -> list[int]:
        return [self.skipped, *(found.end() for found in _LINE_BREAK.finditer(self.text))]

    def line_column(self, offset: int) -> tuple[int, int]:
        line = max(bisect.bisect_right(self._starts, offset), 1)
        return line, max(offset - self._starts[line - 1], 0) + 1

    def problem(self, offset: int, message: str, path: Path = (), severity: str = "error"
                ) -> Problem:
        line, column = self.line_column(min(offset, len(self.text)))
        return Problem(message=message, path=path_text(path), line=line, column=column,
                       severity=severity)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by their places; those without one come first."""
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


def summary(problems: Iterable[Problem]) -> str:
    """The first error with its place, and how many errors follow."""
    errors = [problem for problem in in_order(problems) if problem.severity == "error"]
    first, rest = errors[0], len(errors) - 1
    said = first.message if not first.line else Sentence(
        "Line {line}, column {column}: {message}", line=first.line, column=first.column,
        message=first.message)
    return joined(said, plural("({count} more problem)", "({count} more problems)", rest)
                  if rest else "")


def component_error(problems: Sequence[Problem]) -> ComponentError:
    """Join problems, at least one an error, into one exception, in the order of their places."""
    return ComponentError(summary(problems), in_order(problems))


@dataclass(slots=True)
class Node:
    """One value as written; `kind` is `scalar`, `map` or `list`, places are character offsets.

    `tag` is `plain` for an unquoted scalar, else the full YAML tag. `nodes`, `characters` and
    `height` measure the node with all that is in it, aliases written out.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    tag: str = ""
    items: list[tuple[Node | None, Node]] = field(default_factory=list)
    nodes: int = 1
    characters: int = 0
    height: int = 1
    waiting_key: Node | None = None

    def add(self, child: Node) -> None:
        """Append a list item, or take a key and then its value."""
        self.nodes += child.nodes
        self.characters += child.characters
        if self.height <= child.height:
            self.height = child.height + 1
        if self.kind == "map" and self.waiting_key is None:
            self.waiting_key = child
        else:
            self.items.append((self.waiting_key, child))
            self.waiting_key = None


def compose(lines: Lines) -> Node | None:
    """Read the one document of a text; None where it holds none.

    Raises ComponentError with the place, also when a limit is passed.
    """
    composer = _Composer(lines)
    for event in _events(lines):
        composer.take(event)
    return composer.root


class _Composer:
    """Takes the parser's events one by one and refuses as soon as a limit is passed."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.root: Node | None = None
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._aliases = self._nodes = self._characters = 0

    def take(self, event: Any) -> None:
        start = event.start_mark.index + self.lines.skipped
        end = event.end_mark.index + self.lines.skipped
        if isinstance(event, yaml.ScalarEvent):
            self._put(_scalar_node(event, start, end), event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, start)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end(end)
        elif isinstance(event, yaml.AliasEvent):
            self._put(self._aliased(event, start, end), None)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._check_start(event, start)

    def _check_start(self, event: Any, start: int) -> None:
        if self.root:
            raise self._refusal(start, Sentence(
                "A file holds one document. Move what follows this line to a file of its own, or "
                "remove the `---`."))
        if event.version not in (None, (1, 2)):
            raise self._refusal(start, Sentence("Only YAML 1.2 is read. Remove the `%YAML` line."))

    def _begin(self, event: Any, start: int) -> None:
        is_map = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{'map' if is_map else 'seq'}"):
            tag = event.tag.removeprefix("tag:yaml.org,2002:")[:80]
            raise self._refusal(start, Sentence("The tag `{tag}` is not read. Remove it.", tag=tag))
        node = Node("map" if is_map else "list", start, start)
        self._count(node, start)
        if event.anchor:
            self._anchors[event.anchor] = node
        self._open.append(node)

    def _end(self, end: int) -> None:
        node = self._open.pop()
        node.end = end
        self._attach(node)

    def _put(self, node: Node, anchor: str | None) -> None:
        self._count(node, node.start)
        if anchor:
            self._anchors[anchor] = node
        self._attach(node)

    def _attach(self, node: Node) -> None:
        if self._open:
            self._open[-1].add(node)
        else:
            self.root = node

    def _aliased(self, event: Any, start: int, end: int) -> Node:
        name = f"`*{event.anchor[:80]}`"
        target = self._anchors.get(event.anchor)
        self._aliases += 1
        if target is None:
            raise self._refusal(start, Sentence(
                "{name} stands for an anchor that is not above it. Put the text in quotes if no "
                "alias is meant.", name=name))
        if any(target is node for node in self._open):
            raise self._refusal(start, Sentence(
                "{name} would contain itself. Write the value out.", name=name))
        if self._aliases > MAX_ALIASES:
            raise self._refusal(start, Sentence(
                "{name} is one alias too many; {max_aliases} are possible. Write the values out.",
                name=name, max_aliases=MAX_ALIASES))
        return dataclasses.replace(target, start=start, end=end)

    def _count(self, node: Node, start: int) -> None:
        self._nodes += node.nodes
        self._characters += node.characters
        if len(self._open) + node.height > MAX_DEPTH:
            raise self._refusal(start, Sentence(
                "More than {max_depth} levels are nested here. Write it flatter.",
                max_depth=MAX_DEPTH))
        if self._nodes > MAX_NODES:
            raise self._refusal(start, Sentence(
                "Here the file passes {max_nodes:,} values, with aliases written out. Keep large "
                "contents in a file of their own.", max_nodes=MAX_NODES))
        if self._characters > MAX_CHARACTERS:
            raise self._refusal(start, Sentence(
                "The aliases multiply the text too often. Write the values out."))

    def _refusal(self, start: int, message: str) -> ComponentError:
        return component_error([self.lines.problem(start, message)])


def _scalar_node(event: Any, start: int, end: int) -> Node:
    is_plain = event.tag is None and event.implicit[0]
    tag = "plain" if is_plain else event.tag or "tag:yaml.org,2002:str"
    return Node("scalar", start, end, event.value, tag, characters=len(event.value))


def _events(lines: Lines) -> Iterator[Any]:
    try:
        yield from yaml.parse(lines.text[lines.skipped:], Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        raise component_error(_syntax_problems(lines, error)) from error


def _opened(lines: Lines) -> Any:
    """Where the list or the fields begin that an error comes within; None: within none."""
    opened: list[Any] = []
    with contextlib.suppress(yaml.MarkedYAMLError):
        for event in yaml.parse(lines.text[lines.skipped:], Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                opened.pop()
    return opened[-1] if opened else None


def _syntax_problems(lines: Lines, error: yaml.MarkedYAMLError) -> list[Problem]:
    said = error.problem or ""
    mark = error.context_mark if said.startswith(_MARKED_AT_THE_BEGIN) else error.problem_mark
    rest = lines.text[mark.index + lines.skipped:] if mark else ""
    begin = _opened(lines) if said == "did not find expected node content" else None
    if begin and begin.flow_style and not _BLANK.sub("", rest):
        said = "did not find expected ',' or " + (
            "'}'" if isinstance(begin, yaml.MappingStartEvent) else "']'")
        mark = begin.start_mark
    offset = mark.index + lines.skipped if mark else 0
    if said.startswith(("found character", "found a tab character")):
        return _stray_characters(lines, offset)
    advice = next((text for start, text in _ADVICE if said.startswith(start)),
                  Sentence(
                      "This is not YAML: {said}. Compare the indentation and the quotes here with "
                      "the lines above.", said=said))
    return [lines.problem(offset, advice)]


def _stray_characters(lines: Lines, offset: int) -> list[Problem]:
    character = lines.text[offset:offset + 1]
    if character != "\t":
        return [lines.problem(offset, Sentence(
            "A value cannot begin with `{character}` unless it is in quotes. Put it in quotes.",
            character=character))]
    tabs = [found.end() - 1 for found in _TAB_INDENT.finditer(lines.text) if found.end() > offset]
    return [lines.problem(tab, Sentence("A tab cannot indent YAML. Use two spaces for each level."))
            for tab in tabs[:MAX_PROBLEMS] or [offset]]
