"""Keys that seal users' secrets: AES-256-GCM, each text bound to its user, keys that rotate."""
from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from registry.config import SEALING_KEY_BYTES, Secret, Settings, is_sealing_key
from registry.errors import RegistryError
from runner.sentence import Sentence

FILE, LOCK, ASIDE = "sealing.key", "sealing.lock", ".sealing-"
NONCE_BYTES = 12
GITHUB_TOKEN = "github token"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """A text that only the key named by `key_id` opens, and only for its user."""

    key_id: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Resealed:
    """How many texts of one kind were sealed anew, and how many of them nobody could open."""

    count: int
    unreadable: int


class UnreadableError(RegistryError):
    """What was sealed cannot be opened: its key is gone, or it is another user's."""


class Keys:
    """One or more keys; the first seals, each opens what it sealed. Never shows itself."""

    def __init__(self, texts: Sequence[Secret]) -> None:
        self._texts = tuple(texts)
        raw = [base64.b64decode(text.reveal()) for text in texts]
        self.ids = tuple(key_id(key) for key in raw)
        self._keys = dict(zip(self.ids, raw))

    def seal(self, secret: Secret, *, user_id: int, purpose: str = GITHUB_TOKEN) -> Sealed:
        """Only the same user and purpose open it again."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        data = AESGCM(self._keys[self.ids[0]]).encrypt(
            nonce, secret.reveal().encode(), _bound_to(user_id, purpose))
        return Sealed(key_id=self.ids[0], data=nonce + data)

    def open(self, sealed: Sealed, *, user_id: int, purpose: str = GITHUB_TOKEN) -> Secret:
        """Raises UnreadableError where it is not this user's, or its key is not here."""
        key = self._keys.get(sealed.key_id)
        try:
            if key is None:
                raise ValueError(f"no key {sealed.key_id}")
            text = AESGCM(key).decrypt(sealed.data[:NONCE_BYTES], sealed.data[NONCE_BYTES:],
                                       _bound_to(user_id, purpose))
        except (InvalidTag, ValueError) as error:
            raise UnreadableError(Sentence(
                "This {purpose} cannot be opened: the key that sealed it is not here, or it is not "
                "what it says.", purpose=purpose)) from error
        return Secret(text.decode())

    def with_new(self) -> Keys:
        """The same and before them a new one, which seals from now on."""
        return Keys((Secret(base64.b64encode(secrets.token_bytes(SEALING_KEY_BYTES)).decode()),
                     *self._texts))

    def only_first(self) -> Keys:
        return Keys(self._texts[:1])

    def as_text(self) -> str:
        """As the file holds them, one a line."""
        return "".join(f"{text.reveal()}\n" for text in self._texts)

    def __repr__(self) -> str:
        return f"Keys({', '.join(self.ids)})"


class KeyStore:
    """Where the keys of one home are: PAISHARE_SEALING_KEY, else a file, made at the first use."""

    def __init__(self, settings: Settings) -> None:
        self._home = settings.home
        self._given = settings.sealing_keys

    @property
    def is_given(self) -> bool:
        """Whether the keys come from the environment, where only the operator changes them."""
        return bool(self._given)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Keys]:
        """The keys, which do not change as long as this is open."""
        if self._given:
            yield Keys(self._given)
            return
        with self._locked(fcntl.LOCK_SH):
            yield self._of_file()

    @contextlib.contextmanager
    def changing(self) -> Iterator[Keys]:
        """The same, with nobody else reading: for `write`."""
        if self._given:
            yield Keys(self._given)
            return
        with self._locked(fcntl.LOCK_EX):
            for left in self._home.glob(f"{ASIDE}*"):  # by who was killed, with keys in it
                left.unlink()
            yield self._of_file()

    def write(self, keys: Keys) -> None:
        """Put these in the place of the file's, at once and whole."""
        aside = _written_aside(self._home, keys)
        os.replace(aside, self._home / FILE)
        _sync_folder(self._home)

    def _of_file(self) -> Keys:
        path = self._home / FILE
        if not path.exists():
            aside = _written_aside(self._home, Keys(()).with_new())
            with contextlib.suppress(FileExistsError):  # of two processes, the first one wins
                os.link(aside, path)
            os.unlink(aside)
            _sync_folder(self._home)
        if path.stat().st_mode & 0o077:
            raise RegistryError(Sentence(
                "{path} can be read by others. Close it with `chmod 600 {path}`; if others may "
                "have read it, run `paishare rotate-keys` then.", path=path))
        texts = path.read_text("utf-8", "replace").split()
        if not texts or not all(map(is_sealing_key, texts)):
            raise RegistryError(Sentence(
                "{path} holds no key. Bring it back from a copy, or delete it: a new one is made "
                "then, and everyone connects GitHub again.", path=path))
        return Keys([Secret(text) for text in texts])

    @contextlib.contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, kind)
            yield
        finally:
            os.close(fd)


def key_id(key: bytes) -> str:
    """A short name of a key that tells nothing of it."""
    return hashlib.sha256(b"paishare sealing key\0" + key).hexdigest()[:16]


def _bound_to(user_id: int, purpose: str) -> bytes:
    return f"paishare {purpose} of user {user_id}".encode()


def _written_aside(home: Path, keys: Keys) -> str:
    handle, aside = tempfile.mkstemp(prefix=ASIDE, dir=home)  # readable by its owner alone
    with os.fdopen(handle, "w") as file:
        file.write(keys.as_text())
        file.flush()
        os.fsync(file.fileno())
    return aside


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
