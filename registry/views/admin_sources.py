"""The admin's page of sources: all of them with their state, and adding one after a trial."""
from __future__ import annotations

from typing import Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry import source_words
from registry.errors import RegistryError
from registry.home import BUNDLED, add_bundled
from registry.trial import Trial
from registry.views.admin import required_admin
from registry.views.language import gettext as _
from registry.views.services import services
from registry.views.source_access import (
    AskedSource,
    add_source,
    called,
    hidden_sources,
    managed_source,
    visible_source,
)
from registry.views.source_list import listed
from registry.views.source_state import is_busy

MAX_FILES, FIRST_OF_FILE = 10, 3
blueprint = Blueprint("admin_sources", __name__, url_prefix="/admin/sources")


@blueprint.get("")
def index() -> str:
    return _page()


@blueprint.post("")
def add() -> ResponseReturnValue:
    """Try a source out first; `agreed` adds it."""
    required_admin()
    asked = _asked(request.form)
    try:
        if "agreed" not in request.form:
            return _page(trial=services().trials.of(required_admin().id, asked.location,
                                                    branch=asked.branch,
                                                    sub_paths=asked.sub_paths),
                         given=request.form)
        source = add_source(asked)
    except RegistryError as error:
        return _page(wrong=error.message, given=request.form), error.status
    flash(_("%(name)s is added. Its first sync begins now.", name=source.name))
    return redirect(url_for("admin_sources.index"), 303)


@blueprint.post("/example")
def add_example() -> ResponseReturnValue:
    required_admin()
    add_bundled(services().sources, services().parts.example_folder)
    flash(_("%(name)s is added. Its first sync begins now.", name=BUNDLED))
    return redirect(url_for("admin_sources.index"), 303)


@blueprint.post("/<path:name>/sync")
def sync(name: str) -> ResponseReturnValue:
    services().sources.request_sync(visible_source(required_admin(), name).name)
    flash(_("%(name)s is indexed now.", name=name))
    return redirect(url_for("admin_sources.index"), 303)


@blueprint.post("/<path:name>/pause")
def pause(name: str) -> ResponseReturnValue:
    user = required_admin()
    services().sources.pause(managed_source(user, name), user.id)
    flash(_(source_words.PAUSED).format(name=name))
    return redirect(url_for("admin_sources.index"), 303)


@blueprint.post("/<path:name>/resume")
def resume(name: str) -> ResponseReturnValue:
    services().sources.resume(managed_source(required_admin(), name))
    flash(_(source_words.RESUMED).format(name=name))
    return redirect(url_for("admin_sources.index"), 303)


@blueprint.post("/<path:name>/remove")
def remove(name: str) -> ResponseReturnValue:
    services().sources.remove(managed_source(required_admin(), name).name)
    flash(_("%(name)s and its components are out of the catalog. The repository is as it was.",
            name=name))
    return redirect(url_for("admin_sources.index"), 303)


def _asked(form: Mapping[str, str]) -> AskedSource:
    return AskedSource(
        location=form.get("location", "").strip(), name=form.get("name", "").strip(),
        branch=form.get("branch", "").strip(),
        sub_paths=[line.strip() for line in form.get("sub_paths", "").splitlines() if line.strip()],
        is_sponsored="use_my_token" in form)


def _page(*, trial: Trial | None = None, wrong: str = "", given: Mapping[str, str] = {}) -> str:
    user, known = required_admin(), services().sources
    warned = known.warning_counts()
    users = services().relations.dependents(user_id=user.id)
    found = known.visible(user_id=user.id)
    shown = listed(found)
    rows = [{"source": source, "verdict": stands, "warnings": warned.get(source.id, 0),
             "owner": called(source.owner_id), "users": users.get(source.id, []),
             "broken": known.problems(source.id, limit=MAX_FILES) if source.problems else []}
            for source, stands in shown["listed"]]
    return render_template(
        "admin/sources.html", rows=rows, shown=shown, hidden=hidden_sources(user), trial=trial,
        wrong=wrong, given=given, is_busy=any(map(is_busy, found)),
        has_example=any(each.name == BUNDLED for each in found),
        is_connected=services().repositories.is_connected(user.id), max_files=MAX_FILES,
        first_of_file=FIRST_OF_FILE, is_sync_up=services().parts.is_sync_up())
