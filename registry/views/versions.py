"""The pages below a component: two versions compared, all of them, and who uses one."""
from __future__ import annotations

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from registry.changelog import difference_of
from registry.entry import Entry
from registry.errors import ConflictError, InvalidInputError, NotFoundError
from registry.line_diff import CONTEXT, line_diff
from registry.views.auth import viewer_id
from registry.views.entries import choices_page, find_entry
from registry.views.finding import page_number
from registry.views.services import services
from runner.sentence import Sentence

STEPS_A_PAGE = 20
USERS_A_PAGE = 50
MAX_CHOICES = 200
WHOLE = 10 ** 6

blueprint = Blueprint("versions", __name__)


@blueprint.get("/compare")
def compare() -> ResponseReturnValue:
    """From `a` to `b`; where one is missing, `b` to the version before it or `a` to the latest."""
    first, second = request.args.get("a", "").strip(), request.args.get("b", "").strip()
    if not first and not second:
        return render_template("marketplace/compare.html", old=None, new=None)
    old, new = _pair(first, second)
    if old is None:
        raise NotFoundError(Sentence(
            "{reference} is the first version: there is none to compare it with.",
            reference=new.reference))
    context = WHOLE if request.args.get("whole") else CONTEXT
    choices = {each.id: each for side in (new, old) for each in services().changelog.versions(
        side, limit=MAX_CHOICES, user_id=viewer_id()).entries}
    return render_template(
        "marketplace/compare.html", old=old, new=new, difference=difference_of(old, new),
        lines=line_diff(old.text, new.text, context), is_whole=context == WHOLE,
        choices=list((choices | {old.id: old, new.id: new}).values()))


@blueprint.get("/changelog")
def changelog() -> ResponseReturnValue:
    """What each version of a component changed; `of` names it, with any version or none."""
    try:
        entry = services().catalog.component(request.args.get("of", ""), user_id=viewer_id())
    except ConflictError as error:
        return choices_page(error, "marketplace.show")
    number = page_number()
    offset = (number - 1) * STEPS_A_PAGE
    steps = services().changelog.steps(entry, limit=STEPS_A_PAGE, offset=offset,
                                       user_id=viewer_id())
    total = services().changelog.versions(entry, limit=0, user_id=viewer_id()).total
    return render_template("marketplace/changelog.html", entry=entry, steps=steps, total=total,
                           page=number, last=-(-total // STEPS_A_PAGE))


@blueprint.get("/used-by")
def used_by() -> ResponseReturnValue:
    """Everything that uses the version that `of` names, and what a yank of it would change."""
    try:
        entry = find_entry(request.args.get("of", ""))
    except ConflictError as error:
        return choices_page(error, "marketplace.show")
    number = page_number()
    found = services().relations.used_by(
        entry, limit=USERS_A_PAGE, offset=(number - 1) * USERS_A_PAGE, user_id=viewer_id())
    return render_template(
        "marketplace/used_by.html", entry=entry, users=found.users, same=found.same,
        total=found.total, page=number, last=-(-found.total // USERS_A_PAGE),
        consequences=services().relations.consequences(entry, limit=USERS_A_PAGE,
                                                       user_id=viewer_id()))


def compared(a: str, b: str) -> tuple[Entry, Entry]:
    """Two versions of one component, or the errors of `find_entry` or InvalidInputError."""
    old, new = find_entry(a), find_entry(b)
    if (old.type, old.name) != (new.type, new.name):
        raise InvalidInputError(Sentence(
            "{old} and {new} are different components. Name two versions of one, such "
            "as {type}/{name}@1.0.0 and {type}/{name}.", old=old.reference,
            new=new.reference, type=old.type, name=old.name))
    return old, new


def _pair(first: str, second: str) -> tuple[Entry | None, Entry]:
    if first and second:
        return compared(first, second)
    if second:
        new = find_entry(second)
        return services().changelog.before(new, user_id=viewer_id()), new
    old = find_entry(first)
    return old, find_entry(f"{old.source}:{old.type}/{old.name}")
