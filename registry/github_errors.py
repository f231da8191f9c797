"""What GitHub refuses and why: an answer → a code and a sentence that says what to do. Pure."""
from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Mapping, Sequence

from registry.errors import RegistryError
from registry.wording import N_
from runner.sentence import Sentence, joined

MAX_WAIT = timedelta(hours=1)  # GitHub counts by the hour, so no limit lasts longer
SECONDARY_WAIT = timedelta(minutes=1)
SSO = "x-github-sso"
PUBLISHING_SCOPES = frozenset({"repo", "public_repo"})


class Code(StrEnum):
    """Why GitHub did not do what was asked; kept in tables and told to programs."""

    NO_TOKEN = "NO_TOKEN"
    TOKEN_DEAD = "TOKEN_DEAD"
    KEY_LOST = "KEY_LOST"
    SCOPE_MISSING = "SCOPE_MISSING"
    FG_NO_FORK = "FG_NO_FORK"
    FINISH_ON_GITHUB = "FINISH_ON_GITHUB"
    SSO_REQUIRED = "SSO_REQUIRED"
    ORG_POLICY = "ORG_POLICY"
    FORK_FORBIDDEN = "FORK_FORBIDDEN"
    REPO_READONLY = "REPO_READONLY"
    FORBIDDEN = "FORBIDDEN"
    GONE = "GONE"
    BLOCKED = "BLOCKED"
    EMPTY = "EMPTY"
    EXISTS = "EXISTS"
    NOT_FAST_FORWARD = "NOT_FAST_FORWARD"
    PULL_EXISTS = "PULL_EXISTS"
    NO_COMMITS = "NO_COMMITS"
    WORKFLOW_SCOPE = "WORKFLOW_SCOPE"
    RULE = "RULE"
    REFUSED = "REFUSED"
    LATER = "LATER"
    UNREACHABLE = "UNREACHABLE"
    UNKNOWN = "UNKNOWN"


class Action(StrEnum):
    """What was asked for, as far as it changes what a refusal means."""

    READ = "read"
    WRITE = "write"
    FORK = "fork"
    PULL = "pull"


STATUS = {Code.GONE: 404, Code.LATER: 503, Code.UNREACHABLE: 503, Code.UNKNOWN: 503,
          Code.SCOPE_MISSING: 403, Code.FG_NO_FORK: 403, Code.SSO_REQUIRED: 403,
          Code.ORG_POLICY: 403, Code.FORK_FORBIDDEN: 403, Code.FORBIDDEN: 403, Code.BLOCKED: 403}
SENTENCES = {
    Code.NO_TOKEN: N_(
        "You have not connected GitHub. Paste a token on the page Settings, under GitHub "
        "access."),
    Code.KEY_LOST: N_(
        "Your token cannot be opened any more: the key that sealed it is gone, or this server "
        "uses another GitHub now. Paste a token on the page Settings, under GitHub access."),
    Code.TOKEN_DEAD: N_(
        "GitHub does not accept your token any more: it was revoked, or it ended. Make a new "
        "one and paste it on the page Settings, under GitHub access."),
    Code.SCOPE_MISSING: N_(
        "Your token lacks the scope for this. Make a classic one with `public_repo` (for "
        "private repositories `repo`) at {url}/settings/tokens/new?scopes=public_repo and "
        "paste it on the page Settings."),
    Code.FG_NO_FORK: N_(
        "Your fine-grained token may not fork this repository. Fork it on GitHub and give the "
        "token write access to your fork, or use a classic token with `public_repo`: "
        "{url}/settings/tokens/new?scopes=public_repo."),
    Code.FINISH_ON_GITHUB: N_(
        "Your token may not open a pull request there, as fine-grained tokens never may in "
        "repositories of others. The branch is on GitHub: open the pull request there, with "
        "the link beside this; it is then followed from here."),
    Code.SSO_REQUIRED: N_(
        "The organization asks for single sign-on. Authorize your token for it{link}, then try "
        "again."),
    Code.ORG_POLICY: N_(
        "The organization does not let your token in. Use the kind of token that it allows, or "
        "ask its owners."),
    Code.FORK_FORBIDDEN: N_(
        "This repository may not be forked. Ask its owners for the right to push to it."),
    Code.REPO_READONLY: N_(
        "The repository is archived, so nothing can be changed in it. Ask its owners to "
        "unarchive it, or choose another one."),
    Code.FORBIDDEN: N_(
        "GitHub does not allow you this. Ask the owners of the repository for the right, and "
        "look whether your token includes it."),
    Code.GONE: N_(
        "There is no such repository on GitHub that your token can see. Check its name, and "
        "whether your token may read it."),
    Code.BLOCKED: N_("GitHub has blocked this repository. Only GitHub's support can say more."),
    Code.EMPTY: N_("The repository is empty. Make a first commit on GitHub, then try again."),
    Code.EXISTS: N_("There is a branch of this name already."),
    Code.NOT_FAST_FORWARD: N_(
        "The branch holds commits that are not from here, so it was left as it is."),
    Code.PULL_EXISTS: N_("There is an open pull request from this branch already."),
    Code.NO_COMMITS: N_(
        "The repository holds just this already: there is nothing to propose."),
    Code.WORKFLOW_SCOPE: N_(
        "GitHub wants the scope `workflow` to make this branch, because workflows differ "
        "between your fork and the repository. Press `Sync fork` in your fork on GitHub, then "
        "try again."),
    Code.RULE: N_(
        "A rule of the repository forbids this branch. Ask its owners, or publish through a "
        "fork."),
    Code.REFUSED: N_("GitHub refused what was sent."),
    Code.LATER: N_("GitHub asks to wait. Nothing is lost; it goes on by itself {when}."),
    Code.UNREACHABLE: N_(
        "{url} cannot be reached. Try again in a moment; if it stays, the operator can check "
        "PAISHARE_GITHUB_URL and the network."),
    Code.UNKNOWN: N_(
        "GitHub failed in the middle. Whether it did what was asked is looked up before "
        "anything is tried again."),
}
_QUOTED = {Code.ORG_POLICY, Code.FORBIDDEN, Code.RULE, Code.REFUSED, Code.BLOCKED}


