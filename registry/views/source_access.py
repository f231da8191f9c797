"""Sources as pages and API tell of them, and who may touch one."""
from __future__ import annotations

from datetime import datetime
from typing import Any, Sequence

from registry.accounts import User
from registry.errors import ForbiddenError, InvalidInputError, NotFoundError
from registry.sources import Source
from registry.views.services import services
from registry.views.text import iso


def visible_source(user: User, name: str) -> Source:
    """The source, where the user may see it; else NotFoundError."""
    return services().sources.get(name, user_id=user.id)


def owned_source(user: User, name: str) -> Source:
    """The source, for its owner or an admin; raises NotFoundError or ForbiddenError."""
    source = visible_source(user, name)
    if not (user.is_admin or source.owner_id == user.id):
        raise ForbiddenError(f"Only the owner of {name} or an admin can do that. Ask one of them.")
    return source


def add_source(user: User, location: str, name: str | None, *, sub_paths: Sequence[str] = (),
               tag_prefix: str | None = None) -> Source:
    """Have a folder indexed; raises InvalidInputError or ConflictError telling what is wrong."""
    if not location.startswith(("/", "~")):
        raise InvalidInputError("Give the whole path of a folder on the server, such as "
                                f"/srv/components; {location[:200]!r} does not begin with /.")
    return services().sources.add_folder(location, name=name or None, owner_id=user.id,
                                         sub_paths=sub_paths, tag_prefix=tag_prefix)


def source_json(source: Source) -> dict[str, Any]:
    return {
        "name": source.name, "kind": source.kind, "location": source.location,
        "head": source.head, "synced_at": iso(source.synced_at), "sync_error": source.sync_error,
        "components": source.components, "problems": source.problems,
        "owner": _owner(source), "sub_paths": list(source.sub_paths),
        "tag_prefix": source.tag_prefix}


def last_sync() -> datetime | None:
    """When any source was last synced."""
    moments = [source.synced_at for source in services().sources.visible() if source.synced_at]
    return max(moments, default=None)


def _owner(source: Source) -> str | None:
    try:
        return services().accounts.user(source.owner_id).name if source.owner_id else None
    except NotFoundError:
        return None
