"""What is said of a source, in the same words by the sync, pages, the API and commands. Pure."""
from __future__ import annotations

from typing import Mapping

SHORT = 7  # digits of a commit
GONE, REPLACED, FORBIDDEN, BLOCKED, EMPTY = "gone", "replaced", "forbidden", "blocked", "empty"
TITLES: Mapping[str, str] = {
    GONE: "Gone from GitHub", REPLACED: "Another repository has its name",
    FORBIDDEN: "GitHub does not show it", BLOCKED: "Blocked by GitHub",
    EMPTY: "Nothing is in it"}
AGREED = "The next sync of {name}, which begins now, takes the new commit over."
DECIDED_TO_KEEP = "What is in the marketplace of {name} stays."
SPONSORED = "{name} is synced with your token from now on."
HOOKED = "The webhook of {name} is made: GitHub tells of each push from now on."
HOOK_EVENTS = "pushes, pull requests, repositories, visibility changes"
_TEXTS: Mapping[str, str] = {
    GONE: (
        "`{name}` was deleted, or is not public any more. What was indexed keeps serving, marked "
        "as withdrawn upstream. If it comes back, the next sync takes it up again; if it will "
        "not, its owner or an admin can remove the source."),
    REPLACED: (
        "The repository that was indexed is gone, and `{name}` is a new one, made by whoever took "
        "the name. Nothing is read from it. If you trust it, remove this source and add the "
        "repository again."),
    FORBIDDEN: (
        "The token that syncs `{name}` is not shown it any more, or there is none. Either the "
        "repository was deleted; or the token's user lost the right to read it; or the token was "
        "revoked, has ended, or is not authorized for the organization. Look at the repository on "
        "GitHub. If it is there, whoever reads it chooses “Use my token” "
        "(`paishare source use-my-token`), or the token's user connects GitHub again. If it was "
        "deleted, its owner or an admin can remove the source. What was indexed stays for those "
        "whose own token reads the repository."),
    BLOCKED: (
        "GitHub has blocked `{name}`, so nothing of it is shown here. Only GitHub's support can "
        "say more."),
    EMPTY: (
        "`{name}` has no commit on {branch}. Push one, or remove the source and add it again with "
        "another branch."),
}


def what_happened(state: str, name: str, branch: str | None = None) -> str:
    """What happened to the repository, and what to do; `branch` None: its default one."""
    return _TEXTS[state].format(
        name=name, branch=f"the branch `{branch}`" if branch else "its default branch")


def held(count: int, *, shown: str | None, newest: str | None) -> str:
    """Why a head waits for its owner; `newest` None: the repository holds nothing any more."""
    return (f"{_newest(newest)} would take away {count} versions at once, which may be a mistake. "
            f"Until its owner agrees, the marketplace shows `{(shown or '')[:SHORT]}`.")


def kept(count: int, *, shown: str | None, newest: str | None) -> str:
    """What its owner decided about such a head."""
    return (f"{_newest(newest)} would take away {count} versions. Its owner decided to keep them: "
            f"the marketplace goes on showing `{(shown or '')[:SHORT]}`.")


def _newest(head: str | None) -> str:
    return f"The newest commit `{head[:SHORT]}`" if head else "What the repository is now"


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def invalid(number: int) -> str:
    """How many files hold no valid component."""
    return counted(number, "invalid file")


def advice(number: int) -> str:
    """How many components could be better written."""
    return f"advice about {counted(number, 'component')}"


def served(components: int, withdrawn: int) -> str:
    """How many components stand at the head, and how many of before keep serving all the same."""
    if not withdrawn:
        return str(components)
    return f"{components}, and {withdrawn} withdrawn upstream that keep serving"
