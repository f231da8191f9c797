"""What the forms on a component's page send: yank, deprecate, take back, delete for good."""
from __future__ import annotations

from typing import Callable

from flask import Blueprint, abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from registry.entry import Entry
from registry.reference import DEPRECATED, YANKED
from registry.views import auth, mark_access
from registry.views.language import gettext as _
from registry.wording import N_

blueprint = Blueprint("marks", __name__, url_prefix="/marks")


@blueprint.post("/<action>")
def change(action: str) -> ResponseReturnValue:
    auth.required_user()
    if action not in ACTIONS:
        abort(404)
    entry = ACTIONS[action](request.form.get("reference", ""))
    flash(_(SAID[action]).format(name=entry.reference))
    if action == "purge":
        return redirect(url_for("marketplace.index"), 303)
    return redirect(url_for("marketplace.show", type_name=entry.type, source=entry.source,
                            rest=f"{entry.name}@{entry.selector}"), 303)


def _mark(kind: str) -> Callable[[str], Entry]:
    return lambda reference: mark_access.mark(kind, reference, reason=_field("reason"),
                                              successor=_field("successor"))


def _unmark(kind: str) -> Callable[[str], Entry]:
    return lambda reference: mark_access.unmark(kind, reference)


def _purge(reference: str) -> Entry:
    return mark_access.purge(reference, reason=_field("reason"))


def _field(name: str) -> str:
    return request.form.get(name, "")


ACTIONS: dict[str, Callable[[str], Entry]] = {
    "yank": _mark(YANKED), "unyank": _unmark(YANKED), "deprecate": _mark(DEPRECATED),
    "undeprecate": _unmark(DEPRECATED), "purge": _purge}
SAID = {"yank": N_("{name} is yanked."), "unyank": N_("{name} is no longer yanked."),
        "deprecate": N_("{name} is deprecated."),
        "undeprecate": N_("{name} is no longer deprecated."),
        "purge": N_("{name} is deleted for good.")}
