"""A draft of a publication: checked as the indexer does, and compared with what stands there."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Collection, Iterator

from registry.catalog import Catalog
from registry.component import Component, locate, parse
from registry.component_file import read_file
from registry.difference import Difference, compare
from registry.disclosure import data_in, private_places_in, secrets_in
from registry.entry import Entry
from registry.errors import ComponentError, InvalidInputError, Problem
from registry.github_accounts import GitHubAccounts
from registry.github_api import GitHubApi
from registry.github_errors import Code, GitHubError
from registry.publication import (
    DRAFT,
    MAX_BODY,
    MAX_TITLE,
    Publication,
    checked_path,
    checked_repository,
    default_body,
    default_title,
    is_below,
    suggested_path,
)
from registry.publications import Publications
from registry.reference import version_order
from registry.repetition import hindrances_in
from registry.source import Source
from registry.sources import Sources
from registry.yaml_text import read
from runner.sentence import Sentence

_PASSING = frozenset({Code.LATER, Code.UNREACHABLE, Code.UNKNOWN})


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a page or program sends; an empty path, title or body is filled in.

    `is_signed_off`: the author agrees to a Signed-off-by line with the address that GitHub gives.
    """

    repository: str
    text: str
    path: str = ""
    title: str = ""
    body: str = ""
    is_signed_off: bool = False


