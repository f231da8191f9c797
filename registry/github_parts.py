"""What belongs to a pull request, its checks and reviews: asked for only where it changed. Pure."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

from registry import github_records as records
from registry.github_records import PullInfo

UNCHANGED = 304


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of GitHub's; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def is_unchanged(self) -> bool:
        return self.status == UNCHANGED


class Parts:
    """`ask` gets a path and an ETag, and gives None where the token may not read that.

    `known` is what was seen before, by answers with these `etags`; `seen` are those of now.
    """

    def __init__(self, ask: Callable[[str, str | None], Answer | None], known: PullInfo | None,
                 etags: Mapping[str, str]) -> None:
        self._ask, self._known, self._etags = ask, known, etags
        self.seen: dict[str, str] = {}

    def checks(self, path: str, sha: str) -> tuple[records.Check, ...] | None:
        """What two kinds of services say of a commit; None where the token reads neither."""
        if not sha:
            return ()
        known = self._known if self._known and self._known.head_sha == sha else None
        places = {"runs": f"{path}/commits/{sha}/check-runs",
                  "statuses": f"{path}/commits/{sha}/status"}
        found = {what: self._part(what, place, bool(known)) for what, place in places.items()}
        if known and all(answer and answer.is_unchanged for answer in found.values()):
            return known.checks
        for what, answer in found.items():
            if answer and answer.is_unchanged:
                found[what] = self._part(what, places[what], False)
        runs, statuses = (answer and answer.body for answer in found.values())
        if runs is None and statuses is None:
            return None
        return records.checks(runs or {}, statuses or {})

    def reviews(self, path: str) -> tuple[records.Review, ...] | None:
        """The last word of each person; None where the token may not read them."""
        answer = self._part("reviews", path, self._known is not None)
        if self._known and answer and answer.is_unchanged:
            return self._known.reviews
        return None if answer is None else records.latest_reviews(answer.body)

    def _part(self, what: str, path: str, is_known: bool) -> Answer | None:
        answer = self._ask(path, self._etags.get(what) if is_known else None)
        etag = answer and (answer.headers.get("etag") or self._etags.get(what))
        if etag:
            self.seen[what] = etag
        return answer
