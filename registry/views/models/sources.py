"""The API's bodies about sources: what they are, how they stand, what is wrong in their files."""
from __future__ import annotations

from datetime import datetime

from pydantic import Field

from registry.views.models.base import Answer, Given, Problem


class Source(Answer):
    name: str
    kind: str
    location: str
    head: str | None
    synced_at: datetime | None
    sync_error: str | None = Field(
        description="What is wrong with it as a whole, as its page says; null: nothing.")
    components: int = Field(description="That stand at the head.")
    withdrawn: int = Field(description="Components that are not at the head any more, and whose "
                                       "versions keep serving.")
    problems: int = Field(description="Files that are no valid components.")
    owner: str | None = Field(description="null: the bundled source.")
    sub_paths: list[str] = Field(
        description="Folders below which components are looked for; empty: everywhere.")
    tag_prefix: str | None = Field(
        description="Tags that begin so and go on with a version name versions; null: none do.")
    is_private: bool = Field(description="Shown only to those whose own token reads it.")
    branch: str | None = Field(description="null: the repository's default branch, or a folder.")
    default_branch: str | None = Field(
        description="What the default branch is called; null: not known, or not asked for.")
    state: str = Field(description="`ok`, or in a word what is not as it should be.")
    state_title: str = Field(description="The same as pages say it.")
    freshness: str = Field(description="Which commit is indexed, which one is upstream.")
    upstream_head: str | None
    checked_at: datetime | None = Field(description="When GitHub was last asked for that.")
    next_sync_at: datetime | None
    is_syncing: bool = Field(description="A sync runs, or begins in a moment.")
    paused_at: datetime | None = Field(
        description="It is not synced since then, and its versions keep serving; null: it is.")


class Sources(Answer):
    sources: list[Source]


class NewSource(Given):
    location: str = Field(min_length=1, max_length=4096,
                          description="A repository on GitHub as owner/name or by an address of "
                                      "it; for admins also the whole path of a folder or bare "
                                      "repository on the server's machine.")
    name: str | None = Field(default=None, max_length=255)
    branch: str | None = Field(default=None, max_length=255,
                               description="Of a repository; null: its default branch.")
    use_my_token: bool = Field(
        default=False, description="Your own token may be used to sync it in the background; for "
                                   "a private repository it must be.")
    sub_paths: list[str] = Field(
        default=[], max_length=100,
        description="Folders below it where components are looked for; empty: everywhere.")
    tag_prefix: str | None = Field(
        default=None, max_length=100,
        description="Have tags name versions: `v` takes v1.0.0 for 1.0.0; null: tags do not.")


class FileProblem(Answer):
    path: str
    commit: str
    errors: list[Problem]


class FilesQuery(Given):
    page: int = Field(default=1, ge=1, le=100_000)
    page_size: int = Field(default=100, ge=1, le=200)
    path: str | None = Field(default=None, max_length=4096,
                             description="Only this file; null: all of them.")


class FileProblems(Answer):
    problem_count: int = Field(description="How many invalid files there are in all.")
    warning_count: int = Field(description="How many files there are with advice.")
    page: int
    page_size: int = Field(description="At most so many of each of the two are on a page.")
    problems: list[FileProblem] = Field(description="By path.")
    warnings: list[FileProblem] = Field(
        description="Files that are components, and could be better; by path.")


class CatalogHash(Answer):
    hash: str = Field(description="SHA-256 in hexadecimal digits.")


class SyncProgress(Answer):
    stage: str
    title: str
    done: int
    total: int = Field(description="0: nobody knows yet of how much.")


class SourceState(Answer):
    code: str
    title: str
    text: str


class SourceStatus(Source):
    warnings: int = Field(description="Components that could be better written.")
    progress: SyncProgress | None = Field(description="null: no sync runs.")
    states: list[SourceState] = Field(description="What is not as it should be, the worst first.")
    sponsor: str | None = Field(
        description="Whose token syncs it; null: none. Of a user who is locked out or was deleted "
                    "it is not used, which `states` tells.")
    paused_by: str | None = Field(description="Who paused it; null: nobody, or nobody knows.")
    held_head: str | None = Field(description="A commit that waits for the owner's word.")
    held_count: int = Field(description="How many versions it would take away.")


class HeldHead(Given):
    head: str = Field(min_length=40, max_length=40,
                      description="The commit that you agree to, as the source tells it.")


class WebhookFacts(Answer):
    url: str = Field(description="Where GitHub sends what happens; content type application/json.")
    secret: str


class Taken(Answer):
    is_new: bool = Field(description="false: this delivery came before, so nothing was done.")
