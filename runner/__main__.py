"""`python -m runner`: serve the API and work on jobs until told to end."""
from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
import sys
from types import FrameType

import waitress

from runner import image_builder
from runner.app import create_app
from runner.config import Settings
from runner.devices import describe
from runner.docker_driver import DockerDriver
from runner.errors import RunnerError
from runner.housekeeping import Housekeeper
from runner.job_store import JobStore
from runner.local_engine import LocalEngine
from runner.node_agent import NodeAgent
from runner.ports import overlap_here
from runner.staging import Stager
from runner.storages import StoragesFile
from runner.worker import Worker

log = logging.getLogger("runner")

THREADS = 96  # each reader that waits for log lines holds one, and each terminal


def main(argv: list[str]) -> int:
    """Returns the exit code: 0 after a clean end, 1 with one line that says what is wrong."""
    if argv[:1] == ["build-image"]:
        return image_builder.main(argv[1:])
    logging.basicConfig(level=logging.INFO, stream=sys.stderr,
                        format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        return serve(Settings.from_environ(os.environ))
    except RunnerError as error:
        print(f"runner: {error.message}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(f"runner: The disk of the runner is full ({error.filename or error.strerror}). Make "
              "room there, then start it again; running containers go on.", file=sys.stderr)
        return 1


def serve(settings: Settings) -> int:
    settings.home.mkdir(parents=True, exist_ok=True)
    settings.home.chmod(0o700)
    lock = _lock(settings)
    machine = describe(cpus=settings.cpus, memory_mb=settings.memory_mb, host_ip=settings.host_ip,
                       declared=settings.gpus)
    if settings.gpus and machine.gpus != settings.gpus:
        raise RunnerError("RUNNER_GPUS declares GPUs, but this machine has real ones. Unset it.")
    driver = DockerDriver(settings.runner_id())
    for warning in filter(None, [overlap_here(*settings.port_range), *driver.advice()]):
        log.warning(warning)
    store = JobStore(settings.home / "runner.db")
    stager = Stager(
        settings.home / "cache", settings.home / "storage", settings.allowed_folders,
        source_folders=settings.source_folders, storages=StoragesFile(
            settings.storages, [settings.home, *settings.source_folders]))
    agent = NodeAgent(settings, driver, stager, machine,
                      Housekeeper(settings, store, driver, stager))
    worker = Worker(settings, store, LocalEngine(agent), stager)

    def end(_number: int, _frame: FrameType | None) -> None:
        worker.close()
        raise SystemExit(0)

    log.info("this machine offers %s CPUs, %s MB of memory, %s GPUs", machine.cpus,
             machine.memory_mb, len(machine.gpus))
    worker.start()
    app = create_app(worker, settings.token)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        if settings.listen:
            waitress.serve(app, listen=settings.listen, threads=THREADS, _quiet=True)
        else:
            settings.socket.unlink(missing_ok=True)
            waitress.serve(app, unix_socket=str(settings.socket), unix_socket_perms="600",
                           threads=THREADS, _quiet=True)
    finally:
        log.info("ended; running containers go on and are adopted at the next start")
        lock.close()
    return 0


def _lock(settings: Settings):  # type: ignore[no-untyped-def]
    """Two runners on one home would run every job twice; the second one ends here."""
    lock = open(settings.home / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunnerError(f"Another runner works on {settings.home}. Stop it first, or set "
                          "RUNNER_HOME to another folder.") from error
    return lock


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
