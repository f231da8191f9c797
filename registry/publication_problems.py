"""Why a publication does not go on, in words: what happened, and what to do next. Pure."""
from __future__ import annotations

from dataclasses import dataclass

from registry.github_records import FAILED, PullInfo
from registry.wording import N_

# What a page offers beside the text.
RETRY, EDIT, SETTINGS, REBUILD, OUTSIDE = "retry", "edit", "settings", "rebuild", "github"


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a page says of a problem. `goes_on`: nobody has to do anything.

    `actions` are what the page offers, the likeliest first.
    """

    title: str
    text: str
    goes_on: bool = False
    actions: tuple[str, ...] = (RETRY, EDIT)


ADVICE = {
    "NO_TOKEN": Advice(
        title=N_("GitHub is not connected"), actions=(SETTINGS, RETRY, EDIT),
        text=N_(
            "Publishing is done with your own access token. Connect GitHub in the settings, or "
            "with `paishare github connect`; then press Try again. The text stays here.")),
    "TOKEN_DEAD": Advice(
        title=N_("GitHub does not accept your token any more"), actions=(SETTINGS, RETRY, EDIT),
        text=N_(
            "It was revoked or has expired. Connect a new one in the settings, then press Try "
            "again: it goes on where it stopped.")),
    "KEY_LOST": Advice(
        title=N_("Your token cannot be read any more"), actions=(SETTINGS, RETRY, EDIT),
        text=N_(
            "The key that sealed it is gone from this server. Connect the token again in the "
            "settings, then press Try again: it goes on where it stopped.")),
    "SCOPE_MISSING": Advice(
        title=N_("Your token may not do that"), actions=(SETTINGS, RETRY, EDIT),
        text=N_(
            "A classic token needs the scope `public_repo` for public repositories, or `repo` for "
            "private ones. Make one with it, connect it in the settings, then press Try again.")),
    "FG_NO_FORK": Advice(
        title=N_("A fine-grained token cannot make the fork"), actions=(OUTSIDE, SETTINGS, RETRY),
        text=N_(
            "Fork the repository on GitHub by hand and give the token access to the fork, or "
            "connect a classic token with `public_repo`. Then press Try again: your fork is found "
            "and used.")),
    "SSO_REQUIRED": Advice(
        title=N_("The organisation wants your token authorised"), actions=(OUTSIDE, RETRY, EDIT),
        text=N_(
            "It uses single sign-on. Authorise the token for the organisation on GitHub, then "
            "press Try again.")),
    "ORG_POLICY": Advice(
        title=N_("A rule of the organisation forbids it"), actions=(SETTINGS, RETRY, EDIT),
        text=N_(
            "GitHub's own words stand beside this. Ask an owner of the organisation, or connect a "
            "token of the kind that it allows; then press Try again.")),
    "FORK_FORBIDDEN": Advice(
        title=N_("The repository allows no forks"), actions=(RETRY, EDIT),
        text=N_(
            "Ask its owner for the right to push: the branch is then made in the repository "
            "itself. Press Try again when you have it.")),
    "REPO_READONLY": Advice(
        title=N_("The repository is archived"), actions=(EDIT, RETRY),
        text=N_(
            "Nobody can change it now. Publish to another repository: the text stays here. If its "
            "owner opens it again, press Try again.")),
    "GONE": Advice(
        title=N_("The repository is not there for you"), actions=(EDIT, RETRY),
        text=N_(
            "It was deleted, or your token may not read it. Look at its name, or publish to "
            "another repository; the text stays here.")),
    "BLOCKED": Advice(
        title=N_("GitHub has blocked the repository"), actions=(EDIT,),
        text=N_(
            "That is for legal reasons, and nothing can be done about it here. Publish to another "
            "repository; the text stays here.")),
    "FORK_SLOW": Advice(
        title=N_("GitHub is still making your fork"), goes_on=True, actions=(RETRY, EDIT),
        text=N_(
            "That takes longer than usual. It is looked at every five minutes, and publishing goes "
            "on by itself.")),
    "WORKFLOW_SCOPE": Advice(
        title=N_("Your fork is too far behind"), actions=(OUTSIDE, RETRY, EDIT),
        text=N_(
            "The new branch would bring in workflow files, which your token may not write. Press "
            "Sync fork on your fork's page on GitHub, then Try again.")),
    "RULE": Advice(
        title=N_("A rule of the repository forbids the branch"), actions=(RETRY, EDIT),
        text=N_(
            "GitHub's own words stand beside this. Ask the repository's owner to allow branches "
            "below `registry/`, then press Try again.")),
    "BRANCH_MOVED": Advice(
        title=N_("Someone else pushed to the branch"), actions=(OUTSIDE, EDIT),
        text=N_(
            "Their change would be lost, so nothing was written. Go on with the pull request on "
            "GitHub.")),
    "WORDS_KEPT": Advice(
        title=N_("The change is there, but title and text are as before"), actions=(OUTSIDE, EDIT),
        text=N_(
            "GitHub did not let your token change these two of the pull request. Change them "
            "there; what they say is taken over here.")),
    "CONFLICT": Advice(
        title=N_("The pull request conflicts with what was merged since"),
        actions=(REBUILD, OUTSIDE),
        text=N_(
            "Rebuild it on the newest state: you see the difference again before anything is "
            "written, and the pull request stays the same one.")),
    "CLA": Advice(
        title=N_("A check asks for your agreement or signature"), actions=(OUTSIDE, EDIT),
        text=N_(
            "Open the check to see what to sign; a DCO check asks for the Signed-off-by line, "
            "which you can tick under Edit. It is looked at again by itself.")),
    "LATER": Advice(
        title=N_("GitHub asks to wait"), goes_on=True, actions=(),
        text=N_(
            "The limit of requests is reached for now. Publishing goes on by itself at the time "
            "that it named; nothing is lost.")),
    "UNKNOWN": Advice(
        title=N_("GitHub did not answer clearly"), goes_on=True, actions=(RETRY, EDIT),
        text=N_(
            "It is looked at what was done before anything is done again. Publishing goes on by "
            "itself.")),
    "LOOK_LATER": Advice(
        title=N_("GitHub does not answer now, or asks to wait"), actions=(RETRY, EDIT),
        text=N_(
            "What stands there could not be looked up, so nothing can be shown to agree to. The "
            "draft is kept: press Try again in a few minutes.")),
    "EMPTY": Advice(
        title=N_("The repository is empty"), actions=(RETRY, EDIT),
        text=N_(
            "A pull request needs something to change. Make a first commit on GitHub, such as a "
            "README, then press Try again.")),
    "FORBIDDEN": Advice(
        title=N_("GitHub does not allow you this"), actions=(SETTINGS, RETRY, EDIT),
        text=N_(
            "GitHub's own words stand beside this. Ask the repository's owner for the right, and "
            "look whether your token includes it; then press Try again.")),
    "REFUSED": Advice(
        title=N_("GitHub refused it"), actions=(RETRY, EDIT),
        text=N_(
            "Its own words stand beside this. Change what they name and try again; the text stays "
            "here.")),
}
WAITING = frozenset(code for code, advice in ADVICE.items() if advice.goes_on)
OTHER = ADVICE["REFUSED"]
AGREEMENTS = ("dco", "cla", "signed-off")  # in the names of checks that ask for one
OF_TOKEN = frozenset({"NO_TOKEN", "TOKEN_DEAD", "KEY_LOST", "SCOPE_MISSING", "FG_NO_FORK",
                      "SSO_REQUIRED", "ORG_POLICY"})


def problem_of(pull: PullInfo) -> str | None:
    """What keeps an open pull request from being merged and its author can mend; else None."""
    if pull.is_mergeable is False:
        return "CONFLICT"
    asks = any(asks_agreement(check.name, check.state) for check in pull.checks or ())
    return "CLA" if asks else None


def asks_agreement(name: str, state: str) -> bool:
    """Whether a check failed that wants its author's signature or agreement."""
    return state == FAILED and any(each in name.lower() for each in AGREEMENTS)


def advice_of(code: str) -> Advice:
    """What to say of a code; one that nobody knows was GitHub's refusal."""
    return ADVICE.get(code, OTHER)
