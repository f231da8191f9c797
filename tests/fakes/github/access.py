"""Finds the repository of a request, or refuses as GitHub does: hidden, blocked, policy, right."""
from __future__ import annotations

from flask import g, request

from tests.fakes.github.answers import ApiError, require_login
from tests.fakes.github.records import Organisation, Repository, Token
from tests.fakes.github.world import World

REPOSITORY = "/repos/<owner>/<name>"
NO_ACCESS = "Resource not accessible by personal access token"


class Access:
    """Each call also notes what a fine-grained token would need, which headers tell."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read(self, owner: str, name: str, permission: str = "contents") -> Repository:
        g.needed = f"{permission}=read"
        found = self._world.find(owner, name)
        if found is None or not self._world.may(None, found, "read"):
            self._check_policy(found)
        if found is None or not self._world.may(g.token, found, "read", permission):
            raise _unreadable(self._world, found, permission)
        if found.is_blocked:
            raise ApiError(451, "Repository access blocked", block={
                "reason": "dmca", "created_at": "2026-01-01T00:00:00Z",
                "html_url": "https://github.com/github/dmca"})
        return found

    def write(self, owner: str, name: str, permission: str = "contents",
              wanted: str = "write") -> Repository:
        """As `read`, and then 403 or 404 as GitHub gives them to one who may not write."""
        found, token = self.read(owner, name, "metadata"), require_login()
        g.needed = f"{permission}=write"
        self._check_policy(found)
        if found.is_archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        if not self._world.may(token, found, wanted, permission):
            raise ApiError(404, "Not Found") if token.is_classic else ApiError(403, NO_ACCESS)
        return found

    def _check_policy(self, found: Repository | None) -> None:
        """What an organisation asks of tokens, told only to those who may see the repository."""
        owner = self._world.users[found.owner.lower()] if found else None
        if g.token is None or found is None or not isinstance(owner, Organisation):
            return
        if self._world.role(g.token.user, found) == "none":
            return
        if owner.forbids_classic and g.token.is_classic:
            raise ApiError(403, f"`{owner.login}` forbids access via a personal access token "
                                "(classic). Please use a GitHub App, OAuth App, or a personal "
                                "access token with fine-grained permissions.")
        if is_sso_missing(owner, g.token):
            raise ApiError(403, "Resource protected by organization SAML enforcement. You must "
                                "grant your Personal Access token access to this organization.",
                           headers={"X-GitHub-SSO": f"required; url={sso_url(owner)}"})


def is_sso_missing(owner: Organisation, token: Token) -> bool:
    return owner.needs_sso and token.value not in owner.sso_tokens


def sso_url(owner: Organisation) -> str:
    return f"{request.host_url}orgs/{owner.login}/sso?authorization_request=A5SH"


def _unreadable(world: World, found: Repository | None, permission: str) -> ApiError:
    """Hidden, but for a fine-grained token that reaches the repository and not this of it."""
    is_near = found is not None and g.token is not None and not g.token.is_classic and \
        world.may(g.token, found, "read", "metadata")
    return ApiError(403, NO_ACCESS) if is_near else ApiError(404, "Not Found")
