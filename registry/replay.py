"""Follows a source through its store: what is new since the cursor, or all of it once more."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Container, Mapping, Sequence

from registry.commits import Commit, Fetched, mainline, standing_after
from registry.errors import Problem
from registry.git_store import GitStore
from registry.head import Head
from registry.history import History
from registry.journal import Cursor, Journal, Read
from registry.ledger import Ledger, Written
from registry.reader import Reader
from registry.reference import number_of
from registry.source import GITHUB, Source, folders
from registry.versions import FileProblem, Tag
from runner.sentence import Sentence

MAX_GONE, MAX_GONE_PART = 10, 0.2  # more at once waits for the owner's word


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What following a source changed; `problems` counts the invalid files at its head.

    `held`: so many versions would have been withdrawn that nothing was changed.
    """

    written: Written
    problems: int
    held: int = 0


class Replay:
    """One source at a time; `ledger` is where it is written down."""

    def __init__(self, source: Source, store: GitStore, ledger: Ledger) -> None:
        self._source = source
        self._store = store
        self._ledger = ledger
        self._journal = Journal(store.path)

    def forget(self) -> None:
        """Take what was purged off the disk; then all is read anew, without it."""
        gone = [blob for blob in self._ledger.purged(self._source.id)
                if self._store.path.exists() and self._store.holds(blob)]
        if gone:
            self._journal.restart()
        for blob in gone:
            self._store.forget(blob)

    def is_current(self, fetched: Fetched) -> bool:
        """Whether the catalog already shows all that was fetched."""
        cursor = self._cursor()
        return cursor is not None and cursor.read == self._read(fetched, {}) and \
            not self._news(fetched.tags)

    def follow(self, fetched: Fetched) -> Replayed:
        """Bring the catalog to what was fetched, by what is new where that is possible."""
        assert fetched.head is not None, "there is a commit"
        cursor, read = self._cursor(), self._read(fetched, self._news(fetched.tags))
        with self._store.reading(fetched) as files:
            if cursor is None:
                known: set[str] = set()
                history, new = self._all(files, [*self._journal.reads(), read])
            else:
                known = set(cursor.known)
                history = self._ledger.load(self._source.id, files)
                new = files.new_commits(read.head, known)
                _take(history, files, read, new, cursor.read.head, known, self._source)
            held = self._held(history, read.head)
            if held:
                return Replayed(written=Written(), problems=self._source.problems, held=held)
            if cursor and (not _goes_on(new, cursor.read, read)
                           or _looks_back(read, known, cursor.read)):
                self._journal.keep(cursor.read)
            _tell_missing(history, files, self._source, read)
            written = self._ledger.save(self._source, history, read.head, len(known) + len(new))
        self._move(read, new, len(known))
        return Replayed(written=written, problems=len(history.problems))

    def _held(self, history: History, head: str) -> int:
        """How many versions this head takes away, where that is too many to go unasked."""
        if self._source.kind != GITHUB or head == self._source.confirmed_head:
            return 0
        present = self._ledger.present(self._source.id)
        gone = sum(version.id in present and not version.is_present
                   for version in history.versions)
        return gone if gone > MAX_GONE and gone > MAX_GONE_PART * len(present) else 0

    def repeat(self) -> None:
        """Write everything down that the journal holds, as if it were read for the first time."""
        cursor = self._cursor()
        if cursor:
            with self._store.reading() as files:
                history, new = self._all(files, [*self._journal.reads(), cursor.read])
                _tell_missing(history, files, self._source, cursor.read)
                self._ledger.save(self._source, history, cursor.read.head, len(new))

    def _cursor(self) -> Cursor | None:
        if not self._source.head or not self._store.path.exists():
            return None
        return self._journal.cursor(self._source.head, self._store.shallow())

    def _read(self, fetched: Fetched, tags: Mapping[str, str]) -> Read:
        return Read(head=fetched.head or "", prefix=fetched.prefix, tags=tags)

    def _news(self, tags: Mapping[str, str]) -> dict[str, str]:
        """Tags that are new or moved, and with no commit those that are gone."""
        seen: dict[str, str] = {}
        for read in self._journal.reads():
            seen.update(read.tags)
        new = {name: commit for name, commit in tags.items() if seen.get(name) != commit}
        return new | {name: "" for name, commit in seen.items() if commit and name not in tags}

    def _all(self, files: Reader, reads: Sequence[Read]) -> tuple[History, list[Commit]]:
        """The whole history anew, each commit where it was met first."""
        known: set[str] = set()
        parts: list[list[Commit]] = []
        for read in reads:
            parts.append(files.new_commits(read.head, known))
            known |= {commit.id for commit in parts[-1]}
        tagged = {commit for read in reads for commit in read.tags.values()}
        history = self._ledger.load_anew(self._source.id, files, known | tagged)
        before, known = None, set()
        for read, new in zip(reads, parts):
            _take(history, files, read, new, before, known, self._source)
            known |= {commit.id for commit in new}
            before = read.head
        history.keep_rest()
        return history, [commit for new in parts for commit in new]

    def _move(self, read: Read, new: Sequence[Commit], known: int) -> None:
        if read.tags:
            self._journal.keep(read)
        self._journal.move(Read(head=read.head, prefix=read.prefix, tags={}),
                           [commit.id for commit in new], known, self._store.shallow())


