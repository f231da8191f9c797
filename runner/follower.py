"""Keeps what one container writes until it has ended, and tells how it did."""
from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from runner.container import Container
from runner.docker_driver import DockerDriver
from runner.docker_frames import Piece
from runner.ending import Endings
from runner.engine import Exit, Listener, Slot
from runner.errors import EngineError
from runner.metrics import Sampler, Watched
from runner.task_log import LogQuota, TaskLog

log = logging.getLogger(__name__)

ENGINE_RETRY_S = 2.0


@dataclass(kw_only=True)
class Follower:
    """Works in a thread of its own from `begin` on; `name` is the container's.

    `lives` is the engine's from before the container was attached to or found.
    """

    driver: DockerDriver
    endings: Endings
    lives: int
    sampler: Sampler
    slot: Slot
    name: str
    log_path: Path
    metrics_path: Path
    quota: LogQuota
    watched: Watched
    listener: Listener
    _is_stopped: bool = False
    _exit: Exit | None = None
    _error: Exception | None = None
    _let_go: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, stream: Iterator[Piece] | None) -> None:
        """Follow; `stream` is the attached output, None where Docker's own log is to be read."""
        self.sampler.watch(self.metrics_path, self.watched)
        threading.Thread(target=self._run, args=(stream,), name=self.name, daemon=True).start()

    def tell(self, listener: Listener) -> bool:
        """Tell this one from now on, also of an end in the past; False where following failed."""
        with self._lock:
            if self._error is None:
                self.listener = listener
                if self._exit:
                    listener.ended(self.slot, self._exit)
        return self._error is None

    def let_go(self) -> None:
        """Tell nobody anything any more, and leave the log to who comes next."""
        with self._lock:
            self._let_go.set()

    def stop(self, grace_s: float) -> None:
        """End the container, however long Docker is away; returns without waiting."""
        with self._lock:
            was_stopped, self._is_stopped = self._is_stopped, True
        if not was_stopped:
            threading.Thread(target=self._stop, args=(grace_s,), daemon=True).start()

    def _stop(self, grace_s: float) -> None:
        while self._exit is None:
            try:
                self.driver.stop(self.name, grace_s)
                return
            except EngineError as error:
                log.warning("stopping %s: %s", self.name, error)
                if self._let_go.wait(ENGINE_RETRY_S):
                    return

    def _run(self, stream: Iterator[Piece] | None) -> None:
        try:
            how = self._follow(stream)
        except Exception as error:
            log.exception("following %s failed", self.name)
            with self._lock:
                self._error = error
                self.listener.failed(self.slot, error)
        else:
            with self._lock:
                self._exit = how
                if how:
                    self.listener.log_grew()
                    self.listener.ended(self.slot, how)
        finally:
            self.sampler.forget(self.metrics_path)

    def _follow(self, stream: Iterator[Piece] | None) -> Exit | None:
        """None where it was let go before the container had ended."""
        task_log, how = TaskLog(self.log_path, self.quota), None
        try:
            how = self._keep_output(task_log, stream)
        finally:
            task_log.close(is_complete=how is not None)
        return how

    def _keep_output(self, task_log: TaskLog, stream: Iterator[Piece] | None) -> Exit | None:
        """Append to the log until the container has ended.

        Where `stream` broke off, Docker's own log is read instead. That can end early while the
        container is ending, so it is read until it has nothing new.
        """
        driver = self.driver
        while not self._let_go.is_set():
            is_new = False
            try:
                for piece in stream or driver.log(self.name, task_log.resume_at()):
                    with self._lock:
                        if self._let_go.is_set():
                            return None
                        task_log.append(*piece)
                    self.listener.log_grew()
                    is_new = True
                found = driver.find(self.name)
                if found and found.status == "running":
                    driver.wait(self.name, ENGINE_RETRY_S)
                    found = driver.find(self.name)
                is_whole = not is_new if stream is None else driver.lives() == self.lives
                if found is None:
                    return Exit(code=None)
                if found.status in ("exited", "dead") and is_whole:
                    return self._exit_of(found)
            except EngineError as error:
                log.warning("following %s: %s", self.name, error)
                self._let_go.wait(ENGINE_RETRY_S)
            stream = None
        return None

    def _exit_of(self, found: Container) -> Exit:
        is_own = found.oom_killed or self._is_stopped
        return Exit(code=found.exit_code, oom_killed=found.oom_killed, interruption=(
            "" if is_own else self.endings.interruption(found, self.lives)))
