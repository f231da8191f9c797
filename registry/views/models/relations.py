"""The API's bodies about what changed between versions, and who uses which."""
from __future__ import annotations

from typing import Literal

from pydantic import Field

from registry.views.models.base import Answer, Given, TypeName
from registry.views.models.components import ComponentQuery, ResolvedReference, SourceQuery

Verdict = Literal["breaking", "compatible", "cosmetic"]


class CompareQuery(Given):
    a: str = Field(min_length=1, max_length=1000, description="A reference: the older version.")
    b: str = Field(min_length=1, max_length=1000, description="Another version of the same "
                   "component, also of another source.")


class Change(Answer):
    path: str = Field(description="Such as `tasks[worker].command`; empty: the whole text.")
    area: str = Field(description="parameters, resources, image, commands, inputs, ports …")
    sentence: str = Field(description="For people, with `code` between backticks.")
    verdict: Verdict
    is_new: bool = Field(description="It can something that it could not before.")


class Difference(Answer):
    verdict: Literal["breaking", "compatible", "cosmetic", "same"]
    step: Literal["major", "minor", "patch"] | None = Field(
        description="Which number the changes ask for; null where nothing changed.")
    suggested: str | None = Field(description="The version after the older one by that step.")
    warning: str = Field(description="Where the newer number promises more than it keeps.")
    changes: list[Change]


class Comparison(Difference):
    a: ResolvedReference
    b: ResolvedReference


class ChangelogQuery(SourceQuery):
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=20, ge=1, le=100)


class ChangelogStep(Answer):
    version: ResolvedReference
    before: ResolvedReference | None = Field(description="null: it is the first.")
    difference: Difference | None


class ChangelogPage(Answer):
    total: int = Field(description="How many versions there are.")
    page: int
    page_size: int
    steps: list[ChangelogStep] = Field(description="Newest first.")


class Use(Answer):
    kind: Literal["reference", "image", "data", "script"]
    type: str | None
    target: str = Field(description="The name of a reference, else the URI in its plain form.")
    source: str | None
    version: str | None = Field(description="As written; null: the latest.")


class FoundUse(Use):
    found: ResolvedReference | None = Field(description="What it means now; null: nothing.")


class Uses(Answer):
    version: ResolvedReference
    uses: list[FoundUse]


class UsingVersion(Answer):
    version: ResolvedReference = Field(description="The component's newest version that does.")
    use: Use
    older: int = Field(description="How many of its other versions do, too.")
    is_current: bool = Field(description="The version that lists show uses it.")


class Consequence(Answer):
    version: ResolvedReference
    use: Use
    after: ResolvedReference | None = Field(description="What it would mean; null: it breaks.")
    reason: str = Field(description="Why it would break; empty where it does not.")


class UsersQuery(ComponentQuery):
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=50, ge=1, le=200)


class UsedBy(Answer):
    version: ResolvedReference
    total: int = Field(description="How many components use it.")
    page: int
    page_size: int
    users: list[UsingVersion] = Field(description="Those that use it today first.")
    same: list[ResolvedReference] = Field(
        description="Other components that stand for the same image, data or script.")
    if_yanked: list[Consequence] = Field(
        description="The users whose reference would mean something else; at most `page_size`.")
    if_yanked_total: int


class TogetherQuery(ComponentQuery):
    limit: int = Field(default=10, ge=1, le=50)


class Companion(Answer):
    version: ResolvedReference
    runs: int = Field(description="Jobs in which both took part.")
    components: int = Field(description="Components that use both; of two jobs: what both use.")


class Together(Answer):
    version: ResolvedReference
    together: list[Companion]


class RecommendationsQuery(Given):
    type: list[TypeName] = Field(default=[], description="Only these types.")
    limit: int = Field(default=10, ge=1, le=50)


class RanComponent(Answer):
    version: ResolvedReference
    runs: int = Field(description="Jobs in which it took part.")


class Recommendations(Answer):
    newest: list[ResolvedReference]
    most_used: list[RanComponent] = Field(description="None that was never run.")
    recent: list[RanComponent] = Field(
        description="What took part in one's own jobs, the last first; `runs` counts one's own.")
