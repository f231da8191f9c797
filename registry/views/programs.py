"""Whether a program asks or a person's browser, as the address tells."""
from __future__ import annotations

from flask import request

API_PREFIX = "/api/v3"
OPENPAI_PREFIXES = ("/api/v1", "/api/v2", "/rest-server/api")


def is_api() -> bool:
    return _is_below(API_PREFIX) or is_openpai()


def is_openpai() -> bool:
    """Whether a program asks that was written for OpenPAI."""
    return any(_is_below(prefix) for prefix in OPENPAI_PREFIXES)


def _is_below(prefix: str) -> bool:
    return request.path == prefix or request.path.startswith(f"{prefix}/")