def _take(history: History, files: Reader, read: Read, new: Sequence[Commit], before: str | None,
          known: Container[str], source: Source) -> None:
    """The changes of new commits, those of the branch each with all that it brought.

    Tags of known commits come before them, those of other branches last.
    """
    prefixes = folders(read.prefix, source.sub_paths)
    history.unname([name for name, commit in read.tags.items() if not commit])
    waiting = _tags(read, source.tag_prefix or "", files)
    head = Head(history)
    line = set(mainline({commit.id: commit for commit in new}, read.head))
    named = [tag for commit in [*waiting] if commit in known for tag in waiting.pop(commit)]
    _name(head, files, named, prefixes)
    named = []
    for commit in new:
        changes = list(files.changes([commit], prefixes))
        for change in changes:
            history.apply(change)
        named += waiting.pop(commit.id, ())
        if commit.id in line:
            found = standing_after(changes) if commit.parents == (before,) \
                else files.standing(commit.id, before, prefixes)
            head.move(found, commit, before)
            _name(head, files, named, prefixes)
            before, named = commit.id, []
    if before != read.head:
        head.move(files.standing(read.head, before, prefixes), files.commit(read.head), before)
    _name(head, files, [tag for tags in waiting.values() for tag in tags], prefixes)
    head.show()


def _name(head: Head, files: Reader, tags: Sequence[Tag], prefixes: Sequence[str]) -> None:
    for tag in sorted(tags, key=lambda tag: (tag.commit.time_s, tag.name)):
        head.name(tag, files.files(tag.commit.id, prefixes))


def _tags(read: Read, prefix: str, files: Reader) -> dict[str, list[Tag]]:
    """The tags whose names go on with a semantic version, by the commits that they name."""
    found: dict[str, list[Tag]] = {}
    for name, commit in sorted(read.tags.items()):
        version = name.removeprefix(prefix)
        if commit and number_of(version) is not None:
            found.setdefault(commit, []).append(
                Tag(name=name, version=version, commit=files.commit(commit)))
    return found


def _goes_on(new: Sequence[Commit], before: Read, read: Read) -> bool:
    """Whether the branch only grew: its first parents lead back to where it was."""
    parents = {commit.id: commit.parents[:1] for commit in new}
    id = read.head
    while id in parents and parents[id]:
        id, = parents[id]
    return id == before.head and read.prefix == before.prefix


def _looks_back(read: Read, known: Container[str], before: Read) -> bool:
    """Whether a tag came only after more was read than its commit."""
    return any(commit in known and commit != before.head for commit in read.tags.values())


def _tell_missing(history: History, files: Reader, source: Source, read: Read) -> None:
    """A folder that the source names and the head does not have is a problem of that folder."""
    for path in folders(read.prefix, source.sub_paths) if source.sub_paths else ():
        history.problems.pop(path, None)
        if not files.is_folder(read.head, path):
            history.problems[path] = FileProblem(path=path, commit=read.head, problems=(Problem(
                message=Sentence(
                    "The folder {path}, below which components are looked for, is not there at "
                    "this commit. Bring it back, or add the source anew without it.",
                    path=path)),))
