"""Search without an index, while one is being made: what the catalogue's own texts contain."""
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Collection

import sqlalchemy as sa

from registry import visibility
from registry.db import sources, versions
from registry.hits import Completion, Page
from registry.outbox import IS_DEPRECATED, IS_YANKED, hits_of
from registry.query import All
from registry.query import Any as AnyOf
from registry.query import Clause, Filter, Not, Phrase, Words
from registry.query_fields import is_range
from registry.tokens import query_words

Condition = sa.ColumnElement[bool]
_TEXTS = (versions.c.name, versions.c.description, versions.c.contributor, versions.c.text,
          versions.c.readme)


class PlainSearch:
    """Answers as SearchIndex does, slower and rougher: no typos, and no order but names and dates.

    A filter on GPUs lets everything through; the only facet is the type.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._audiences = visibility.Audiences(engine)

    def page(self, clause: Clause, empty: Page, *, types: Collection[str], sort: str,
             user_id: int | None) -> Page:
        """The page `empty` with hits; its `is_ready` stays False."""
        clauses = clause.clauses if isinstance(clause, All) else (clause,)
        name = " ".join(each.text for each in clauses if isinstance(each, Words))
        found = _select(clause, clauses).where(visibility.is_visible(user_id))
        chosen = found.where(versions.c.type.in_(types)) if types else found
        order: tuple[Any, ...] = (versions.c.name, versions.c.type, sources.c.name, versions.c.id)
        if sort != "name":
            order = (sa.func.lower(versions.c.name) != name.lower(),
                     versions.c.committed_at.desc(), *order)
        audiences = self._audiences.of(user_id)
        with self._engine.connect() as connection:
            counts = {type: count for type, count in connection.execute(
                found.with_only_columns(versions.c.type, sa.func.count())
                .group_by(versions.c.type).order_by(versions.c.type))}
            rows = connection.execute(chosen.order_by(*order).limit(empty.page_size).offset(
                min((empty.page - 1) * empty.page_size, 2**62))).all()
            hits = hits_of(connection, rows, audiences)
        total = sum(count for type, count in counts.items() if not types or type in types)
        return Page(hits=hits, total=total, facets={"type": counts}, page=empty.page,
                    page_size=empty.page_size, is_ready=False)

    def complete(self, prefix: str, limit: int, user_id: int | None) -> list[Completion]:
        """Names that begin so."""
        found = sa.select(versions.c.type, versions.c.name).join(sources).distinct().where(
            versions.c.is_latest, versions.c.is_present, visibility.is_visible(user_id),
            versions.c.name.istartswith(prefix, autoescape=True))
        with self._engine.connect() as connection:
            rows = connection.execute(found.order_by(versions.c.name).limit(limit)).all()
        return [Completion(type=row.type, name=row.name) for row in rows if prefix.strip()]


def _select(clause: Clause, clauses: tuple[Clause, ...]) -> sa.Select[Any]:
    has_all = Filter("versions", "=", "all") in clauses
    shown = () if has_all else (versions.c.is_latest, ~IS_YANKED)
    return sa.select(versions, sources.c.name.label("source"), sources.c.kind).join(sources).where(
        versions.c.is_present, *shown, _condition(clause))


def _condition(clause: Clause) -> Condition:
    if isinstance(clause, Words):
        words = query_words(clause.text)
        return sa.and_(sa.true(), *(_has(part) for word in words for part in (
            word.parts if word.joined.isascii() else [word.joined]))) if words else sa.false()
    if isinstance(clause, Phrase):
        return _has(clause.text)
    if isinstance(clause, Filter):
        return _filter(clause)
    if isinstance(clause, Not):
        return sa.not_(_condition(clause.clause))
    parts = [_condition(each) for each in clause.clauses]
    return sa.or_(sa.false(), *parts) if isinstance(clause, AnyOf) else sa.and_(sa.true(), *parts)


def _has(text: str) -> Condition:
    return sa.or_(*(column.icontains(text, autoescape=True) for column in _TEXTS))


def _filter(wanted: Filter) -> Condition:
    field, value = wanted.field, wanted.value
    if field == "updated":
        return _by_day(wanted.operator, value)
    exact = {"type": versions.c.type, "source": sources.c.name}
    if field in exact:
        return sa.func.lower(exact[field]) == value.lower()
    within = {"by": versions.c.contributor, "name": versions.c.name, "version": versions.c.version}
    if field in ("gpu", "versions") or field == "version" and is_range(value):
        return sa.true()
    if field in within:
        return within[field].icontains(value, autoescape=True)
    return IS_DEPRECATED if field == "is" else _has(value.rpartition("/")[2])


def _by_day(operator: str, value: str) -> Condition:
    """Whole days: after a day means from the next one on."""
    try:
        begin = datetime.strptime(value, "%Y-%m-%d")
    except ValueError:
        return sa.false()
    end = begin + timedelta(days=1)
    if operator == "=":
        return sa.and_(versions.c.committed_at >= begin, versions.c.committed_at < end)
    at = versions.c.committed_at
    return {"<": at < begin, "<=": at < end, ">": at >= end}.get(operator, at >= begin)
