"""Who may do what: roles of people, and how far each kind of token reaches."""
from __future__ import annotations

from tests.fakes.github.records import Organisation, Repository, Token, User

ROLES = ("none", "read", "write", "admin")


def role_of(user: User | None, repository: Repository, owner: User) -> str:
    """What the person may do, whatever the token: none, read, write or admin."""
    if user is None:
        return "none" if repository.is_private else "read"
    if user.login == repository.owner:
        return "admin"
    found = [repository.grants.get(user.login, "none"), "none" if repository.is_private else "read"]
    if isinstance(owner, Organisation) and user.login in owner.members:
        found.append(owner.members[user.login])
        if repository.is_internal:
            found.append("read")
    return max(found, key=ROLES.index)


def may(token: Token | None, role: str, repository: Repository, wanted: str,
        permission: str) -> bool:
    """Whether the token of someone with `role` may `wanted` (read, write, admin) there.

    A fine-grained one reaches no further than what it was given, and needs `permission`.
    """
    if ROLES.index(role) < ROLES.index(wanted):
        return False
    if wanted == "read" and not repository.is_private:
        return True
    if token is None:
        return False
    if token.scopes is not None:
        needed = {"repo"} if repository.is_private else {"repo", "public_repo"}
        return bool(needed & token.scopes)
    level = "read" if permission == "metadata" else token.permissions.get(permission, "none")
    return repository.id in token.repositories and (
        level == "write" or (level == "read" and wanted == "read"))
