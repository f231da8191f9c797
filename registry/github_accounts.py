"""Who connected GitHub, with which token, and how much may be asked with it in the background."""
from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Callable, Iterator

import sqlalchemy as sa

from registry import lock
from registry.config import Secret, Settings
from registry.db import github_tokens, repo_access, users
from registry.errors import InvalidInputError, Problem
from registry.github_api import HURRIED_S, GitHubApi, check_python
from registry.github_errors import Code, GitHubError, made
from registry.github_records import Identity
from registry.sealing import Keys, KeyStore, Resealed, Sealed, UnreadableError
from runner.sentence import Sentence

HOURLY_LIMIT = 5000
BACKGROUND_LIMIT = HOURLY_LIMIT // 5
KEPT_FOR_PEOPLE = 500  # the last requests of an hour are for what a user does by hand
HOUR = timedelta(hours=1)
TURNS = "github"  # the folder of the locks: one request of each user at a time
TURN_S = 60.0  # the longest request, tried three times, takes half of that
USED_AGAIN_AFTER = timedelta(minutes=1)
_TOKEN = re.compile(r"[A-Za-z0-9_.-]{20,255}")


@dataclass(frozen=True, kw_only=True)
class GitHubAccount:
    """What is known of a user's token without its text.

    `problem` None: it works, as far as is known. `scopes` None: not a classic token. `asks_sso`:
    an organization wanted the token authorized within the last hour, at `sso_url` where GitHub
    said where, for as long as that address is good.
    """

    login: str
    github_id: int
    kind: str
    scopes: tuple[str, ...] | None
    last_four: str
    expires_at: datetime | None
    verified_at: datetime
    last_used_at: datetime | None
    problem: Code | None
    limited_until: datetime | None
    asks_sso: bool = False
    sso_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A token that is used now; `verified_at` tells whether it is still the user's."""

    token: Secret
    verified_at: datetime