class GitHubError(RegistryError):
    """GitHub did not do what was asked.

    `retry_at` (UTC) is when to try again; None: not before somebody changes something. `detail`
    holds GitHub's own words without secrets, `link` an address where the user can mend it.
    """

    def __init__(self, code: Code, message: str, retry_at: datetime | None = None, *,
                 detail: str = "", link: str | None = None) -> None:
        super().__init__(message)
        self.code: Code = code
        self.status = STATUS.get(code, 409)
        self.retry_at = retry_at
        self.detail = detail
        self.link = link


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An answer of GitHub that is no success; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: Any
    action: Action
    url: str
    now: datetime

    @property
    def message(self) -> str:
        return str(self.body.get("message") or "") if isinstance(self.body, dict) else ""

    @property
    def words(self) -> str:
        """Everything that it says, in one line."""
        errors = self.body.get("errors") if isinstance(self.body, dict) else None
        more = [str(each.get("message") or each.get("code") or "") if isinstance(each, dict)
                else str(each) for each in (errors if isinstance(errors, list) else ())]
        return " ".join(" ".join(filter(None, [self.message, *more])).split())

    @property
    def scopes(self) -> frozenset[str] | None:
        """Of a classic token; None for any other."""
        return scopes_of(self.headers)

    def says(self, pattern: str) -> bool:
        return re.search(pattern, self.words, re.I) is not None


def error_of(refusal: Refusal, hide: Any = str) -> GitHubError:
    """The refusal as an error; `hide` takes secrets out of GitHub's words."""
    code = code_of(refusal)
    detail = hide(refusal.words)[:1000]
    link = sso_link(refusal.headers, refusal.url) if code is Code.SSO_REQUIRED else None
    retry_at = retry_at_of(refusal) if code in (Code.LATER, Code.UNKNOWN) else None
    return made(code, refusal.url, retry_at, detail=detail, link=link)


def made(code: Code, url: str, retry_at: datetime | None = None, *, detail: str = "",
         link: str | None = None) -> GitHubError:
    """An error with its usual sentence; `url` is GitHub's."""
    message = Sentence(
        SENTENCES[code], url=url, link=Sentence(" at {link}", link=link) if link else "",
        when=Sentence("after {time} UTC", time=f"{retry_at:%H:%M}") if retry_at
        else Sentence("in a moment"))
    said = Sentence("GitHub says: {detail}", detail=detail) if code in _QUOTED and detail else ""
    return GitHubError(code, joined(message, said), retry_at, detail=detail, link=link)


def code_of(refusal: Refusal) -> Code:
    if is_limit(refusal):
        return Code.LATER
    if refusal.status >= 500:
        return Code.LATER if refusal.action is Action.READ else Code.UNKNOWN
    by_status = {401: _unauthorized, 403: _forbidden, 404: _not_found, 409: _conflict,
                 422: _unprocessable, 451: lambda _: Code.BLOCKED}
    return by_status.get(refusal.status, lambda _: Code.REFUSED)(refusal)


