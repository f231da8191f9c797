"""URIs of prerequisites → the runner's inputs, pinned as far as Git can tell."""
from __future__ import annotations

import hashlib
import ipaddress
import os
import posixpath
import re
from pathlib import Path
from typing import Any, Mapping
from urllib.parse import SplitResult, quote, unquote, urlsplit

from registry.component import uris_of
from registry.component_file import LFS_POINTER
from registry.component_rules import PLACEHOLDER
from registry.git_store import GitStore
from registry.source import MAX_USED_BYTES, MAX_USED_FILES
from runner.sentence import Sentence, either
from runner.spec import Input

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PLAIN_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._~-]{1,255}")
_GIT_REF = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/+-]{0,254}")
_COMMIT = re.compile("[0-9a-f]{40}")
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")
_WEB = ("http", "https")
_REMOTE = ("s3", "hdfs", "webhdfs")  # of these the runner's operator names addresses and keys
_REMOTE_FORM = re.compile(r"(?P<scheme>[a-z0-9]+)://(?P<host>[A-Za-z0-9._-]+(?::[0-9]{1,5})?)"
                          r"(?:/(?P<path>[^?#]*))?(?P<deletes>\?delete=yes)?")
_FORMS = {"data": either(["`s3://bucket/path/file`", "`hdfs://host:port/path/file`"]),
          "storage": either(["`s3://bucket/path`", "`hdfs://host:port/path`"])}