class Drafts:
    """Makes drafts and looks up what they would change. Safe in several threads."""

    def __init__(self, publications: Publications, catalog: Catalog, sources: Sources,
                 accounts: GitHubAccounts, github_url: str) -> None:
        self.github_url = github_url
        self._publications = publications
        self._catalog = catalog
        self._sources = sources
        self._accounts = accounts

    def make(self, user_id: int, wanted: Wanted, *, id_: int | None = None) -> Publication:
        """A draft, or a new text for a publication that is there; looked up on GitHub at once.

        A draft of the same component for the same repository that waits is taken up.
        Raises ComponentError with every problem, InvalidInputError for what cannot be, and
        ConflictError where the publication went on meanwhile. What GitHub refuses stands in the
        draft's `problem`.
        """
        values = self._values(user_id, wanted)
        before = None if id_ is None else self._publications.get(user_id, id_)
        if before is None:
            draft = self._publications.take_up_draft(user_id, **values)
        else:
            draft = self._publications.rewrite(before, **values)
        return self.look(draft, renewed=_renewed(before, wanted))

    def rebuild(self, publication: Publication) -> Publication:
        """A draft of the same text on what stands there now; raises as `make`."""
        return self.make(publication.user_id, Wanted(
            repository=publication.repository, text=publication.text, path=publication.path,
            title=publication.title, body=publication.body,
            is_signed_off=publication.is_signed_off), id_=publication.id)

    def raised(self, draft: Publication) -> str:
        """The version that the changes ask for; empty where the draft's own says enough."""
        difference = self.difference(draft)
        asked = difference.suggested if difference else ""
        is_low = version_order(draft.version, 0) < version_order(asked, 0)
        return asked if draft.version and is_low else ""

    def raise_version(self, draft: Publication) -> Publication:
        """The draft with the version that its changes ask for; raises as `make`."""
        place = read(draft.text).place(("version",))
        text = draft.text[:place.start] + self.raised(draft) + draft.text[place.end:]
        return self.rebuild(replace(draft, text=text))

    def look(self, draft: Publication, *, renewed: Collection[str] = ()) -> Publication:
        """Ask GitHub what stands there now; the answer is in the row, a refusal in `problem`.

        `renewed` names what is made anew of the pull request's words, as it is all the same.
        """
        try:
            with self._accounts.asking(draft.user_id, is_hurried=True) as api:
                found = self._found(api, draft)
        except GitHubError as error:
            detail = " ".join(filter(None, [error.detail, error.link]))
            code = "LOOK_LATER" if error.code in _PASSING else str(error.code)
            return self._publications.saved(draft, problem=code, detail=detail)
        words = _words(draft, found["before"])
        found |= {name: words[name] for name in renewed}
        return self._publications.saved(draft, problem=found.pop("problem", None), detail="",
                                        **found)

    def checks(self, draft: Publication) -> tuple[Problem, ...]:
        """What to know before it is published; an error is a reason not to."""
        try:
            component = read_file(draft.path, draft.text.encode())
        except ComponentError as error:
            return error.problems
        return (*_errors(draft), *self._advice(draft, component), *component.warnings)

    def difference(self, draft: Publication) -> Difference | None:
        """What changes, in words; None: it is new there, or something else stood there."""
        before = _component(draft.before)
        after = _component(draft.text)
        if before is None or after is None or before.type != after.type:
            return None
        return compare(before, after)

    def found(self, publication: Publication) -> Entry | None:
        """The version here that it became, as far as its author may see it; None: not yet."""
        source = self.source_of(publication.repository, publication.user_id)
        known = [entry for entry in self._known(publication.type, publication.name, source,
                                                publication.user_id) if entry.is_present]
        exact = (entry for entry in known if entry.text == publication.text)
        edited = (entry for entry in known if entry.version == publication.version != "")
        return next(exact, next(edited, None))

    def source_of(self, repository: str, user_id: int) -> Source | None:
        """The source that the repository is here, as far as the user may know."""
        return next((source for source in self._sources.visible(user_id=user_id)
                     if source.repo_id and source.location.lower() == repository.lower()), None)

    # --- parts ----------------------------------------------------------------------------------

    def _values(self, user_id: int, wanted: Wanted) -> dict[str, Any]:
        repository = checked_repository(wanted.repository)
        component = parse(wanted.text)
        source = self.source_of(repository, user_id)
        path = checked_path(wanted.path.strip() or self._path(component, source, user_id))
        component = read_file(path, wanted.text.encode())
        title = " ".join(wanted.title.split()) or default_title(component, is_new=True)
        if len(title) > MAX_TITLE or len(wanted.body) > MAX_BODY:
            raise InvalidInputError(Sentence(
                "A pull request's title has at most {title} characters here, its text {body}. "
                "Shorten it.", title=MAX_TITLE, body=MAX_BODY))
        return {
            "repository": source.location if source else repository,
            "repo_id": source.repo_id if source and source.repo_id else 0,
            "base_branch": (source.branch if source else None) or "", "type": component.type,
            "name": component.name, "version": component.version, "path": path,
            "text": component.text, "before": None, "base_sha": None, "title": title,
            "body": wanted.body.strip() or default_body(component, None),
            "is_signed_off": wanted.is_signed_off}

    def _path(self, component: Component, source: Source | None, user_id: int) -> str:
        """Where the component stands now, else where it belongs."""
        known = self._known(component.type, component.name, source, user_id)
        present = next((entry for entry in known if entry.is_present), None)
        return present.path if present else suggested_path(
            component.type, component.name, source.sub_paths if source else ())

    def _known(self, type: str, name: str, source: Source | None, user_id: int) -> list[Entry]:
        """Its versions in the source, newest first."""
        return self._catalog.versions(type, name, source.name, user_id=user_id) if source else []

    def _found(self, api: GitHubApi, draft: Publication) -> dict[str, Any]:
        """At most four requests, and none of them writes."""
        info = api.repository(draft.repo_id or draft.repository)
        branch = draft.base_branch or info.default_branch
        found = {"repo_id": info.id, "repository": info.full_name, "base_branch": branch}
        head = api.ref(info.id, branch)
        if info.is_archived or head is None:
            return found | {"base_sha": None, "before": None,
                            "problem": "REPO_READONLY" if info.is_archived else "EMPTY"}
        return found | {"base_sha": head, "before": api.file(info.id, head, draft.path)}

    def _advice(self, draft: Publication, component: Component) -> Iterator[Problem]:
        source = self.source_of(draft.repository, draft.user_id)
        known = self._known(component.type, component.name, source, draft.user_id)
        if source is None:
            yield _advice(Sentence(
                "{repository} is not indexed here: what is merged there is not found here before "
                "someone adds it as a source.", repository=draft.repository))
        elif not is_below(draft.path, source.sub_paths):
            yield _advice(Sentence(
                "The source {name} looks only below {folders}, so it will not find {path}.",
                name=source.name, folders=", ".join(source.sub_paths), path=draft.path),
                          "path")
        yield from _replaced(draft, component)
        yield from _version_advice(draft, component, known)
        yield from self._names(component, source, known, draft)
        yield from secrets_in(draft.text)
        if source is None or not source.is_private:
            yield from private_places_in(draft.text)
        yield from data_in(draft.text)
        yield from hindrances_in(draft.text)

    def _names(self, component: Component, source: Source | None, known: list[Entry],
               draft: Publication) -> Iterator[Problem]:
        """Whether the name is free, or this very component's."""
        elsewhere = next((entry for entry in known if entry.is_present
                          and draft.before is None and entry.path != draft.path), None)
        if elsewhere:
            yield _advice(Sentence(
                "{type}/{name} stands at {path} in this repository. Two files of one name hide "
                "each other: publish to that path, or give yours another `name:`.",
                type=component.type, name=component.name, path=elsewhere.path), "path")
        others = sorted({entry.source for entry in self._catalog.versions(
            component.type, component.name, user_id=draft.user_id) if entry.is_present
            and (source is None or entry.source_id != source.id)})
        if others:
            yield _advice(Sentence(
                "The source {source} has a {type}/{name}, too. References to it must then name the "
                "source; another `name:` keeps them short.", source=others[0], type=component.type,
                name=component.name), "name", draft.text)


