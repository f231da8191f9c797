"""The API's bodies about finding: hits, facets, completions."""
from __future__ import annotations

from typing import Literal

from pydantic import Field

from registry.hits import FACETS
from registry.views.models.base import Answer, Given, TypeName


class SearchQuery(Given):
    q: str = Field(default="", max_length=1000, description="A query, such as `cifar10 type:job "
                   "-tag:old gpu:<=4`; see docs/search.md. Empty lists everything.")
    type: list[TypeName] = Field(default=[], description="Only these types.")
    sort: Literal["relevance", "updated", "used", "name"] = Field(
        default="relevance", description="Without words, relevance is newest first.")
    explain: bool = Field(default=False, description="Say of each hit why it is where it is.")
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=20, ge=1, le=100)


class Reason(Answer):
    reason: str
    points: float


class Highlights(Answer):
    """What to mark: [start, end) pairs, counted in Unicode characters from 0."""

    name: list[list[int]]
    description: list[list[int]]


class ComponentHit(Answer):
    reference: str
    source: str
    type: str
    name: str
    version: str
    contributor: str
    description: str
    updated_at: str
    used: int = Field(description="Jobs that ran it and components that name it.")
    tags: list[str]
    is_deprecated: bool
    highlights: Highlights
    why: list[Reason] = Field(description="What its rank is made of; empty without `explain`.")


class FacetValue(Answer):
    value: str = Field(description="What a filter takes: `field:value`.")
    count: int


class ComponentPage(Answer):
    total: int
    page: int
    page_size: int
    facets: dict[str, list[FacetValue]] = Field(
        description=f"By field: {', '.join(FACETS)}; most frequent first. Types are counted "
        "whatever `type` is chosen.")
    suggestions: list[str] = Field(description="Queries that find something, where this one does "
                                   "not.")
    is_ready: bool = Field(description="false: the index is being made; something may be missing.")
    components: list[ComponentHit]


class CompletionQuery(Given):
    q: str = Field(max_length=1000, description="What is typed so far.")
    limit: int = Field(default=8, ge=1, le=20)


class Completion(Answer):
    type: str
    name: str


class FilterCompletion(Answer):
    filter: str
    query: str = Field(description="The whole query with the filter at its end.")


class Completions(Answer):
    completions: list[Completion]
    filters: list[FilterCompletion] = Field(description="Fields, and values that are there.")
