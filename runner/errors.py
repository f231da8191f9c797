"""Every error that the runner raises on purpose."""
from __future__ import annotations

from typing import Sequence


class RunnerError(Exception):
    """Base of all; `code` is stable, `status` is the HTTP status that fits."""

    code = "RunnerError"
    status = 500

    def __init__(self, message: str, errors: Sequence[dict] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.errors = tuple(errors)


class Cancelled(Exception):
    """Who wanted something does not want it any more."""


class InvalidSpecError(RunnerError):
    """A job spec breaks its schema; `errors` holds `{"path", "message"}` for each place."""

    code = "InvalidSpec"
    status = 400


class NotFoundError(RunnerError):
    code = "NotFound"
    status = 404


class StagingError(RunnerError):
    """An input could not be brought here; the message names it and the next step.

    `is_platform` tells a passing fault of network or disk (worth another attempt)
    from a wrong URI or checksum (not worth one).
    """

    code = "StagingFailed"

    def __init__(self, message: str, *, is_platform: bool = False) -> None:
        super().__init__(message)
        self.is_platform = is_platform


class EngineError(RunnerError):
    """Docker refused or was out of reach; `is_platform` as in StagingError."""

    code = "EngineFailed"

    def __init__(self, message: str, *, is_platform: bool = True) -> None:
        super().__init__(message)
        self.is_platform = is_platform


class EngineAwayError(EngineError):
    """Docker does not answer: what was asked is asked again until it does."""


class NoShellError(RunnerError):
    """A container has nothing that a person could type into."""

    code = "NoShell"
    status = 409


class BusyError(RunnerError):
    """As many as there may be are there already."""

    code = "Busy"
    status = 429
