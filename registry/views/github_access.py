"""One's GitHub token as page and API show it: what it is, what will not work with it, and why."""
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from registry.accounts import User
from registry.github_accounts import GitHubAccount
from registry.github_errors import SENTENCES, Code
from registry.github_records import CLASSIC, FINE_GRAINED, OTHER
from registry.views.auth import is_refused, limiter
from registry.views.language import gettext as _
from registry.views.services import services
from registry.wording import N_

ENDS_SOON = timedelta(days=7)
ATTEMPTS = "10 per minute; 100 per day"
KINDS = {CLASSIC: N_("classic"), FINE_GRAINED: N_("fine-grained"), OTHER: N_("of an app")}

# GitHub is asked at each attempt, so nobody may try out tokens here.
limit = limiter.shared_limit(ATTEMPTS, "tokens of GitHub", methods=["POST", "PUT"],
                             deduct_when=is_refused)


def section(user: User) -> dict[str, Any]:
    """What the section of the page Settings shows."""
    account, url, now = services().github.of(user.id), services().github.url, _now()
    return {
        "account": account, "url": url, "host": urlsplit(url).netloc, "links": links(url),
        "kind": _(KINDS[account.kind]) if account else None,
        "problem": problem_text(account), "limitations": limitations(account),
        "ends": ends_text(account), "sso": sso_text(account),
        "ends_soon": account is not None and account.problem is None
        and account.expires_at is not None and account.expires_at - now < ENDS_SOON,
        "waits_until": account.limited_until if account and account.problem is None
        and account.limited_until and account.limited_until > now else None}


def as_json(user: User) -> dict[str, Any]:
    """The same for a program; no part of the token but its last four characters."""
    account = services().github.of(user.id)
    found: dict[str, Any] = {
        "is_connected": account is not None, "server": services().github.url,
        "host": urlsplit(services().github.url).netloc,
        "message": problem_text(account), "limitations": limitations(account),
        "ends": ends_text(account), "sso": sso_text(account),
        "sso_url": account.sso_url if account else None}
    for name in ("login", "kind", "last_four", "problem"):
        found[name] = getattr(account, name, None)
    for name in ("expires_at", "verified_at", "last_used_at"):
        at = getattr(account, name, None)
        found[name] = f"{at.isoformat()}Z" if at else None
    return found | {"scopes": list(account.scopes) if account and account.scopes is not None
                    else None}


def links(url: str) -> dict[str, str]:
    """Where GitHub makes a token that has just what is needed."""
    def classic(scope: str) -> str:
        return f"{url}/settings/tokens/new?" + urlencode(
            {"scopes": scope, "description": "PAIShare"})
    return {
        "public": classic("public_repo"), "private": classic("repo"),
        "fine_grained": f"{url}/settings/personal-access-tokens/new?" + urlencode(
            {"name": "PAIShare", "contents": "write", "pull_requests": "write"}),
        "tokens": f"{url}/settings/tokens"}


def problem_text(account: GitHubAccount | None) -> str | None:
    if account is None or account.problem is None:
        return None
    return SENTENCES[account.problem]


def ends_text(account: GitHubAccount | None) -> str | None:
    """When the token ends, or that it does not work any more."""
    if account is None:
        return None
    at = account.expires_at
    if account.problem is Code.TOKEN_DEAD:
        is_over = at is not None and at <= _now()
        return _("over since %(time)s UTC", time=f"{at:%Y-%m-%d %H:%M}") if at and is_over else \
            _("now: GitHub does not accept it any more")
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else _("never, unless it is revoked")


def sso_text(account: GitHubAccount | None) -> str | None:
    """What to do where an organization asks for single sign-on; None: none does."""
    if account is None or account.problem or not account.asks_sso:
        return None
    if account.sso_url:
        return _("An organization asks for single sign-on before this token may see anything of "
                 "its. Authorize the token for it with the link that GitHub gave, which is good "
                 "for an hour; then what is its is seen here within ten minutes, and what waits "
                 "for it goes on when you press Try again.")
    return _("An organization asks for single sign-on before this token may see anything of its. "
             "Authorize the token for it on %(url)s, under Configure SSO; then what is its is "
             "seen here within ten minutes, and what waits for it goes on when you press Try "
             "again.", url=f"{services().github.url}/settings/tokens")


def limitations(account: GitHubAccount | None) -> list[str]:
    """What will not work with this token, though it is good."""
    if account is None:
        return []
    if account.kind == FINE_GRAINED:
        return [_("Only the repositories that you chose for the token are there for it."),
                _("Pull requests to repositories of others are finished on GitHub: the branch is "
                  "made from here, and you press one button there.")]
    scopes = set(account.scopes or ())
    if account.kind == CLASSIC and "repo" in scopes:
        return []
    hidden = [_("Private repositories stay hidden: for them it needs the scope `repo`.")]
    if account.kind == CLASSIC and "public_repo" not in scopes:
        return [*hidden, _("Nothing can be published: for public repositories it needs the scope "
                           "`public_repo`.")]
    return hidden if account.kind == CLASSIC else [
        _("This is a token of an app, which ends within hours and may do what its app may. A "
          "personal access token lasts.")]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