class GitHubAccounts:
    """Every read and write of GitHub tokens; safe in several processes and threads.

    `now` gives the time in UTC.
    """

    def __init__(self, engine: sa.Engine, settings: Settings,
                 now: Callable[[], datetime] | None = None) -> None:
        check_python()
        self._engine, self._settings = engine, settings
        self._keys = KeyStore(settings)
        self._now = now or _utc_now

    @property
    def url(self) -> str:
        """The GitHub server that all accounts are of."""
        return self._settings.github_url

    def of(self, user_id: int) -> GitHubAccount | None:
        """The user's account; None where GitHub is not connected."""
        row = self._row(user_id)
        return None if row is None else _account(row, self._now())

    def connect(self, user_id: int, token: Secret) -> GitHubAccount:
        """Ask GitHub whose token it is, and keep it sealed in the place of an older one.

        Raises InvalidInputError for a token that GitHub does not accept, GitHubError where it
        cannot be asked. What the user may see is proven anew from then on.
        """
        check_token(token)
        try:
            with self._api(user_id, token, is_hurried=True) as api:
                identity = api.whoami()
        except GitHubError as error:
            if error.code is Code.TOKEN_DEAD:
                raise _wrong(Sentence(
                    "GitHub does not accept this token. Copy it whole; a token that was revoked or "
                    "has ended must be made anew.")) from error
            if error.code is Code.LATER and error.retry_at:
                raise GitHubError(
                    Code.LATER, Sentence(
                        "GitHub asks to wait until {time} UTC before it says whose token "
                        "this is. Paste it again then.",
                        time=f"{error.retry_at:%H:%M}"), error.retry_at) from error
            raise
        with self._keys.reading() as keys:
            try:
                self._keep(user_id, token, identity, keys)
            except sa.exc.IntegrityError:  # another window was connecting at the same moment
                self._keep(user_id, token, identity, keys)
        account = self.of(user_id)
        assert account
        return account

    def verify(self, user_id: int) -> None:
        """Ask GitHub anew about the token that is kept; what it lets one see is proven anew, too.

        Raises GitHubError as `asking`.
        """
        token = self.token_of(user_id)
        with self.asking(user_id, is_hurried=True) as api:
            identity = api.whoami()
        with self._keys.reading() as keys:
            if token and token == self.token_of(user_id):  # else it went, or another came
                self._keep(user_id, token, identity, keys)

    def disconnect(self, user_id: int) -> None:
        """Forget the token and all that it proved; one that is not there is no error."""
        with self._engine.begin() as connection:
            connection.execute(repo_access.delete().where(repo_access.c.user_id == user_id))
            connection.execute(github_tokens.delete().where(github_tokens.c.user_id == user_id))

    def token_of(self, user_id: int) -> Secret | None:
        """The user's token; None where there is none that works, or the user is locked out.

        Only ever used for this user.
        """
        held = self._held(user_id)
        return held.token if held else None

    @contextlib.contextmanager
    def asking(self, user_id: int, *, is_background: bool = False, is_hurried: bool = False
               ) -> Iterator[GitHubApi]:
        """GitHub as this user sees it, with everything noted that the answers tell of the token.

        Raises GitHubError: NO_TOKEN, TOKEN_DEAD or KEY_LOST where none works, LATER where the
        hour's share of background requests is used up, and whatever the block meets.
        """
        held = self._held(user_id)
        if held is None:
            account = self.of(user_id)
            raise made(account and account.problem or Code.NO_TOKEN, self._settings.github_url)
        if is_background and not self.may_ask(user_id):
            raise made(Code.LATER, self._settings.github_url, self._now() + HOUR / 12)
        with self._api(user_id, held.token, is_hurried=is_hurried) as api:
            try:
                yield api
            finally:  # also where the block took a refusal by itself
                self._note(user_id, held, api.met)
                if api.asks_sso:
                    self._update(user_id, github_tokens.c.verified_at == held.verified_at,
                                 sso_url=api.sso_url, sso_at=self._now())
                self.asked(user_id, api, is_background=is_background)

    def _api(self, user_id: int, token: Secret, *, is_hurried: bool) -> GitHubApi:
        """With one request in flight for the user, whichever process or thread asks."""
        path = self._settings.home / TURNS / f"{user_id}.lock"
        return GitHubApi(self._settings, token, is_hurried=is_hurried, now=self._now,
                         turn=lambda: lock.turn(path, HURRIED_S if is_hurried else TURN_S))

    def let_in(self, user_id: int) -> None:
        """No organization asks for single sign-on any more."""
        self._update(user_id, github_tokens.c.sso_at.is_not(None), sso_url=None, sso_at=None)

    # --- how much may be asked ------------------------------------------------------------------

    def may_ask(self, user_id: int, count: int = 1) -> bool:
        """Whether so many background requests fit into what is left of this hour's share."""
        row = self._row(user_id)
        if row is None or row.problem or row.locked_at:
            return False
        now = self._now()
        is_limited = row.limited_until is not None and row.limited_until > now
        return not is_limited and _used(row, now) + count <= BACKGROUND_LIMIT

    def asked(self, user_id: int, api: GitHubApi, *, is_background: bool = True) -> None:
        """Count what was asked, and stop in time for the user's own requests."""
        row, now = self._row(user_id), self._now()
        if row is None or not api.requests:
            return
        changes: dict[str, Any] = {}
        if row.last_used_at is None or row.last_used_at < now - USED_AGAIN_AFTER:
            changes["last_used_at"] = now
        if is_background:
            changes |= _counted(api.requests - api.unchanged, now)
        if api.remaining is not None and api.remaining < KEPT_FOR_PEOPLE and api.resets_at:
            changes["limited_until"] = min(api.resets_at, now + HOUR)
        if changes:
            self._update(user_id, **changes)

    # --- rotation -------------------------------------------------------------------------------

    def reseal(self, keys: Keys) -> Resealed:
        """Seal every token with the first key that was sealed with another one."""
        rows = [row for row in self._rows() if row.sealed and row.key_id != keys.ids[0]]
        done = sum(self._reseal(row, keys) for row in rows)
        return Resealed(count=done, unreadable=len(rows) - done)

    def _reseal(self, row: Any, keys: Keys) -> bool:
        try:
            content = keys.open(_sealed(row), user_id=row.user_id)
        except UnreadableError:
            return False  # perhaps the key is only not here: whoever uses the token finds out
        sealed = keys.seal(content, user_id=row.user_id)
        self._update(row.user_id, github_tokens.c.sealed == row.sealed, sealed=sealed.data,
                     key_id=sealed.key_id)
        return True

    # --- rows -----------------------------------------------------------------------------------

    def _held(self, user_id: int) -> _Held | None:
        with self._keys.reading() as keys:
            row = self._row(user_id)
            if row is None or row.locked_at or row.problem not in (None, Code.KEY_LOST):
                return None
            if row.expires_at is not None and row.expires_at <= self._now():
                self._bury(Code.TOKEN_DEAD, *_same(row))
                return None
            try:
                token = self._opened(row, keys)
            except UnreadableError:
                self._bury(Code.KEY_LOST, *_same(row))
                return None
            if row.problem:
                self._update(user_id, *_same(row), problem=None)
        return _Held(token=token, verified_at=row.verified_at)

    def _note(self, user_id: int, held: _Held, error: GitHubError | None) -> None:
        if error is None:
            return
        if error.code is Code.TOKEN_DEAD:
            self._bury(Code.TOKEN_DEAD, github_tokens.c.user_id == user_id,
                       github_tokens.c.verified_at == held.verified_at)
        elif error.retry_at:
            self._update(user_id, limited_until=error.retry_at)

    def _bury(self, code: Code, *conditions: sa.ColumnElement[bool]) -> None:
        """A token that was replaced meanwhile is left alone; a lost key may come back."""
        text = {} if code is Code.KEY_LOST else {"sealed": b""}
        with self._engine.begin() as connection:
            buried = connection.scalars(sa.select(github_tokens.c.user_id).where(
                *conditions).with_for_update()).all()
            if buried:
                connection.execute(github_tokens.update().where(*conditions).values(
                    problem=code.value, **text))
                connection.execute(repo_access.delete().where(
                    repo_access.c.user_id.in_(buried)))

    def _keep(self, user_id: int, token: Secret, identity: Identity, keys: Keys) -> None:
        content = Secret(f"{self._settings.github_api_url} {token.reveal()}")
        sealed, now = keys.seal(content, user_id=user_id), self._now()
        values: dict[str, Any] = {
            "sealed": sealed.data, "key_id": sealed.key_id, "login": identity.login,
            "github_id": identity.id, "kind": identity.kind,
            "scopes": None if identity.scopes is None else list(identity.scopes),
            "last_four": token.reveal()[-4:], "expires_at": identity.expires_at,
            "verified_at": now, "last_used_at": now, "problem": None, "access_wanted_at": now,
            "access_checked_at": None, "limited_until": None, "sso_url": None, "sso_at": None}
        with self._engine.begin() as connection:
            connection.execute(repo_access.delete().where(repo_access.c.user_id == user_id))
            changed = connection.execute(github_tokens.update().where(
                github_tokens.c.user_id == user_id).values(values)).rowcount
            if not changed:
                connection.execute(github_tokens.insert().values(user_id=user_id, **values))

    def _opened(self, row: Any, keys: Keys) -> Secret:
        """A token is for the one GitHub server that said whose it is, and goes to no other."""
        server, _, token = keys.open(_sealed(row), user_id=row.user_id).reveal().partition(" ")
        if server != self._settings.github_api_url:
            raise UnreadableError(Sentence("This token is for {server}.", server=server))
        return Secret(token)

    def _row(self, user_id: int) -> Any:
        with self._engine.connect() as connection:
            return connection.execute(
                sa.select(github_tokens, users.c.locked_at).join(users).where(
                    github_tokens.c.user_id == user_id)).first()

    def _rows(self) -> list[Any]:
        with self._engine.connect() as connection:
            return list(connection.execute(sa.select(github_tokens)))

    def _update(self, user_id: int, *conditions: sa.ColumnElement[bool], **values: Any) -> None:
        with self._engine.begin() as connection:
            connection.execute(github_tokens.update().where(
                github_tokens.c.user_id == user_id, *conditions).values(**values))


