"""The API's bodies about publishing: to a shelf, and to GitHub."""
from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from registry.views.models.base import MAX_YAML, Answer, Given, Problem


class Publication(Answer):
    reference: str
    source: str = Field(description="The shelf, which is a source of its own.")
    type: str
    name: str
    version: str
    commit: str = Field(description="What holds the bytes from now on.")
    is_known: bool = Field(description="true: just these bytes were there already.")
    warnings: list[Problem]


class NewPublication(Given):
    yaml: str = Field(max_length=MAX_YAML)
    repository: str = Field(max_length=500, description="owner/name, or its address.")
    path: str = Field(default="", max_length=1000, description="Empty: where the component "
                      "stands now, else `<type>/<name>.yaml`.")
    title: str = Field(default="", max_length=1000, description="Of the pull request; empty: "
                       "one is made up.")
    body: str = Field(default="", max_length=100_000, description="Of the pull request; empty: "
                      "the description and what changes.")
    is_signed_off: bool = Field(default=False, description="Agree to a Signed-off-by line.")


class Confirmation(Given):
    seen: str = Field(default="", max_length=64, description="As the draft had it; empty: "
                      "whatever it is by now.")


class PublicationStep(Answer):
    name: str
    state: Literal["done", "now", "waits", "stopped", "todo"]
    detail: str


class PublicationProblem(Answer):
    code: str = Field(description="Stable, for programs.")
    title: str
    text: str = Field(description="What to do next.")
    detail: str = Field(description="GitHub's own words, where there are any.")
    link: str | None = Field(description="Where it is mended, outside of this server.")
    goes_on: bool = Field(description="It goes on by itself, at `next_at`.")


class PullCheck(Answer):
    name: str
    state: str
    url: str | None


class PullReview(Answer):
    login: str
    state: str


class Pull(Answer):
    number: int
    url: str
    state: str
    is_mergeable: bool | None = Field(description="null: GitHub does not know yet.")
    checks: list[PullCheck]
    reviews: list[PullReview]


class PublicationState(Answer):
    id: int
    state: str = Field(description="DRAFT, CHECKED, FORKING, FORK_WAIT, COMMITTING, BRANCHING, "
                       "OPENING, OPEN, FINISH_ON_GITHUB, MERGED, PUBLISHED, ALREADY_PUBLISHED, "
                       "CLOSED, SUPERSEDED or WITHDRAWN.")
    word: str = Field(description="The state for people.")
    is_final: bool
    is_working: bool = Field(description="Its steps are being done now.")
    repository: str
    base_branch: str | None = Field(description="null: not looked up yet.")
    reference: str
    path: str
    yaml: str
    title: str
    body: str
    is_signed_off: bool
    fork: str | None
    branch: str | None
    commit: str | None
    pull: Pull | None
    compare_url: str | None = Field(description="Where to open the pull request by hand.")
    problem: PublicationProblem | None
    steps: list[PublicationStep]
    found: str | None = Field(description="The version here that it became.")
    next_at: datetime | None
    created_at: datetime
    updated_at: datetime


class PublicationDraft(PublicationState):
    seen: str = Field(description="Give it with the confirmation: it stands for this very diff.")
    is_new: bool = Field(description="Nothing stands at the path now.")
    diff: str = Field(description="A patch.")
    changes: list[str] = Field(description="The same in words.")
    checks: list[Problem] = Field(description="With an error it cannot be confirmed.")
    may_confirm: bool


class Publications(Answer):
    publications: list[PublicationState]
