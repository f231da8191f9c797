"""Publications as pages and API tell of them: how far each is, and what its author can do."""
from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

from registry import publication as states
from registry.entry import Entry
from registry.errors import ConflictError, InvalidInputError, Problem
from registry.preview import may_confirm
from registry.publication import Publication, compare_url
from registry.publication_problems import REBUILD, RETRY, Advice, advice_of, asks_agreement
from registry.publications import Overview, is_working
from registry.views.language import gettext as _
from registry.views.services import services
from registry.views.text import iso
from registry.wording import N_
from runner.sentence import Sentence

DONE, NOW, WAITS, STOPPED, TODO = "done", "now", "waits", "stopped", "todo"
SOON_MS, LATER_MS = 1000, 10_000
_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
_PLACES = {
    states.DRAFT: 0, states.CHECKED: 0, states.FORKING: 1, states.FORK_WAIT: 1,
    states.COMMITTING: 2, states.BRANCHING: 3, states.OPENING: 4, states.FINISH_ON_GITHUB: 4,
    states.OPEN: 5, states.CLOSED: 5, states.SUPERSEDED: 5, states.MERGED: 6,
    states.PUBLISHED: 7, states.ALREADY_PUBLISHED: 4}
_WORDS = {
    states.DRAFT: N_("Draft"), states.CHECKED: N_("Starting"), states.FORKING: N_("Making a fork"),
    states.FORK_WAIT: N_("Waiting for the fork"), states.COMMITTING: N_("Committing"),
    states.BRANCHING: N_("Making the branch"), states.OPENING: N_("Opening the pull request"),
    states.OPEN: N_("In review"), states.FINISH_ON_GITHUB: N_("Finish on GitHub"),
    states.MERGED: N_("Merged"), states.PUBLISHED: N_("Published"),
    states.ALREADY_PUBLISHED: N_("Was there already"), states.CLOSED: N_("Closed"),
    states.SUPERSEDED: N_("Superseded"), states.WITHDRAWN: N_("Withdrawn")}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of the way; `state` is done, now, waits, stopped or todo."""

    name: str
    state: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class View:
    """A publication with everything that is worked out about it.

    `advice` None: nothing is wrong. `entry` None: it is not found here, or not yet. `link` is where
    the author mends what is wrong, outside of this server; empty where nowhere. `is_held_up`: the
    process that would go on with it does not run.
    """

    publication: Publication
    word: str
    steps: tuple[Step, ...]
    advice: Advice | None
    link: str
    entry: Entry | None
    compare_url: str
    pull_url: str
    is_final: bool
    may_withdraw: bool
    may_edit: bool
    may_retry: bool
    may_rebuild: bool
    look_again_ms: int
    is_held_up: bool


def view_of(publication: Publication) -> View:
    state = publication.state
    advice = advice_of(publication.problem) if publication.problem else None
    is_here = state == states.PUBLISHED
    return View(
        publication=publication, word=_(_WORDS[state]), steps=steps_of(publication), advice=advice,
        link=_link_of(publication), pull_url=str((publication.pull or {}).get("url") or ""),
        entry=services().drafts.found(publication) if is_here else None,
        compare_url=compare_url(publication, services().drafts.github_url)
        if state == states.FINISH_ON_GITHUB else "", is_final=state in states.FINAL,
        may_withdraw=states.may_follow(state, states.WITHDRAWN) and state != states.WITHDRAWN,
        may_edit=states.may_follow(state, states.DRAFT),
        may_retry=advice is not None and RETRY in advice.actions,
        may_rebuild=advice is not None and REBUILD in advice.actions,
        look_again_ms=SOON_MS if is_working(publication) else LATER_MS,
        is_held_up=is_working(publication) and not services().is_github_up())


def overview_of(row: Overview) -> dict[str, Any]:
    """What an admin sees of someone's publication, in the words that its author reads."""
    return {"id": row.id, "user": row.user, "word": _(_WORDS[row.state]),
            "trouble": advice_of(row.problem).title if row.problem else "",
            "updated_at": row.updated_at}


def steps_of(publication: Publication) -> tuple[Step, ...]:
    """The whole way, with how far it was gone."""
    place = _PLACES.get(publication.state, _reached(publication))
    names = [
        (_("Repository"), publication.repository),
        (_("No fork needed"), _("you may push")) if publication.is_direct
        else (_("Fork"), publication.fork or ""),
        (_("Commit"), (publication.commit_sha or "")[:12] if place > 2 else ""),
        (_("Branch"), publication.branch or "" if place > 3 else ""),
        (_("Pull request"), f"#{publication.pull_number}" if publication.pull_number else ""),
        (_("Merge"), ""), (_("Found here"), "")]
    return tuple(Step(name=name, detail=detail if at <= place else "",
                      state=_state_at(at, place, publication))
                 for at, (name, detail) in enumerate(names))