class Base:
    """Where a component's own file stands, so that relative URIs have a beginning."""

    def __init__(self, store: GitStore, commit: str, path: str) -> None:
        self.store, self.commit, self.path = store, commit, path

    def input(self, uri: str, name: str) -> Input:
        """A file or folder of the same repository, at the same commit; raises ValueError."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), uri))
        if path == ".." or path.startswith("../"):
            raise ValueError(Sentence(
                "`{uri}` leaves the repository of its component. Move the files into the "
                "repository, or give an https URI.", uri=uri))
        path = "" if path == "." else path
        kind = self.store.kind(self.commit, path) if path else "folder"
        if kind is None:
            raise ValueError(Sentence(
                "`{uri}` is not in the repository: `{path}` does not exist at commit {commit}. "
                "Commit the file, or correct the path.", uri=uri, path=path,
                commit=self.commit[:12]))
        self._check(uri, path)
        content = self.store.read(self.commit, path) if kind == "file" else None
        if content and content.startswith(LFS_POINTER):
            raise ValueError(Sentence(
                "`{uri}` is kept by Git LFS, and the repository has a pointer to it only. Take it "
                "out of LFS, or give the https URI of the file.", uri=uri))
        return Input(kind="git", uri=self.store.url, path=path, commit=self.commit,
                     target=_target(name, posixpath.basename(path) or name),
                     sha256=None if content is None else hashlib.sha256(content).hexdigest())

    def _check(self, uri: str, path: str) -> None:
        """Of a repository on GitHub not every file is here."""
        ids, _ = self.store.blobs(self.commit, path, MAX_USED_FILES)
        missing = self.store.lacks(ids)
        if missing:
            raise ValueError(Sentence(
                "`{uri}`: {missing} of its files are not here. They come with the next sync of "
                "the source, unless one is larger than {max_used_bytes} MiB or they are more "
                "than {max_used_files}; give those an https URI.", uri=uri,
                missing=len(missing), max_used_bytes=MAX_USED_BYTES >> 20,
                max_used_files=MAX_USED_FILES))


def inputs_of(kind: str, prerequisite: Mapping[str, Any], base: Base | None, home: Path
              ) -> tuple[Input, ...]:
    """The inputs of one data, script, storage or output prerequisite.

    `base` is where the prerequisite was written, None for a text that is in no repository. Nothing
    in `home`, where the repositories of all sources lie, may be named. Raises ValueError with a
    whole sentence for the first URI that cannot be used.
    """
    reader = {"data": _data_input, "script": _script_input, "storage": _storage_input,
              "output": _storage_input}[kind]
    inputs = []
    for uri in uris_of(prerequisite):
        if uri.startswith("-") or _CONTROL.search(uri):
            raise ValueError(Sentence(
                "`{uri}` is no URI: it begins with `-` or has control characters in it. Write it "
                "as https://….", uri=_CONTROL.sub("?", uri)[:80]))
        if PLACEHOLDER.search(uri):
            raise ValueError(Sentence(
                "`{uri}`: references are not replaced in prerequisites. Write several "
                "prerequisites, and let a task choose: `data: $$name$$`.", uri=uri[:200]))
        _refuse_inside(home, uri.strip())
        inputs.append(reader(uri.strip(), prerequisite["name"], base))
    return tuple(inputs)


def _refuse_inside(home: Path, uri: str) -> None:
    """Whoever may see a component has its files by its reference; a path would ask nobody."""
    if not uri.startswith("/") and _scheme(uri) != "file":
        return
    path = uri if uri.startswith("/") else re.sub(r"\A[^:]*:(//[^/]*)?", "", uri)
    ends = [match.start() for match in re.finditer("@|%40", path)]
    named = {read(path[:end]) for end in (*ends, len(path)) for read in (str, unquote)}
    if any(_is_inside(home, each) for each in named):
        raise ValueError(Sentence(
            "`{uri}` lies in the folder that this server keeps for itself. Name the component "
            "instead, by its reference.", uri=uri[:200]))


def _is_inside(home: Path, path: str) -> bool:
    whole = path.replace("\0", "")
    return any(Path(real(whole)).is_relative_to(real(home))
               for real in (os.path.abspath, os.path.realpath))


def _data_input(uri: str, name: str, base: Base | None) -> Input:
    if uri.startswith("/"):
        return _data_input("file://" + quote(uri), name, base)
    scheme = _scheme(uri)
    if not scheme:
        return _relative(uri, name, base)
    if scheme in _REMOTE:
        return _remote_input(uri, name, "data")
    if scheme not in (*_WEB, "file"):
        raise ValueError(Sentence(
            "`{uri}`: data does not come by {scheme}. Use an https URI, {forms}, or a path in the "
            "repository of the component.", uri=uri[:200], scheme=scheme, forms=_FORMS["data"]))
    parts = _checked_url(uri)
    last = unquote(posixpath.basename(parts.path.rstrip("/")))
    if not last:
        raise ValueError(Sentence(
            "`{uri}` names no file. Give the URI of one file.", uri=uri[:200]))
    return Input(kind="file", uri=uri, target=_target(name, last))


def _script_input(uri: str, name: str, base: Base | None) -> Input:
    if uri.startswith("/"):
        return _script_input("file://" + quote(uri, safe="/@"), name, base)
    scheme = _scheme(uri)
    if not scheme and re.match(r"[\w.-]+@[\w.-]+:", uri) or scheme and scheme not in (
            *_WEB, "file"):
        raise ValueError(Sentence(
            "`{uri}`: scripts come by https, http or file only. Write "
            "`https://host/owner/repository@commit`.", uri=uri[:200]))
    if not scheme:
        return _relative(uri, name, base)
    parts = _checked_url(uri)
    path, at, ref = parts.path.partition("@")
    if at and not _GIT_REF.fullmatch(ref):
        raise ValueError(Sentence(
            "`{ref}` is no commit, tag or branch. Write for example `{example}@main`.",
            ref=ref[:80],
            example=parts._replace(path=path).geturl()[:200]))
    last = unquote(posixpath.basename(path.rstrip("/"))).removesuffix(".git")
    if not last:
        raise ValueError(Sentence(
            "`{uri}` names no repository. Write `https://host/owner/repository@commit`.",
            uri=uri[:200]))
    commit = ref if _COMMIT.fullmatch(ref) else None
    return Input(kind="git", uri=parts._replace(path=path).geturl() if commit else uri,
                 target=_target(name, last), commit=commit)


def _storage_input(uri: str, name: str, base: Base | None) -> Input:
    if uri.startswith("file:///"):
        last = unquote(posixpath.basename(_checked_url(uri).path.rstrip("/")))
        return Input(kind="storage", uri=uri, target=_target(name, last or name))
    if _scheme(uri) in _REMOTE:
        return _remote_input(uri, name, "storage")
    named = uri.removeprefix("storage://")
    if not _PLAIN_NAME.fullmatch(named):
        raise ValueError(Sentence(
            "Storage `{uri}` is none. Use a plain name such as `mycifar10`, which the runner keeps "
            "for each user, `storage://name` for one that the runner's operator names, `file:///…` "
            "for a folder that the runner allows, {forms}.", uri=uri[:200],
            forms=_FORMS["storage"]))
    return Input(kind="storage", uri=uri, target=_target(name, named))


def _remote_input(uri: str, name: str, kind: str) -> Input:
    """A file, or for storage a folder, of a bucket or of Hadoop."""
    found = _REMOTE_FORM.fullmatch(uri)
    if found is None or found["deletes"] and kind == "data":
        shown = re.sub(r"(?<=://)[^/]*@", "…@", uri)[:200]
        raise ValueError(Sentence(
            "`{shown}` names no place in a bucket or in Hadoop. Write {forms}, without keys, with "
            "`%20` for a space and `%3F` for a question mark.", shown=shown, forms=_FORMS[kind]))
    parts = unquote(found["path"] or "").strip("/").split("/")
    if parts == [""]:
        parts = []
    if kind == "data" and not parts and not uri.endswith("/"):
        raise ValueError(Sentence(
            "`{uri}` names no file. Give the URI of one file, or of a folder with a slash at its "
            "end.", uri=uri[:200]))
    for part in parts:
        _target(name, part or ".")
    return Input(kind="file" if kind == "data" else "storage", uri=uri,
                 target=_target(name, parts[-1] if parts else found["host"].partition(":")[0]))


def _relative(uri: str, name: str, base: Base | None) -> Input:
    if base is None:
        raise ValueError(Sentence(
            "`{uri}` is relative, but this text is in no repository. Submit the job from the "
            "marketplace, or give an https URI.", uri=uri[:200]))
    return base.input(uri, name)


def _scheme(uri: str) -> str:
    found = _SCHEME.match(uri)
    return found[1].lower() if found else ""


def _checked_url(uri: str) -> SplitResult:
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(Sentence(
            "`{uri}` is no URI: {error}. Write it as https://host/path.", uri=uri[:200],
            error=error)
                         ) from error
    if re.search(r"\s", uri):
        raise ValueError(Sentence(
            "`{uri}` has a space in it. Write `%20` instead.", uri=uri[:200]))
    if parts.scheme in _WEB and not host or parts.scheme == "file" and host not in (
            "", "localhost"):
        raise ValueError(Sentence(
            "`{uri}` names no host, or a wrong one. Write `https://host/path` or `file:///path`.",
            uri=uri[:200]))
    if parts.username is not None:
        raise ValueError(Sentence(
            "The URI of `{host}` has a user name or password in it, which everybody could read. "
            "Remove it.", host=host))
    if _is_link_local(host):
        raise ValueError(Sentence(
            "`{host}` is a link-local address, which jobs cannot reach. Use a public address.",
            host=host))
    return parts


def _is_link_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        return False


def _target(name: str, last: str) -> str:
    if last in (".", "..") or "/" in last or _CONTROL.search(last):
        raise ValueError(Sentence(
            "`{name}` cannot be the name of a file. Give a URI that ends in a plain name.",
            name=_CONTROL.sub("?", last)[:80]))
    return f"{name}/{last}"
