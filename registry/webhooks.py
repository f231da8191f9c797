"""What GitHub tells of a repository by webhook: its signature, and what is read of it. Pure."""
from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Mapping

from registry.config import Secret
from registry.errors import InvalidInputError
from runner.sentence import Sentence

EVENTS = ("push", "pull_request", "repository", "public")
HEADS, TAGS = "refs/heads/", "refs/tags/"
GONE, HIDDEN, SHOWN, RENAMED = "gone", "hidden", "shown", "renamed"
_OF_ACTION = {"deleted": GONE, "privatized": HIDDEN, "publicized": SHOWN, "renamed": RENAMED,
              "transferred": RENAMED}


@dataclass(frozen=True, kw_only=True)
class Push:
    """Something moved: `branch` or `tag` tells what, never both."""

    repo_id: int
    branch: str | None = None
    tag: str | None = None
    is_default: bool = False


@dataclass(frozen=True, kw_only=True)
class Pull:
    """A pull request changed; `head` is the branch that it comes from, empty where that is gone."""

    repo_id: int
    number: int
    head: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """The repository itself changed; `kind` is gone, hidden, shown or renamed."""

    repo_id: int
    kind: str


Event = Push | Pull | Change


def secret_of(key: Secret, source_id: int) -> Secret:
    """The secret of a source's webhook: made of the server's own, so it is never stored."""
    text = f"PAIShare webhook of source {source_id}"
    return Secret(hmac.new(key.reveal().encode(), text.encode(), hashlib.sha256).hexdigest())


def is_signed(secret: Secret, body: bytes, signature: str) -> bool:
    """Whether `signature`, as X-Hub-Signature-256 has it, fits the bytes that were sent."""
    wanted = hmac.new(secret.reveal().encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={wanted}".encode(), signature.encode())


def event_of(kind: str, body: bytes) -> Event | None:
    """What an event says; None: nothing that matters here. Raises InvalidInputError."""
    try:
        payload = json.loads(body)
        return _READERS[kind](payload) if kind in _READERS else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError(Sentence(
            "This is no {kind} event as GitHub sends them. Choose the content type "
            "application/json.", kind=kind[:40])) from error


def _push(payload: Mapping[str, Any]) -> Event | None:
    repository, ref = payload["repository"], str(payload["ref"])
    if ref.startswith(HEADS):
        branch = ref.removeprefix(HEADS)
        return Push(repo_id=_number(repository["id"]), branch=branch,
                    is_default=branch == repository.get("default_branch"))
    if ref.startswith(TAGS):
        return Push(repo_id=_number(repository["id"]), tag=ref.removeprefix(TAGS))
    return None


def _pull(payload: Mapping[str, Any]) -> Event | None:
    pull = payload["pull_request"]
    return Pull(repo_id=_number(payload["repository"]["id"]), number=_number(pull["number"]),
                head=str((pull.get("head") or {}).get("ref") or ""))


def _change(payload: Mapping[str, Any]) -> Event | None:
    kind = _OF_ACTION.get(payload["action"])
    return Change(repo_id=_number(payload["repository"]["id"]), kind=kind) if kind else None


def _public(payload: Mapping[str, Any]) -> Event | None:
    return Change(repo_id=_number(payload["repository"]["id"]), kind=SHOWN)


def _number(value: Any) -> int:
    if type(value) is not int or not 0 < value < 1 << 63:
        raise TypeError(value)
    return value


_READERS = {"push": _push, "pull_request": _pull, "repository": _change, "public": _public}
