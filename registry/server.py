"""One whole server: its lock, its port, and the processes web, sync, github and runner."""
from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import time
from dataclasses import dataclass
from typing import Callable, Iterator, Mapping

from registry import home, lock
from registry.api_client import ApiClient, ServerUnreachableError
from registry.config import PACKAGE, Settings
from registry.errors import RegistryError
from registry.supervisor import Program, Supervisor, last_words

BACKLOG = 256
WEB_THREADS = 280  # each page that changes by itself holds one, and each terminal
READY_S = 60.0
HOPELESS = 3  # deaths in a row, within about four seconds
POLL_S = 0.1
SECRETS = frozenset({"PAISHARE_SEALING_KEY", "PAISHARE_DATABASE_URL"})
SYNC = ("import os; from registry import config, sync; "
        "sync.main(config.Settings.from_environ(os.environ))")
GITHUB = ("import os; from registry import config, github_worker; "
          "github_worker.main(config.Settings.from_environ(os.environ))")


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server whose processes are started; `password` is admin's at the first start, else None.

    `failures` says how often a process died in a row.
    """

    settings: Settings
    url: str
    password: str | None
    failures: Callable[[str], int]

    def wait_for_web(self) -> None:
        """Until pages are served; raises ServerUnreachableError where that does not come."""
        self._wait("web", lambda health: True)

    def wait_for_runner(self) -> None:
        """Until jobs can run; raises ServerUnreachableError where that does not come."""
        self._wait("runner", lambda health: bool(health["runner"]))

    def check(self, name: str) -> None:
        """Raises ServerUnreachableError where a process dies at every start: do not wait for it."""
        if self.failures(name) >= HOPELESS:
            raise self._unreachable(name, "dies at every start")

    def _wait(self, name: str, is_ready: Callable[[Mapping[str, object]], bool]) -> None:
        client = ApiClient(self.url, timeout_s=5)
        give_up_at = time.monotonic() + READY_S
        while time.monotonic() < give_up_at:
            with contextlib.suppress(ServerUnreachableError):
                if is_ready(client.get("health")):
                    return
            self.check(name)
            time.sleep(POLL_S)
        raise self._unreachable(name, f"is not ready after {READY_S:.0f} s")

    def _unreachable(self, name: str, what: str) -> ServerUnreachableError:
        log = self.settings.home / "logs" / f"{name}.log"
        words = last_words(log)
        where = f"Its last words, in {log}: {words}" if words else \
            f"It is looked for at {self.settings.runner_url}." if name == "runner" else \
            f"It said nothing in {log}."
        return ServerUnreachableError(f"The {name} process {what}. {where}")


@contextlib.contextmanager
def running(settings: Settings, *, say: Callable[[str], None]) -> Iterator[Server]:
    """A server from its first process to its last; containers outlive it.

    Raises ConflictError where one runs already, RegistryError where the port is taken or the home
    cannot be written.
    """
    url = address(settings)
    home.make(settings.home)
    with lock.held(settings, url) as held, listening(settings) as listener:
        password = home.prepare(settings)
        with Supervisor(programs(settings, listener.fileno(), held.fd), say=say) as supervisor:
            yield Server(settings=settings, url=url, password=password,
                         failures=supervisor.failures)


def address(settings: Settings) -> str:
    """The URL to open on this machine."""
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The web's socket. It stays open while the web process is replaced, so nobody is refused."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
        except OSError as error:
            is_elsewhere = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
            advice = ("Set HOST to an address of this machine." if is_elsewhere else
                      f"Choose another port, for example PORT={settings.port % 65535 + 1}.")
            raise RegistryError(f"Cannot listen on port {settings.port} of {settings.host}: "
                                f"{error.strerror}. {advice}") from error
        listener.listen(BACKLOG)
        yield listener


def programs(settings: Settings, listener: int, lock_fd: int) -> list[Program]:
    """What to run. A runner named by PAISHARE_RUNNER_URL is somebody else's to start."""
    runner_home = settings.home / "runner"
    runner_socket = runner_home / "runner.sock"
    web = _program(
        settings, "web", "-m", "gunicorn", "--bind", f"fd://{listener}", "--no-control-socket",
        "--worker-class", "gthread", "--workers", "1", "--threads", str(WEB_THREADS),
        "--config", "python:registry.web_worker", "--graceful-timeout", "5",
        "--log-level", "warning", "registry.app:create_app()",
        fds=(lock_fd, listener))
    sync = _program(settings, "sync", "-c", SYNC, fds=(lock_fd,))
    github = _program(settings, "github", "-c", GITHUB, fds=(lock_fd,))
    runner = _program(settings, "runner", "-m", "runner", fds=(lock_fd,), RUNNER_HOME=runner_home,
                      RUNNER_SOCKET=runner_socket, RUNNER_SOURCE_FOLDERS=settings.git_dir)
    is_own_runner = settings.runner_url == f"unix:{runner_socket}"
    return [web, sync, github, runner] if is_own_runner else [web, sync, github]


def _program(settings: Settings, name: str, *arguments: str, fds: tuple[int, ...],
             **environ: object) -> Program:
    """Python with arguments, run where our packages are: it looks for modules there first."""
    shared = {"PYTHONUNBUFFERED": "1", "PAISHARE_HOME": settings.home, "HOST": settings.host,
              "PORT": settings.port}
    return Program(
        name=name, argv=[sys.executable, *arguments], fds=fds, folder=PACKAGE.parent,
        environ={**_inherited(name),
                 **{key: str(value) for key, value in (shared | environ).items()}},
        log=settings.home / "logs" / f"{name}.log")


def _inherited(name: str) -> dict[str, str]:
    """Our environment; the runner, which starts the programs of others, gets no key of ours."""
    hidden = SECRETS if name == "runner" else ()
    return {key: value for key, value in os.environ.items() if key not in hidden}