def _errors(draft: Publication) -> Iterator[Problem]:
    if draft.before is not None and draft.before == draft.text:
        yield Problem(message=Sentence(
            "{path} holds exactly this text already: there is nothing to publish. Change something "
            "first.", path=draft.path))
    elif draft.before is not None and draft.version and not draft.is_update:
        before = _component(draft.before)
        if before and before.reference == draft.reference:
            line, column = locate(draft.text, "version") or (None, None)
            yield Problem(
                message=Sentence(
                    "{reference} stands there already with other bytes, and a published version "
                    "does not change. Write a higher `version:`.", reference=draft.reference),
                path="version", line=line, column=column, severity="warning")


def _replaced(draft: Publication, component: Component) -> Iterator[Problem]:
    if draft.before is None:
        return
    before = _component(draft.before)
    if before is None:
        yield _advice(Sentence(
            "What stands at {path} is no valid component. Yours takes its place.",
            path=draft.path),
                      "path")
    elif (before.type, before.name) != (component.type, component.name):
        yield _advice(Sentence(
            "{path} holds {type}/{name} now, which yours would replace. Choose another path to "
            "keep both.", path=draft.path, type=before.type, name=before.name), "path")


def _version_advice(draft: Publication, component: Component, known: list[Entry]
                    ) -> Iterator[Problem]:
    if not component.version:
        if known or draft.before is not None or component.type != "job":
            yield _advice(Sentence(
                "It has no version, so nobody can name exactly this state but by its commit. Add a "
                "line like `version: 1.0.0`."), "version")
        return
    newest = next((entry for entry in known if entry.version and entry.is_present), None)
    before = _component(draft.before)
    is_said = before is not None and before.reference == draft.reference
    if newest and not is_said and not draft.is_update and version_order(
            component.version, 0) <= version_order(newest.version, 0):
        yield _advice(Sentence(
            "The newest version there is {version}, and this is {given}. Write a higher one, or "
            "it will not be the latest.", version=newest.version, given=component.version),
                      "version", draft.text)


def _advice(message: str, path: str = "", text: str = "") -> Problem:
    line, column = (locate(text, path) if text else None) or (None, None)
    return Problem(message=message, path=path, line=line, column=column, severity="warning")


def _words(draft: Publication, before: str | None) -> dict[str, str]:
    """The title and text of the pull request, now that it is known what it changes."""
    component, old = parse(draft.text), _component(before)
    is_new = old is None or (old.type, old.name) != (component.type, component.name)
    difference = None if old is None or is_new else compare(old, component)
    return {"title": default_title(component, is_new=is_new),
            "body": default_body(component, difference)}


def _renewed(before: Publication | None, wanted: Wanted) -> tuple[str, ...]:
    """Words of the pull request that nobody wrote: left empty, or made here and left alone."""
    made = [_words(before, stood) for stood in {before.before, None}] if before else []
    given = {"title": wanted.title.strip(), "body": wanted.body.strip()}
    return tuple(name for name in ("title", "body") if not given[name]
                 or any(given[name] == words[name] for words in made))


def _component(text: str | None) -> Component | None:
    """What a text holds; None: there is no text, or it is no component."""
    try:
        return None if text is None else parse(text)
    except ComponentError:
        return None


def may_confirm(draft: Publication, checks: tuple[Problem, ...]) -> bool:
    """Whether there is nothing left in its way but its author's word."""
    return draft.state == DRAFT and draft.base_sha is not None and draft.problem is None \
        and all(problem.severity != "error" for problem in checks)