def check_token(token: Secret) -> None:
    """Raises InvalidInputError for what cannot be a token; it is never shown."""
    if not _TOKEN.fullmatch(token.reveal()):
        raise _wrong(Sentence(
            "This is no token of GitHub. It begins with ghp_ or github_pat_ and holds letters, "
            "digits and _ only. Copy it whole, without spaces."))


def _wrong(message: str) -> InvalidInputError:
    return InvalidInputError(message, [Problem(message=message, path="token")])


def _account(row: Any, now: datetime) -> GitHubAccount:
    is_over = row.expires_at is not None and row.expires_at <= now
    asks_sso = row.sso_at is not None and row.sso_at > now - HOUR
    return GitHubAccount(
        login=row.login, github_id=row.github_id, kind=row.kind,
        scopes=None if row.scopes is None else tuple(row.scopes), last_four=row.last_four,
        expires_at=row.expires_at, verified_at=row.verified_at, last_used_at=row.last_used_at,
        problem=Code(row.problem) if row.problem else Code.TOKEN_DEAD if is_over else None,
        limited_until=row.limited_until, asks_sso=asks_sso,
        sso_url=row.sso_url if asks_sso else None)


def _sealed(row: Any) -> Sealed:
    return Sealed(key_id=row.key_id, data=bytes(row.sealed))


def _same(row: Any) -> tuple[sa.ColumnElement[bool], ...]:
    return (github_tokens.c.user_id == row.user_id, github_tokens.c.verified_at == row.verified_at)


def _counted(requests: int, now: datetime) -> dict[str, Any]:
    """Added up by the database: sync and github count for one user at the same time."""
    is_running = github_tokens.c.background_since > now - HOUR
    return {
        "background_used": sa.case(
            (is_running, github_tokens.c.background_used + requests), else_=requests),
        "background_since": sa.case((is_running, github_tokens.c.background_since), else_=now)}


def _used(row: Any, now: datetime) -> int:
    """Background requests of the hour that runs."""
    is_running = row.background_since is not None and now - row.background_since < HOUR
    return row.background_used if is_running else 0


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
