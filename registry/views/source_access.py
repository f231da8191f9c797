"""Sources as pages and API tell of them, and who may touch one."""
from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Sequence

from flask import g

from registry.accounts import User
from registry.entry import Entry
from registry.errors import (
    ConflictError,
    DatabaseUnavailableError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
)
from registry.repository_name import check_branch
from registry.sources import NewRepository, Source
from registry.views import auth
from registry.views.addresses import address_of
from registry.views.language import gettext as _
from registry.views.services import services
from registry.views.source_state import (
    State,
    freshness,
    is_busy,
    is_on_github,
    note_of,
    progress_of,
    states_of,
    trouble_of,
    verdict,
)
from registry.views.text import iso
from runner.sentence import Sentence


@dataclass(frozen=True, kw_only=True)
class AskedSource:
    """What someone wants indexed, as a form or a program gives it; empty texts were not given.

    `is_sponsored`: the user's own token may be used for it in the background.
    """

    location: str
    name: str = ""
    branch: str = ""
    sub_paths: Sequence[str] = ()
    tag_prefix: str | None = None
    is_sponsored: bool = False


def visible_source(user: User, name: str) -> Source:
    """The source, where the user may see it; else NotFoundError."""
    return services().sources.get(name, user_id=user.id)


def owned_source(user: User, name: str) -> Source:
    """The source, for its owner or an admin who sees it; raises NotFoundError or ForbiddenError."""
    source = visible_source(user, name)
    if not may_change(user, source):
        raise ForbiddenError(Sentence(
            "Only the owner of {name} or an admin can do that. Ask one of them.", name=name))
    return source


def managed_source(user: User, name: str) -> Source:
    """The source, for its owner or an admin, who pause and remove also what is hidden from them.

    Raises NotFoundError or ForbiddenError.
    """
    return next((each for each in hidden_sources(user) if each.name == name), None) \
        or owned_source(user, name)


def hidden_sources(user: User) -> list[Source]:
    """What the user may pause or remove and not see: of their own, or as an admin, anyone's.

    A private repository that was deleted is read by nobody's token any more, its owner's included.
    """
    return [each for each in services().sources.hidden(user_id=user.id)
            if may_change(user, each)]


def may_change(user: User, source: Source) -> bool:
    return user.is_admin or source.owner_id == user.id


def add_source(asked: AskedSource) -> Source:
    """Have a folder of this server or a repository on GitHub indexed, for the user who asks.

    Raises ForbiddenError for a folder and no admin, InvalidInputError, NotFoundError,
    ConflictError or GitHubError, each telling what is wrong.
    """
    if asked.location.startswith(("/", "~")):
        return _add_folder(auth.required_admin(Sentence("add a folder of this server")), asked)
    user = auth.required_user()
    if not asked.location:
        raise InvalidInputError(Sentence(
            "Give a repository on GitHub as owner/name, such as microsoft/pai, or the address of "
            "its page."))
    return _add_repository(user, asked)


def sponsor(user: User, name: str) -> Source:
    """From now on the user's own token syncs the source; raises where it may not read it."""
    source = visible_source(user, name)
    if not is_on_github(source):
        raise InvalidInputError(Sentence(
            "{name} is a folder of this server, which needs no token.", name=name))
    if not services().repositories.is_connected(user.id):
        raise InvalidInputError(Sentence(
            "You have not connected GitHub. Paste a token on the page Settings, then come back."))
    if services().repositories.find(user.id, source.location).id != source.repo_id:
        raise ConflictError(Sentence(
            "{location} is another repository now than the one that is indexed. Remove the source "
            "and add it again if you trust it.", location=source.location))
    services().sources.sponsor(source, user.id)
    return source


def may_sponsor(user: User, source: Source) -> bool:
    """Whether the user may offer their token for it; GitHub decides whether it reads it."""
    return is_on_github(source) and source.sponsor_id != user.id \
        and services().repositories.is_connected(user.id)


def required_webhook(user: User, name: str) -> dict[str, str]:
    """Raises NotFoundError, and ForbiddenError for everyone but the owner of a repository."""
    source = visible_source(user, name)
    found = webhook_of(source) if source.owner_id == user.id else None
    if found is None:
        raise ForbiddenError(Sentence("Only the owner of a source from GitHub sees its webhook."))
    return found


def webhook_of(source: Source) -> dict[str, str] | None:
    """Where GitHub may tell of pushes, and the secret that it signs with; for the owner alone."""
    if not is_on_github(source):
        return None
    return {"url": address_of("api_webhooks.receive_delivery", source_id=source.id),
            "secret": services().deliveries.secret(source.id).reveal()}


def make_webhook(user: User, source: Source) -> None:
    """Have GitHub make it, with the user's own token; raises GitHubError where that may not."""
    if not is_on_github(source):
        raise InvalidInputError(Sentence(
            "{name} is a folder of this server, which has no webhook.", name=source.name))
    services().repositories.make_webhook(
        user.id, source, address_of("api_webhooks.receive_delivery", source_id=source.id),
        services().deliveries.secret(source.id))


