"""Users, their passwords and their API tokens. The only importer of argon2."""
from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from registry.db import (
    api_tokens,
    github_tokens,
    image_logins,
    metadata,
    publications,
    repo_access,
    users,
)
from registry.errors import ConflictError, InvalidInputError, NotFoundError, Problem
from runner.sentence import Sentence

MIN_PASSWORD = 8
MAX_PASSWORD = 1024
TOKEN_PREFIX = "pai_"
USED_AGAIN_AFTER = timedelta(minutes=1)
# 19 MiB and two passes: OWASP's smallest recommended form, so that logins fit a small worker.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_NOBODY = _HASHER.hash(secrets.token_hex())
_OWN = (api_tokens, github_tokens, image_logins, repo_access, publications)
_IS_THERE = users.c.deleted_at.is_(None)
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9\-._~]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """How pages are for a user; None: as the browser says."""

    language: str | None = None
    theme: str | None = None
    has_keys: bool = True
    has_reader_terminal: bool = False
    has_less_motion: bool = False


@dataclass(frozen=True, kw_only=True)
class User:
    """Someone with an account; a session lives as long as `session_epoch` stays the same.

    `locked_at` None: they may log in, and their tokens work. `deleted_at` None: there is such a
    user; else nothing is left of them but number and name.
    """

    id: int
    name: str
    is_admin: bool
    session_epoch: int
    created_at: datetime
    locked_at: datetime | None = None
    deleted_at: datetime | None = None
    preferences: Preferences = Preferences()


@dataclass(frozen=True, kw_only=True)
class ApiToken:
    """What is known of a token without its text; `last_used_at` is exact to a minute."""

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Belongings:
    """How much of each is only the user's, and goes with the account."""

    api_tokens: int
    github_tokens: int
    image_logins: int
    publications: int


