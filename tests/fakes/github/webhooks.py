"""What the stand-in tells others of a push: signed as GitHub signs it, and really sent."""
from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from typing import Any

import requests

from tests.fakes.github.bodies import Bodies
from tests.fakes.github.world import Hook, Repository, User, World

TIMEOUT_S = 10
NOTHING = "0" * 40


class Webhooks:
    """Sends, or with `is_lost` only notes; `deliveries` are kept so that one can be sent again."""

    def __init__(self, world: World, bodies: Bodies) -> None:
        self._world, self._bodies = world, bodies
        self.is_lost = False
        self.deliveries: list[tuple[Hook, dict[str, str], bytes]] = []

    def pushed(self, repository: Repository, ref: str, before: str | None, after: str | None,
               user: User) -> None:
        """Note the push everywhere it shows, and tell the hooks."""
        repository.pushed_at = self._world.now
        self._world.follow_heads(repository)
        payload = {
            "ref": ref, "before": before or NOTHING, "after": after or NOTHING,
            "created": before is None, "deleted": after is None, "forced": False,
            "repository": self._bodies.repository(repository, None),
            "sender": self._bodies.user(user)}
        for hook in repository.hooks:
            if "push" in hook.events:
                self._deliver(hook, "push", payload)

    def send(self, hook: Hook, headers: dict[str, str], raw: bytes) -> int | None:
        """Returns the status of the answer; None where nobody answers."""
        try:
            return requests.post(hook.url, data=raw, headers=headers,
                                 timeout=TIMEOUT_S).status_code
        except requests.RequestException:
            return None

    def _deliver(self, hook: Hook, event: str, payload: dict[str, Any]) -> None:
        raw = json.dumps(payload).encode()
        signature = hmac.new(hook.secret.encode(), raw, hashlib.sha256).hexdigest()
        headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": str(uuid.uuid4()),
                   "X-GitHub-Hook-ID": str(hook.id), "X-Hub-Signature-256": f"sha256={signature}",
                   "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/stand-in"}
        self.deliveries.append((hook, headers, raw))
        if not self.is_lost:
            self.send(hook, headers, raw)
