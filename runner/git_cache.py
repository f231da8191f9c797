"""Repositories: pinned to a commit, fetched once, checked out fresh for each task."""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from runner.cache import Cache, Watch, remove
from runner.errors import StagingError
from runner.git_command import Git, GitError
from runner.network import Network, refusal
from runner.sentence import Sentence
from runner.uris import AllowedFolders, local_path, mask, scheme_of, split_ref, split_web

_INFO = "/info/refs?service=git-upload-pack"
_COMMIT = re.compile("[0-9a-f]{40}")
_SHORT_COMMIT = re.compile("[0-9a-f]{7,39}")
# The server does not hand out single commits, or not this one: all of it may still hold it.
_REFUSED = re.compile("not our ref|unadvertised object|shallow|dumb http|remote ref", re.IGNORECASE)
_PASSING = re.compile("No space left|timed out|Connection (refused|reset)|early EOF|RPC failed"
                      "|unexpected disconnect|hung up|returned error: 5|unable to (write|create)",
                      re.IGNORECASE)
# What a repository says that was itself fetched without some files.
_HOLES = re.compile("unable to read|missing (blob|object)|could not read|bad object",
                    re.IGNORECASE)
# Whoever a container runs as may write to what was checked out for it.
FOR_ALL = 0
_WHOLE_HISTORY = "--depth=2147483647"
_LEFT_BY_KILL = ("*.lock", "part.index*", "refs/**/*.lock", "objects/pack/tmp_*",
                 "objects/??/tmp_obj_*")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a path is in a commit; `kind` is blob, tree or commit, `mode` as git writes it."""

    mode: str
    kind: str
    object_id: str


@dataclass(frozen=True, kw_only=True)
class _Remote:
    """Where to fetch from, and the options that hold git to the address that was checked.

    `folder` is where a repository of this machine is, None for one on the web.
    """

    uri: str
    url: str
    options: tuple[str, ...]
    folder: Path | None = None


class GitCache:
    """One bare repository for each address, with a ref for each commit that is whole in it."""

    def __init__(self, cache: Cache, network: Network, folders: AllowedFolders) -> None:
        self._cache, self._network, self._folders = cache, network, folders
        self._git = Git(cache.root / "gitconfig")

    def fetch(self, uri: str, commit: str | None, watch: Watch, path: str = "") -> str:
        """Bring one commit of a repository here and return its id.

        `uri` may end in `@REF`, a branch, tag or commit; `commit` overrides it; None and no REF
        is the tip of the default branch. `path` is what is needed of it: that alone comes where
        a repository of this machine does not hold the rest. Asks nobody when it is here. Raises
        StagingError.
        """
        address, ref = split_ref(uri)
        self.check(address)
        if commit is None and _COMMIT.fullmatch(ref):
            commit = ref
        if commit and self.has(uri, commit, path):
            return commit
        with self._cache.lock(self._cache.key(address), watch) as lock:
            if commit and self.has(uri, commit, path):
                return commit
            visit = _Visit(self._git, self._mirror(uri), self._remote(address), lock, watch)
            visit.clean(self._cache)
            commit = commit or visit.pin(ref)
            if not self.has(uri, commit, path):
                visit.bring(commit, path.strip("/"))
        return commit

    def has(self, uri: str, commit: str, path: str = "") -> bool:
        """Whether a commit is here, or the part of it that is at `path`."""
        mirror = self._mirror(uri)
        return (mirror / "refs/paishare" / commit).exists() or (
            bool(path) and (mirror / _part(commit, path.strip("/"))).exists())

    def entry(self, uri: str, commit: str, path: str) -> Entry:
        """What `path` is in a commit that is here; raises StagingError when it is not there."""
        mirror, plain = self._mirror(uri), path.strip("/")
        part = _part(commit, plain)
        listed = self._git.run([f"--git-dir={mirror}", "ls-tree", "-z", "--full-tree",
                                part if (mirror / part).exists() else commit, "--", plain])
        return _entry(listed, uri, commit, path)

    def export(self, uri: str, entry: Entry, target: Path, watch: Watch) -> None:
        """Write the content of a file to `target`."""
        with open(target, "wb") as file:
            self._git.run([f"--git-dir={self._mirror(uri)}", "cat-file", "blob", entry.object_id],
                          watch, output=file)

    def check_out(self, uri: str, commit: str, target: Path) -> None:
        """Make `target`, new or empty, a repository with HEAD at a commit that is here."""
        mirror = f"file://{quote(str(self._mirror(uri)))}"
        commands: list[list[str | Path]] = [
            ["init", "--quiet", "--template=", "--", target],
            ["-C", target, "fetch", "--quiet", "--no-tags", "--depth=1", "--", mirror,
             f"refs/paishare/{commit}"],
            ["-C", target, "checkout", "--quiet", "--detach", commit, "--"]]
        address, _ = split_ref(uri)
        if scheme_of(address) != "file":
            commands.append(["-C", target, "remote", "add", "origin", address])
        for command in commands:
            self._git.run(command, umask=FOR_ALL)

    def check_out_folder(self, uri: str, entry: Entry, target: Path) -> None:
        """Write the files of one folder into `target`, which exists and is empty."""
        index = target.with_name(f".{target.name}.index")
        environ = {"GIT_DIR": str(self._mirror(uri)), "GIT_WORK_TREE": str(target),
                   "GIT_INDEX_FILE": str(index)}
        for command in (["read-tree", entry.object_id], ["checkout-index", "--all", "--quiet"]):
            self._git.run(["-C", target, *command], environ=environ, umask=FOR_ALL)
        index.unlink()

    def _mirror(self, uri: str) -> Path:
        return self._cache.git / f"{self._cache.key(split_ref(uri)[0])}.git"

    def check(self, address: str) -> Path | None:
        """The real folder of a local repository; raises StagingError where it may not be read."""
        if scheme_of(address) == "file":
            return self._folders.check(local_path(address), address)
        parts = split_web(address)
        if parts.query or parts.fragment:
            raise StagingError(Sentence(
                "{address} is no address of a repository. Write it as "
                "https://host/owner/repository.", address=mask(address)))
        return None

    def _remote(self, address: str) -> _Remote:
        folder = self.check(address)
        if folder:
            if not folder.is_dir():
                raise StagingError(Sentence(
                    "{address} is no repository: there is no such folder. Check the path.",
                    address=address))
            return _Remote(uri=address, url=f"file://{quote(str(folder))}", options=(),
                           folder=folder)
        self._git.check_for_web()
        url = self._follow(address)
        parts = split_web(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        found = ",".join(f"[{each}]" if ":" in each else each
                         for each in self._network.addresses(str(parts.hostname), port))
        return _Remote(uri=address, url=url, options=(
            "-c", f"http.curloptResolve={parts.hostname}:{port}:{found}"))

    def _follow(self, address: str) -> str:
        """Where a repository is after all redirects, each checked; git itself follows none."""
        asked = f"{address.rstrip('/')}{_INFO}"
        with self._network.session() as session:
            with self._network.get(session, asked, {"User-Agent": "git/2.39 (paishare)"}) as found:
                if found.status_code >= 400:
                    raise refusal(address, found.status_code)
                if not found.url.endswith(_INFO):
                    raise StagingError(Sentence(
                        "{address} leads to {url}, which is no repository. Check the address in a "
                        "browser.", address=mask(address), url=mask(found.url)))
                return found.url.removesuffix(_INFO)


def _part(commit: str, path: str) -> str:
    """The ref of a tree that holds of a commit what is at `path`, and nothing else."""
    return f"refs/paishare-parts/{commit}-{hashlib.sha256(path.encode()).hexdigest()[:16]}"


def _entry(listed: str, uri: str, commit: str, path: str) -> Entry:
    if not listed:
        raise StagingError(Sentence(
            "{uri} has no {path!r} at commit {commit}. Check the path and the commit.",
            uri=mask(uri), path=path, commit=commit[:10]))
    mode, kind, object_id = listed.split("\t", 1)[0].split(" ")
    return Entry(mode=mode, kind=kind, object_id=object_id)


class _Visit:
    """One stay at a repository, the lock of its entry in hand."""

    def __init__(self, git: Git, mirror: Path, remote: _Remote, lock: int, watch: Watch) -> None:
        self._git, self._mirror, self._remote = git, mirror, remote
        self._lock, self._watch = lock, watch

    def clean(self, cache: Cache) -> None:
        """Remove what a killed git left, and make the repository if there is none yet."""
        for pattern in _LEFT_BY_KILL:
            for left in self._mirror.glob(pattern):
                remove(left)
        if not self._mirror.exists():
            aside = cache.new / self._mirror.name
            remove(aside)
            self._git.run(["init", "--quiet", "--bare", "--template=", "--", aside])
            aside.rename(self._mirror)

    def pin(self, ref: str) -> str:
        """The commit that a branch, tag or short commit id means now; empty: the default branch."""
        names = [f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}", ref]
        names = names if ref else ["HEAD"]
        listed = self._run([*self._remote.options, "ls-remote", "--", self._remote.url, *names])
        found = {name: commit for commit, _, name in
                 (line.partition("\t") for line in listed.splitlines())}
        for name in names:
            if name in found:
                return found[name]
        if _SHORT_COMMIT.fullmatch(ref):
            self._fetch_all()
            try:
                return self._in_mirror("rev-parse", "--verify", f"{ref}^{{commit}}").strip()
            except GitError:
                pass
        raise StagingError(Sentence(
            "{uri} has no branch, tag or commit {ref!r}. Check what follows the @.",
            uri=mask(self._remote.uri), ref=ref) if ref else
            Sentence(
                "{uri} has no commit yet. Push one, or name a branch after an @.",
                uri=mask(self._remote.uri)))

    def bring(self, commit: str, path: str) -> None:
        """Fetch one commit alone, or everything where the server does not give single ones.

        A repository of this machine may have been fetched without the files that nobody needs:
        of that comes what is at `path`.
        """
        try:
            self._fetch("--depth=1", f"+{commit}:refs/paishare/{commit}")
        except GitError as error:
            if path and self._remote.folder and _HOLES.search(str(error)):
                self._bring_part(self._remote.folder, commit, path)
                return
            if not _REFUSED.search(str(error)):
                raise self._failure(error) from error
            self._fetch_all()
            self._keep(commit)

    def _bring_part(self, folder: Path, commit: str, path: str) -> None:
        """A tree that holds what is at `path`, with all that is below it."""
        entry = _entry(self._run(["-C", str(folder), "ls-tree", "-z", "--full-tree", commit,
                                  "--", path]), self._remote.uri, commit, path)
        try:
            self._fetch(entry.object_id)
        except GitError as error:
            raise self._failure(error) from error
        index = {"GIT_INDEX_FILE": str(self._mirror / "part.index")}
        self._in_mirror("read-tree", "--empty", **index)
        if entry.kind == "tree":
            self._in_mirror("read-tree", "-i", f"--prefix={path}/", entry.object_id, **index)
        else:
            self._in_mirror("update-index", "--add", "--cacheinfo",
                            f"{entry.mode},{entry.object_id},{path}", **index)
        tree = self._in_mirror("write-tree", **index).strip()
        self._in_mirror("update-ref", _part(commit, path), tree)

    def _keep(self, commit: str) -> None:
        try:
            self._in_mirror("cat-file", "-e", f"{commit}^{{commit}}")
        except GitError as error:
            raise StagingError(Sentence(
                "{uri} has no commit {commit}. Check the commit; was it pushed, and to this "
                "repository?", uri=mask(self._remote.uri), commit=commit)) from error
        self._in_mirror("update-ref", f"refs/paishare/{commit}", commit)

    def _fetch_all(self) -> None:
        depth = [_WHOLE_HISTORY] if (self._mirror / "shallow").exists() else []
        try:
            self._fetch(*depth, "--prune", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        except GitError as error:
            raise self._failure(error) from error

    def _fetch(self, *arguments: str) -> None:
        options = [argument for argument in arguments if argument.startswith("--")]
        self._git.run(
            [f"--git-dir={self._mirror}", *self._remote.options, "fetch", "--progress",
             "--no-tags", "--no-write-fetch-head", *options, "--", self._remote.url,
             *arguments[len(options):]],
            self._watch, text=Sentence("Fetching {shown}", shown=self._shown), keep_fd=self._lock)

    @property
    def _shown(self) -> str:
        """The repository as its users know it: where the server keeps its own is its own affair."""
        uri = self._remote.uri
        return "a repository of this server" if uri.startswith("file:") else mask(uri)

    def _run(self, arguments: list[str]) -> str:
        try:
            return self._git.run(arguments, self._watch)
        except GitError as error:
            raise self._failure(error) from error

    def _in_mirror(self, *arguments: str, **environ: str) -> str:
        return self._git.run([f"--git-dir={self._mirror}", *arguments], environ=environ)

    def _failure(self, error: GitError) -> StagingError:
        lines = [line for line in str(error).splitlines()
                 if line.startswith(("fatal:", "error:"))] or str(error).splitlines()[-1:]
        said = mask(lines[0].partition(": ")[2] if lines else "")
        return StagingError(Sentence(
            "{uri} could not be fetched; git says: {said}. Check that it is a repository which "
            "everyone may read.", uri=mask(self._remote.uri), said=said),
                            is_platform=bool(_PASSING.search(str(error))))