class Accounts:
    """Every read and write of users and tokens; each method is one transaction."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def create_user(self, name: str, password: str, is_admin: bool = False) -> User:
        """Add a user; raises InvalidInputError, or ConflictError where the name is taken."""
        if not _NAME.fullmatch(name):
            raise InvalidInputError(Sentence(
                "A user's name is 1 to 64 letters, digits, or - . _ ~."))
        _check_password(password, "password")
        try:
            with self._engine.begin() as connection:
                connection.execute(users.insert().values(
                    name=name, password_hash=_HASHER.hash(password), is_admin=is_admin,
                    session_epoch=0, created_at=_now()))
        except sa.exc.IntegrityError as error:
            raise self._taken(name) from error
        return self.user_named(name)

    def ensure_admin(self) -> str | None:
        """Create `admin` where there is no user at all; returns its new password, else None."""
        with self._engine.connect() as connection:
            if connection.execute(sa.select(users.c.id).limit(1)).first():
                return None
        password = secrets.token_urlsafe(12)
        try:
            self.create_user("admin", password, is_admin=True)
        except ConflictError:
            return None
        return password

    def users(self) -> list[User]:
        """Everyone who was not deleted, by name."""
        with self._engine.connect() as connection:
            return [_user(row) for row in connection.execute(
                sa.select(users).where(_IS_THERE).order_by(users.c.name))]

    def user(self, id_: int) -> User:
        """The user, also one who was deleted; raises NotFoundError."""
        return self._one(users.c.id == id_, Sentence(
            "There is no user with the number {id_}.", id_=id_))

    def user_named(self, name: str) -> User:
        """The user; raises NotFoundError."""
        return self._one(sa.and_(users.c.name == name, _IS_THERE), Sentence(
            "There is no user called {name}.", name=name))

    def verify_password(self, name: str, password: str) -> User | None:
        """The user whose password this is, else None; takes as long for a name nobody has."""
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(users).where(users.c.name == name)).first()
        if not _is_password(row.password_hash if row else _NOBODY, password) or row is None:
            return None
        if _HASHER.check_needs_rehash(row.password_hash):
            self._update(row.id, password_hash=_HASHER.hash(password))
        return None if row.locked_at else _user(row)

    def set_password(self, user: User, password: str) -> User:
        """Change the password and end every session of the user; tokens stay valid."""
        _check_password(password, "new_password")
        self._update(user.id, password_hash=_HASHER.hash(password),
                     session_epoch=users.c.session_epoch + 1)
        return self.user(user.id)

    def prefer(self, user: User, **preferences: Any) -> User:
        """Keep some of the user's preferences, by the names that Preferences has."""
        self._update(user.id, preferences=asdict(replace(user.preferences, **preferences)))
        return self.user(user.id)

    def set_admin(self, user: User, is_admin: bool) -> None:
        """Raises ConflictError where nobody would be left who is an admin and may log in."""
        self._change(user, is_admin=is_admin)

    def lock(self, user: User) -> None:
        """Lock the user out: every session ends, tokens do not work; all they have stays.

        Raises ConflictError where no admin would be left who may log in.
        """
        self._change(user, locked_at=_now(), session_epoch=users.c.session_epoch + 1)

    def unlock(self, user: User) -> None:
        self._change(user, locked_at=None)

    def belongings(self, user: User) -> Belongings:
        """What `delete` would delete."""
        with self._engine.connect() as connection:
            return Belongings(**{field.name: connection.scalar(
                sa.select(sa.func.count()).select_from(metadata.tables[field.name]).where(
                    metadata.tables[field.name].c.user_id == user.id)) or 0
                for field in fields(Belongings)})

    def delete(self, user: User) -> None:
        """Delete all that is only the user's: password, tokens, logins, publications, choices.

        The name stays taken, so that nobody else ever gets what it stands on: jobs, sources,
        published versions. Raises ConflictError where no admin would be left who may log in.
        """
        now = _now()
        self._change(user, forget=True, deleted_at=now, locked_at=now, is_admin=False,
                     password_hash=_NOBODY, preferences={},
                     session_epoch=users.c.session_epoch + 1)

    def create_token(self, user: User, name: str) -> str:
        """A new API token; only its hash is kept, so this is the one time that it is seen."""
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        with self._engine.begin() as connection:
            connection.execute(api_tokens.insert().values(
                user_id=user.id, name=name.strip()[:255] or "unnamed", token_hash=_hash(token),
                created_at=_now()))
        return token

    def tokens(self, user: User) -> list[ApiToken]:
        """The user's tokens, newest first."""
        query = (sa.select(api_tokens).where(api_tokens.c.user_id == user.id)
                 .order_by(api_tokens.c.id.desc()))
        with self._engine.connect() as connection:
            return [ApiToken(id=row.id, name=row.name, created_at=row.created_at,
                             last_used_at=row.last_used_at) for row in connection.execute(query)]

    def user_of_token(self, token: str) -> User | None:
        """Whose token this is; None where nobody has it."""
        query = sa.select(users, api_tokens.c.id.label("token_id"), api_tokens.c.last_used_at).join(
            api_tokens, api_tokens.c.user_id == users.c.id).where(
                api_tokens.c.token_hash == _hash(token))
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        if row is None or row.locked_at:
            return None
        if row.last_used_at is None or row.last_used_at < _now() - USED_AGAIN_AFTER:
            with self._engine.begin() as connection:
                connection.execute(api_tokens.update().where(api_tokens.c.id == row.token_id)
                                   .values(last_used_at=_now()))
        return _user(row)

    def revoke_token(self, token: str) -> None:
        """Make a token useless; one that nobody has is no error."""
        with self._engine.begin() as connection:
            connection.execute(
                api_tokens.delete().where(api_tokens.c.token_hash == _hash(token)))

    def revoke_token_numbered(self, user: User, id_: int) -> None:
        """Make one of the user's tokens useless; raises NotFoundError."""
        with self._engine.begin() as connection:
            count = connection.execute(api_tokens.delete().where(
                api_tokens.c.id == id_, api_tokens.c.user_id == user.id)).rowcount
        if not count:
            raise NotFoundError(Sentence("You have no such API token. It may be revoked already."))

    def _taken(self, name: str) -> ConflictError:
        try:
            self.user_named(name)
        except NotFoundError:
            return ConflictError(Sentence(
                "A user called {name} was deleted, and jobs and sources may bear the name still. "
                "Choose another one.", name=name))
        return ConflictError(Sentence("There is already a user called {name}.", name=name))

    def _change(self, user: User, *, forget: bool = False, **values: Any) -> None:
        """One transaction, so that of two admins who demote each other one remains."""
        admins = sa.select(users.c.id).where(users.c.is_admin, users.c.locked_at.is_(None))
        with self._engine.begin() as connection:
            connection.execute(admins.order_by(users.c.id).with_for_update())
            for table in _OWN if forget else ():
                connection.execute(table.delete().where(table.c.user_id == user.id))
            connection.execute(users.update().where(users.c.id == user.id).values(**values))
            if not connection.scalars(admins).first():
                raise ConflictError(Sentence(
                    "{name} is the only admin who may log in. Make somebody else an admin first.",
                    name=user.name))

    def _one(self, condition: sa.ColumnElement[bool], message: str) -> User:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(users).where(condition)).first()
        if row is None:
            raise NotFoundError(message)
        return _user(row)

    def _update(self, id_: int, **values: Any) -> None:
        with self._engine.begin() as connection:
            connection.execute(users.update().where(users.c.id == id_).values(**values))


def _user(row: Any) -> User:
    known = {field.name for field in fields(Preferences)}
    return User(id=row.id, name=row.name, is_admin=row.is_admin, session_epoch=row.session_epoch,
                created_at=row.created_at, locked_at=row.locked_at, deleted_at=row.deleted_at,
                preferences=Preferences(**{
                    name: value for name, value in row.preferences.items() if name in known}))


def _is_password(password_hash: str, password: str) -> bool:
    try:
        return len(password) <= MAX_PASSWORD and _HASHER.verify(password_hash, password)
    except VerificationError:
        return False


def _check_password(password: str, path: str) -> None:
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        message = Sentence(
            "A password has {least} to {most} characters.", least=MIN_PASSWORD, most=MAX_PASSWORD)
        raise InvalidInputError(message, [Problem(message=message, path=path)])


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(tzinfo=None)
