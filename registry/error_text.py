"""An error as lines that a person reads: what, where in which file, what may have been meant."""
from __future__ import annotations

from registry.errors import NotFoundError, Problem, RegistryError


def problem_line(problem: Problem, file: str) -> str:
    """`file:line:column: path: message`, as compilers write it.

    Parts without a value are left out, and of the path what the message itself says.
    """
    place = ":".join(str(part) for part in (file, problem.line, problem.column) if part)
    kind = "" if problem.severity == "error" else problem.severity
    return printable(": ".join(part for part in (
        place, kind, unsaid_path(problem), problem.message) if part))


def unsaid_path(problem: Problem) -> str:
    """What of the problem's path its message does not say: all, what is above the field, or none.

    Messages begin with the field, and may go on with where it is missing.
    """
    above, _, field = problem.path.rpartition(".")
    if problem.message.startswith((f"`{problem.path}`", f"`{problem.path}:")):
        return ""
    is_named = problem.message.startswith((f"`{field}`", f"`{field}:"))
    place = above if is_named else problem.path
    return "" if f"`{place}`" in problem.message else place


def error_lines(error: RegistryError, file: str = "") -> list[str]:
    lines = [f"paishare: {printable(error.message)}"]
    lines += [problem_line(problem, file) for problem in error.problems
              if not _is_said(problem, error.message, file)]
    if isinstance(error, NotFoundError) and error.nearest:
        lines.append(f"Did you mean {printable(', '.join(error.nearest))}?")
    return lines


def _is_said(problem: Problem, message: str, file: str) -> bool:
    """Whether the first line tells all of it; the place in a file is worth a line of its own."""
    if not problem.line:
        return problem.message == message
    return not file and message == (f"Line {problem.line}, column {problem.column}: "
                                    f"{problem.message}")


def printable(text: str) -> str:
    """The text without characters that steer a terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
