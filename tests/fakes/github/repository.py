"""One bare repository of the stand-in: what its REST routes read and write, by the git command."""
from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Iterator, Mapping, Sequence

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_ENV = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0", "PATH": os.environ["PATH"]}
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
[http]
\treceivepack = true
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
[receive]
\tdenyCurrentBranch = ignore
\tdenyDeleteCurrent = ignore
\tautogc = false
[gc]
\tauto = 0
"""


class GitError(Exception):
    """git said no; its message is the text."""


@dataclass(frozen=True, kw_only=True)
class CommitInfo:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Mapping[str, str]
    committer: Mapping[str, str]
    message: str


@dataclass(frozen=True, kw_only=True)
class TreeEntry:
    """`size` None: no blob."""

    mode: str
    type: str
    sha: str
    path: str
    size: int | None


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """`before` is the old path of a rename; `patch` the text of the change."""

    path: str
    before: str | None
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str


class GitRepository:
    """Runs git in `path`; forks of one network share one object store by a link."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, default_branch: str, *, objects_of: Path | None = None) -> None:
        for folder in ("refs/heads", "refs/tags"):
            (self.path / folder).mkdir(parents=True)
        (self.path / "HEAD").write_text(f"ref: refs/heads/{default_branch}\n")
        (self.path / "config").write_text(_CONFIG)
        if objects_of:
            (self.path / "objects").symlink_to(objects_of.resolve())
        else:
            (self.path / "objects" / "pack").mkdir(parents=True)

    def run(self, *args: str, input: bytes | None = None, **env: str) -> bytes:
        done = subprocess.run(["git", "-C", str(self.path), *args], input=input,
                              capture_output=True, env={**_ENV, **env})
        if done.returncode:
            raise GitError(done.stderr.decode(errors="replace").strip() or f"git {args[0]} failed")
        return done.stdout

    def text(self, *args: str, **options: bytes) -> str:
        return self.run(*args, **options).decode(errors="replace").strip()

    # --- reading --------------------------------------------------------------------------------

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Full names of refs and what they point to, in the order of their names."""
        lines = self.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        found = dict(line.split(" ", 1) for line in lines)
        return {name: sha for name, sha in found.items() if name.startswith(prefix)}

    def ref(self, name: str) -> str | None:
        """What `refs/heads/main` points to; read without git, since everybody asks for it."""
        if ".." in name or name.endswith("/"):
            return None
        try:
            return (self.path / name).read_text().strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return self._packed(name)

    def _packed(self, name: str) -> str | None:
        path = self.path / "packed-refs"
        lines = path.read_text().splitlines() if path.exists() else []
        return next((line[:40] for line in lines if line[41:] == name), None)

    def branch(self, name: str) -> str | None:
        """The newest commit of a branch; None where there is no such."""
        return self.ref(f"refs/heads/{name}")

    def resolve(self, name: str) -> str | None:
        """The commit that a branch, a tag or an id names; None where there is none."""
        branch = self.branch(name)
        if branch:
            return branch
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            try:
                return self.text("rev-parse", "--quiet", "--verify", "--end-of-options",
                                 f"{candidate}^{{commit}}")
            except GitError:
                continue
        return None

    def is_empty(self) -> bool:
        return not self.refs("refs/heads/")

    def commit(self, sha: str) -> CommitInfo:
        text = self.run("cat-file", "commit", sha).decode(errors="replace")
        head, _, message = text.partition("\n\n")
        lines = [line.split(" ", 1) for line in head.splitlines() if not line.startswith(" ")]
        fields = dict(lines)
        return CommitInfo(
            sha=sha, tree=fields["tree"], message=message.rstrip("\n"),
            parents=tuple(value for name, value in lines if name == "parent"),
            author=_signature(fields["author"]), committer=_signature(fields["committer"]))

    def log(self, start: str, *, path: str = "", since: str | None = None,
            until: str | None = None) -> list[str]:
        times = [f"--{name}={at}" for name, at in (("since", since), ("until", until)) if at]
        return self.text("rev-list", *times, start, "--", *filter(None, [path])).splitlines()

    def tree(self, sha: str, *, is_recursive: bool) -> list[TreeEntry]:
        flags = ["-r", "-t"] if is_recursive else []
        lines = self.run("ls-tree", "-z", "-l", *flags, sha).decode().split("\0")
        return [_tree_entry(line) for line in lines if line]

    def at(self, commit: str, path: str) -> TreeEntry | None:
        """What stands at a path; None where nothing does."""
        found = self.run("ls-tree", "-z", "-l", commit, "--", path).decode().rstrip("\0")
        return _tree_entry(found) if found else None

    def blob(self, sha: str) -> bytes:
        return self.run("cat-file", "blob", sha)

    def has(self, sha: str) -> bool:
        try:
            self.run("cat-file", "-e", sha)
        except GitError:
            return False
        return True

    def merge_base(self, first: str, second: str) -> str | None:
        try:
            return self.text("merge-base", first, second)
        except GitError:
            return None

    def count(self, since: str, until: str) -> int:
        return int(self.text("rev-list", "--count", f"{since}..{until}"))

    def between(self, since: str, until: str) -> list[str]:
        return self.text("rev-list", "--reverse", f"{since}..{until}").splitlines()

    def changes(self, before: str, after: str) -> list[FileChange]:
        raw = self.run("diff-tree", "-r", "-M", "-z", "--raw", "--no-abbrev", before, after)
        return list(self._changes(before, after, raw.decode().split("\0")))

    def _changes(self, before: str, after: str, parts: list[str]) -> Iterator[FileChange]:
        words = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "T": "changed"}
        while parts and parts[0]:
            _, _, old, new, status = parts.pop(0)[1:].split()
            path = parts.pop(0)
            old_path = path if status[0] == "R" else None
            path = parts.pop(0) if old_path else path
            stat = self.text("diff-tree", "-r", "--numstat", "-M", before, after, "--",
                             *filter(None, (old_path, path))).split()
            yield FileChange(
                path=path, before=old_path, status=words[status[0]],
                sha=old if status[0] == "D" else new, additions=_count(stat[0]),
                deletions=_count(stat[1]), patch=self._patch(before, after, path))

    def _patch(self, before: str, after: str, path: str) -> str:
        text = self.run("diff-tree", "-r", "-p", before, after, "--", path).decode(errors="replace")
        return text[text.find("@@"):] if "@@" in text else ""

    # --- writing --------------------------------------------------------------------------------

    def write_blob(self, content: bytes) -> str:
        return self.text("hash-object", "-w", "--stdin", input=content)

    def write_tree(self, base: str | None, changes: Sequence[tuple[str, str, str | None]]) -> str:
        """A tree like `base` with (path, mode, sha) put in; sha None takes the path out.

        Raises GitError for a path that is to be taken out and is not there.
        """
        index = str(self.path / f"index.{os.getpid()}.{id(changes)}")
        try:
            if base:
                self.run("read-tree", base, GIT_INDEX_FILE=index)
            for path, mode, sha in changes:
                self._put(index, path, mode, sha)
            return self.run("write-tree", GIT_INDEX_FILE=index).decode().strip()
        finally:
            Path(index).unlink(missing_ok=True)

    def _put(self, index: str, path: str, mode: str, sha: str | None) -> None:
        if sha is not None:
            self.run("update-index", "--add", "--cacheinfo", f"{mode},{sha},{path}",
                     GIT_INDEX_FILE=index)
            return
        if not self.run("ls-files", "--", path, GIT_INDEX_FILE=index):
            raise GitError(f"{path} is not there")
        self.run("update-index", "--index-info", GIT_INDEX_FILE=index,  # needs no work tree
                 input=f"0 {'0' * 40}\t{path}\n".encode())

    def write_commit(self, tree: str, parents: Sequence[str], message: str,
                     author: Mapping[str, str], committer: Mapping[str, str]) -> str:
        flags = [flag for parent in parents for flag in ("-p", parent)]
        env = {f"GIT_{role}_{key.upper()}": person[key]
               for role, person in (("AUTHOR", author), ("COMMITTER", committer))
               for key in ("name", "email", "date")}
        return self.run("commit-tree", tree, *flags, input=message.encode(), **env).decode().strip()

    def merge_tree(self, ours: str, theirs: str) -> str | None:
        """The merged tree, or None where the two conflict."""
        try:
            return self.text("merge-tree", "--write-tree", ours, theirs)
        except GitError:
            return None

    def reapply(self, onto: str, sha: str) -> str | None:
        """The tree of `onto` with what the commit changed, or None where that does not fit."""
        index = str(self.path / f"index.{sha}")
        parents = self.commit(sha).parents or (EMPTY_TREE,)
        patch = self.run("diff-tree", "-p", "--binary", "--full-index", parents[0], sha)
        try:
            self.run("read-tree", onto, GIT_INDEX_FILE=index)
            self.run("apply", "--cached", "--3way", "-", input=patch, GIT_INDEX_FILE=index)
            return self.run("write-tree", GIT_INDEX_FILE=index).decode().strip()
        except GitError:
            return None
        finally:
            Path(index).unlink(missing_ok=True)

    def update_ref(self, name: str, sha: str) -> None:
        self.run("update-ref", name, sha)

    def delete_ref(self, name: str) -> None:
        self.run("update-ref", "-d", name)


def _signature(text: str) -> dict[str, str]:
    """`Ann <ann@x> 1700000000 +0100` as GitHub shows it."""
    name, _, rest = text.partition(" <")
    email, _, moment = rest.partition("> ")
    at = datetime.utcfromtimestamp(int(moment.split()[0]))
    return {"name": name, "email": email, "date": f"{at.isoformat(timespec='seconds')}Z"}


def _tree_entry(line: str) -> TreeEntry:
    facts, _, path = line.partition("\t")
    mode, type_, sha, size = facts.split()
    return TreeEntry(mode=mode, type=type_, sha=sha, path=path,
                     size=None if size == "-" else int(size))


def _count(text: str) -> int:
    return 0 if text == "-" else int(text)
