"""A search query: its text → what is wanted, or an error that says where it goes wrong. Pure."""
from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import Callable, NoReturn

from registry.clauses import (
    QUOTES,
    All,
    Any,
    Clause,
    Filter,
    Not,
    Phrase,
    Words,
    ends_finished,
    filters_of,
    leaves,
    printed,
    wanted,
)
from registry.errors import InvalidInputError, Problem
from registry.query_fields import FIELDS, ValueProblem, key_of, near_key
from runner.sentence import Sentence

MAX_LENGTH = 1000
MAX_DEPTH = 20
MAX_CLAUSES = 50
SHOWN_BEFORE, SHOWN_AFTER, SHOWN_INSTEAD = 40, 30, 80
_KEYWORD = re.compile(r'(AND|OR|NOT)(?=[\s()"]|$)')
_FIELD = re.compile(r"([A-Za-z]+):")
# What Chinese input methods and word processors write instead; each is one character, so that
# places in the text stay what they are.
_SAME = str.maketrans("“”„‟＂：（）－−", '"""""' ":()--")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?!")')


class QueryError(InvalidInputError):
    """A query that cannot be read: `position` counts from 0 in its text.

    `instead` is the whole query as it may have been meant; empty where nobody can tell.
    """

    code = "InvalidQuery"

    def __init__(self, message: str, position: int, instead: str = "") -> None:
        advice = Sentence(
            " Write `{instead}`.", instead=instead) if 0 < len(instead) <= SHOWN_INSTEAD else ""
        super().__init__(message, [Problem(message=f"{message}{advice}", path="q", line=1,
                                           column=position + 1)])
        self.position = position
        self.instead = instead


@dataclass(frozen=True)
class Query:
    """A query that was understood; `str` gives text that is read as the same query."""

    clause: Clause
    text: str = ""

    def __str__(self) -> str:
        return printed(self.clause) + (" " if ends_finished(self.clause) else "")

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """What must hold, each for itself."""
        return self.clause.clauses if isinstance(self.clause, All) else (self.clause,)

    @property
    def has_all_versions(self) -> bool:
        return _ALL_VERSIONS in self.clauses

    @property
    def filters(self) -> tuple[Clause, ...]:
        """What holds for all of the query and asks for no words: filters, excluded or joined."""
        return tuple(clause for clause in self.clauses
                     if all(isinstance(leaf, Filter) for leaf in leaves(clause)))

    @property
    def wanted(self) -> tuple[Words | Phrase, ...]:
        """Every word and phrase that may be found; not what is excluded."""
        return tuple(wanted(self.clause))

    def with_filter(self, field: str, value: str) -> Query:
        """The query narrowed by `field:value`; what may be unfinished stays the end."""
        added = tuple(each for each in filters_of(field, value) if each not in self.clauses)
        return _query((*added, *self.clauses)) if added else self

    def without(self, *clauses: Clause) -> Query:
        """The query without some of its clauses."""
        return _query(tuple(each for each in self.clauses if each not in clauses))

    def with_words(self, text: str) -> Query:
        """The query with the words of `text` in place of its own."""
        others = (each for each in self.clauses if not isinstance(each, Words))
        return _query((*others, *map(Words, text.split())))

    def without_filters(self) -> Query:
        """What is asked beside the filters."""
        return self.without(*self.filters)


_ALL_VERSIONS = Filter("versions", "=", "all")


def parse_query(text: str) -> Query:
    """Read a query: words, "phrases", -without, OR, (groups) and field:value; see docs/search.md.

    Raises QueryError.
    """
    if len(text) > MAX_LENGTH:
        raise QueryError(Sentence(
            "The query is longer than {most} characters. Shorten it.",
            most=MAX_LENGTH),
                         MAX_LENGTH)
    try:
        return Query(_Parser(text).parse(), text)
    except QueryError as error:
        if error.instead and not _is_readable(error.instead):
            raise QueryError(error.message, error.position) from error
        raise


def around(text: str, position: int) -> tuple[str, str]:
    """A query before and from a place, as one line that is short enough to be shown."""
    line = "".join(char if char.isprintable() else " " for char in text)
    before, after = line[:position], line[position:]
    if len(before) > SHOWN_BEFORE:
        before = f"…{before[-SHOWN_BEFORE:]}"
    return before, after if len(after) <= SHOWN_AFTER else f"{after[:SHOWN_AFTER]}…"