def is_limit(refusal: Refusal) -> bool:
    """429 comes with and without Retry-After; 403 is a limit by its headers or its words."""
    if refusal.status == 429:
        return True
    return refusal.status == 403 and (
        "retry-after" in refusal.headers or refusal.headers.get("x-ratelimit-remaining") == "0"
        or refusal.says("rate limit|abuse detection"))


def retry_at_of(refusal: Refusal) -> datetime:
    """When to ask again: as GitHub says, but never later than in an hour."""
    wait = SECONDARY_WAIT
    after, reset = refusal.headers.get("retry-after"), refusal.headers.get("x-ratelimit-reset")
    if _is_number(after):
        wait = timedelta(seconds=int(str(after)[:9]))
    elif refusal.headers.get("x-ratelimit-remaining") == "0" and _is_number(reset):
        moment = datetime.fromtimestamp(int(str(reset)[:10]), UTC).replace(tzinfo=None)
        wait = moment - refusal.now + timedelta(seconds=1)
    return refusal.now + min(max(wait, timedelta(seconds=1)), MAX_WAIT)


def _is_number(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdigit()


def scopes_of(headers: Mapping[str, str]) -> frozenset[str] | None:
    """The scopes of a classic token, maybe none of them; None for a token that has no scopes."""
    text = headers.get("x-oauth-scopes")
    return None if text is None else frozenset(
        filter(None, (scope.strip() for scope in text.split(","))))


def sso_link(headers: Mapping[str, str], url: str) -> str | None:
    """Where the user authorizes the token for the organization; good for an hour.

    None where it would lead elsewhere than to the GitHub server at `url`.
    """
    found = re.search(r"url=([^\s;,]+)", headers.get(SSO, ""))
    return found[1] if found and found[1].startswith(f"{url}/") else None


def _unauthorized(_: Refusal) -> Code:
    return Code.TOKEN_DEAD


_FORBIDDEN: Sequence[tuple[str, Code]] = (
    ("account was suspended", Code.TOKEN_DEAD),
    ("forbids access|IP allow list|not permitted to access|enabled or enforced", Code.ORG_POLICY),
    ("access blocked|unavailable due to", Code.BLOCKED),
    ("archived", Code.REPO_READONLY),
    ("forking is disabled|forks? (?:are|is) (?:disabled|not allowed)|does not allow forking",
     Code.FORK_FORBIDDEN),
    ("without `?workflow`? scope", Code.WORKFLOW_SCOPE),
    ("rule violations|protected branch", Code.RULE),
)


def _forbidden(refusal: Refusal) -> Code:
    if SSO in refusal.headers:
        return Code.SSO_REQUIRED
    for pattern, code in _FORBIDDEN:
        if refusal.says(pattern):
            return code
    if refusal.says("not accessible by (?:fine-grained )?personal access token"):
        return {Action.FORK: Code.FG_NO_FORK, Action.PULL: Code.FINISH_ON_GITHUB}.get(
            refusal.action, Code.FORBIDDEN)
    return Code.SCOPE_MISSING if _lacks_scope(refusal) else Code.FORBIDDEN


def _not_found(refusal: Refusal) -> Code:
    """A classic token without a scope meets 404 where it writes."""
    if refusal.says("without `?workflow`? scope"):
        return Code.WORKFLOW_SCOPE
    return Code.SCOPE_MISSING if _lacks_scope(refusal) else Code.GONE


def _lacks_scope(refusal: Refusal) -> bool:
    return refusal.action is not Action.READ and refusal.scopes is not None and not (
        refusal.scopes & PUBLISHING_SCOPES)


def _conflict(refusal: Refusal) -> Code:
    if refusal.says("repository is empty"):
        return Code.EMPTY
    return Code.RULE if refusal.says("rule violations|protected") else Code.REFUSED


_UNPROCESSABLE: Sequence[tuple[str, Code]] = (
    ("pull request already exists", Code.PULL_EXISTS),
    ("no commits between", Code.NO_COMMITS),
    ("workflow`? scope", Code.WORKFLOW_SCOPE),
    ("rule violations|protected branch|creations being restricted", Code.RULE),
    ("reference already exists", Code.EXISTS),
    ("not a fast.forward", Code.NOT_FAST_FORWARD),
    ("archived", Code.REPO_READONLY),
)


def _unprocessable(refusal: Refusal) -> Code:
    return next((code for pattern, code in _UNPROCESSABLE if refusal.says(pattern)), Code.REFUSED)
