"""What we say to people: English texts that know what they are made of, for other languages."""
from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterable, Mapping

Value = str | int | float
Say = Callable[[str], str]
SayCount = Callable[[str, str, int], str]
_BEGIN = '{"template": '
_PARTS = "_parts"
_CHINESE = "[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
_HAN = re.compile(_CHINESE)
_BEFORE = re.compile(rf"(?<={_CHINESE}) \{{(\w+)[^}}]*\}}")
_AFTER = re.compile(rf"\{{(\w+)[^}}]*\}} (?={_CHINESE})")
_BAD_TEMPLATE = (LookupError, ValueError, TypeError, AttributeError)


class Sentence(str):
    """An English text, and what it is made of: a `template` and the `values` at its places.

    A value may be a sentence itself, or an error that says one. `many`, else empty, is the
    template for every number `count` but 1. Programs, logs and commands take it as the text that
    it is.
    """

    template: str
    many: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, /, many: str = "", **values: object) -> Sentence:
        kept = {name: _value(value) for name, value in values.items()}
        made = super().__new__(cls, _filled(_chosen(template, many, kept), kept))
        made.template, made.many, made.values = template, many, kept
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.template, self.many, dict(self.values))

    def said(self, say: Say, say_count: SayCount) -> str:
        """The text in another language, as `say` has its templates; English where it has none."""
        values = {name: value.said(say, say_count) if isinstance(value, Sentence) else value
                  for name, value in self.values.items()}
        template = say_count(self.template, self.many, int(self.values["count"])) \
            if self.many else say(self.template)
        try:
            return _filled(_closed_up(template, values), values)
        except _BAD_TEMPLATE:  # a translation of another release
            return str(self)

    def changed(self, change: Say) -> Sentence:
        """The same with every text among its values changed."""
        return _made(self.template, self.many, {
            name: value.changed(change) if isinstance(value, Sentence)
            else change(value) if isinstance(value, str) else value
            for name, value in self.values.items()})

    def as_json(self) -> dict[str, Any]:
        """What it is made of."""
        many = {"many": self.many} if self.many else {}
        return {"template": self.template, **many, "values": {
            name: value.as_json() if isinstance(value, Sentence) else value
            for name, value in self.values.items()}}


def plural(one: str, many: str, count: int, **values: object) -> Sentence:
    """A sentence that depends on how many there are; `{count}` is the number in both."""
    return _made(one, many, {"count": count, **values})


def joined(*texts: str) -> str:
    """Several sentences as one text; those that are empty are left out."""
    found = [text for text in texts if text]
    if len(found) < 2:
        return found[0] if found else ""
    return Sentence("{text} {more}", text=found[0], more=joined(*found[1:]))


def ended(text: str) -> str:
    """The text with a full stop at its end."""
    return text if text.endswith(".") else Sentence("{text}.", text=text)


def either(texts: Iterable[str]) -> str:
    """`a or b or c`."""
    first, *others = texts
    return Sentence("{first} or {other}", first=first, other=either(others)) if others else first


def listed(texts: Iterable[str]) -> str:
    """`a, b, c`."""
    first, *others = texts
    return Sentence("{first}, {other}", first=first, other=listed(others)) if others else first


def both(texts: Iterable[str]) -> str:
    """`a and b and c`."""
    first, *others = texts
    return Sentence("{first} and {other}", first=first, other=both(others)) if others else first


def kind_of(text: str) -> str:
    """What a text says whatever its numbers and names are; a text of others itself."""
    if not isinstance(text, Sentence):
        return text
    parts = [kind_of(value) for value in text.values.values() if isinstance(value, Sentence)]
    return "\n".join((text.template, *parts))


def said_by(error: Exception) -> str:
    """What an exception says, as the sentence that it was raised with."""
    return error.args[0] if error.args and isinstance(error.args[0], str) else str(error)


def told(answer: Any) -> Any:
    """An answer with what each sentence in it is made of beside it; `heard` reads that."""
    if isinstance(answer, (list, tuple)):
        return [told(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    parts = {f"{name}{_PARTS}": value.as_json() for name, value in answer.items()
             if isinstance(value, Sentence)}
    return {name: told(value) for name, value in answer.items()} | parts


def heard(answer: Any) -> Any:
    """What `told` made, as it was."""
    if isinstance(answer, list):
        return [heard(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    return {name: _sentence_of(value, answer[f"{name}{_PARTS}"]) if f"{name}{_PARTS}" in answer
            else heard(value)
            for name, value in answer.items() if not name.endswith(_PARTS)}


def _sentence_of(text: str, parts: Any) -> str:
    """The text as a sentence again; the plain text where `parts` make another."""
    try:
        found = _of_json(parts)
    except _BAD_TEMPLATE:
        return text
    return found if found == text else text


def stored(text: str) -> str:
    """A text as a table keeps it: a sentence with what it is made of; `restored` reads it."""
    return json.dumps(text.as_json(), ensure_ascii=False) if isinstance(text, Sentence) else text


def restored(text: str) -> str:
    """What `stored` kept; a text that an earlier release kept is that text."""
    if not text.startswith(_BEGIN):
        return text
    try:
        return _of_json(json.loads(text))
    except _BAD_TEMPLATE:
        return text


def _closed_up(template: str, values: Mapping[str, Value]) -> str:
    """The template without its spaces between Chinese and a value that is Chinese there."""
    def before(found: re.Match[str]) -> str:
        return found[0][_HAN.match(str(values.get(found[1]))) is not None:]

    def after(found: re.Match[str]) -> str:
        return found[0][:-1] if _HAN.match(str(values.get(found[1]))[-1:]) else found[0]
    return _AFTER.sub(after, _BEFORE.sub(before, template))


def _value(value: object) -> Value:
    if isinstance(value, Exception):
        return said_by(value)
    return value if isinstance(value, (str, int, float)) else str(value)


def _made(template: str, many: str, values: Mapping[str, object]) -> Sentence:
    return Sentence(template, many, **values)  # type: ignore[arg-type]


def _of_json(parts: Any) -> Sentence:
    values = {name: _of_json(value) if isinstance(value, dict) else value
              for name, value in parts["values"].items()}
    return _made(parts["template"], parts.get("many", ""), values)


def _chosen(template: str, many: str, values: Mapping[str, Value]) -> str:
    return many if many and values["count"] != 1 else template


def _filled(template: str, values: Mapping[str, Value]) -> str:
    return template.format(**values) if values else template
