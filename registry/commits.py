"""Commits, the trees that they show, and how these differ. Knows no Git library."""
from __future__ import annotations

import heapq
import stat
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Callable, Container, Iterable, Iterator, Mapping, Sequence

from registry.source import component_type

LATEST_TIME_S = 253_402_300_799
SUBMODULE = 0o160000
Side = tuple[int, bytes]  # mode and id
TreeEntries = Mapping[bytes, Side]
NOTHING: Side = (0, b"")
ReadTree = Callable[[bytes | None], TreeEntries]  # None: an empty one


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One commit of a history; `parents` are those that the store has."""

    id: str
    parents: tuple[str, ...]
    tree: bytes
    time_s: int

    @property
    def committed_at(self) -> datetime:
        time_s = min(max(self.time_s, 0), LATEST_TIME_S)
        return datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None)

    def among(self, ids: Container[str]) -> Commit:
        """The same with only those parents that are among `ids`."""
        return replace(self, parents=tuple(parent for parent in self.parents if parent in ids))


@dataclass(frozen=True, kw_only=True)
class Change:
    """A component file that differs from what every parent of `commit` has.

    `blob` None: it is gone. `before` holds each parent that had it, with the blob there.
    """

    commit: Commit
    path: str
    blob: str | None
    before: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What a fetch brought: the head, None before the first commit, and how many objects."""

    head: str | None
    prefix: str = ""
    objects: int = 0


@dataclass(frozen=True, kw_only=True)
class Packed:
    """What a pack alone does not say: the head, where a shallow history begins, how much it is."""

    head: str | None
    shallow: tuple[str, ...]
    objects: int


def parents_first(commits: Mapping[str, Commit]) -> Iterator[Commit]:
    """Each commit after its parents; of those that may come, the oldest."""
    parents = {id: {parent for parent in commit.parents if parent in commits}
               for id, commit in commits.items()}
    children: dict[str, list[str]] = {id: [] for id in commits}
    for id, ids in parents.items():
        for parent in ids:
            children[parent].append(id)
    waiting = {id: len(ids) for id, ids in parents.items()}
    ready = [(commits[id].time_s, id) for id, count in waiting.items() if not count]
    heapq.heapify(ready)
    while ready:
        _, id = heapq.heappop(ready)
        yield commits[id]
        for child in children[id]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, (commits[child].time_s, child))


def ancestors(commits: Mapping[str, Commit], head: str | None) -> set[str]:
    """`head` and all that it descends from; nothing where it is not among the commits."""
    found: set[str] = set()
    todo = [head] if head is not None and head in commits else []
    while todo:
        id = todo.pop()
        if id not in found:
            found.add(id)
            todo += commits[id].parents
    return found


def entry_at(read: ReadTree, tree: bytes, path: str) -> Side:
    """Mode and id of what stands at `path`, NOTHING where nothing does."""
    found: Side = (stat.S_IFDIR, tree)
    for part in path.split("/") if path else ():
        if not stat.S_ISDIR(found[0]):
            return NOTHING
        found = read(found[1]).get(part.encode("utf-8", "surrogateescape"), NOTHING)
    return found


def folder_at(read: ReadTree, tree: bytes, path: str) -> bytes | None:
    mode, id = entry_at(read, tree, path)
    return id if stat.S_ISDIR(mode) else None


def changes(read: ReadTree, commits: Iterable[Commit], known: Mapping[str, Commit],
            prefix: str) -> Iterator[Change]:
    """What each of `commits` did to component files below `prefix`; `known` has every parent."""
    for commit in commits:
        tree, *befores = [folder_at(read, each.tree, prefix) for each in (
            commit, *(known[parent] for parent in commit.parents))]
        for path, blob, olds in sorted(changed_files(read, tree, befores, prefix)):
            before = tuple((parent, old) for parent, old in zip(commit.parents, olds) if old)
            yield Change(commit=commit, path=path, blob=blob, before=before)


def changed_files(read: ReadTree, tree: bytes | None, befores: Sequence[bytes | None],
                  prefix: str) -> Iterator[tuple[str, str | None, list[str | None]]]:
    """Path, blob and blobs before of the component files that no tree before has the same way."""
    todo = [(prefix, tree, list(befores))]
    while todo:
        folder, new, olds = todo.pop()
        for name, sides in _changed_entries(read(new), [read(old) for old in olds]):
            text = name.decode("utf-8", "backslashreplace")
            path = f"{folder}/{text}" if folder else text
            first, *rest = [id if stat.S_ISDIR(mode) else None for mode, id in sides]
            if first or any(rest):
                todo.append((path, first, rest))
            if component_type(path):
                blob, *blobs = [id.decode() if stat.S_ISREG(mode) else None for mode, id in sides]
                if blob not in blobs and (blob or any(blobs)):
                    yield path, blob, blobs


def new_objects(read: ReadTree, tree: bytes, befores: Sequence[bytes],
                is_known: Callable[[bytes], bool]) -> Iterator[bytes]:
    """The ids that a tree names and no tree before, each after all that it names itself.

    `is_known` is asked once for each of them and leaves out those that it knows.
    """
    todo = [(tree, stat.S_IFDIR, [*befores], False)]
    while todo:
        id, mode, olds, is_complete = todo.pop()
        if is_complete:
            yield id
        elif id not in olds and stat.S_IFMT(mode) != SUBMODULE and not is_known(id):
            todo.append((id, mode, [], True))
            if stat.S_ISDIR(mode):
                for _, sides in _changed_entries(read(id), [read(old) for old in olds]):
                    (kind, child), *rest = sides
                    if child:
                        folders = [old for old_kind, old in rest if stat.S_ISDIR(old_kind)]
                        todo.append((child, kind, folders, False))


def _changed_entries(new: TreeEntries,
                     olds: Sequence[TreeEntries]) -> Iterator[tuple[bytes, list[Side]]]:
    """Each name whose entry differs from that in every old tree, with all its entries."""
    names = set(new) if not olds else set.intersection(
        *({name for name, _ in new.items() ^ old.items()} for old in olds))
    for name in names:
        yield name, [tree.get(name, NOTHING) for tree in (new, *olds)]
