"""The API's bodies about components: their versions, references, and what owners say of them."""
from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from registry.views.models.base import MAX_YAML, Answer, Given, Problem


class ComponentQuery(Given):
    version: str = Field(default="", max_length=255, description="A version, `latest`, or a "
                         "commit of 7 to 40 hex digits. Empty: the latest.")
    source: str = Field(default="", max_length=255, description="Only of this source.")


class SourceQuery(Given):
    source: str = Field(default="", max_length=255, description="Only of this source.")


class Mark(Answer):
    """Why a version was yanked or deprecated."""

    reason: str
    successor: str | None = Field(description="A reference to use instead.")
    at: datetime


class Version(Answer):
    version: str
    source: str
    commit: str
    committed_at: datetime
    is_latest: bool = Field(description="What `@latest` means.")
    is_present: bool = Field(description="Still in the source at its head.")
    is_moved: bool = Field(description="The version was recorded before with other bytes, which "
                           "it keeps meaning; only its commit names this entry.")
    tags: list[str] = Field(description="The source's tags that name this version.")
    yanked: Mark | None = Field(description="null where it is not yanked.")
    deprecated: Mark | None


class Versions(Answer):
    versions: list[Version] = Field(description="Newest first.")


class Prerequisite(Answer):
    name: str
    type: str | None
    reference: str | None = Field(description="The component in the marketplace; null: inline.")
    problem: str | None = Field(description="Why its reference means nothing today; else null.")


class ComponentEntry(Version):
    id: int
    reference: str
    type: str
    name: str
    contributor: str
    description: str
    path: str
    blob: str
    text: str = Field(description="The YAML exactly as it is in the source.")
    document: dict[str, Any] = Field(description="The same as JSON, versions as text.")
    warnings: list[Problem]
    versions: list[Version]
    prerequisites: list[Prerequisite]


class YamlText(Given):
    yaml: str = Field(max_length=MAX_YAML)


class ComponentSummary(Answer):
    type: str
    name: str
    version: str
    contributor: str
    description: str
    reference: str
    parameters: dict[str, Any]


class Validation(Answer):
    component: ComponentSummary | None = Field(description="null where there are errors.")
    errors: list[Problem]
    warnings: list[Problem]


class Schemas(Answer):
    job: dict[str, Any]
    data: dict[str, Any]
    script: dict[str, Any]
    dockerimage: dict[str, Any]


class ReferenceQuery(Given):
    reference: str = Field(min_length=1, max_length=1000, description="Such as `job/x@^1.0`, "
                           "`x`, `x@latest` or `source:job/x@<commit>`.")


class ResolvedReference(Version):
    type: str
    name: str
    path: str
    blob: str = Field(description="The Git id of the bytes.")
    exact_reference: str = Field(description="Names these bytes and no others, also later.")


class MarkQuery(Given):
    kind: Literal["yanked", "deprecated"]
    reference: str = Field(min_length=1, max_length=1000, description="An exact version, or its "
                           "commit. Without either, a component as a whole is deprecated.")


class NewMark(MarkQuery):
    reason: str = Field(description="Everyone who meets the version reads it.")
    successor: str = Field(default="", max_length=1000, description="With `deprecated`: a "
                           "reference to use instead.")


class NewPurge(Given):
    reference: str = Field(min_length=1, max_length=1000, description="An exact version, or its "
                           "commit.")
    reason: str = Field(description="Everyone who asks for the version reads it.")


class Purge(Answer):
    reference: str
    source: str
    commit: str
    blob: str