def publication_json(publication: Publication) -> dict[str, Any]:
    view = view_of(publication)
    advice = view.advice
    return {
        "id": publication.id, "state": publication.state, "word": view.word,
        "is_final": view.is_final, "is_working": is_working(publication),
        "repository": publication.repository, "base_branch": publication.base_branch or None,
        "reference": publication.reference, "path": publication.path, "yaml": publication.text,
        "title": publication.title, "body": publication.body,
        "is_signed_off": publication.is_signed_off,
        "fork": publication.fork, "branch": publication.branch, "commit": publication.commit_sha,
        "pull": None if publication.pull is None else {
            "number": publication.pull_number, "url": view.pull_url,
            "state": publication.pull.get("state", ""),
            "is_mergeable": publication.pull.get("is_mergeable"),
            "checks": publication.pull.get("checks") or [],
            "reviews": publication.pull.get("reviews") or []},
        "compare_url": view.compare_url or None,
        "problem": None if advice is None else {
            "code": publication.problem, "title": advice.title, "text": advice.text,
            "detail": publication.detail, "link": view.link or None,
            "goes_on": advice.goes_on},
        "steps": [{"name": step.name, "state": step.state, "detail": step.detail}
                  for step in view.steps],
        "found": view.entry.exact_reference if view.entry else None,
        "next_at": iso(publication.next_at), "created_at": iso(publication.created_at),
        "updated_at": iso(publication.updated_at)}


def preview_json(publication: Publication) -> dict[str, Any]:
    """As `publication_json`, with what it would change and what is wrong with it."""
    checks = services().drafts.checks(publication)
    difference = services().drafts.difference(publication)
    return {
        **publication_json(publication), "seen": publication.seen,
        "is_new": publication.before is None, "diff": unified(publication),
        "changes": [change.sentence for change in difference.changes] if difference else [],
        "checks": [problem.as_json() for problem in checks],
        "may_confirm": may_confirm(publication, checks)}


def unified(publication: Publication) -> str:
    """The change as a patch; of a new file every line of it."""
    before, after = (publication.before or "").splitlines(True), publication.text.splitlines(True)
    old = f"a/{publication.path}" if publication.before is not None else "/dev/null"
    lines = difflib.unified_diff(before, after, old, f"b/{publication.path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
                   for line in lines)


def errors_of(checks: tuple[Problem, ...]) -> list[Problem]:
    return [problem for problem in checks if problem.severity == "error"]


def confirmed(draft: Publication, *, seen: str, **words: Any) -> Publication:
    """Its author agreed to it, with other `words` for the pull request where some are given.

    Raises ConflictError where it is not what was `seen`, InvalidInputError where something is
    wrong with it, ForbiddenError where the author has too many.
    """
    if draft.state != states.DRAFT:
        return draft  # agreed to already: a button that was pressed twice
    if seen and seen != draft.seen:
        raise ConflictError(Sentence(
            "The draft is another one by now. Look at what it changes again; nothing was "
            "published."))
    checks = services().drafts.checks(draft)
    if not may_confirm(draft, checks):
        errors = errors_of(checks)
        what = errors[0].message if errors else advice_of(draft.problem or "EMPTY").text
        raise InvalidInputError(Sentence(
            "This draft cannot be published yet. {what}", what=what), errors)
    changed = services().publications.saved(draft, **words) if words else draft
    return services().publications.confirm(changed)


def looked_again(publication: Publication) -> Publication:
    """Go on now: a draft is looked up on GitHub again, everything else is due."""
    if publication.state == states.DRAFT:
        return services().drafts.look(publication)
    return services().publications.retry(publication)


def _state_at(at: int, place: int, publication: Publication) -> str:
    if at < place:
        return DONE
    if at > place or publication.state == states.DRAFT:
        return TODO
    if publication.state in states.FINAL or (publication.problem and publication.next_at is None):
        return STOPPED
    is_waiting = publication.problem or publication.state not in states.WORKING
    return WAITS if is_waiting else NOW


def _reached(publication: Publication) -> int:
    """How far one came that was given up."""
    facts = (publication.confirmed_at, publication.head_repo_id, publication.commit_sha)
    return next((at for at, fact in enumerate(facts) if not fact), len(facts))


def _link_of(publication: Publication) -> str:
    """Where GitHub said to go, as far as that is on this GitHub; else where it is mended."""
    url, code = services().drafts.github_url, publication.problem or ""
    found = _ADDRESS.search(publication.detail)
    if found and found[0].startswith(f"{url}/"):
        return found[0]
    places = {"SCOPE_MISSING": f"{url}/settings/tokens/new?scopes=public_repo&description=PAIShare",
              "FG_NO_FORK": f"{url}/{publication.repository}/fork",
              "SSO_REQUIRED": f"{url}/settings/tokens",
              "WORKFLOW_SCOPE": f"{url}/{publication.fork}" if publication.fork else "",
              "CLA": _asking_check(publication)}
    return places.get(code, "")


def _asking_check(publication: Publication) -> str:
    checks = (publication.pull or {}).get("checks") or []
    return next((check["url"] for check in checks if asks_agreement(check["name"], check["state"])
                 and (check["url"] or "").startswith("https://")), "")
