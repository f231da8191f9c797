"""What ended a container, and ends that Docker has missed."""
from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path

from runner.container import LABEL_NETWORK, Container
from runner.docker_driver import DockerDriver
from runner.engine import LOST, RESTARTED, STOPPED_OUTSIDE
from runner.errors import EngineError

log = logging.getLogger(__name__)

KILLED_CODES = frozenset({128 + signal.SIGTERM, 128 + signal.SIGKILL})
LOST_CODE = 255  # what Docker says of a container whose end it did not see
LOOKS = 2  # Docker may be about to see it by itself


class Endings:
    """One for all containers of this machine."""

    def __init__(self, driver: DockerDriver) -> None:
        self._driver = driver
        self._missed: dict[str, int] = {}
        self._roused: set[str] = set()

    def interruption(self, container: Container, lives: int) -> str:
        """What ended it, if its own processes did not: a person, Docker or a power cut; or empty.

        `lives` is the engine's from before it was started or found. A restart of Docker without
        live-restore ends what runs, with any exit code. One that nobody followed is told by
        Docker's own network, which it makes anew at each start that finds no container alive.
        """
        if container.id in self._roused:
            return LOST if container.exit_code == LOST_CODE else ""
        if self._is_of_restart(container, lives):  # after which Docker ends what is left by a kill
            return RESTARTED
        return STOPPED_OUTSIDE if self._driver.was_killed(container.id) else ""

    def _is_of_restart(self, container: Container, lives: int) -> bool:
        is_other = (container.exit_code in {LOST_CODE, *KILLED_CODES}
                    and container.labels.get(LABEL_NETWORK) != self._driver.own_network())
        if not is_other and self._driver.lives() == lives:
            return False
        keeps_alive = self._driver.info()["LiveRestoreEnabled"]
        return not keeps_alive or (is_other and container.exit_code == LOST_CODE)

    def pid(self, container: str) -> int | None:
        """The first process of a container that runs, asked now and then; else None.

        Where Docker says that it runs and nothing of it is left, Docker is made to see it.
        """
        pid = self._driver.pid(container)
        # The runner may number processes otherwise than Docker, so Docker has the last word.
        if pid is None or Path(f"/proc/{pid}").exists() or self._driver.has_processes(container):
            self._missed.pop(container, None)
            return pid
        looks = self._missed[container] = self._missed.get(container, 0) + 1
        if looks == LOOKS:
            log.warning("Docker has missed the end of container %s", container[:12])
            self._roused.add(container)
            threading.Thread(target=self._rouse, args=(container,), daemon=True).start()
        return None

    def _rouse(self, container: str) -> None:
        """Docker finds nothing to kill and then asks how it ended; that takes 10 seconds."""
        try:
            self._driver.kill(container)
        except EngineError as error:
            self._missed.pop(container, None)
            log.warning("rousing container %s: %s", container[:12], error)
