"""The key that signs dumps, Ed25519: made at the first use, readable by its owner alone."""
from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from registry.errors import InvalidInputError, RegistryError

PREFIX = "ed25519:"
FILE = "dump.key"


class SigningKey:
    """A private key that never shows itself."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def of_home(cls, home: Path) -> SigningKey:
        """The key of a home; the first to ask makes it. Raises RegistryError for what is none."""
        path = home / FILE
        if not path.exists():
            _create(path)
        try:
            return cls(Ed25519PrivateKey.from_private_bytes(base64.b64decode(path.read_text())))
        except (ValueError, binascii.Error) as error:
            raise RegistryError(f"{path} holds no key. Bring it back from a copy, or delete it: a "
                                "new one is made then, and its public key must be told to all "
                                "who check dumps.") from error

    @property
    def public(self) -> str:
        """What checks its signatures, as text for everybody: `ed25519:` and base64."""
        return PREFIX + base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sign(self, content: bytes) -> str:
        """The signature, in base64; the same content gives the same."""
        return base64.b64encode(self._key.sign(content)).decode()

    def __repr__(self) -> str:
        return f"SigningKey({key_id(self.public)})"


def key_id(public: str) -> str:
    """A short name for a public key, to compare by eye."""
    return hashlib.sha256(public.encode()).hexdigest()[:16]


def is_signed(content: bytes, signature: str, public: str) -> bool:
    """Whether the owner of a public key signed this; raises InvalidInputError for no key."""
    key = _public_key(public)
    try:
        key.verify(base64.b64decode(signature), content)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_key(public: str) -> bool:
    """Whether a text is a public key."""
    try:
        _public_key(public)
    except InvalidInputError:
        return False
    return True


def _public_key(text: str) -> Ed25519PublicKey:
    try:
        if not text.startswith(PREFIX):
            raise ValueError("no prefix")
        return Ed25519PublicKey.from_public_bytes(
            base64.b64decode(text.removeprefix(PREFIX), validate=True))
    except ValueError as error:
        raise InvalidInputError(f"{text[:100]!r} is no public key. It looks like {PREFIX}… with 44 "
                                "characters; `paishare export --public-key` prints it on the "
                                "machine that made the dump.") from error


def _create(path: Path) -> None:
    """Write a new key aside and link it into place: of two processes, the first one wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=".dump-key-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        os.unlink(aside)
