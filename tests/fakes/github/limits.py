"""GitHub's limits: requests in an hour, too many at once, and what each answer says of them."""
from __future__ import annotations

from tests.fakes.github.records import Token
from tests.fakes.github.world import World

ANONYMOUS_LIMIT = 60
HELP = ("If you reach out to GitHub Support for help, please include the request ID "
        "C0DE:1A2B:3C4D")
SECONDARY = ("You have exceeded a secondary rate limit. Please wait a few minutes before you try "
             f"again. {HELP}")
SECONDARY_DOCS = ("https://docs.github.com/free-pro-team@latest/rest/overview/"
                  "rate-limits-for-the-rest-api#about-secondary-rate-limits")


class Limits:
    """Counts for one world; a window is one hour of the world's clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def count(self, token: Token | None, weight: int = 1) -> bool:
        """Whether the request is within the limit, if any; a `weight` of -1 takes it back."""
        key = (name_of(token), self._window())
        with self._world.lock:
            self._world.used[key] = self._world.used.get(key, 0) + weight
            limit = self._limit(token)
            return limit is None or self._world.used[key] <= limit

    def rate(self, token: Token | None) -> dict[str, int] | None:
        """As `/rate_limit` shows it; None where there are no limits."""
        used, limit = self._world.used.get((name_of(token), self._window()), 0), self._limit(token)
        if limit is None:
            return None
        return {"limit": limit, "remaining": max(0, limit - used), "used": min(used, limit),
                "reset": (self._window() + 1) * 3600}

    def headers(self, token: Token | None) -> dict[str, str]:
        rate = self.rate(token)
        if rate is None:
            return {}
        return {**{f"X-RateLimit-{name.title()}": str(value) for name, value in rate.items()},
                "X-RateLimit-Resource": "core"}

    def _window(self) -> int:
        return int(self._world.now.timestamp()) // 3600

    def _limit(self, token: Token | None) -> int | None:
        return self._world.limit if token or self._world.limit is None else ANONYMOUS_LIMIT


def name_of(token: Token | None) -> str:
    return token.user.login if token else "anonymous"
