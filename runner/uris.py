"""What a URI of an input may be, and which local files it may name."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from runner.errors import StagingError
from runner.sentence import Sentence

WEB_SCHEMES = ("http", "https")
COPIED_SCHEMES = ("s3", "hdfs", "webhdfs")
REMOTE_SCHEMES = (*COPIED_SCHEMES, "storage")
MAX_NAME_BYTES = 255
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f]")
_REF = re.compile(r"(?!-)(?!.*\.\.)[A-Za-z0-9._/+~-]+")


def mask(text: str) -> str:
    """`text` without the user and password of any URI in it."""
    return _CREDENTIALS.sub("…@", text)


def scheme_of(uri: str) -> str:
    """`file` for an absolute path and a file URI, else what stands before `://`, else nothing."""
    if uri.startswith("/"):
        return "file"
    scheme, colon, _ = uri.partition("://")
    return scheme.lower() if colon else ""


def split_web(uri: str) -> SplitResult:
    """The parts of an http or https URI; raises StagingError for one that may not be fetched."""
    try:
        parts = urlsplit(uri)
        has_port = parts.port != 0
    except ValueError:
        raise StagingError(Sentence(
            "A URI has no valid host and port. Write it as https://host/path or "
            "https://host:port/path.")) from None
    if parts.username is not None or parts.password is not None:
        raise StagingError(Sentence(
            "{uri} holds a user name or password, which everyone who reads the job would see. "
            "Write the URI without it.", uri=mask(uri)))
    if parts.scheme not in WEB_SCHEMES or not parts.hostname or not has_port:
        raise StagingError(Sentence(
            "{uri} is not an address of the web. Write it as https://host/path.", uri=mask(uri)))
    if _UNPRINTABLE.search(uri):
        raise StagingError(Sentence(
            "{uri!r} holds a blank or a control character. Write %20 for a blank.", uri=uri))
    return parts


def local_path(uri: str) -> Path:
    """The absolute path that a file URI or a path names."""
    if uri.startswith("/"):
        path = uri
    else:
        host, slash, rest = uri[len("file://"):].partition("/")
        path = slash + unquote(rest)
        if host not in ("", "localhost"):
            raise StagingError(Sentence(
                "{uri} names another machine. Write file:///path for a file of this one, or fetch "
                "it by https.", uri=mask(uri)))
    if not path.startswith("/") or "\0" in path:
        raise StagingError(Sentence(
            "{uri!r} is not an absolute path. Write file:///path.", uri=uri))
    return Path(path)


def split_ref(uri: str) -> tuple[str, str]:
    """The repository and what follows its `@`: branch, tag or commit, empty for the default.

    Raises StagingError for a reference that git could take for something else.
    """
    path_begin = uri.find("/", uri.index("://") + 3 if "://" in uri else 0)
    if uri.rfind("@") < path_begin or (scheme_of(uri) == "file" and local_path(uri).exists()):
        return uri, ""
    address, _, ref = uri.rpartition("@")
    if not _REF.fullmatch(ref):
        raise StagingError(Sentence(
            "{uri}: {ref!r} is no branch, tag or commit. Write a name or the 40 digits of a commit "
            "after the @.", uri=mask(uri), ref=ref))
    return address, ref


@dataclass(frozen=True, kw_only=True)
class RemotePath:
    """A place in a storage that the operator names: `scheme://host/path`.

    `host` is a bucket, a host with its port, or a storage's name; `path` has no slash around it.
    `deletes`: whether files that a job removes are removed there too (`?delete=yes`).
    """

    scheme: str
    host: str
    path: str
    deletes: bool = False


def split_remote(uri: str) -> RemotePath:
    """The parts of a URI of REMOTE_SCHEMES; raises StagingError for one that is none.

    A path is taken as it is written, but for `%20` and the like, which stand for what they do
    everywhere.
    """
    scheme, _, rest = uri.partition("://")
    rest, mark, query = rest.partition("?")
    host, _, path = rest.partition("/")
    path = unquote(path).strip("/")
    if scheme.lower() not in REMOTE_SCHEMES or not host or _UNPRINTABLE.search(uri):
        raise StagingError(Sentence(
            "{uri!r} is no place in a storage. Write it as s3://bucket/path, hdfs://host:port/path "
            "or storage://name/path, a blank as %20.", uri=mask(uri)))
    if "@" in host:
        raise StagingError(Sentence(
            "{uri} holds a user name or password, which everyone who reads the job would see. "
            "Write the URI without it.", uri=mask(uri)))
    if mark and query != "delete=yes":
        raise StagingError(Sentence(
            "{uri}: after the ? only delete=yes can stand, and only where it is storage. Write %3F "
            "for a question mark in a name.", uri=mask(uri)))
    if path and not all(is_plain(part) for part in path.split("/")):
        raise StagingError(Sentence(
            "{uri} has an empty name, a dot name or a control character in its path. Write the "
            "path without it.", uri=mask(uri)))
    return RemotePath(scheme=scheme.lower(), host=host, path=path, deletes=bool(mark))


def is_plain(name: str) -> bool:
    """Whether a name from elsewhere can be that of a file or folder here."""
    return (name not in ("", ".", "..") and "/" not in name and name.isprintable()
            and len(os.fsencode(name)) <= MAX_NAME_BYTES)


class AllowedFolders:
    """The folders of this machine that jobs may read.

    Those of `by_name` must be named themselves: no link from elsewhere leads into them, because
    the registry, which knows who may read what there, looks at the names alone.
    """

    def __init__(self, folders: Sequence[Path], *, by_name: Sequence[Path] = ()) -> None:
        self._folders = tuple(Path(os.path.realpath(folder)) for folder in folders)
        self._by_name = tuple(Path(os.path.abspath(folder)) for folder in by_name)

    def check(self, path: Path, uri: str) -> Path:
        """The real path behind `path`, all links followed; raises StagingError outside of them."""
        real, named = Path(os.path.realpath(path)), Path(os.path.abspath(path))
        if not any(real.is_relative_to(folder) for folder in self._folders) and not any(
                named.is_relative_to(folder) and real.is_relative_to(os.path.realpath(folder))
                for folder in self._by_name):
            raise StagingError(Sentence(
                "{uri} is outside of the folders that jobs may read here. Add its folder to "
                "RUNNER_ALLOWED_FOLDERS, or publish it in a Git source or on a web server.",
                uri=mask(uri)))
        return real
