"""Commits, the trees that they show, and how these differ. Knows no Git library."""
from __future__ import annotations

import heapq
import stat
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Callable, Container, Iterator, Mapping, Sequence

from registry.component import Component
from registry.component_rules import TYPES
from registry.errors import ComponentError
from registry.source import component_type, is_readme
from registry.trees import NOTHING, Side, Tree
from registry.uses import Use

LATEST_TIME_S = 253_402_300_799
SUBMODULE = 0o160000
MAX_PATH = 4096
README_END = ".md"  # which no component file has
ReadTree = Callable[[bytes | None], Tree]  # None: an empty one
# Path, entry, entries before, and the folder that it is in; None where that is gone.
Changed = tuple[str, Side, list[Side], bytes | None]
Seen = dict[tuple[str, str], list[Changed]]
Small = dict[bytes, tuple[int, bytes]]  # objects by their ids, each with its kind
# What a file declares, without its document, or why nothing; and what that uses.
Reading = tuple[Component | ComponentError, tuple[Use, ...]]
Read = Callable[[str, str], Reading]  # the file at a path that is this blob
Ahead = Callable[[str, str, Read], Reading]


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
    """A component file that differs from what some parent of `commit` has.

    `blob` None: no file stands there. `is_link`: a symbolic link does, which is not followed.
    `is_inherited`: one of several parents has the same. `before` holds each parent that had
    another file there, with its blob.
    """

    commit: Commit
    path: str
    blob: str | None
    is_link: bool
    is_inherited: bool
    before: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What stands at a path now, and the blob that stood there before; None: no file."""

    path: str
    blob: str | None
    is_link: bool
    before: str | None


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What a fetch brought: the head, None before the first commit, and how many objects.

    `tags` are the wanted tags of the origin, each with the commit that it names.

    What was found out on the way: `seen` has the files that a commit changed, by commit and folder;
    `commits` those that were read; `small` has short objects. `ahead` gives what the
    file at a path holds that is this blob; the last argument reads one.
    """

    head: str | None
    prefix: str = ""
    objects: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    seen: Seen = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    small: Small = field(default_factory=dict)
    ahead: Ahead = lambda path, blob, read: read(path, blob)


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


def mainline(commits: Mapping[str, Commit], head: str) -> list[str]:
    """Those of `commits` that the branch itself went through, which its first parents say."""
    line: list[str] = []
    first = head
    while first in commits:
        line.append(first)
        first = next(iter(commits[first].parents), "")
    return line[::-1]


def mainline_first(commits: Mapping[str, Commit], head: str) -> Iterator[Commit]:
    """Each commit in the order in which it came onto the branch: a merge after what it merged.

    The branch is what the first parents say. So a history that only grew keeps its order: what
    is new comes last, whatever the clocks say. `commits` without what is known already gives the
    order of the rest.
    """
    done: set[str] = set()
    for id in mainline(commits, head):
        if all(parent in done or parent not in commits for parent in commits[id].parents):
            done.add(id)
            yield commits[id]
            continue
        group = {found: commits[found] for found in _not_among(done, commits, id)}
        done |= group.keys()
        yield from parents_first(group)


def _not_among(done: set[str], commits: Mapping[str, Commit], head: str) -> set[str]:
    found: set[str] = set()
    todo = [head]
    while todo:
        id = todo.pop()
        if id in commits and id not in done and id not in found:
            found.add(id)
            todo += commits[id].parents
    return found


def entry_at(read: ReadTree, tree: bytes, path: str) -> Side:
    """Mode and id of what stands at `path`, NOTHING where nothing does."""
    found: Side = (stat.S_IFDIR, tree)
    for part in path.split("/") if path else ():
        if not stat.S_ISDIR(found[0]):
            return NOTHING
        found = read(found[1]).get(part.encode("utf-8", "surrogateescape"))
    return found


def folder_at(read: ReadTree, tree: bytes, path: str) -> bytes | None:
    mode, id = entry_at(read, tree, path)
    return id if stat.S_ISDIR(mode) else None


