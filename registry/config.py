"""The registry's settings, read once from the environment."""
from __future__ import annotations

import base64
import binascii
import ipaddress
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping
from urllib.parse import quote, urlsplit

from registry.errors import RegistryError

PACKAGE = Path(__file__).resolve().parent
GITHUB_URL, GITHUB_API_URL = "https://github.com", "https://api.github.com"
SEALING_KEY_BYTES = 32
MAX_PROXIES = 10


class Secret:
    """A text that never shows itself in a log or a traceback; `reveal` gives it out."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "…"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the registry keeps its state, how it listens, and where its runner is.

    `sync_interval_s` is the time between two looks at every source, `dump_interval_h` that between
    two dumps of the catalog; 0: none are made.
    `runner_token` None: the runner listens on a unix socket and asks for none.
    `public_url` is how others reach this server, None: as their request says; of
    `trusted_proxies` in a row the headers X-Forwarded-* are believed.
    `import_origins` are servers that jobs may be imported from though they are not public.
    `sealing_keys`: the first seals, the others only open; empty: the key is a file in the home.
    """

    home: Path
    database_url: str = field(repr=False)
    runner_url: str
    runner_token: Secret | None = field(default=None)
    host: str = "127.0.0.1"
    port: int = 8080
    sync_interval_s: float = 60.0
    dump_interval_h: float = 24.0
    github_url: str = GITHUB_URL
    github_api_url: str = GITHUB_API_URL
    sealing_keys: tuple[Secret, ...] = ()
    public_url: str | None = None
    trusted_proxies: int = 0
    import_origins: tuple[str, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read PAISHARE_*, HOST and PORT; raises RegistryError naming a wrong variable."""
        home = Path(environ.get("PAISHARE_HOME") or "~/.paishare").expanduser().absolute()
        token = environ.get("PAISHARE_RUNNER_TOKEN")
        github_url = _github_url(environ)
        return cls(
            home=home,
            database_url=_database_url(environ, home),
            runner_url=_runner_url(environ, home),
            runner_token=Secret(token) if token else None,
            host=environ.get("HOST") or "127.0.0.1",
            port=_port(environ),
            sync_interval_s=_interval_s(environ),
            dump_interval_h=_dump_interval_h(environ),
            github_url=github_url,
            github_api_url=_github_api_url(environ, github_url),
            sealing_keys=_sealing_keys(environ),
            public_url=_public_url(environ),
            trusted_proxies=_trusted_proxies(environ),
            import_origins=_import_origins(environ),
        )

    @property
    def git_dir(self) -> Path:
        return self.home / "git"

    @property
    def search_dir(self) -> Path:
        return self.home / "search"

    @property
    def marketplace_dir(self) -> Path:
        return _beside("marketplace")

    @property
    def templates_dir(self) -> Path:
        return _beside("templates")

    @property
    def secret_key(self) -> Secret:
        """The key that signs sessions; made at the first use, readable by its owner alone."""
        path = self.home / "secret.key"
        if not path.exists():
            _create_secret(path)
        return Secret(path.read_text().strip())


def _beside(name: str) -> Path:
    """A folder of the installed package or, in a checkout, of the repository."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent / name


def _create_secret(path: Path) -> None:
    """Write a new key aside and link it into place: of two processes, the first one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=".secret-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
        os.link(aside, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(aside)


def _database_url(environ: Mapping[str, str], home: Path) -> str:
    url = environ.get("PAISHARE_DATABASE_URL") or f"sqlite:///{quote(str(home))}/registry.db"
    if not url.startswith(("sqlite:///", "postgresql")):
        raise RegistryError("PAISHARE_DATABASE_URL must begin with sqlite:/// or postgresql. "
                            "Leave it out to use registry.db in PAISHARE_HOME.")
    if url.startswith("sqlite:") and not url.startswith("sqlite:////"):
        raise RegistryError("PAISHARE_DATABASE_URL must name SQLite's file by its whole path, with "
                            f"four slashes: sqlite:////folder/registry.db, not {url}. The "
                            "server's processes run in different folders.")
    return url


def _runner_url(environ: Mapping[str, str], home: Path) -> str:
    url = environ.get("PAISHARE_RUNNER_URL") or f"unix:{home}/runner/runner.sock"
    parts = urlsplit(url)
    is_socket = parts.scheme == "unix" and parts.path.startswith("/")
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
    if not (is_socket or is_http):
        raise RegistryError("PAISHARE_RUNNER_URL must look like unix:/path/to/runner.sock or "
                            f"http://host:port, not {url!r}.")
    if is_http and not environ.get("PAISHARE_RUNNER_TOKEN"):
        raise RegistryError("PAISHARE_RUNNER_URL names a runner on the network, so "
                            "PAISHARE_RUNNER_TOKEN must be set too.")
    return url


def _port(environ: Mapping[str, str]) -> int:
    text = environ.get("PORT") or "8080"
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65535):
        raise RegistryError(f"PORT must be a whole number from 1 to 65535, not {text!r}.")
    return int(text)


def _interval_s(environ: Mapping[str, str]) -> float:
    text = environ.get("PAISHARE_SYNC_INTERVAL_S") or "60"
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86400:
        raise RegistryError("PAISHARE_SYNC_INTERVAL_S must be a number of seconds, more than 0 and "
                            f"at most 86400, not {text!r}.")
    return value


def _dump_interval_h(environ: Mapping[str, str]) -> float:
    text = environ.get("PAISHARE_DUMP_INTERVAL_H") or "24"
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 8760:
        raise RegistryError("PAISHARE_DUMP_INTERVAL_H must be a number of hours, at most 8760, or "
                            f"0 for no dumps, not {text!r}.")
    return value


def _github_url(environ: Mapping[str, str]) -> str:
    url = (environ.get("PAISHARE_GITHUB_URL") or GITHUB_URL).rstrip("/")
    if not _is_secure_address(url) or urlsplit(url).path:
        raise RegistryError("PAISHARE_GITHUB_URL must be the address of a GitHub server, such as "
                            f"https://github.example.org, with nothing behind it, not {url!r}.")
    return url


def _github_api_url(environ: Mapping[str, str], github_url: str) -> str:
    usual = GITHUB_API_URL if github_url == GITHUB_URL else f"{github_url}/api/v3"
    url = (environ.get("PAISHARE_GITHUB_API_URL") or usual).rstrip("/")
    if not _is_secure_address(url):
        raise RegistryError("PAISHARE_GITHUB_API_URL must look like https://github.example.org"
                            f"/api/v3, not {url!r}. Leave it out to use {usual}.")
    return url


def _public_url(environ: Mapping[str, str]) -> str | None:
    url = (environ.get("PAISHARE_PUBLIC_URL") or "").rstrip("/")
    if url and not _is_origin(url):
        raise RegistryError("PAISHARE_PUBLIC_URL must be the address by which others reach this "
                            "server, such as https://share.example.org, with nothing behind it, "
                            f"not {url!r}.")
    return url or None


def _import_origins(environ: Mapping[str, str]) -> tuple[str, ...]:
    found = [text.rstrip("/") for text in (environ.get("PAISHARE_IMPORT_FROM") or "").split()]
    for url in found:
        if not _is_origin(url):
            raise RegistryError("PAISHARE_IMPORT_FROM must be addresses of servers with spaces "
                                "between, such as https://git.example.org, with nothing behind "
                                f"them, not {url!r}.")
    return tuple(found)


def _is_origin(url: str) -> bool:
    """Whether it is scheme, host and port of a server of the web and nothing else."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return (bool(is_address) and url == f"{parts.scheme}://{parts.netloc}"
            and parts.username is None)


