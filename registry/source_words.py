"""What is said of a source, in the same words by the sync, pages, the API and commands. Pure."""
from __future__ import annotations

from typing import Callable, Mapping

from registry.wording import N_

SHORT = 7  # digits of a commit
Say = Callable[[str], str]  # how a text is said to its reader; `str`: in English
GONE, REPLACED, FORBIDDEN, BLOCKED, EMPTY = "gone", "replaced", "forbidden", "blocked", "empty"
TITLES: Mapping[str, str] = {
    GONE: N_("Gone from GitHub"), REPLACED: N_("Another repository has its name"),
    FORBIDDEN: N_("GitHub does not show it"), BLOCKED: N_("Blocked by GitHub"),
    EMPTY: N_("Nothing is in it")}
AGREED = N_("The next sync of {name}, which begins now, takes the new commit over.")
DECIDED_TO_KEEP = N_("What is in the marketplace of {name} stays.")
SPONSORED = N_("{name} is synced with your token from now on.")
ASKED = N_("{name} is indexed now.")
PAUSED = N_("{name} is paused: it is not indexed until somebody resumes it. What is in the "
            "marketplace stays.")
RESUMED = N_("{name} goes on: it is indexed now, and from then on as before.")
HOOKED = N_("The webhook of {name} is made: GitHub tells of each push from now on.")
HOOK_EVENTS = "pushes, pull requests, repositories, visibility changes"
_TEXTS: Mapping[str, str] = {
    GONE: N_(
        "`{name}` was deleted, or is not public any more. What was indexed keeps serving, marked "
        "as withdrawn upstream. If it comes back, the next sync takes it up again; if it will "
        "not, its owner or an admin can remove the source."),
    REPLACED: N_(
        "The repository that was indexed is gone, and `{name}` is a new one, made by whoever took "
        "the name. Nothing is read from it. If you trust it, remove this source and add the "
        "repository again."),
    FORBIDDEN: N_(
        "The token that syncs `{name}` is not shown it any more, or there is none. Either the "
        "repository was deleted; or the token's user lost the right to read it; or the token was "
        "revoked, has ended, or is not authorized for the organization. Look at the repository on "
        "GitHub. If it is there, whoever reads it chooses “Use my token” "
        "(`paishare source use-my-token`), or the token's user connects GitHub again. If it was "
        "deleted, its owner or an admin can remove the source. What was indexed stays for those "
        "whose own token reads the repository."),
    BLOCKED: N_(
        "GitHub has blocked `{name}`, so nothing of it is shown here. Only GitHub's support can "
        "say more."),
    EMPTY: N_(
        "`{name}` has no commit on {branch}. Push one, or remove the source and add it again with "
        "another branch."),
}
_HELD = N_(
    "{newest} would take away {count} versions at once, which may be a mistake. Until its owner "
    "agrees, the marketplace shows `{shown}`.")
_KEPT = N_(
    "{newest} would take away {count} versions. Its owner decided to keep them: the marketplace "
    "goes on showing `{shown}`.")


_OUT: Mapping[str, str] = {
    "locked": N_(
        "`{name}` is synced with the token of {sponsor}, who is locked out, so the token is not "
        "used. Whoever reads the repository chooses “Use my token” (`paishare source "
        "use-my-token`), or an admin lets {sponsor} in again. What was indexed stays for those "
        "whose own token reads the repository."),
    "deleted": N_(
        "`{name}` was synced with the token of {sponsor}, whose account was deleted, and the token "
        "with it. Whoever reads the repository chooses “Use my token” (`paishare source "
        "use-my-token`). What was indexed stays for those whose own token reads the repository."),
}


def sponsor_is_out(how: str, name: str, sponsor: str, *, say: Say = str) -> str:
    """Why the token of the user who offered theirs is not used; `how`: locked or deleted."""
    return say(_OUT[how]).format(name=name, sponsor=sponsor)


def what_happened(state: str, name: str, branch: str | None = None, *, say: Say = str) -> str:
    """What happened to the repository, and what to do; `branch` None: its default one."""
    where = say(N_("the branch `{branch}`")).format(branch=branch) if branch else \
        say(N_("its default branch"))
    return say(_TEXTS[state]).format(name=name, branch=where)


def held(count: int, *, shown: str | None, newest: str | None, say: Say = str) -> str:
    """Why a head waits for its owner; `newest` None: the repository holds nothing any more."""
    return say(_HELD).format(newest=_newest(newest, say), count=count,
                             shown=(shown or "")[:SHORT])


def kept(count: int, *, shown: str | None, newest: str | None, say: Say = str) -> str:
    """What its owner decided about such a head."""
    return say(_KEPT).format(newest=_newest(newest, say), count=count,
                             shown=(shown or "")[:SHORT])


def _newest(head: str | None, say: Say) -> str:
    return say(N_("The newest commit `{head}`")).format(head=head[:SHORT]) if head else \
        say(N_("What the repository is now"))


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
