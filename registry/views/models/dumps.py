"""The API's bodies about dumps of the whole catalog."""
from __future__ import annotations

from datetime import datetime

from pydantic import Field

from registry.views.models.base import Answer


class DumpKey(Answer):
    public_key: str = Field(description="`ed25519:` and 44 characters of base64.")
    key_id: str


class Dump(Answer):
    name: str
    size: int
    made_at: datetime


class Dumps(Answer):
    dumps: list[Dump] = Field(description="Newest first.")
