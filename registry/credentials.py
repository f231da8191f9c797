"""Where `paishare login` keeps its tokens: one a server, in a file that only its owner reads."""
from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from registry.errors import RegistryError


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The file of tokens; a token never goes to another server than the one that gave it."""

    path: Path

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Credentials:
        folder = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "~")) / ".config"
        return cls(path=Path(folder).expanduser() / "paishare" / "credentials.json")

    def token(self, server: str) -> str | None:
        """The token for a server, None without a login there."""
        return self._read().get(server, {}).get("token")

    def save(self, server: str, *, username: str, token: str) -> None:
        self._write(self._read() | {server: {"username": username, "token": token}})

    def forget(self, server: str) -> None:
        self._write({name: entry for name, entry in self._read().items() if name != server})

    def _read(self) -> dict[str, Any]:
        try:
            values = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise RegistryError(f"{self.path} cannot be read: {error}. Delete it and run "
                                "`paishare login` again.") from error
        return values if isinstance(values, dict) else {}

    def _write(self, values: Mapping[str, Any]) -> None:
        """Write aside and swap; mkstemp makes the file 0600 from its first byte."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=self.path.parent)
        with os.fdopen(handle, "w") as file:
            json.dump(values, file, indent=2)
        os.replace(aside, self.path)
