"""What people write for a repository on GitHub → owner/name, and addresses on GitHub. Pure."""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from registry.errors import InvalidInputError
from registry.github_api import check_name
from registry.redaction import redacted
from runner.sentence import Sentence

MAX_BRANCH = 255
_SSH = re.compile(r"(?:ssh://)?(?:[\w.-]+@)(?P<host>[\w.-]+)(?::\d+(?=/))?[:/](?P<path>[^:]+)")
_BRANCH = re.compile(r"(?![-/.])(?!.*(?:\.\.|//|@\{|/\.|\.lock(?:/|$)))[^\s~^:?*\[\\\x00-\x1f\x7f]+"
                     r"(?<![/.])")


def repository_name(text: str, github_url: str) -> str:
    """`owner/name` of what was typed or pasted: that, the address of its page, or one to clone.

    Raises InvalidInputError for another host, a page inside a repository and what is neither.
    """
    text = text.strip()
    shown = redacted(text)[:200]  # people paste addresses with a token in them
    host, path = _host_and_path(text, str(urlsplit(github_url).hostname))
    if host != urlsplit(github_url).hostname:
        raise InvalidInputError(Sentence(
            "This server reads repositories of {github_url} only, and `{shown}` is elsewhere. A "
            "clone of it on this server can be added as a folder, by an admin.",
            github_url=github_url, shown=shown))
    parts = path.strip("/").split("/")
    if len(parts) > 2 and host and path != text:
        raise InvalidInputError(Sentence(
            "`{shown}` is a page inside a repository. Give the repository itself, `{name}`; "
            "branch and folders have fields of their own.", shown=shown,
            name="/".join(parts[:2])[:200]))
    return check_name(path.strip("/").removesuffix(".git"))


def check_branch(branch: str | None) -> None:
    """Raises InvalidInputError for what no branch of Git can be called; None is the default."""
    if branch is not None and (len(branch) > MAX_BRANCH or not _BRANCH.fullmatch(branch)):
        raise InvalidInputError(Sentence(
            "`{branch}` is no branch. Write its name as GitHub shows it, such as main, or leave it "
            "empty for the default branch.", branch=branch[:100]))


def repository_url(github_url: str, full_name: str) -> str:
    return f"{github_url}/{quote(full_name)}"


def commit_url(github_url: str, full_name: str, commit: str) -> str:
    return f"{repository_url(github_url, full_name)}/commit/{quote(commit)}"


def file_url(github_url: str, full_name: str, commit: str, path: str,
             line: int | None = None) -> str:
    """A file as of a commit; `line` None: from its top."""
    address = f"{repository_url(github_url, full_name)}/blob/{quote(commit)}/{quote(path)}"
    return f"{address}?plain=1#L{line}" if line else address


def _host_and_path(text: str, default_host: str) -> tuple[str, str]:
    if "://" in text and not text.startswith("ssh://"):
        try:
            parts = urlsplit(text)
            return parts.hostname or "", parts.path
        except ValueError:
            return "", text
    if found := _SSH.fullmatch(text):
        return found["host"].lower(), found["path"]
    first, _, rest = text.partition("/")
    if first.lower() in (default_host, f"www.{default_host}") and "/" in rest:
        return default_host, rest
    return default_host, text
