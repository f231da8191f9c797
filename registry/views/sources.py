"""The page of sources: what is indexed, how the last sync went, what is wrong in which file."""
from __future__ import annotations

from typing import Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.views import auth
from registry.views.services import services
from registry.views.source_access import add_source, owned_source, source_json, visible_source

_FIELDS = ("location", "name", "sub_paths", "tag_prefix")
blueprint = Blueprint("sources", __name__, url_prefix="/sources")


@blueprint.get("")
def index() -> ResponseReturnValue:
    return _page()


@blueprint.post("")
def add() -> ResponseReturnValue:
    user = auth.required_admin("add a source")
    given = {key: request.form.get(key, "").strip() for key in _FIELDS}
    try:
        source = add_source(
            user, given["location"], given["name"], sub_paths=given["sub_paths"].splitlines(),
            tag_prefix=given["tag_prefix"] if "has_tags" in request.form else None)
    except (InvalidInputError, ConflictError, NotFoundError) as error:
        return _page(wrong=error.message, given=given), error.status
    flash(f"{source.name} is added. Its first sync begins now; reload to see what it found.")
    return redirect(url_for("sources.index"), 303)


@blueprint.post("/<name>/sync")
def sync(name: str) -> ResponseReturnValue:
    services().sources.request_sync(visible_source(auth.required_user(), name).name)
    flash(f"A sync of {name} begins now. Reload to see what it found.")
    return redirect(url_for("sources.index"), 303)


@blueprint.post("/<name>/remove")
def remove(name: str) -> ResponseReturnValue:
    services().sources.remove(owned_source(auth.required_user(), name).name)
    flash(f"{name} and its components are out of the catalog. The repository is as it was.")
    return redirect(url_for("sources.index"), 303)


def _page(*, wrong: str = "", given: Mapping[str, str] = {}) -> str:
    """Every source; the problems in its files for its owner and admins alone."""
    user, known = auth.required_user(), services().sources
    rows = []
    for source in known.visible(user_id=user.id):
        is_owner = user.is_admin or source.owner_id == user.id
        rows.append({**source_json(source), "is_owner": is_owner,
                     "files": known.problems(source.id) if is_owner else [],
                     "warned": known.warnings(source.id) if is_owner else []})
    return render_template("sources/index.html", sources=rows, wrong=wrong, given=given,
                           has_tags="has_tags" in request.form)