def _is_readable(text: str) -> bool:
    with contextlib.suppress(QueryError):
        return _Parser(text[:MAX_LENGTH]).parse() is not None and len(text) <= MAX_LENGTH
    return False


class _Parser:
    """Reads one text from left to right; `_at` is where it is.

    Signs are read from `_text`, where each has one form; what is asked for comes from `_typed`.
    """

    def __init__(self, text: str) -> None:
        self._typed = text
        self._text = text.translate(_SAME)
        self._at = self._depth = self._count = 0
        self._versions_at = 0

    def parse(self) -> Clause:
        clause = self._all()
        if self._at < len(self._text):
            self._fail(Sentence("There is no `(` for this `)`."), self._at,
                       self._text[:self._at] + self._text[self._at + 1:])
        clause = self._with_last_word(clause)
        top = clause.clauses if isinstance(clause, All) else (clause,)
        if any(_ALL_VERSIONS in leaves(each) for each in top if each != _ALL_VERSIONS):
            self._fail(Sentence(
                "`versions:all` holds for the whole query. Write it outside of OR, of parentheses "
                "and without a `-`."), self._versions_at)
        return clause

    def _with_last_word(self, clause: Clause) -> Clause:
        """Filters after the last word leave it as unfinished as filters before it."""
        clauses = list(clause.clauses) if isinstance(clause, All) else []
        places = [place for place, each in enumerate(clauses) if not isinstance(each, Filter)]
        last = clauses[places[-1]] if places else None
        if not isinstance(last, Words) or self._text[-1:].isspace():
            return clause
        is_last = any(char.isalnum() for char in last.text)
        clauses[places[-1]] = replace(last, is_last=last.is_last or is_last)
        return All(tuple(clauses))

    def _all(self) -> Clause:
        """Clauses beside each other, up to the end or a `)`."""
        found: list[Clause] = []
        while not self._is_end():
            word = self._keyword()
            if word == "AND" and found:
                self._skip_keyword(word)
            found.append(self._any())
        return _together(All, found)

    def _any(self) -> Clause:
        found = [self._one()]
        while not self._is_end() and self._keyword() == "OR":
            self._skip_keyword("OR")
            found.append(self._one())
        return _together(Any, found)

    def _one(self) -> Clause:
        word, sign = self._keyword(), self._text[self._at]
        self._count_one()
        if word == "NOT":
            self._skip_keyword(word)
            return self._not()
        if word:
            self._fail_keyword(word, self._at)
        if sign == "(":
            return self._group()
        if sign == '"':
            return Phrase(self._quoted())
        if sign == "-" and re.match(r"-[^\s)-]", self._text[self._at:]):
            self._at += 1
            return self._not()
        return self._field() or self._words()

    def _not(self) -> Clause:
        """What follows a `-`. A word there is unfinished only with a `*`: too much would go."""
        clause = self._within(self._at - 1, self._one)
        if isinstance(clause, Words) and self._text[self._at - 1] != "*":
            clause = replace(clause, is_last=False)
        return Not(clause)

    def _group(self) -> Clause:
        start = self._at
        self._at += 1
        clause = self._within(start, self._all)
        if self._at == len(self._text):
            self._fail(Sentence("This `(` has no `)`."), start, f"{self._text.rstrip()})")
        self._at += 1
        if clause == All(()):
            self._fail(Sentence("There is nothing between these parentheses."), start)
        return clause

    def _field(self) -> Clause | None:
        """`field:value`, or None where it is a word such as http://… or 10:30."""
        match = _FIELD.match(self._text, self._at)
        if not match:
            return None
        start, key = self._at, key_of(match[1])
        rest = self._text[match.end():match.end() + 2]
        if key is None:
            self._check_unknown(match[1], rest)
            return None
        if rest == "//":
            return None
        self._at = match.end()
        value = self._quoted() if rest[:1] == '"' else self._taken(self._word_end())
        if not value:
            self._fail(Sentence(
                "`{key}:` lacks its value; write it behind the colon: `{example}`.", key=key,
                example=FIELDS[key].example), start)
        if key == "versions":
            self._versions_at = start
        return self._filters(key, value, start, match.end())

    def _filters(self, key: str, value: str, start: int, place: int) -> Clause:
        is_text = FIELDS[key].kind == "text"
        try:
            found = filters_of(key, value if is_text else value.translate(_SAME))
        except ValueProblem as problem:
            if not problem.instead:
                self._fail(problem.message, min(place, len(self._text) - 1))
            self._fail(problem.message, place, f"{self._text[:start]}{key}:{problem.instead}"
                                               f"{self._text[self._at:]}")
        return _together(All, list(found))

    def _check_unknown(self, name: str, rest: str) -> None:
        """Raise where a name was surely meant as a field: it is near one, or looks like one."""
        start, end = self._at, self._at + len(name)
        near = near_key(name)
        if rest[:1] in ("/", "\\"):
            return
        if near and rest[:1].strip():
            self._fail(Sentence(
                "There is no field `{name}:`. Did you mean `{near}:`? Words with a colon go into "
                "quotes.", name=name, near=near),
                start, self._text[:start] + near + self._text[end:])
        if rest[:1] in tuple('"<>≤≥'):
            self._fail(Sentence(
                "There is no field `{name}:`. There are {fields}.", name=name,
                fields=", ".join(f"`{key}:`" for key in FIELDS)), start)

    def _words(self) -> Words:
        text = self._taken(self._word_end())
        stem = text.rstrip("*")
        if not any(char.isalnum() for char in stem):
            return Words(text)
        return Words(stem, is_last=stem != text or self._at == len(self._text))

    def _taken(self, end: int) -> str:
        text, self._at = self._typed[self._at:end], end
        return text

    def _word_end(self) -> int:
        """Where the word that begins here ends; parentheses within it belong to it in pairs."""
        opened: list[int] = []
        at = self._at
        while at < len(self._text) and not self._text[at].isspace():
            if self._text[at] == "(":
                opened.append(at)
            elif self._text[at] == ")":
                if not opened:
                    break
                opened.pop()
            at += 1
        if opened:
            self._fail(Sentence("This `(` has no `)`. A word with a parenthesis goes into quotes."),
                       opened[-1], f'{self._text[:self._at]}"{self._text[self._at:at]}"'
                                   f"{self._text[at:]}")
        return at

    def _quoted(self) -> str:
        """The text between this quote and the next; a doubled quote is one within."""
        match = _QUOTED.match(self._text, self._at)
        if not match:
            self._fail(Sentence("This quote is never closed."), self._at, f'{self._text.rstrip()}"')
        start, self._at = self._at, match.end()
        typed = self._typed[match.start(1):match.end(1)]
        text = " ".join(re.sub(rf"([{QUOTES}])[{QUOTES}]", r"\1", typed).split())
        if not text:
            self._fail(Sentence("There is nothing between these quotes."), start)
        return text

    def _keyword(self) -> str:
        match = _KEYWORD.match(self._text, self._at)
        return match[1] if match else ""

    def _skip_keyword(self, word: str) -> None:
        start = self._at
        self._at += len(word)
        if self._is_end():
            self._fail_keyword(word, start)

    def _fail_keyword(self, word: str, place: int) -> NoReturn:
        sides = Sentence("after it") if word == "NOT" else Sentence("on both sides")
        rest = self._text[:place] + self._text[place + len(word):]
        self._fail(Sentence(
            "`{word}` needs something {sides}. The word itself goes into quotes: `\"{word}\"`.",
            word=word, sides=sides), place, " ".join(rest.split()))

    def _is_end(self) -> bool:
        """Go on to the next clause; True where none follows."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at == len(self._text) or self._text[self._at] == ")"

    def _within(self, place: int, read: Callable[[], Clause]) -> Clause:
        if self._depth == MAX_DEPTH:
            self._fail(Sentence(
                "This goes deeper than {most} levels. Write it with fewer parentheses.",
                most=MAX_DEPTH), place)
        self._depth += 1
        clause = read()
        self._depth -= 1
        return clause

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MAX_CLAUSES:
            self._fail(Sentence(
                "These are more than {most} words and filters. Leave some out.",
                most=MAX_CLAUSES),
                       self._at)

    def _fail(self, message: str, position: int, instead: str = "") -> NoReturn:
        raise QueryError(message, position, instead)


def _query(clauses: tuple[Clause, ...]) -> Query:
    clause = _together(All, list(clauses))
    return replace(Query(clause), text=str(Query(clause)))


def _together(kind: type[All] | type[Any], found: list[Clause]) -> Clause:
    """One clause of these; a clause of the same kind among them gives its own."""
    flat = tuple(each for clause in found
                 for each in (clause.clauses if isinstance(clause, kind) else (clause,)))
    return flat[0] if len(flat) == 1 else kind(flat)
