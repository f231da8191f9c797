"""What a job needs brought here before it starts: each image and input, and how much is missing."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Supply:
    """One image or input of a job; `kind` is image, file, git or storage.

    `missing` is how many bytes have to come: 0 where it is here, None where nobody knows.
    """

    kind: str
    uri: str
    missing: int | None
