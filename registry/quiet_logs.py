"""Logs without tokens: whatever a message or a traceback holds, it passes redaction first."""
from __future__ import annotations

import logging

from registry.redaction import redacted


class Redacting(logging.Formatter):
    """Formats as another one does, and takes out what looks like a token."""

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        return redacted(self._inner.format(record))


def keep_tokens_out() -> None:
    """Of everything that this process logs from now on with the handlers that are there."""
    last = [logging.lastResort] if logging.lastResort else []
    for handler in [*logging.getLogger().handlers, *last]:
        if not isinstance(handler.formatter, Redacting):
            handler.setFormatter(Redacting(handler.formatter))
