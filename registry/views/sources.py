"""The pages of sources: the list, adding one, and one source with its state and its files."""
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Callable, Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry import source_words
from registry.accounts import User
from registry.errors import RegistryError
from registry.sources import Source
from registry.views import auth
from registry.views.language import gettext as _
from registry.views.services import services
from registry.views.source_access import (
    AskedSource,
    add_source,
    called,
    hidden_sources,
    make_webhook,
    managed_source,
    may_change,
    may_sponsor,
    owned_source,
    sponsor,
    visible_source,
    webhook_of,
)
from registry.views.source_files import files_of
from registry.views.source_list import listed
from registry.views.source_state import (
    freshness,
    is_busy,
    is_on_github,
    progress_of,
    states_of,
    verdict,
)

blueprint = Blueprint("sources", __name__, url_prefix="/sources")


@blueprint.get("")
def index() -> ResponseReturnValue:
    return _list()


@blueprint.post("")
def add() -> ResponseReturnValue:
    auth.required_user()
    form = {key: value.strip() for key, value in request.form.items()}
    try:
        source = add_source(AskedSource(
            location=form.get("location", ""), name=form.get("name", ""),
            branch=form.get("branch", ""),
            sub_paths=request.form.get("sub_paths", "").splitlines(),
            tag_prefix=form.get("tag_prefix", "") if "has_tags" in form else None,
            is_sponsored="use_my_token" in form))
    except RegistryError as error:
        if error.status in (401, 403) and "folder" in form:
            raise
        return _list(wrong=error.message, given=form), error.status
    flash(_("%(name)s is added. Its first sync begins now.", name=source.name))
    return redirect(page_url(source.name), 303)


@blueprint.get("/<path:name>")
def show(name: str) -> ResponseReturnValue:
    return _page(visible_source(auth.required_user(), name))


@blueprint.post("/<path:name>/sync")
def sync(name: str) -> ResponseReturnValue:
    source = visible_source(auth.required_user(), name)
    return _done(source, lambda: services().sources.request_sync(name),
                 source_words.ASKED)


@blueprint.post("/<path:name>/pause")
def pause(name: str) -> ResponseReturnValue:
    user = auth.required_user()
    source = managed_source(user, name)
    services().sources.pause(source, user.id)
    flash(_(source_words.PAUSED).format(name=name))
    return redirect(_page_or_list(user, source), 303)


@blueprint.post("/<path:name>/resume")
def resume(name: str) -> ResponseReturnValue:
    user = auth.required_user()
    source = managed_source(user, name)
    services().sources.resume(source)
    flash(_(source_words.RESUMED).format(name=name))
    return redirect(_page_or_list(user, source), 303)


@blueprint.post("/<path:name>/remove")
def remove(name: str) -> ResponseReturnValue:
    services().sources.remove(managed_source(auth.required_user(), name).name)
    flash(_("%(name)s and its components are out of the catalog. The repository is as it was.",
            name=name))
    return redirect(url_for("sources.index"), 303)


@blueprint.post("/<path:name>/agree")
def agree(name: str) -> ResponseReturnValue:
    source = owned_source(auth.required_user(), name)
    return _done(source, lambda: services().sources.agree(
        source, request.form.get("held_head", "")),
        source_words.AGREED)


@blueprint.post("/<path:name>/keep")
def keep(name: str) -> ResponseReturnValue:
    source = owned_source(auth.required_user(), name)
    return _done(source, lambda: services().sources.keep(source),
                 source_words.DECIDED_TO_KEEP)


@blueprint.post("/<path:name>/sponsor")
def use_my_token(name: str) -> ResponseReturnValue:
    user = auth.required_user()
    return _done(visible_source(user, name), lambda: sponsor(user, name),
                 source_words.SPONSORED)


@blueprint.post("/<path:name>/webhook")
def create_webhook(name: str) -> ResponseReturnValue:
    user = auth.required_user()
    source = owned_source(user, name)
    return _done(source, lambda: make_webhook(user, source),
                 source_words.HOOKED)


def page_url(name: str) -> str:
    return url_for("sources.show", name=name)


def _page_or_list(user: User, source: Source) -> str:
    """Where to go on: what is hidden from the user has no page for them."""
    is_hidden = any(each.id == source.id for each in hidden_sources(user))
    return url_for("sources.index", _anchor="hidden") if is_hidden else page_url(source.name)


def _done(source: Source, act: Callable[[], Any], text: str) -> ResponseReturnValue:
    """Do something and show the source again, with what went wrong beside it."""
    try:
        act()
    except RegistryError as error:
        return _page(source, wrong=error.message), error.status
    flash(_(text).format(name=source.name))
    return redirect(page_url(source.name), 303)


def _list(*, wrong: str = "", given: Mapping[str, str] = {}) -> str:
    user, known = auth.required_user(), services().sources
    warned = known.warning_counts()
    shown = listed(known.visible(user_id=user.id))
    rows = [{"source": source, "verdict": stands, "warnings": warned.get(source.id, 0)}
            for source, stands in shown["listed"]]
    return render_template(
        "sources/index.html", rows=rows, shown=shown, wrong=wrong, given=given,
        has_tags="has_tags" in given,
        github=services().repositories.host, hidden=_hidden(user),
        is_connected=services().repositories.is_connected(user.id))


def _hidden(user: User) -> list[dict[str, Any]]:
    """What one may know of private repositories that one does not read: that they are there."""
    found = hidden_sources(user)
    return [{"name": each.name, "owner": called(each.owner_id), "synced_at": each.synced_at,
             "is_paused": each.paused_at is not None} for each in found]


def _page(source: Source, *, wrong: str = "") -> str:
    user = auth.required_user()
    return render_template(
        "sources/show.html", source=source, wrong=wrong, words=source_words,
        verdict=verdict(source), states=states_of(source), freshness=freshness(source),
        progress=progress_of(source), is_due=_is_due(source),
        is_busy=is_busy(source), is_sync_up=services().parts.is_sync_up(),
        is_on_github=is_on_github(source),
        **files_of(source), **_people(user, source))


def _is_due(source: Source) -> bool:
    """Whether the next sync is so near that its time would mislead."""
    soon = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=1)
    return source.next_sync_at is not None and source.next_sync_at < soon


def _people(user: User, source: Source) -> dict[str, Any]:
    """Who owns and syncs the source, and what the viewer may do with it."""
    is_owner = may_change(user, source)
    return {
        "owner": called(source.owner_id),
        "is_owner": is_owner, "may_sponsor": may_sponsor(user, source),
        "webhook": webhook_of(source) if source.owner_id == user.id else None,
        "has_public_url": services().public_url is not None,
        "github_url": services().repositories.url(source) if is_on_github(source) else None}
