"""Marks as pages and API set them: which version is meant, and who may say something about it."""
from __future__ import annotations

from registry.entry import Entry
from registry.errors import (
    ConflictError,
    GoneError,
    InvalidInputError,
    NotFoundError,
    Problem,
)
from registry.reference import COMMIT, DEPRECATED, LATEST, REFERENCE, YANKED, Reference
from registry.views import auth
from registry.views.entries import find_entry
from registry.views.services import services
from registry.views.source_access import owned_source
from runner.sentence import Sentence, either


def mark(kind: str, reference: str, *, reason: str, successor: str = "") -> Entry:
    """Yank or deprecate what an owner names; raises what tells why that cannot be."""
    user, marks = auth.required_user(), services().marks
    entry, is_whole = _subject(kind, reference)
    owned_source(user, entry.source)
    if kind == YANKED:
        marks.yank(entry, reason=reason, user_id=user.id)
    else:
        _check_leads_somewhere(successor.strip(), entry)
        marks.deprecate(entry, reason=reason, successor=successor, user_id=user.id,
                        is_whole=is_whole)
    return entry


def _check_leads_somewhere(successor: str, entry: Entry) -> None:
    """Raise InvalidInputError where the viewer finds nothing, or several things, by a reference."""
    try:
        if successor and REFERENCE.fullmatch(successor):
            find_entry(successor)
    except (NotFoundError, ConflictError, GoneError, InvalidInputError) as error:
        near = Sentence(
            " Did you mean {names}?", names=either(error.nearest)) if isinstance(
            error, NotFoundError) and error.nearest else ""
        message = Sentence(
            "The successor leads nowhere: {message}{near} Name what to use instead of "
            "{type}/{name}, or leave the successor out.", message=error.message, near=near,
            type=entry.type, name=entry.name)
        raise InvalidInputError(message, [Problem(message=message, path="successor")]) from error


def unmark(kind: str, reference: str) -> Entry:
    """Take a mark back; raises NotFoundError where there is none."""
    user = auth.required_user()
    entry, is_whole = _subject(kind, reference)
    owned_source(user, entry.source)
    services().marks.restore(entry, kind, is_whole=is_whole)
    return entry


def purge(reference: str, *, reason: str) -> Entry:
    """Delete one version for good; for an admin."""
    user = auth.required_admin(Sentence("delete a version for good"))
    entry = _exact_entry(reference)
    services().marks.purge(entry, reason=reason, user_id=user.id)
    return entry


def may_mark(entry: Entry) -> bool:
    """Whether the viewer owns the source of a version, or is an admin."""
    user = auth.current_user()
    if user is None:
        return False
    return user.is_admin or user.id == services().sources.get(
        entry.source, user_id=user.id).owner_id


def viewer_is_admin() -> bool:
    user = auth.current_user()
    return user is not None and user.is_admin


def _subject(kind: str, reference: str) -> tuple[Entry, bool]:
    """A version and whether all others are meant, too: only deprecation can be about them."""
    if kind == DEPRECATED and Reference.parse(reference).selector == LATEST:
        return services().catalog.component(reference, user_id=auth.viewer_id()), True
    found = find_entry(reference)
    if kind == YANKED and not found.version:  # more precisely or not, it cannot be yanked
        return found, False
    return _exact_entry(reference), False


def _exact_entry(reference: str) -> Entry:
    """What a version or commit names; never what just happens to be the newest."""
    entry, selector = find_entry(reference), Reference.parse(reference).selector
    if selector != entry.version and not (
            COMMIT.fullmatch(selector) and entry.commit.startswith(selector)):
        raise InvalidInputError(Sentence(
            "`{reference}` may mean another version tomorrow. Name the one that you mean: "
            "`{exact_reference}`.", reference=reference, exact_reference=entry.exact_reference))
    return entry
