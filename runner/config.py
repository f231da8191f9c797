"""The runner's settings, read once from the environment."""
from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping

from runner.devices import DECLARED, Gpu
from runner.errors import RunnerError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the runner keeps its state, how it listens, and what it may give away.

    `cpus`, `memory_mb` and `host_ip` None: found out by `devices.describe`.
    `token` None: no token is asked for, which only a unix socket allows.
    `allowed_folders` are read, and as storage written to; from `source_folders` Git
    repositories are read, nothing else. `clusters` is the file of `quotas.RulesFile`,
    `storages` that of `storages.StoragesFile`.
    `gpus` are those that are only said to be there. `debug_s`: how long a failed container is kept
    where its job asks for it.
    """

    home: Path
    socket: Path
    listen: str | None = None
    token: str | None = field(default=None, repr=False)
    allowed_folders: tuple[Path, ...] = ()
    source_folders: tuple[Path, ...] = ()
    cpus: int | None = None
    memory_mb: int | None = None
    host_ip: str | None = None
    port_range: tuple[int, int] = (20000, 29999)
    grace_s: float = 10.0
    pids_limit: int = 4096
    clusters: Path = Path("clusters.json")
    storages: Path = Path("storages.json")
    gpus: tuple[Gpu, ...] = ()
    log_quota_mb: int = 1024
    keep_days: int | None = None
    keep_mb: int | None = None
    cache_mb: int = 51_200
    min_free_mb: int = 2048
    debug_s: float = 86400.0

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read RUNNER_*; raises RunnerError naming the variable that is wrong."""
        home = Path(environ.get("RUNNER_HOME", "~/.paishare/runner")).expanduser().resolve()
        listen, token = environ.get("RUNNER_LISTEN") or None, environ.get("RUNNER_TOKEN") or None
        if listen and not token:
            raise RunnerError("RUNNER_LISTEN opens a TCP port, so RUNNER_TOKEN must be set too.")
        allowed = _folders(environ, "RUNNER_ALLOWED_FOLDERS")
        sources = _folders(environ, "RUNNER_SOURCE_FOLDERS")
        _check_apart(allowed, (home, *sources))
        return cls(
            home=home,
            socket=Path(environ.get("RUNNER_SOCKET", home / "runner.sock")),
            listen=listen,
            token=token,
            allowed_folders=allowed,
            source_folders=sources,
            cpus=_number(environ, "RUNNER_CPUS"),
            memory_mb=_number(environ, "RUNNER_MEMORY_MB"),
            host_ip=environ.get("RUNNER_HOST_IP") or None,
            port_range=_port_range(environ),
            grace_s=float(_number(environ, "RUNNER_GRACE_S") or 10),
            pids_limit=_number(environ, "RUNNER_PIDS_LIMIT") or 4096,
            gpus=_gpus(environ),
            clusters=Path(environ.get("RUNNER_CLUSTERS", home / "clusters.json")),
            storages=Path(environ.get("RUNNER_STORAGES", home / "storages.json")),
            log_quota_mb=_number(environ, "RUNNER_LOG_QUOTA_MB") or 1024,
            keep_days=_number(environ, "RUNNER_KEEP_DAYS"),
            keep_mb=_number(environ, "RUNNER_KEEP_MB"),
            cache_mb=_number(environ, "RUNNER_CACHE_MB") or 51_200,
            min_free_mb=_number(environ, "RUNNER_MIN_FREE_MB") or 2048,
            debug_s=3600.0 * (_number(environ, "RUNNER_DEBUG_HOURS") or 24),
        )

    def runner_id(self) -> str:
        """This runner's own name on its containers; made at the first start and kept."""
        path = self.home / "id"
        if not path.exists():
            self.home.mkdir(parents=True, exist_ok=True)
            path.write_text(uuid.uuid4().hex[:12])
        return path.read_text().strip()


def _folders(environ: Mapping[str, str], name: str) -> tuple[Path, ...]:
    return tuple(Path(folder) for folder in environ.get(name, "").split(":") if folder)


def _check_apart(allowed: tuple[Path, ...], own: tuple[Path, ...]) -> None:
    """Jobs write to allowed folders, so none may hold what others rely on."""
    for folder in (each.resolve() for each in allowed):
        for kept in (each.resolve() for each in own):
            if kept.is_relative_to(folder) or folder.is_relative_to(kept):
                raise RunnerError(f"RUNNER_ALLOWED_FOLDERS names {folder}, which jobs could write "
                                  f"to, but {kept} must stay out of their reach. Name others.")


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise RunnerError(f"{name} must be a whole number of at least 1, not {text!r}.")
    return int(text)


def _port_range(environ: Mapping[str, str]) -> tuple[int, int]:
    text = environ.get("RUNNER_PORTS", "20000-29999")
    first, dash, last = text.partition("-")
    is_range = dash and first.isdigit() and last.isdigit()
    if not (is_range and 1024 <= int(first) <= int(last) <= 65535):
        raise RunnerError(f"RUNNER_PORTS must look like 20000-29999, not {text!r}.")
    return int(first), int(last)


def _gpus(environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    """RUNNER_GPUS=MODEL:COUNT or MODEL:COUNT:MB, several separated by commas."""
    gpus: list[Gpu] = []
    for kind in filter(None, environ.get("RUNNER_GPUS", "").split(",")):
        model, count, memory = [*map(str.strip, kind.split(":")), "", ""][:3]
        is_good = model and count.isdigit() and int(count) <= 64 and (memory or "0").isdigit()
        if not is_good or kind.count(":") > 2:
            raise RunnerError("RUNNER_GPUS must look like A100:4 or A100:4:81920,V100:1 (model, "
                              f"number, MB of memory), not {kind!r}.")
        gpus += [Gpu(index=len(gpus) + number, uuid=f"{DECLARED}{len(gpus) + number}", model=model,
                     memory_mb=int(memory or 0)) for number in range(int(count))]
    return tuple(gpus)
