"""What a query that is being typed may be going to: names, fields and their values."""
from __future__ import annotations

import re
from dataclasses import dataclass

from registry.clauses import Filter, clause_text
from registry.hits import FACETS, Completion
from registry.query import Query
from registry.query_fields import FIELDS, key_of
from registry.tokens import fold
from registry.views.auth import viewer_id
from registry.views.finding import understood
from registry.views.services import services

MAX_LOOKED_AT = 100
MIN_FIELD_LETTERS = 2
_LAST = re.compile(r"""(?:^|(?<=[\s(]))-?(?P<field>[A-Za-z]+)
    (?:(?P<colon>[:：])(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*)))?$""", re.VERBOSE)


@dataclass(frozen=True, kw_only=True)
class FilterCompletion:
    """A filter that the end of a query may become: the filter, and the whole query with it."""

    filter: str
    query: str


def names(text: str, limit: int) -> list[Completion]:
    """Names that begin as the words of a query do, of its type where it has one."""
    query, error = understood(text)
    words = query.without_filters()
    if error or not words.wanted:
        return []
    types = {each.value for each in query.filters if isinstance(each, Filter)
             and each.field == "type"}
    found = services().search.complete(words.text, limit=MAX_LOOKED_AT if types else limit,
                                       user_id=viewer_id())
    return [each for each in found if not types or each.type in types][:limit]


def filters(text: str, limit: int) -> list[FilterCompletion]:
    """Fields that begin as the last word does, or values that begin as what follows its colon."""
    last = _LAST.search(text)
    if not last:
        return []
    before = text[:last.start("field")]
    if not last["colon"]:
        found = _fields(last["field"])
    else:
        start = last["quoted"] or last["plain"] or ""
        found = _values(key_of(last["field"]), start, text[:last.start()])
    return [FilterCompletion(filter=each, query=before + each) for each in found][:limit]


def _fields(start: str) -> list[str]:
    if len(start) < MIN_FIELD_LETTERS:
        return []
    return [f"{key}:" for key in FIELDS if key.startswith(start.lower())]


def _values(key: str | None, start: str, before: str) -> list[str]:
    """Values of a field: the only ones, or those among what the rest of the query finds."""
    if key is None:
        return []
    values = FIELDS[key].values or _counted(key, understood(before)[0])
    folded = fold(start).casefold()
    return [clause_text(Filter(key, "=", value)) for value in values
            if fold(value).casefold().startswith(folded)]


def _counted(key: str, query: Query) -> list[str]:
    if key not in FACETS:
        return []
    page = services().search.search(query.clause, page_size=1, user_id=viewer_id())
    return list(page.facets.get(key, {}))