def changes(commit: Commit, changed: Sequence[Changed]) -> Iterator[Change]:
    """What a commit did to component files, of all that it changed."""
    for path, new, olds, _ in changed:
        if not path.endswith(README_END):
            blobs = [_blob(old) for old in olds]
            yield Change(
                commit=commit, path=path, blob=_blob(new), is_link=stat.S_ISLNK(new[0]),
                is_inherited=new in olds, before=tuple(
                    (parent, blob) for parent, blob, old in zip(commit.parents, blobs, olds)
                    if blob and old[1] != new[1]))


def standing_after(changes: Sequence[Change]) -> list[Standing]:
    """What stands otherwise after a commit of one parent than before it."""
    return [Standing(path=each.path, blob=each.blob, is_link=each.is_link,
                     before=each.before[0][1] if each.before else None) for each in changes]


def standing(read: ReadTree, tree: bytes, before: bytes | None,
             prefix: str) -> Iterator[Standing]:
    """Component files below `prefix` that differ between two trees; `before` None: all there are.
    """
    new, old = folder_at(read, tree, prefix), before and folder_at(read, before, prefix)
    for path, side, olds, _ in sorted(_differing(read, new, [old] if old else [], prefix)):
        if not path.endswith(README_END):
            yield Standing(path=path, blob=_blob(side), is_link=stat.S_ISLNK(side[0]),
                           before=_blob(olds[0]) if olds else None)


def changed_files(read: ReadTree, tree: bytes, parents: Sequence[bytes],
                  prefix: str) -> list[Changed]:
    """The files below `prefix` that a folder has otherwise than some of those before, by path.

    These are files whose text is read, of a component or a README beside one, and links in the
    place of a component or of a folder of them.
    """
    new, *olds = [folder_at(read, each, prefix) for each in (tree, *parents)]
    return sorted(_differing(read, new, olds, prefix))


def files_of(changed: Sequence[Changed]) -> Iterator[tuple[str, str]]:
    """Path and blob of the files among these that stand there now."""
    return ((path, blob) for path, side, *_ in changed if (blob := _blob(side)))


def _file(path: str, side: Side) -> Side:
    kind = stat.S_IFMT(side[0])
    if kind not in (stat.S_IFREG, stat.S_IFLNK):
        return NOTHING
    is_wanted = component_type(path) is not None or (
        is_readme(path) if kind == stat.S_IFREG else path.rpartition("/")[2] in TYPES)
    return (kind, side[1]) if is_wanted else NOTHING


def _differing(read: ReadTree, tree: bytes | None, befores: Sequence[bytes | None],
               prefix: str) -> Iterator[Changed]:
    """Such files, in no order. No system has a file of more than 4096 bytes' path."""
    todo = [(prefix, tree, list(befores))]
    while todo:
        folder, new, olds = todo.pop()
        for name, sides in _entries(read(new), [read(old) for old in olds], set.union):
            text = name.decode("utf-8", "backslashreplace")
            path = f"{folder}/{text}" if folder else text
            first, *rest = [id if stat.S_ISDIR(mode) else None for mode, id in sides]
            if (first or any(rest)) and len(path) <= MAX_PATH:
                todo.append((path, first, rest))
            now, *others = [_file(path, side) for side in sides]
            if any(other != now for other in others) or (not olds and now != NOTHING):
                yield path, now, others, new


def _blob(side: Side) -> str | None:
    return side[1].decode() if stat.S_ISREG(side[0]) else None


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
                for _, sides in _entries(read(id), [read(old) for old in olds],
                                         set.intersection):
                    (kind, child), *rest = sides
                    if child:
                        folders = [old for old_kind, old in rest if stat.S_ISDIR(old_kind)]
                        todo.append((child, kind, folders, False))


def _entries(new: Tree, olds: Sequence[Tree],
             join: Callable[..., set[bytes]]) -> Iterator[tuple[bytes, list[Side]]]:
    """Each name with all its entries, where it differs from the old trees: from some or from each.
    """
    if not olds:
        yield from ((name, [side]) for name, side in new.items().items())
        return
    found = [new.differing(old) for old in olds]
    if len(found) == 1:
        yield from ((name, [*sides]) for name, sides in found[0].items())
        return
    for name in join(*map(set, found)):
        now = next(each[name][0] for each in found if name in each)
        yield name, [now, *(each[name][1] if name in each else now for each in found)]
