"""The API's bodies about who one is: tokens, users, access to GitHub."""
from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from registry.views.models.base import Answer, Given


class Credentials(Given):
    username: str
    password: str
    name: str = Field(default="", max_length=255, description="To tell this token from others.")


class Token(Answer):
    token: str = Field(description="Shown only now. Send it as `Authorization: Bearer <token>`.")
    username: str
    is_admin: bool


class User(Answer):
    username: str
    is_admin: bool


class NewPassword(Given):
    old_password: str
    new_password: str


class GitHubToken(Given):
    token: str = Field(max_length=1000, description="A personal access token; never shown again.")


class ImageLogin(Answer):
    server: str = Field(description="The registry, as names of images begin; docker.io where they "
                        "begin with none.")
    username: str
    created_at: datetime
    last_used_at: datetime | None = Field(description="When a job last took it along.")


class ImageLogins(Answer):
    logins: list[ImageLogin]


class ImageSecret(Given):
    username: str = Field(max_length=255)
    secret: str = Field(max_length=10_000, description="A password or token; never shown again.")


class GitHubAccess(Answer):
    is_connected: bool
    server: str = Field(description="The address of the GitHub server.")
    host: str = Field(description="What that server is called.")
    login: str | None
    kind: Literal["classic", "fine-grained", "other"] | None
    scopes: list[str] | None = Field(description="Of a classic token; null: it has none to tell "
                                     "of.")
    last_four: str | None = Field(description="The token's last characters, to tell it by.")
    expires_at: datetime | None
    ends: str | None = Field(description="The same in words, or that it is over.")
    sso: str | None = Field(description="What to do where an organization asks for single "
                                        "sign-on; null: none does.")
    sso_url: str | None = Field(description="Where the token is authorized for it.")
    verified_at: datetime | None
    last_used_at: datetime | None
    problem: str | None = Field(description="A code; null: it works, as far as is known.")
    message: str | None = Field(description="What that means and what to do.")
    limitations: list[str] = Field(description="What will not work with this token.")
