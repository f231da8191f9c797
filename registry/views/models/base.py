"""What every body of the HTTP API is made of: what is given, what is answered, what is wrong."""
from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

TypeName = Literal["job", "data", "script", "dockerimage"]
Stream = Literal["", "stdout", "stderr"]
LogStream = Literal["stdout", "stderr", "notice"]  # notice: the runner's own words
MAX_YAML = 256_000


class Given(BaseModel):
    """What a caller sends: a field that nobody knows is a mistake, not a surprise."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """What a caller gets."""


class Problem(Answer):
    """One thing wrong: where it is, what it is, what to write instead."""

    path: str = Field(description="Such as `tasks[0].resource.portList`; empty: the whole.")
    line: int | None = Field(description="From 1; null where the text has no such place.")
    column: int | None
    message: str
    severity: Literal["error", "warning"]


class Error(Answer):
    """Every answer with a status of 400 and above."""

    code: str = Field(description="Stable, for programs: InvalidInput, NotFound …")
    message: str = Field(description="For people: what is wrong and what to do next.")
    errors: list[Problem]
    nearest: list[str] = Field(default=[], description="With 404: names that may be meant.")
    choices: list[str] = Field(default=[], description="With 409: references that tell apart "
                               "what the given one fits.")
    retry_at: datetime | None = Field(default=None, description="Where GitHub asks to wait: until "
                                      "when.")
    link: str | None = Field(default=None, description="Where GitHub lets you mend it.")


class Empty(Given):
    """No body."""
