"""The API's bodies about terminals: shells in running tasks."""
from __future__ import annotations

from pydantic import Field

from registry.views.models.base import Answer, Given


class TerminalRequest(Given):
    role: str = Field(default="", max_length=255, description="Empty: the first role.")
    index: int = Field(default=0, ge=0)


class TerminalTicket(Answer):
    path: str = Field(description="Where a WebSocket is to be opened.")
    ticket: str = Field(description="What its first message shows, as a JSON text `{ticket, "
                        "columns, rows}`. It serves once, within 30 seconds.")
    attempt: int
    role: str
    index: int
