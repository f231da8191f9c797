"""Shells in containers, each on a terminal of its own: opened, typed into, hung up."""
from __future__ import annotations

import logging
import secrets
import select
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests

from runner.docker_driver import DockerDriver
from runner.errors import EngineError, NoShellError
from runner.sentence import Sentence

log = logging.getLogger(__name__)

MARK = "PAISHARE_TERMINAL"  # the variable that tells what belongs to which terminal
SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash -i; fi; exec sh -i")
ENVIRONMENT = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
# Docker has no way to end what it ran beside a container's own, so a shell does, with nothing but
# its built-in words: whoever is in the session of a shell of ours, one whose parent is outside,
# hears that the line is cut, and is killed a second later. What was put into a session of its
# own, as by setsid or tmux, was meant to stay.
HANG_UP = ("/bin/sh", "-c", r"""
sessions=' '
for stat in /proc/[0-9]*/stat; do
  read -r line < "$stat" || continue
  pid=${line%% *}; set -- ${line##*) }
  [ "$2 $4" = "0 $pid" ] || continue
  while IFS= read -r text || [ -n "$text" ]; do
    case $text in *"PAISHARE_TERMINAL=$WANTED"*) sessions="$sessions$pid "; break;; esac
    text=
  done < "/proc/$pid/environ"
done
all() {
  found=
  for stat in /proc/[0-9]*/stat; do
    read -r line < "$stat" || continue
    pid=${line%% *}; set -- "$1" ${line##*) }
    case $sessions in *" $5 "*) kill "$1" "$pid" && found=yes;; esac
  done
  [ "$found" ]
}
all -HUP && all -CONT && for try in 1 2 3 4 5; do sleep 0.2 || sleep 1; all -0 || exit; done
all -KILL
""")
READ_BYTES = 1 << 16
KEPT_BYTES = 1 << 20  # read ahead of whoever looks; then the program waits
PIECE_BYTES = 4096  # what a connection takes at once where it takes anything
START_S = 10.0
LOOK_S = 0.02


class DockerConsole:
    """Fulfils `engine.Console`: a program that Docker runs beside a container's own."""

    def __init__(self, driver: DockerDriver, container: str) -> None:
        self._driver, self._container = driver, container
        self._name = secrets.token_hex(8)
        self._id, response = driver.open_terminal(
            container, SHELL, {**ENVIRONMENT, MARK: self._name})
        self._response: requests.Response = response
        self._news = threading.Condition()
        self._written = bytearray()
        self._is_cut = self._is_closed = False
        threading.Thread(target=self._follow, name="terminal", daemon=True).start()

    @property
    def is_ended(self) -> bool:
        with self._news:
            return self._is_cut and not self._written

    def wait_for_start(self) -> None:
        """Raises NoShellError where the container has none, EngineError where none starts."""
        give_up_s = time.monotonic() + START_S
        while time.monotonic() < give_up_s:
            has_started, code = self._driver.terminal_state(self._id)
            if has_started:
                return
            if code is not None:
                raise NoShellError(Sentence(
                    "There is no shell in this image, so there is nothing to type into. The log "
                    "of the task shows what it does."))
            time.sleep(LOOK_S)
        raise EngineError(Sentence("Docker did not start a shell in the container."))

    def read(self, wait_s: float) -> bytes:
        with self._news:
            self._news.wait_for(lambda: self._written or self._is_cut, wait_s)
            found = bytes(self._written[:READ_BYTES])
            del self._written[:READ_BYTES]
            self._news.notify_all()
        return found

    def write(self, data: bytes, wait_s: float) -> int:
        taken, give_up_s = 0, time.monotonic() + wait_s
        watch = select.poll()
        try:
            connection = self._connection()
            watch.register(connection, select.POLLOUT)
            while taken < len(data) and not self._is_cut:
                if not watch.poll(max(0.0, give_up_s - time.monotonic()) * 1000):
                    break
                taken += connection.send(data[taken:taken + PIECE_BYTES])
        except (OSError, ValueError):  # it was cut just now, which whoever reads is told
            return len(data)
        return taken

    def resize(self, columns: int, rows: int) -> None:
        try:
            self._driver.resize_terminal(self._id, columns, rows)
        except EngineError as error:
            if error.is_platform and not self._is_cut:
                raise

    def close(self) -> None:
        with self._news:
            was_closed, self._is_closed = self._is_closed, True
            self._written.clear()
            self._news.notify_all()
        if was_closed:
            return
        try:
            if not self._is_cut:
                hang_up(self._driver, self._container, self._name)
        finally:
            with suppress(OSError):
                self._connection().shutdown(socket.SHUT_RDWR)
            self._response.close()

    def _connection(self) -> socket.socket:
        return _buffered(self._response).raw._sock

    def _follow(self) -> None:
        """Read for as long as there is room; ends with the program."""
        source = _buffered(self._response)
        try:
            while data := source.read1(READ_BYTES):
                with self._news:
                    self._written += b"" if self._is_closed else data
                    self._news.notify_all()
                    self._news.wait_for(
                        lambda: len(self._written) < KEPT_BYTES or self._is_closed)
        except (OSError, ValueError):  # it was closed here, or Docker is away
            pass
        with self._news:
            self._is_cut = True
            self._news.notify_all()


class Consoles:
    """The shells of one machine; a file for each container with one tells an engine to come."""

    def __init__(self, driver: DockerDriver, folder: Path) -> None:
        self._driver, self._folder = driver, folder

    def open(self, container: str, columns: int, rows: int) -> DockerConsole:
        """Raises EngineError, or NoShellError where the container has none."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / container).touch()
        made = DockerConsole(self._driver, container)
        try:
            made.wait_for_start()
            made.resize(columns, rows)
        except BaseException:
            made.close()
            raise
        return made

    def end_left(self, container: str) -> None:
        """End what an engine before this one left in a container."""
        note = self._folder / container
        if not note.exists():
            return
        try:
            hang_up(self._driver, container)
        except EngineError as error:
            log.warning("shells may be left in container %s: %s", container[:12], error)
        note.unlink(missing_ok=True)

    def forget(self, container: str) -> None:
        """The container is gone, and all in it."""
        (self._folder / container).unlink(missing_ok=True)


def hang_up(driver: DockerDriver, container: str, name: str = "") -> None:
    """End a shell of ours and what is on its terminal; without a name, all of them."""
    driver.run(container, HANG_UP, {"WANTED": name})


def _buffered(response: requests.Response) -> Any:
    """What the connection is read through: it may hold what came with the answer's head."""
    raw: Any = response.raw
    return raw._fp.fp
