"""One publication: the way of a component into a repository on GitHub, step by step. Pure."""
from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Mapping, Sequence
from urllib.parse import quote, urlencode

from registry.component import Component
from registry.difference import Difference
from registry.errors import InvalidInputError
from registry.source import component_type
from runner.sentence import Sentence

# A state names what comes next; the first is a text that nobody agreed to publish yet.
DRAFT, CHECKED, FORKING, FORK_WAIT = "DRAFT", "CHECKED", "FORKING", "FORK_WAIT"
COMMITTING, BRANCHING, OPENING = "COMMITTING", "BRANCHING", "OPENING"
OPEN, FINISH_ON_GITHUB, MERGED = "OPEN", "FINISH_ON_GITHUB", "MERGED"
PUBLISHED, ALREADY_PUBLISHED, CLOSED = "PUBLISHED", "ALREADY_PUBLISHED", "CLOSED"
SUPERSEDED, WITHDRAWN = "SUPERSEDED", "WITHDRAWN"
STATES = (DRAFT, CHECKED, FORKING, FORK_WAIT, COMMITTING, BRANCHING, OPENING, OPEN,
          FINISH_ON_GITHUB, MERGED, PUBLISHED, ALREADY_PUBLISHED, CLOSED, SUPERSEDED, WITHDRAWN)
WORKING = frozenset({CHECKED, FORKING, FORK_WAIT, COMMITTING, BRANCHING, OPENING})
WATCHED = frozenset({OPEN, FINISH_ON_GITHUB})
FINAL = frozenset({PUBLISHED, ALREADY_PUBLISHED, CLOSED, SUPERSEDED, WITHDRAWN})
HOLDING = WORKING | WATCHED  # there is one of these for a user, a repository and a component
TRANSITIONS: Mapping[str, frozenset[str]] = {
    DRAFT: frozenset({CHECKED, OPEN, FINISH_ON_GITHUB, WITHDRAWN}),
    CHECKED: frozenset({FORKING, COMMITTING, DRAFT, WITHDRAWN}),
    FORKING: frozenset({COMMITTING, DRAFT, WITHDRAWN}),
    FORK_WAIT: frozenset({COMMITTING, DRAFT, WITHDRAWN}),
    COMMITTING: frozenset({BRANCHING, FORK_WAIT, FORKING, ALREADY_PUBLISHED, DRAFT, WITHDRAWN}),
    BRANCHING: frozenset({OPENING, OPEN, FINISH_ON_GITHUB, COMMITTING, FORK_WAIT, FORKING, DRAFT,
                          WITHDRAWN}),
    OPENING: frozenset({OPEN, FINISH_ON_GITHUB, ALREADY_PUBLISHED, MERGED, CLOSED, DRAFT,
                        WITHDRAWN}),
    FINISH_ON_GITHUB: frozenset({OPEN, MERGED, CLOSED, OPENING, DRAFT, WITHDRAWN}),
    OPEN: frozenset({MERGED, PUBLISHED, CLOSED, SUPERSEDED, DRAFT}),
    MERGED: frozenset({PUBLISHED, SUPERSEDED}),
    **{state: frozenset() for state in (PUBLISHED, ALREADY_PUBLISHED, SUPERSEDED, WITHDRAWN)},
    CLOSED: frozenset({DRAFT}),
}
MAX_TITLE, MAX_BODY, MAX_PATH, MAX_CHANGES = 200, 20_000, 500, 12
_REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
_PATH = re.compile(r"[^\x00-\x1f\x7f\\]+")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Publication:
    """A row of the table; `state` is what comes next.

    `repo_id` 0: GitHub was not asked yet. `before` is what stands at `path` on `base_sha`, None:
    nothing. `problem` is a code of `publication_problems`, `detail` what GitHub said of it.
    `next_at` None: it does not go on by itself. `confirmed_at` None: it was never agreed to.
    """

    id: int
    user_id: int
    open_key: str | None
    state: str
    repo_id: int
    repository: str
    base_branch: str
    type: str
    name: str
    version: str
    path: str
    text: str
    before: str | None
    title: str
    body: str
    is_signed_off: bool
    is_direct: bool
    base_sha: str | None
    tree_sha: str | None
    commit_sha: str | None
    fork_id: int | None
    fork: str | None
    branch: str | None
    pull_number: int | None
    pull: Mapping[str, Any] | None
    problem: str | None
    detail: str
    attempts: int
    next_at: datetime | None
    confirmed_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def reference(self) -> str:
        return f"{self.type}/{self.name}" + (f"@{self.version}" if self.version else "")

    @property
    def is_update(self) -> bool:
        """Whether it changes the pull request that it has, in place of opening one."""
        return self.pull_number is not None

    @property
    def head_repo_id(self) -> int | None:
        """The repository that its branch is in; None: not known yet."""
        return self.repo_id if self.is_direct else self.fork_id

    @property
    def head_repository(self) -> str:
        return self.repository if self.is_direct else self.fork or ""

    @property
    def head(self) -> str:
        """Its branch as GitHub names the head of a pull request."""
        return f"{self.head_repository.partition('/')[0]}:{self.branch}"

    @property
    def has_new_words(self) -> bool:
        """Whether its author wrote another title or text since its pull request was looked at."""
        return "body" in (self.pull or {}) and self.is_reworded(self.title, self.body)

    def is_reworded(self, title: str, body: str) -> bool:
        """Whether these are other words than the pull request was last seen to have."""
        pull = self.pull or {}
        return (title[:MAX_TITLE], body[:MAX_BODY]) != (
            pull.get("title", "")[:MAX_TITLE], pull.get("body", "")[:MAX_BODY])

    @property
    def seen(self) -> str:
        """What its author agrees to, in short: this text, in place of what stood there."""
        parts = (self.repository, self.base_sha, self.path, self.text)
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def may_follow(before: str, after: str) -> bool:
    """Whether a publication goes from one state to another; to stay is no step."""
    return before == after or after in TRANSITIONS[before]