def _trusted_proxies(environ: Mapping[str, str]) -> int:
    text = environ.get("PAISHARE_TRUSTED_PROXIES") or "0"
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= MAX_PROXIES):
        raise RegistryError("PAISHARE_TRUSTED_PROXIES must be how many proxies stand before this "
                            f"server, from 0 to {MAX_PROXIES}, not {text!r}.")
    return int(text)


def _is_secure_address(url: str) -> bool:
    """https, or http to this machine itself: tokens never travel in clear over a network."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host or ""))
    return bool(host) and is_plain and is_safe


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _sealing_keys(environ: Mapping[str, str]) -> tuple[Secret, ...]:
    given = [text.strip() for text in (environ.get("PAISHARE_SEALING_KEY") or "").split(",")]
    for text in filter(None, given):
        if not is_sealing_key(text):
            raise RegistryError(  # never with the value: it may be a key with a slip of the pen
                f"PAISHARE_SEALING_KEY must be {SEALING_KEY_BYTES} random bytes in base64, as "
                f"`openssl rand -base64 {SEALING_KEY_BYTES}` prints them; or several such keys "
                "with commas between, the newest first.")
    return tuple(Secret(text) for text in given if text)


def is_sealing_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == SEALING_KEY_BYTES
    except (binascii.Error, ValueError):
        return False
