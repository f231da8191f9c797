"""Texts from elsewhere without the tokens that may stand in them. Pure."""
from __future__ import annotations

import base64
import re
from urllib.parse import quote

from registry.config import Secret

HIDDEN = "…"
_TOKENS = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}"
    r"|(?<=[Aa]uthorization: )\S+ \S+|(?<=://)[^/@\s]+@")


def redacted(text: str, *secrets: Secret) -> str:
    """The text without anything that looks like a token of GitHub, and without `secrets`.

    Those are taken out as they are, as a URL has them and in base64.
    """
    for value in filter(None, (secret.reveal() for secret in secrets)):
        for form in _forms(value):
            text = text.replace(form, HIDDEN)
    return _TOKENS.sub(HIDDEN, text)


def _forms(value: str) -> tuple[str, ...]:
    """As it is, URL-encoded, and in base64 alone and as a password behind the usual user names."""
    plain = [value, *(f"{user}:{value}" for user in ("x-access-token", "x", ""))]
    coded = [base64.b64encode(each.encode()).decode().rstrip("=") for each in plain]
    return (*coded, value, quote(value, safe=""))