def source_json(source: Source) -> dict[str, Any]:
    """As lists of the API tell of it."""
    return {
        "name": source.name, "kind": source.kind, "location": source.location,
        "head": source.head, "synced_at": iso(source.synced_at),
        "sync_error": trouble_of(source),
        "components": source.components, "withdrawn": source.withdrawn,
        "problems": source.problems,
        "owner": name_of(source.owner_id), "sub_paths": list(source.sub_paths),
        "tag_prefix": source.tag_prefix, "is_private": source.is_private,
        "branch": source.branch, "default_branch": source.default_branch,
        "state": verdict(source).code, "state_title": verdict(source).title,
        "freshness": freshness(source),
        "upstream_head": source.upstream_head, "checked_at": iso(source.checked_at),
        "next_sync_at": None if source.paused_at else iso(source.next_sync_at),
        "is_syncing": is_busy(source), "paused_at": iso(source.paused_at)}


def status_json(source: Source) -> dict[str, Any]:
    """Everything about one source but its files."""
    return source_json(source) | {
        "warnings": services().sources.warning_counts(source.id).get(source.id, 0),
        "progress": progress_of(source), "sponsor": source.sponsor, "paused_by": source.pauser,
        "states": [{"code": state.code, "title": state.title, "text": state.text}
                   for state in states_of(source)],
        "held_head": source.held_head, "held_count": source.held_count}


def is_private(name: str) -> bool:
    """Whether the viewer sees a source of this name only because their own token reads it."""
    if "private_sources" not in g:
        viewer_id = auth.viewer_id()
        try:
            g.private_sources = frozenset() if viewer_id is None else \
                services().sources.private_names(user_id=viewer_id)
        except DatabaseUnavailableError:  # what is public is still found
            g.private_sources = frozenset()
    return name in g.private_sources


def origin_of(entry: Entry) -> tuple[State | None, str | None]:
    """What the reader of a component must know of its source, and its file on GitHub.

    Each None where there is none.
    """
    source = services().sources.get(entry.source, user_id=auth.viewer_id())
    file_url = services().repositories.file_url(source, entry.commit, entry.path) \
        if is_on_github(source) else None
    return note_of(source), file_url


def last_sync() -> datetime | None:
    """When any source was last synced."""
    moments = [source.synced_at for source in services().sources.visible() if source.synced_at]
    return max(moments, default=None)


def name_of(user_id: int | None) -> str | None:
    """What a user is called, or was; None where there is none."""
    found = _user(user_id)
    return found.name if found else None


def called(user_id: int | None) -> str | None:
    """The same for a page, which says whom there is no more."""
    found = _user(user_id)
    if found and found.deleted_at:
        return _("%(name)s (deleted)", name=found.name)
    return found.name if found else None


def _user(user_id: int | None) -> User | None:
    try:
        return services().accounts.user(user_id) if user_id else None
    except NotFoundError:
        return None


def _add_folder(user: User, asked: AskedSource) -> Source:
    """Nothing that the server keeps: the stores of private repositories lie there."""
    folder = os.path.realpath(os.path.expanduser(asked.location.replace("\0", "")))
    if Path(folder).is_relative_to(os.path.realpath(services().catalog.home)):
        raise InvalidInputError(Sentence(
            "{location} lies in the folder that this server keeps for itself. Give a repository or "
            "a folder elsewhere.", location=asked.location[:200]))
    return services().sources.add_folder(
        asked.location, name=asked.name or None, owner_id=user.id, sub_paths=asked.sub_paths,
        tag_prefix=asked.tag_prefix)


def _add_repository(user: User, asked: AskedSource) -> Source:
    check_branch(asked.branch or None)
    found = services().repositories.find(user.id, asked.location)
    if found.is_private and not asked.is_sponsored:
        raise InvalidInputError(Sentence(
            "{full_name} is private, so it is synced with your token. Agree to that below; on the "
            "command line, with --use-my-token.", full_name=found.full_name))
    if asked.is_sponsored and not services().repositories.is_connected(user.id):
        raise InvalidInputError(Sentence(
            "You have not connected GitHub, so there is no token to use. Paste one on the page "
            "Settings, or leave that out."))
    if found.is_private and asked.name:
        raise InvalidInputError(Sentence(
            "A private repository keeps its own name here, so that no name tells of it. Leave the "
            "name empty."))
    source = services().sources.add_repository(
        NewRepository(repo_id=found.id, full_name=found.full_name, is_private=found.is_private,
                      branch=asked.branch or None, sub_paths=asked.sub_paths,
                      tag_prefix=asked.tag_prefix),
        name=asked.name or None, owner_id=user.id,
        sponsor_id=user.id if asked.is_sponsored else None)
    return source
