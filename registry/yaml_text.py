"""YAML 1.2 text ↔ plain values: every value with its place, numbers as the browser reads them."""
from __future__ import annotations

import math
import re
from itertools import islice
from typing import Any, Callable, NamedTuple

import yaml

from registry.errors import Problem
from registry.yaml_nodes import MAX_BYTES, MAX_PROBLEMS, Lines, Node, Path, component_error, compose
from runner.sentence import Sentence, said_by

MAX_INTEGER = 2 ** 63 - 1

# U+0085, U+2028 and U+2029 end a line for libyaml, but not in YAML 1.2 and not in the browser.
_FORBIDDEN = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
                        "\U00010000-\U0010ffff]")
_CORE = "tag:yaml.org,2002:"
_FORMS = {tag: re.compile(form) for tag, form in {
    "null": "~|null|Null|NULL|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
             r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}.items()}
_PLAIN = re.compile("|".join(f"(?P<{tag}>{form.pattern})" for tag, form in _FORMS.items()))


class Place(NamedTuple):
    """Character offsets of a value and, in a mapping, of its key."""

    key: int | None
    start: int
    end: int


class Document(Lines):
    """One YAML text as plain Python: `value`, and in `places` where each path stands.

    `kept_as_text` lists the paths whose number was kept as it was written. `problems` are values
    that cannot be taken as they stand, None in `value`. Raises ComponentError if it is no YAML.
    """

    def __init__(self, text: str, is_text: Callable[[Path], bool]) -> None:
        super().__init__(text)
        self.places: dict[Path, Place] = {}
        self.kept_as_text: list[Path] = []
        self._is_text = is_text
        self.problems: list[Problem] = []
        root = compose(self)
        self.value: Any = self._value(root, ()) if root else None

    def place(self, path: Path) -> Place:
        """The place of a path, or of its nearest ancestor that is written down."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path) or Place(key=None, start=0, end=0)

    def _value(self, node: Node, path: Path, key: Node | None = None) -> Any:
        self.places[path] = Place(key.start if key else None, node.start, node.end)
        if node.kind == "list":
            return [self._value(item, (*path, index))
                    for index, (_, item) in enumerate(node.items)]
        return self._mapping(node, path) if node.kind == "map" else self._scalar(node, path)

    def _mapping(self, node: Node, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in node.items:
            assert key is not None
            fault = self._key_fault(key, result, path)
            if fault:
                self._report(key.start, fault, (*path, key.text) if key.text else path)
            else:
                result[key.text] = self._value(item, (*path, key.text), key)
        return result

    def _key_fault(self, key: Node, seen: dict[str, Any], path: Path) -> str:
        if key.kind != "scalar":
            return Sentence(
                "A list or a mapping cannot be the name of a field. Write a plain name.")
        if not key.text or "\0" in key.text:
            return Sentence(
                "This field has no proper name. Write one before the `:`, or remove the line.")
        if key.text == "<<" and key.tag == "plain":
            return Sentence(
                "Merge keys (`<<`) are not part of YAML 1.2. Write the fields out where they are "
                "needed.")
        if key.text not in seen:
            return ""
        first = self.places[(*path, key.text)].key or 0
        return Sentence(
            "`{text}` is written twice, first on line {line}. Keep one of the two.",
            text=key.text[:80], line=self.line_column(first)[0])

    def _scalar(self, node: Node, path: Path) -> Any:
        tag = _scalar_tag(node)
        if tag in ("int", "float") and self._is_text(path):
            self.kept_as_text.append(path)
            return node.text
        try:
            return _scalar_value(node.text, tag)
        except ValueError as error:
            self._report(node.start, said_by(error), path)
            return None

    def _report(self, offset: int, message: str, path: Path) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(self.problem(offset, message, path))


def read(text: bytes | str, is_text: Callable[[Path], bool] = lambda path: False) -> Document:
    """Read one YAML 1.2 document of at most MAX_BYTES of UTF-8.

    Numbers at paths for which `is_text` is true stay text, as written.
    Raises ComponentError if it is no YAML; single wrong values are in `problems` of the document.
    """
    _check_size(text)
    decoded = text if isinstance(text, str) else _decode(text)
    _check_characters(decoded)
    return Document(decoded, is_text)


def load(text: bytes | str) -> Any:
    """Read one YAML 1.2 document as plain values; raises ComponentError with every problem."""
    document = read(text)
    if document.problems:
        raise component_error(document.problems)
    return document.value


def _check_size(text: bytes | str) -> None:
    is_large = len(text) > MAX_BYTES
    size = len(text) if isinstance(text, bytes) or is_large else len(text.encode(errors="replace"))
    if size > MAX_BYTES:
        head = text[:MAX_BYTES]
        lines = Lines(head if isinstance(head, str) else head.decode(errors="replace"))
        raise component_error([lines.problem(len(lines.text), Sentence(
            "The text has {size:,} bytes; the limit of {max_bytes:,} is passed here. Keep large "
            "contents in a file of their own and give its URI.", size=size, max_bytes=MAX_BYTES))])


def _check_characters(text: str) -> None:
    lines = Lines(text)
    found = islice(_FORBIDDEN.finditer(text, lines.skipped), MAX_PROBLEMS)
    problems = [lines.problem(match.start(), _forbidden_text(match[0])) for match in found]
    if problems:
        raise component_error(problems)


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        lines = Lines(text[:error.start].decode())
        raise component_error([lines.problem(len(lines.text), Sentence(
            "The byte 0x{byte:02x} here is not UTF-8. Save the file as UTF-8.",
            byte=text[error.start]))
        ]) from error


def _forbidden_text(character: str) -> str:
    name = "NUL" if character == "\0" else f"U+{ord(character):04X}"
    return Sentence("The invisible character {name} cannot stand in YAML. Remove it.", name=name)


def _scalar_tag(node: Node) -> str:
    """`str`, `int`, `float`, `bool`, `null`, or another tag in full."""
    if node.tag != "plain":
        return "str" if node.tag == "!" else node.tag.removeprefix(_CORE)
    found = _PLAIN.fullmatch(node.text)
    return str(found.lastgroup) if found else "str"


def _scalar_value(text: str, tag: str) -> Any:
    if "\0" in text:
        raise ValueError(Sentence("This text contains NUL. Remove the `\\0`."))
    if tag == "str":
        return text
    if tag not in _FORMS:
        raise ValueError(Sentence(
            "The tag `{tag}` is not read. Remove it, or put the text in quotes.", tag=tag[:80]))
    if not _FORMS[tag].fullmatch(text):
        raise ValueError(Sentence(
            "`{text}` does not fit its tag `!!{tag}`. Remove the tag.", text=text[:80], tag=tag))
    if tag == "null":
        return None
    return text.lower() == "true" if tag == "bool" else _number(text, tag)


def _number(text: str, tag: str) -> int | float:
    if tag == "float":
        value = float(text) if text.lstrip("+-")[1:2] not in tuple("iInN") else math.inf
        if not math.isfinite(value):
            raise ValueError(Sentence(
                "`{text}` is no finite number. Put it in quotes to pass it on as text.",
                text=text[:80]))
        return value
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    if len(text) > 80 or abs(int(text.removeprefix("0o"), base)) > MAX_INTEGER:
        raise ValueError(Sentence(
            "`{text}` is larger than {max_integer}. Put it in quotes to pass it on as text.",
            text=text[:24], max_integer=MAX_INTEGER))
    return int(text.removeprefix("0o"), base)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or 1.2 would read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.yaml_implicit_resolvers = {key: list(forms) for key, forms
                                   in yaml.SafeDumper.yaml_implicit_resolvers.items()}
for _tag in ("int", "float"):
    _Dumper.add_implicit_resolver(_CORE + _tag, re.compile(f"^(?:{_FORMS[_tag].pattern})$"),
                                  list("-+.0123456789"))


_LINES = re.compile(r"\S(?:.*\S)?\n(?:(?: *\S(?:.*\S)?)?\n)*(?: *\S(?:.*\S)?)?")
_INVISIBLE = re.compile("[\0-\t\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff]")


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _INVISIBLE.search(text) else "|" if _LINES.fullmatch(text) else None
    return dumper.represent_scalar(f"{_CORE}str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(value: Any) -> str:
    """Write plain values as YAML that `read` reads back the same; fields keep their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True,
                     width=MAX_BYTES)
