"""What the stand-in tells others of a push: signed as GitHub signs it, and really sent."""
from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass
from typing import Any, Mapping

import requests

from tests.fakes.github.bodies import Bodies
from tests.fakes.github.records import Hook, Pull, Repository, User

TIMEOUT_S = 10
NOTHING = "0" * 40


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """`status` is what the listener answered; None where it was lost or nobody answered."""

    hook: Hook
    headers: Mapping[str, str]
    raw: bytes
    status: int | None


class Webhooks:
    """Sends, or with `is_lost` only notes; `deliveries` are kept so that one can be sent again."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self.reset()

    def reset(self) -> None:
        self.is_lost = False
        self.deliveries: list[Delivery] = []

    def pushed(self, repository: Repository, ref: str, before: str | None, after: str | None,
               user: User) -> None:
        """Tell the hooks of the repository about a push."""
        self.happened(repository, "push", {
            "ref": ref, "before": before or NOTHING, "after": after or NOTHING,
            "created": before is None, "deleted": after is None,
            "forced": _is_forced(repository, before, after)}, user)

    def pull_changed(self, pull: Pull, action: str, user: User) -> None:
        """Tell that a pull request was opened, closed, reopened or got other commits."""
        self.happened(pull.base, "pull_request", {
            "action": action, "number": pull.number,
            "pull_request": {**self._bodies.simple_pull(pull),
                             "merged": pull.merged_at is not None}}, user)

    def happened(self, repository: Repository, event: str, payload: dict[str, Any],
                 user: User) -> None:
        """Tell those hooks of the repository that want such an event."""
        whole = {**payload, "repository": self._bodies.inner_repository(repository),
                 "sender": self._bodies.user(user)}
        for hook in repository.hooks:
            if event in (*hook.events, "ping") or "*" in hook.events:
                self.send(hook, event, whole)

    def send(self, hook: Hook, event: str, payload: dict[str, Any]) -> Delivery:
        raw = json.dumps(payload).encode()
        return self._deliver(hook, {
            "X-GitHub-Event": event, "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-GitHub-Hook-ID": str(hook.id), "X-Hub-Signature-256": sign(hook.secret, raw),
            "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/stand-in"}, raw)

    def redeliver(self, delivery: Delivery) -> Delivery:
        """The same once more, with the same id, as the button on GitHub's page does."""
        return self._deliver(delivery.hook, delivery.headers, delivery.raw)

    def _deliver(self, hook: Hook, headers: Mapping[str, str], raw: bytes) -> Delivery:
        status = None if self.is_lost else _post(hook.url, headers, raw)
        made = Delivery(hook=hook, headers=headers, raw=raw, status=status)
        self.deliveries.append(made)
        return made


def sign(secret: str, raw: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()


def _post(url: str, headers: Mapping[str, str], raw: bytes) -> int | None:
    try:
        return requests.post(url, data=raw, headers=dict(headers), timeout=TIMEOUT_S).status_code
    except requests.RequestException:
        return None


def _is_forced(repository: Repository, before: str | None, after: str | None) -> bool:
    return bool(before and after) and repository.git.merge_base(before or "", after or "") != before
