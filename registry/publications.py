"""The table of publications: drafts, what is under way, what became of it; each its author's."""
from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Callable

import sqlalchemy as sa

from registry import visibility
from registry.db import (
    github_tokens,
    publications,
    search_outbox,
    sources,
    users,
    versions,
)
from registry.errors import ConflictError, ForbiddenError, NotFoundError
from registry.publication import (
    CHECKED,
    CLOSED,
    DRAFT,
    HOLDING,
    MERGED,
    OPEN,
    WATCHED,
    WITHDRAWN,
    WORKING,
    Publication,
    may_follow,
    open_key,
)
from registry.publication_problems import OF_TOKEN
from registry.reference import version_order
from runner.sentence import Sentence

MAX_OPEN, MAX_AN_HOUR, MAX_DRAFTS = 20, 10, 100
SHOWN = 100
HELD = "held"  # in what is kept of a pull request: what its branch holds while a draft changes it
_OF_BRANCH = ("text", "version", "path", "title", "body", "is_signed_off", "commit_sha")


def now_utc() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What an admin sees of a publication: neither its text nor where it goes."""

    id: int
    user: str
    state: str
    problem: str | None
    updated_at: datetime


class Publications:
    """Reads and writes rows; nobody but its author ever gets one. Safe in several processes."""

    def __init__(self, engine: sa.Engine, clock: Callable[[], datetime] = now_utc) -> None:
        self._engine = engine
        self._clock = clock

    def get(self, user_id: int, id_: int) -> Publication:
        """Raises NotFoundError where it is not the user's own, too."""
        found = self._one(publications.c.id == id_, publications.c.user_id == user_id)
        if found is None:
            raise NotFoundError(Sentence(
                "You have no publication with the number {id_}. The page Publish lists yours.",
                id_=id_))
        return found

    def of_user(self, user_id: int, *, limit: int = SHOWN) -> list[Publication]:
        """The user's own, the last touched first."""
        return self._several(sa.select(publications).where(publications.c.user_id == user_id)
                             .order_by(publications.c.updated_at.desc(), publications.c.id.desc())
                             .limit(limit))

    def overview(self, *, limit: int = SHOWN) -> list[Overview]:
        """Everyone's, for admins: how far each is, and no more."""
        query = sa.select(publications, users.c.name.label("user")).join(users).where(
            publications.c.state != DRAFT).order_by(publications.c.updated_at.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [Overview(id=row.id, user=row.user, state=row.state, problem=row.problem,
                             updated_at=row.updated_at) for row in connection.execute(query)]

    def take_up_draft(self, user_id: int, **values: Any) -> Publication:
        """The user's draft of this component for this repository that waits, else a new one.

        Raises ForbiddenError where the user has too many, ConflictError where it was just changed.
        """
        waiting = self._one(
            publications.c.user_id == user_id, publications.c.state == DRAFT,
            publications.c.pull_number.is_(None), publications.c.type == values["type"],
            publications.c.name == values["name"],
            sa.func.lower(publications.c.repository) == values["repository"].lower())
        if waiting is not None:
            return self.rewrite(waiting, **values)
        return self._add_draft(user_id, **values)

    def _add_draft(self, user_id: int, **values: Any) -> Publication:
        now = self._clock()
        with self._engine.begin() as connection:
            count = connection.scalar(sa.select(sa.func.count()).where(
                publications.c.user_id == user_id, publications.c.state == DRAFT)) or 0
            if count >= MAX_DRAFTS:
                raise ForbiddenError(Sentence(
                    "You have {count} drafts, and more are not kept. Withdraw some on the page "
                    "Publish first.", count=count))
            added = connection.execute(publications.insert().values(
                user_id=user_id, state=DRAFT, created_at=now, updated_at=now, **values))
            (number,) = added.inserted_primary_key or (0,)
        return self.get(user_id, number)

    def confirm(self, draft: Publication) -> Publication:
        """The author agrees: it is due at once.

        Raises ConflictError where another one of the same component is open there, ForbiddenError
        where the user has too many open or started too many within an hour.
        """
        now = self._clock()
        self._check_quota(draft.user_id, now)
        changed = {"state": CHECKED, "open_key": open_key(draft), "confirmed_at": now,
                   "next_at": now, "tree_sha": None, "problem": None, "detail": "", "attempts": 0}
        try:
            saved = self.save(draft, **changed)
        except sa.exc.IntegrityError as error:
            raise self._taken(draft) from error
        return saved or self.get(draft.user_id, draft.id)

    def save(self, before: Publication, /, **values: Any) -> Publication | None:
        """Write what changed; None, and nothing is written, where it was changed meanwhile."""
        assert may_follow(before.state, values.get("state", before.state)), (before.state, values)
        unchanged = [publications.c[name] == getattr(before, name)
                     for name in ("id", "state", "updated_at")]
        now = max(self._clock(), before.updated_at + timedelta(microseconds=1))
        with self._engine.begin() as connection:
            count = connection.execute(publications.update().where(*unchanged).values(
                updated_at=now, **values)).rowcount
        return Publication(**{**asdict(before), **values, "updated_at": now}) if count else None

    def saved(self, before: Publication, /, **values: Any) -> Publication:
        """As `save`, for what someone waits for; raises ConflictError in the place of None."""
        saved = self.save(before, **values)
        if saved is None:
            raise ConflictError(Sentence(
                "The publication went on in the meantime. Look at it again; nothing was changed."))
        return saved

    def rewrite(self, before: Publication, /, **values: Any) -> Publication:
        """Another text for it: it is a draft again, and keeps the pull request that it has.

        Raises ConflictError where it is over or was changed meanwhile.
        """
        if not may_follow(before.state, DRAFT):
            raise ConflictError(Sentence("This publication is over. Publish again to change more."))
        is_other = (before.type, before.name, before.repository.lower()) != (
            values["type"], values["name"], values["repository"].lower())
        if is_other and before.is_update and before.state != CLOSED:
            raise ConflictError(Sentence(
                "Its pull request is for {type}/{name} in {repository}. Publish another component, "
                "or to another place, as a new publication.", type=before.type, name=before.name,
                repository=before.repository))
        changed: dict[str, Any] = {}
        if before.state == CLOSED or before.pull_number is None:
            changed = dict.fromkeys(
                ("open_key", "pull_number", "pull", "branch", "commit_sha", "fork", "fork_id"))
        elif before.state in WATCHED:  # what its branch holds comes back if the change is dropped
            changed["pull"] = {**(before.pull or {}), HELD: {
                name: getattr(before, name) for name in _OF_BRANCH}}
        return self.saved(before, state=DRAFT, next_at=None, tree_sha=None, problem=None,
                          detail="", **changed, **values)

    def retry(self, publication: Publication) -> Publication:
        """Have it go on now, whatever it waited for. Raises ConflictError where nothing is left."""
        if publication.state not in HOLDING:
            raise ConflictError(Sentence("This publication does not wait for anything."))
        return self.saved(publication, next_at=self._clock(), problem=None, attempts=0)

    def withdraw(self, publication: Publication) -> Publication:
        """Its author gives it up; what is on GitHub stays. Raises ConflictError where it is late.

        A draft that changes an open pull request is dropped, and the pull request goes on.
        """
        if publication.state == DRAFT and publication.is_update:
            held = (publication.pull or {}).get(HELD, {})
            return self.saved(publication, state=OPEN, next_at=self._clock(), problem=None,
                              detail="", **held)
        if not may_follow(publication.state, WITHDRAWN):
            raise ConflictError(Sentence(
                "Its pull request is on GitHub. Close it there: that is noticed here."))
        return self.saved(publication, state=WITHDRAWN, open_key=None, next_at=None, problem=None,
                          detail="")

    # --- for the worker alone -------------------------------------------------------------------

    def due(self, now: datetime, user_id: int | None = None) -> list[Publication]:
        """Every one that may go on now, the longest waiting first; of one user, or of all.

        Those of a user who is locked out wait until the user is let in again.
        """
        may_log_in = publications.c.user_id.in_(
            sa.select(users.c.id).where(users.c.locked_at.is_(None)))
        of_user = [] if user_id is None else [publications.c.user_id == user_id]
        return self._several(sa.select(publications).where(
            publications.c.next_at <= now, may_log_in, *of_user).order_by(
                publications.c.next_at, publications.c.id))

    def arrived(self) -> list[Publication]:
        """Those whose author finds them here by now, as they were or as somebody edited them."""
        is_edited = sa.and_(publications.c.state == MERGED,
                            versions.c.version == publications.c.version, versions.c.version != "")
        is_followed = sa.and_(publications.c.state.in_((OPEN, MERGED)),
                              publications.c.next_at.is_not(None))
        with self._engine.connect() as connection:
            authors = connection.scalars(
                sa.select(publications.c.user_id).where(is_followed).distinct()).all()
        return [found for user_id in authors for found in self._several(
            sa.select(publications).where(
                is_followed, publications.c.user_id == user_id,
                _is_here(user_id, sa.or_(versions.c.text == publications.c.text, is_edited))))]

    def is_superseded(self, publication: Publication) -> bool:
        """Whether its version, or a higher one, stands in the repository with other bytes."""
        query = sa.select(versions.c.version).join(sources).where(
            visibility.is_visible(publication.user_id),
            sources.c.repo_id == publication.repo_id, versions.c.type == publication.type,
            versions.c.name == publication.name, versions.c.text != publication.text,
            versions.c.is_present, versions.c.version != "")
        with self._engine.connect() as connection:
            return bool(publication.version) and any(
                version_order(version, 0) >= version_order(publication.version, 0)
                for version in connection.scalars(query))

    def revived(self) -> list[Publication]:
        """Those that stopped for want of a good token, and whose author has connected one since."""
        return self._several(sa.select(publications).where(
            publications.c.problem.in_(OF_TOKEN),
            publications.c.state.in_(HOLDING), publications.c.next_at.is_(None),
            sa.exists().where(github_tokens.c.user_id == publications.c.user_id,
                              github_tokens.c.problem.is_(None),
                              github_tokens.c.verified_at > publications.c.updated_at)))

    # --- parts ----------------------------------------------------------------------------------

    def _one(self, *conditions: sa.ColumnElement[bool]) -> Publication | None:
        found = self._several(sa.select(publications).where(*conditions))
        return found[0] if found else None

    def _several(self, query: sa.Select[Any]) -> list[Publication]:
        with self._engine.connect() as connection:
            return [Publication(**row._mapping) for row in connection.execute(query)]

    def _check_quota(self, user_id: int, now: datetime) -> None:
        own = publications.c.user_id == user_id
        with self._engine.connect() as connection:
            opened = connection.scalar(sa.select(sa.func.count()).where(
                own, publications.c.state.in_(HOLDING))) or 0
            recent = list(connection.scalars(sa.select(publications.c.confirmed_at).where(
                own, publications.c.confirmed_at > now - timedelta(hours=1))
                .order_by(publications.c.confirmed_at)))
        if opened >= MAX_OPEN:
            raise ForbiddenError(Sentence(
                "You have {opened} open publications, and {most} are allowed at once. The "
                "draft is kept: go on when one is merged, closed or withdrawn.", opened=opened,
                most=MAX_OPEN))
        if len(recent) >= MAX_AN_HOUR:
            left = (recent[0] or now) + timedelta(hours=1) - now
            minutes = math.ceil(left.total_seconds() / 60)
            raise ForbiddenError(Sentence(
                "You started {count} publications within an hour, and {most} are allowed. "
                "The draft is kept: go on in {minutes} minutes.", count=len(recent),
                most=MAX_AN_HOUR, minutes=minutes))

    def _taken(self, draft: Publication) -> ConflictError:
        other = self._one(publications.c.open_key == open_key(draft))
        number = Sentence(" (number {id})", id=other.id) if other else ""
        return ConflictError(Sentence(
            "You are publishing {type}/{name} to {repository} already{number}. Change or withdraw "
            "that one, or wait until it is merged.", type=draft.type, name=draft.name,
            repository=draft.repository, number=number))


def _is_here(user_id: int, is_it: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Whether the user may see such a version at the head of its source, and the search has it."""
    is_waiting = sa.exists().where(
        search_outbox.c.source_id == sources.c.id, search_outbox.c.type == publications.c.type,
        search_outbox.c.name == publications.c.name)
    return sa.exists().where(
        visibility.is_visible(user_id),
        sources.c.repo_id == publications.c.repo_id, versions.c.source_id == sources.c.id,
        versions.c.type == publications.c.type, versions.c.name == publications.c.name,
        versions.c.is_present, is_it, ~is_waiting)


def is_working(publication: Publication) -> bool:
    """Whether its steps are being done right now, so that a page should look again soon."""
    return publication.state in WORKING and publication.next_at is not None
