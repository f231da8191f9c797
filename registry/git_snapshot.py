"""Trees and commits that are made here: of a folder's files, or of one file. Uses dulwich."""
from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Collection, Sequence

from dulwich.objects import Blob
from dulwich.objects import Commit as GitCommit
from dulwich.objects import ObjectID, Tree
from dulwich.repo import Repo

from registry.source import FolderFile

AUTHOR = b"PAIShare <paishare@localhost>"


def write_tree(repo: Repo, folder: Path, files: Sequence[FolderFile],
               without: Collection[str]) -> ObjectID:
    trees: dict[str, Tree] = {"": Tree()}
    for file in files:
        source = folder / file.path
        is_link = stat.S_ISLNK(file.mode)
        blob = Blob.from_string(os.fsencode(os.readlink(source)) if is_link
                                else source.read_bytes())
        if blob.id not in repo.object_store and blob.id.decode() not in without:
            repo.object_store.add_object(blob)
        mode = 0o120000 if is_link else 0o100755 if file.mode & stat.S_IXUSR else 0o100644
        parent, _, name = file.path.rpartition("/")
        trees.setdefault(parent, Tree()).add(os.fsencode(name), mode, blob.id)
    return _join_trees(repo, trees)


def tree_with(repo: Repo, id: ObjectID | None, parts: list[bytes], blob: ObjectID) -> ObjectID:
    """A tree like `id`, None an empty one, but with this file."""
    tree = Tree.from_string(repo[id].as_raw_string()) if id else Tree()
    name, *rest = parts
    if rest:
        below = tree[name][1] if name in tree else None
        tree[name] = 0o040000, tree_with(repo, below, rest, blob)
    else:
        tree[name] = 0o100644, blob
    repo.object_store.add_object(tree)
    return tree.id


def _join_trees(repo: Repo, trees: dict[str, Tree]) -> ObjectID:
    for path in list(trees):
        while path:
            path = path.rpartition("/")[0]
            trees.setdefault(path, Tree())
    for path in sorted(trees, key=lambda path: -path.count("/") - bool(path)):
        repo.object_store.add_object(trees[path])
        if path:
            parent, _, name = path.rpartition("/")
            trees[parent].add(os.fsencode(name), 0o040000, trees[path].id)
    return trees[""].id


def new_commit(tree: ObjectID, parent: object, newest_s: int) -> GitCommit:
    commit = GitCommit()
    commit.tree = tree
    commit.author = commit.committer = AUTHOR
    if isinstance(parent, GitCommit):
        commit.parents = [parent.id]
        newest_s = max(newest_s, parent.commit_time)
    commit.author_time = commit.commit_time = newest_s
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"Snapshot of a folder\n"
    return commit
