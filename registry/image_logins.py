"""What users log in to registries of images with: sealed, and opened for their own jobs alone."""
from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from registry.config import Secret, Settings
from registry.db import image_logins
from registry.errors import InvalidInputError, NotFoundError, Problem
from registry.sealing import Keys, KeyStore, Resealed, Sealed, UnreadableError
from runner.sentence import Sentence
from runner.spec import JobSpec, Login, registry_name

MAX_LOGINS, MAX_SECRET = 50, 10_000
_SERVER = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
_USERNAME = re.compile(r"[^\x00-\x1f\x7f:]{1,255}")
_NOT_IN_SECRETS = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, kw_only=True)
class ImageLogin:
    """What is known of a login without its secret."""

    server: str
    username: str
    created_at: datetime
    last_used_at: datetime | None


class ImageLogins:
    """Every read and write of these logins; safe in several processes and threads."""

    def __init__(self, engine: sa.Engine, settings: Settings) -> None:
        self._engine, self._keys = engine, KeyStore(settings)

    def of(self, user_id: int) -> list[ImageLogin]:
        """The user's logins by the names of their registries."""
        return [ImageLogin(server=row.server, username=row.username, created_at=row.created_at,
                           last_used_at=row.last_used_at)
                for row in self._rows(image_logins.c.user_id == user_id)]

    def keep(self, user_id: int, server: str, username: str, secret: Secret) -> ImageLogin:
        """Seal a login, in the place of an older one; raises InvalidInputError with the field."""
        server, username = registry_name(server), username.strip()
        _check(server, username, secret)
        known = {each.server for each in self.of(user_id)}
        if server not in known and len(known) >= MAX_LOGINS:
            raise _wrong("server", Sentence(
                "You have {most} logins already. Remove one first.", most=MAX_LOGINS))
        with self._keys.reading() as keys:
            sealed = keys.seal(secret, user_id=user_id, purpose=_purpose(server, username))
            row = {"user_id": user_id, "server": server, "username": username,
                   "sealed": sealed.data, "key_id": sealed.key_id,
                   "created_at": datetime.now(UTC).replace(tzinfo=None)}
            with self._engine.begin() as connection:
                connection.execute(image_logins.delete().where(*_same(user_id, server)))
                connection.execute(image_logins.insert().values(row))
        return next(each for each in self.of(user_id) if each.server == server)

    def forget(self, user_id: int, server: str) -> None:
        """Delete a login; raises NotFoundError where there is none."""
        with self._engine.begin() as connection:
            gone = connection.execute(image_logins.delete().where(
                *_same(user_id, registry_name(server)))).rowcount
        if not gone:
            raise NotFoundError(Sentence(
                "You have no login to {server}.", server=registry_name(server)))

    def for_job(self, spec: JobSpec, *, user_id: int) -> list[Login]:
        """The user's logins to the registries that the job's images are of.

        Raises InvalidInputError where one of them cannot be opened.
        """
        servers = {role.image.server for role in spec.task_roles}
        with self._keys.reading() as keys:
            rows = self._rows(image_logins.c.user_id == user_id,
                              image_logins.c.server.in_(servers))
            found = [Login(server=row.server, username=row.username,
                           secret=self._opened(row, keys).reveal()) for row in rows]
        if found:
            with self._engine.begin() as connection:
                connection.execute(image_logins.update().where(
                    image_logins.c.user_id == user_id, image_logins.c.server.in_(servers)).values(
                        last_used_at=datetime.now(UTC).replace(tzinfo=None)))
        return found

    def reseal(self, keys: Keys) -> Resealed:
        """Seal every secret with the first key that was sealed with another one."""
        rows = self._rows(image_logins.c.key_id != keys.ids[0])
        done = sum(self._reseal(row, keys) for row in rows)
        return Resealed(count=done, unreadable=len(rows) - done)

    def _reseal(self, row: Any, keys: Keys) -> bool:
        purpose = _purpose(row.server, row.username)
        try:
            secret = keys.open(_sealed(row), user_id=row.user_id, purpose=purpose)
        except UnreadableError:
            return False
        sealed = keys.seal(secret, user_id=row.user_id, purpose=purpose)
        with self._engine.begin() as connection:
            connection.execute(image_logins.update().where(
                *_same(row.user_id, row.server), image_logins.c.sealed == row.sealed).values(
                    sealed=sealed.data, key_id=sealed.key_id))
        return True

    def _opened(self, row: Any, keys: Keys) -> Secret:
        try:
            return keys.open(_sealed(row), user_id=row.user_id,
                             purpose=_purpose(row.server, row.username))
        except UnreadableError as error:
            raise InvalidInputError(Sentence(
                "Your login to {server} cannot be opened any more: the server's key is another one "
                "now. Type it again on the page Settings, or remove it.",
                server=row.server)) from error

    def _rows(self, *conditions: sa.ColumnElement[bool]) -> list[Any]:
        with self._engine.connect() as connection:
            return list(connection.execute(sa.select(image_logins).where(*conditions).order_by(
                image_logins.c.server)))


def _check(server: str, username: str, secret: Secret) -> None:
    if not _SERVER.fullmatch(server):
        raise _wrong("server", Sentence(
            "This is no name of a registry. Write it as images do: for example docker.io, ghcr.io "
            "or registry.example.org:5000."))
    if not _USERNAME.fullmatch(username):
        raise _wrong("username", Sentence(
            "This is no user name. It has 1 to 255 characters and no colon."))
    if not 0 < len(secret.reveal()) <= MAX_SECRET or _NOT_IN_SECRETS.search(secret.reveal()):
        raise _wrong("secret", Sentence(
            "This is no password or token. It has 1 to {most} characters on one line.",
            most=MAX_SECRET))


def _wrong(field: str, message: str) -> InvalidInputError:
    return InvalidInputError(message, [Problem(message=message, path=field)])


def _purpose(server: str, username: str) -> str:
    return f"login {username} to {server}"


def _same(user_id: int, server: str) -> tuple[sa.ColumnElement[bool], ...]:
    return image_logins.c.user_id == user_id, image_logins.c.server == server


def _sealed(row: Any) -> Sealed:
    return Sealed(key_id=row.key_id, data=bytes(row.sealed))