def open_key(publication: Publication) -> str:
    """What only one open publication has."""
    return (f"{publication.user_id} {publication.repo_id} "
            f"{publication.type}/{publication.name}")


# --- what is asked for --------------------------------------------------------------------------

def checked_repository(text: str) -> str:
    """`owner/name` of what was typed or pasted; raises InvalidInputError."""
    name = re.sub(r"^https?://[^/]+/", "", text.strip()).removesuffix("/").removesuffix(".git")
    last = name.rpartition("/")[2]
    if not _REPOSITORY.fullmatch(name) or last in (".", ".."):
        raise InvalidInputError(Sentence(
            "`{name}` is no repository. Write owner/name, as in the address of its page on "
            "GitHub.", name=text.strip()[:200]))
    return name


def checked_path(path: str) -> str:
    """The path in its plain form; raises InvalidInputError for one that no component can have."""
    plain = posixpath.normpath(path.strip())
    parts = plain.split("/")
    if not _PATH.fullmatch(path.strip()) or len(plain) > MAX_PATH or plain.startswith("/") \
            or any(part == ".." or part.lower().startswith(".git") for part in parts):
        raise InvalidInputError(Sentence(
            "`{path}` is no path for a component. Write it from the repository's root on, such as "
            "`job/hello.yaml`.", path=path[:200]))
    if component_type(plain) is None:
        raise InvalidInputError(Sentence(
            "No component is looked for at `{plain}`. It must be a .yaml file in a folder named "
            "after its type: `job/`, `data/`, `script/` or `dockerimage/`.", plain=plain[:200]))
    return plain


def suggested_path(type: str, name: str, sub_paths: Sequence[str] = ()) -> str:
    """Where a new component belongs by the convention of this house."""
    return posixpath.join(*sub_paths[:1], type, f"{name}.yaml")


def is_below(path: str, sub_paths: Sequence[str]) -> bool:
    """Whether a source that looks only below these folders finds it; none: it looks everywhere."""
    return not sub_paths or any(path.startswith(f"{folder}/") for folder in sub_paths)


def default_title(component: Component, *, is_new: bool) -> str:
    version = f" {component.version}" if component.version else ""
    verb = "Add" if is_new else "Update"
    return f"{verb} {component.type}/{component.name}{version}"[:MAX_TITLE]


def default_body(component: Component, difference: Difference | None) -> str:
    """What a reader of the pull request wants to know first; None: the component is new."""
    parts = [component.description.strip()]
    if difference and difference.changes:
        sentences = [f"- {change.sentence}" for change in difference.changes]
        left = len(sentences) - MAX_CHANGES
        parts.append("\n".join(["Changes:", "", *sentences[:MAX_CHANGES],
                                *([f"- and {left} more"] if left > 0 else [])]))
    return "\n\n".join(filter(None, parts))[:MAX_BODY]


# --- what it becomes on GitHub ------------------------------------------------------------------

def commit_message(publication: Publication, name: str, email: str) -> str:
    """The title and, where the author agreed, the line that some projects ask for."""
    signed = f"\n\nSigned-off-by: {name} <{email}>" if publication.is_signed_off else ""
    return publication.title + signed + "\n"


def branch_name(publication: Publication, tree_sha: str, number: int = 1) -> str:
    """The same for the same content; the further numbers are for where it is taken."""
    component = _fit(f"{publication.type}-{publication.name}")
    suffix = f"-{number}" if number > 1 else ""
    return f"registry/{component}/{_fit(publication.version) or 'new'}-{tree_sha[:8]}{suffix}"


def compare_url(publication: Publication, github_url: str) -> str:
    """The page on GitHub where its author opens the pull request by hand, with all filled in."""
    head = publication.head.partition(":")
    name = publication.head_repository.partition("/")[2]
    place = f"{publication.base_branch}...{head[0]}:{name}:{publication.branch}"
    words = urlencode({"quick_pull": 1, "title": publication.title, "body": publication.body})
    return f"{github_url}/{publication.repository}/compare/{quote(place, safe='/:.')}?{words}"


def _fit(text: str) -> str:
    """As a part of a branch's name."""
    return _UNFIT.sub("-", text).strip("-")[:80]


# --- when it goes on ----------------------------------------------------------------------------

FORK_TRIES = 33  # looks that take five minutes
FORK_SLOW_AFTER = timedelta(minutes=5)
LONGEST_LOOK, LONGEST_RETRY = timedelta(hours=1), timedelta(minutes=10)


def fork_wait(attempts: int) -> timedelta:
    """Until the next look for a new fork: 0.5 s, growing to 10 s, and after five minutes slowly."""
    if attempts > FORK_TRIES:
        return FORK_SLOW_AFTER
    return timedelta(seconds=min(0.5 * 2 ** min(attempts, 10), 10))


def retry_wait(attempts: int) -> timedelta:
    """Until the next try after an answer that said nothing: 2 s, growing to ten minutes."""
    return min(timedelta(seconds=2 * 2 ** min(attempts, 20)), LONGEST_RETRY)


def watch_wait(age: timedelta) -> timedelta:
    """Until the next look at a pull request: a minute while it is young, an hour at last."""
    return min(max(timedelta(minutes=1), age / 10), LONGEST_LOOK)
