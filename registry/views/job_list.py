"""The page Jobs: what its address asks for, and the links that change one part of it."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping

from flask import url_for

from registry.accounts import User
from registry.views.finding import Link
from registry.views.job_access import shown_jobs
from registry.views.language import gettext as _
from registry.views.services import services
from registry.wording import N_
from runner.spec import JOB_STATES, RUNNING

PAGE_SIZE = 25
MOST_NEW = 100  # rows that have moved down while a page stays open are still brought up to date
MAX_TEXT, MAX_PAGE = 200, 1_000_000
ME, EVERYBODY = "me", "all"
NEWEST = "newest"
SORTS = {NEWEST: N_("Newest"), "oldest": N_("Oldest"), "longest": N_("Longest"),
         "gpus": N_("Most GPUs"), "name": N_("Name")}
STATES = {"WAITING": N_("Waiting"), "RUNNING": N_("Running"), "SUCCEEDED": N_("Succeeded"),
          "FAILED": N_("Failed"), "STOPPED": N_("Stopped")}


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What is asked for: `owner` is me, all, or a user's name; the last two are for admins."""

    state: str = ""
    text: str = ""
    owner: str = ME
    template: str = ""
    sort: str = NEWEST
    number: int = 1

    @property
    def url(self) -> str:
        return url_for(
            "jobs.index", state=self.state or None, q=self.text or None,
            owner=self.owner if self.owner != ME else None, template=self.template or None,
            sort=self.sort if self.sort != NEWEST else None,
            page=self.number if self.number > 1 else None)

    def page(self, number: int) -> str:
        return replace(self, number=number).url

    def of_template(self, template: str) -> str:
        return replace(self, template=template.partition("@")[0], number=1).url

    @property
    def everybodys(self) -> str:
        """The same jobs of everybody or, where these are shown, one's own."""
        return replace(self, owner=EVERYBODY if self.owner == ME else ME, number=1).url

    @property
    def is_of_others(self) -> bool:
        return self.owner != ME

    @property
    def sorts(self) -> list[Link]:
        return [Link(text=_(title), is_current=sort == self.sort,
                     url=replace(self, sort=sort, number=1).url) for sort, title in SORTS.items()]

    @property
    def chips(self) -> list[Link]:
        """The filters that hold, each with the address without it."""
        held = {"text": (self.text, f"“{self.text}”"), "template": (self.template, self.template),
                "state": (self.state, _(STATES.get(self.state, self.state)))}
        if self.owner not in (ME, EVERYBODY):
            held["owner"] = (self.owner, self.owner)
        return [Link(text=text, url=replace(
            self, number=1, **{name: ME if name == "owner" else ""}).url)
            for name, (value, text) in held.items() if value]

    @property
    def without_filters(self) -> str:
        return Listing(owner=self.owner, sort=self.sort).url

    def states(self, counts: Mapping[str, int]) -> list[tuple[str, Link]]:
        """The states with how many jobs are in each, all of them first."""
        total = sum(counts.values())
        return [(state, Link(text=_(STATES[state]) if state else _("All"),
                             count=counts[state] if state else total,
                             url=replace(self, state=state, number=1).url,
                             is_current=state == self.state)) for state in ("", *JOB_STATES)]


def listing_of(user: User, args: Mapping[str, str]) -> Listing:
    """What an address asks for; what it cannot mean is passed over."""
    def one_of(name: str, known: Mapping[str, Any], usual: str) -> str:
        return args[name] if args.get(name) in known else usual
    owner = EVERYBODY if args.get("all") == "1" else args.get("owner", ME).strip() or ME
    number = args.get("page", "")
    return Listing(
        state=one_of("state", STATES, ""), text=args.get("q", "").strip()[:MAX_TEXT],
        owner=owner if user.is_admin and owner != user.name else ME,
        template=args.get("template", "").strip()[:MAX_TEXT], sort=one_of("sort", SORTS, NEWEST),
        number=min(MAX_PAGE, max(1, int(number))) if number.isdecimal() else 1)


def page_of(user: User, listing: Listing, *, new: int = 0) -> dict[str, Any]:
    """What the page shows; `new` jobs have come since it was opened.

    Raises RunnerUnavailableError.
    """
    owners = {ME: user.name, EVERYBODY: None}
    found = services().runner.jobs(
        user=owners.get(listing.owner, listing.owner), state=listing.state, text=listing.text,
        template=listing.template, sort=listing.sort, limit=PAGE_SIZE + min(new, MOST_NEW),
        offset=(listing.number - 1) * PAGE_SIZE,
        reader=user.name if listing.is_of_others else None)
    counts = found["counts"]
    count = counts[listing.state] if listing.state else sum(counts.values())
    return {"listing": listing, "jobs": shown_jobs(user, found["jobs"]), "counts": counts,
            "count": count, "running": counts[RUNNING], "last": -(-count // PAGE_SIZE) or 1,
            "has_more": found["next"] is not None}
