"""Texts of lower layers that pages show in the reader's language: marked here, translated there."""
from __future__ import annotations


def N_(text: str) -> str:
    """`text` itself; its name marks it for the list of texts that have a translation."""
    return text
