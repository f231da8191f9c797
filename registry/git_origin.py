"""Another repository on this machine: its branch, its tags, what is missing here. Uses dulwich."""
from __future__ import annotations

from typing import Collection, Iterator, Mapping, Sequence

from dulwich.objects import Commit as GitCommit
from dulwich.objects import ObjectID
from dulwich.objects import Tag as GitTag
from dulwich.pack import generate_unpacked_objects
from dulwich.refs import Ref
from dulwich.repo import Repo

from registry.commits import Commit, new_objects, parents_first
from registry.errors import RegistryError
from registry.git_objects import commit_of, find_commit, tree_reader
from runner.sentence import Sentence

HEAD = Ref(b"HEAD")
TAGS = Ref(b"refs/tags")
MAX_LOOSE = 100


def refuse_sha256(origin: Repo) -> None:
    if origin.object_format.hex_length != 40:
        raise RegistryError(Sentence(
            "{path} names its objects by {name}, which is not supported. Make a copy of it that "
            "uses sha1.", path=origin.path, name=origin.object_format.name))


def default_head(origin: Repo) -> ObjectID | None:
    head = origin.refs.follow(HEAD)[1]
    branches = origin.refs.as_dict(Ref(b"refs/heads"))
    if head or not branches:
        return head
    for name in (b"main", b"master"):
        if name in branches:
            return branches[Ref(name)]
    if len(branches) > 1:
        raise RegistryError(Sentence(
            "HEAD of {path} names a branch that does not exist. Let it name one that does: `git -C "
            "{path} symbolic-ref HEAD refs/heads/BRANCH`.", path=origin.path))
    return next(iter(branches.values()))


def tags_of(origin: Repo, prefix: str) -> dict[str, ObjectID]:
    """The tags that begin so, each with the commit that it names at last."""
    found = {}
    for name, id in origin.refs.as_dict(TAGS).items():
        text = name.decode("utf-8", "backslashreplace")
        commit = _peeled(origin, id) if text.startswith(prefix) else None
        if commit:
            found[text] = commit
    return found


def _peeled(origin: Repo, id: ObjectID) -> ObjectID | None:
    """A tag may name a tag; None where the last names no commit, or one that is not here."""
    while id in origin.object_store:
        named = origin.object_store[id]
        if not isinstance(named, GitTag):
            return id if isinstance(named, GitCommit) else None
        id = named.object[1]
    return None


def keep_tags(repo: Repo, tags: Mapping[str, ObjectID]) -> None:
    """Have git find them here too, and keep what they name."""
    for name, commit in tags.items():
        ref = Ref(TAGS + b"/" + name.encode("utf-8", "surrogateescape"))
        if repo.refs.read_ref(ref) != commit:
            repo.refs[ref] = commit


def take_over(repo: Repo, origin: Repo, heads: Sequence[ObjectID],
              without: Collection[str]) -> int:
    """Copy what is missing, then note where a shallow history begins; returns how much it was."""
    missing = list(_missing(repo, origin, heads, without))
    if len(missing) <= MAX_LOOSE:
        for id in missing:
            repo.object_store.add_object(origin[id])
    else:
        wanted: list[tuple[ObjectID, None]] = [(id, None) for id in missing]
        repo.object_store.add_pack_data(
            len(wanted), generate_unpacked_objects(origin.object_store, wanted))
    _note_shallow(repo, origin)
    return len(missing)


def _missing(repo: Repo, origin: Repo, heads: Sequence[ObjectID],
             without: Collection[str]) -> Iterator[ObjectID]:
    """What `heads` need and the store has not, each object after those that it names.

    So the store never has an object without these, whatever ends a fetch midway.
    """
    commits = _missing_commits(repo, origin, heads)
    read = tree_reader(origin)
    seen = {blob.encode() for blob in without}

    def is_known(id: bytes) -> bool:
        if id in seen or ObjectID(id) in repo.object_store:
            return True
        seen.add(id)
        return False
    for commit in parents_first(commits):
        befores = [commit_of(origin, parent).tree for parent in commit.parents]
        for id in new_objects(read, commit.tree, befores, is_known):
            yield ObjectID(id)
        if not is_known(commit.id.encode()):
            yield ObjectID(commit.id.encode())


def _missing_commits(repo: Repo, origin: Repo, heads: Sequence[ObjectID]) -> dict[str, Commit]:
    """Those not here, and those that were the first of a shallow history."""
    shallow_here, shallow_there = repo.get_shallow(), origin.get_shallow()
    found: dict[str, Commit] = {}
    deepened = [id for id in shallow_here - shallow_there if id in origin.object_store]
    todo = [*heads, *deepened]
    while todo:
        id = todo.pop()
        if id.decode() in found or (id in repo.object_store and id not in shallow_here):
            continue
        commit = commit_of(origin, id.decode())
        found[commit.id] = commit.among(()) if id in shallow_there else commit
        todo += (ObjectID(parent.encode()) for parent in found[commit.id].parents)
    return found


def _note_shallow(repo: Repo, origin: Repo) -> None:
    before = repo.get_shallow()
    candidates = before | origin.get_shallow()
    begins = {id for id in candidates if _begins_history(repo, id)}
    if begins != before:
        repo.update_shallow(begins, before - begins)


def _begins_history(repo: Repo, id: ObjectID) -> bool:
    """Whether a commit is here without all of its parents."""
    commit = find_commit(repo, id.decode())
    return commit is not None and commit_of(repo, commit.id) != commit
