"""Every error that the registry raises on purpose."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong in a text: where it is, what it is, what to write instead.

    `line` and `column` count from 1; both are None where the text has no such place
    (a missing file, a parameter given outside the YAML). `path` reads like
    `tasks[0].resource.portList` and is empty for the document as a whole.
    """

    message: str
    path: str = ""
    line: int | None = None
    column: int | None = None
    severity: str = "error"

    def as_json(self) -> dict[str, object]:
        return {"path": self.path, "line": self.line, "column": self.column,
                "message": self.message, "severity": self.severity}


class RegistryError(Exception):
    """Base of all; `code` is stable, `status` is the HTTP status that fits."""

    code = "RegistryError"
    status = 500

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)


class InvalidInputError(RegistryError):
    code = "InvalidInput"
    status = 400


class ComponentError(InvalidInputError):
    """A YAML text is no valid component; `problems` lists every reason with its place."""

    code = "InvalidComponent"


class UnauthorizedError(RegistryError):
    code = "Unauthorized"
    status = 401


class ForbiddenError(RegistryError):
    code = "Forbidden"
    status = 403


class NotFoundError(RegistryError):
    """`nearest` holds names that the reader may have meant."""

    code = "NotFound"
    status = 404

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = tuple(nearest)


class ConflictError(RegistryError):
    """`choices` holds the references that tell apart what a shorter one fits; else empty."""

    code = "Conflict"
    status = 409

    def __init__(self, message: str, choices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.choices = tuple(choices)


class GoneError(RegistryError):
    """It was here, and was deleted for good; the message says why."""

    code = "Gone"
    status = 410


class BusyError(RegistryError):
    """As much of it as there may be is in use; later there is room again."""

    code = "Busy"
    status = 503


class RunnerUnavailableError(RegistryError):
    """`remedy` is what whoever runs the server may do; only admins and the log are told."""

    code = "RunnerUnavailable"
    status = 503

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class DatabaseUnavailableError(RegistryError):
    code = "DatabaseUnavailable"
    status = 503
