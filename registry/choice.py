"""Which of the known versions a reference means, or why it means none or several. Pure."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Iterable, Iterator, Mapping, NoReturn, Sequence

from registry.entry import Entry, newest_first
from registry.errors import ConflictError, GoneError, InvalidInputError, NotFoundError
from registry.reference import (
    COMMIT,
    LATEST,
    Range,
    Reference,
    exactly,
    is_prerelease,
    latest_of,
    looks_like_range,
    newest_in,
)
from runner.sentence import Sentence

MAX_NEAREST = 5
Files = Callable[[int, str], tuple[str, Mapping[str, str]] | None]
Component = tuple[int, str]  # source and type; the name is the same for all


@dataclass(frozen=True, kw_only=True)
class Purged:
    """One version whose bytes were deleted for good."""

    source_id: int
    source: str
    type: str
    name: str
    version: str
    blob: str
    reason: str


class Choice:
    """One reference beside every version that bears its name.

    `files` gives the whole id of a commit of a source and its files as path and blob, or None.
    """

    def __init__(self, wanted: Reference, entries: Sequence[Entry], purged: Sequence[Purged],
                 files: Files) -> None:
        self._wanted = wanted
        self._entries = entries
        self._purged = purged
        self._files = files
        self._components: dict[Component, list[Entry]] = {}
        for entry in entries:
            self._components.setdefault((entry.source_id, entry.type), []).append(entry)

    def entry(self) -> Entry:
        """Raises NotFoundError, ConflictError, GoneError or InvalidInputError as Catalog.get."""
        return self._only(self._found() or self._refuse())

    def newest(self) -> Entry:
        """The version that came in last, whatever the selector; raises as `entry`."""
        return self._only(_last_of_each(self._entries) or self._refuse())

    def _only(self, found: Sequence[Entry]) -> Entry:
        present = [entry for entry in found if entry.is_present] or found
        if len(present) > 1:
            choices = [str(Reference(source=entry.source, type=entry.type, name=entry.name,
                                     selector=self._wanted.selector)) for entry in present]
            raise ConflictError(Sentence(
                "`{wanted}` fits several components. Choose one of: {choices}.",
                wanted=self._wanted, choices=", ".join(sorted(choices))), sorted(choices))
        return present[0]

    def _found(self) -> list[Entry]:
        """The version that is meant of each component that has it."""
        selector = self._wanted.selector
        if selector == LATEST:
            return self._of_each(lambda known: latest_of(known, _yanked(known)))
        found = self._of_each(lambda known: exactly(selector, known))
        if found:
            return found
        for purged in self._purged:
            if purged.version == selector:
                self._gone(purged)
        wanted = Range.parse(selector)
        if wanted:
            found = self._of_each(lambda known: newest_in(wanted, known, _yanked(known)))
        return found or self._at_commit()

    def _of_each(self, choose: Callable[[list[Entry]], Entry | None]) -> list[Entry]:
        return [found for known in self._components.values() if (found := choose(known))]

    # --- commits --------------------------------------------------------------------------------

    def _at_commit(self) -> list[Entry]:
        """What each component was at a commit: one that brought in a version, or any other."""
        commit = self._wanted.selector
        if not COMMIT.fullmatch(commit):
            return []
        found = [replace(entry, files_commit=entry.commit) for entry in self._entries
                 if entry.commit.startswith(commit)]
        self._check_only_one(commit, found)
        if {(entry.source_id, entry.type) for entry in found} == self._components.keys():
            return _last_of_each(found)
        return _last_of_each([*self._held_by(commit), *found])

    def _check_only_one(self, start: str, found: Iterable[Entry]) -> None:
        commits: dict[Component, set[str]] = {}
        for entry in found:
            commits.setdefault((entry.source_id, entry.type), set()).add(entry.commit)
        several = sorted({commit for each in commits.values() if len(each) > 1 for commit in each})
        if several:
            raise ConflictError(Sentence(
                "`{start}` is how several commits begin. Write more of the one that you mean.",
                start=start),
                [str(replace(self._wanted, selector=commit)) for commit in several])

    def _held_by(self, commit: str) -> Iterator[Entry]:
        source_ids = {entry.source_id for entry in self._entries}
        for source_id in sorted(source_ids | {each.source_id for each in self._purged}):
            at_commit = self._files(source_id, commit)
            paths = {blob: path for path, blob in at_commit[1].items()} if at_commit else {}
            for purged in self._purged:
                if purged.source_id == source_id and purged.blob in paths:
                    self._gone(purged)
            for entry in self._entries:
                if at_commit and entry.source_id == source_id and entry.blob in paths:
                    yield replace(entry, commit=at_commit[0], files_commit=at_commit[0],
                                  path=paths[entry.blob])

    # --- refusals -------------------------------------------------------------------------------

    def _refuse(self) -> NoReturn:
        """Say why nothing is meant, and what there is instead."""
        if not self._entries:
            self._gone(self._purged[0])
        known = newest_first(self._entries)
        name, selector = f"{known[0].type}/{known[0].name}", self._wanted.selector
        if selector == LATEST:
            raise NotFoundError(*_without_latest(name, known))
        wanted = Range.parse(selector)
        if wanted is None and looks_like_range(selector):
            raise InvalidInputError(Sentence(
                "`{selector}` is neither a version of {name} nor a range. Write a range like "
                "`^1.0`, `~1.2`, `>=1 <2` or `1.x`.", selector=selector, name=name))
        withheld = [entry for entry in known if wanted and wanted.contains(entry.version)]
        if withheld:
            raise NotFoundError(Sentence(
                "Every version of {name} within {selector} is yanked. Name one exactly, or another "
                "range.", name=name, selector=selector), _references(withheld))
        raise NotFoundError(Sentence(
            "There is no version {selector} of {name}.", selector=selector, name=name),
            _references(known))

    def _gone(self, purged: Purged) -> NoReturn:
        name = f"{purged.type}/{purged.name}" + (f"@{purged.version}" if purged.version else "")
        raise GoneError(Sentence(
            "{name} of the source {source} was deleted for good: {reason}", name=name,
            source=purged.source, reason=purged.reason))


def _yanked(known: Iterable[Entry]) -> set[str]:
    return {entry.version for entry in known if entry.yanked}


def _last_of_each(entries: Iterable[Entry]) -> list[Entry]:
    """Of each component the version that came in last; of one version what is listed last."""
    found: dict[Component, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.position):
        found[entry.source_id, entry.type] = entry
    return list(found.values())


def _without_latest(name: str, known: Sequence[Entry]) -> tuple[str, list[str]]:
    """Why a component that has versions has no latest one, and what can be named instead."""
    waiting = [entry for entry in known if not entry.yanked and not entry.is_moved
               and is_prerelease(entry.version)]
    if waiting:
        return (Sentence(
            "{name} has only pre-releases so far, so none is its latest version. Name the one that "
            "you want.", name=name), _references(waiting))
    return (Sentence(
        "Every version of {name} is yanked, so none is its latest. Name the one that you want.",
        name=name), _references(known))


def _references(entries: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(entry.reference for entry in entries))[:MAX_NEAREST]
