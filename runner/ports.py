"""Ports of this machine for tasks: found free, and held until the containers have them."""
from __future__ import annotations

import errno
import random
import socket
import threading
from pathlib import Path
from typing import Hashable, Iterable, Iterator

from runner.sentence import Sentence

EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
RESERVED = Path("/proc/sys/net/ipv4/ip_local_reserved_ports")


class Ports:
    """The range for ports of any number, and the sockets that keep others off promised ones."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last
        self._lock = threading.Lock()
        self._held: dict[tuple[Hashable, int], socket.socket] = {}

    def candidates(self) -> Iterator[int]:
        """The ports of the range from a random place on, each once."""
        begin = random.randint(self._first, self._last)
        yield from range(begin, self._last + 1)
        yield from range(self._first, begin)

    def is_free(self, port: int) -> bool:
        """Whether no program of this machine listens there now."""
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                return False
        return True

    def hold(self, owner: Hashable, ports: Iterable[int]) -> bool:
        """Take all of the ports or none; False where a program was quicker.

        Where the runner may open no more files, the rest is promised without being held.
        """
        with self._lock:
            for port in ports:
                held = socket.socket()
                try:
                    held.bind(("", port))
                except OSError as error:
                    held.close()
                    if error.errno in (errno.EMFILE, errno.ENFILE):
                        return True
                    self._let_go(owner, None)
                    return False
                self._held[owner, port] = held
        return True

    def release(self, owner: Hashable, ports: Iterable[int] | None = None) -> None:
        """Let the containers have these ports; None: all of this owner."""
        with self._lock:
            self._let_go(owner, ports)

    def _let_go(self, owner: Hashable, ports: Iterable[int] | None) -> None:
        wanted = None if ports is None else set(ports)
        for key in [key for key in self._held
                    if key[0] == owner and (wanted is None or key[1] in wanted)]:
            self._held.pop(key).close()


def overlap(first: int, last: int, *, ephemeral: str, reserved: str) -> str | None:
    """A warning where the kernel gives ports of the range to any program that asks for one.

    `ephemeral` and `reserved` are what the kernel says: "32768\\t60999", "20000-29999,31000".
    """
    low, high = map(int, ephemeral.split())
    kept = [range(int(begin), int(end or begin) + 1) for begin, _, end in (
        part.partition("-") for part in reserved.strip().split(",") if part)]
    shared = [port for port in range(max(first, low), min(last, high) + 1)
              if not any(port in each for each in kept)]
    if not shared:
        return None
    return Sentence(
        "RUNNER_PORTS {first}-{last} shares {shared} ports with those that the kernel gives to any "
        "program ({low}-{high}). Set net.ipv4.ip_local_reserved_ports to {first}-{last}, or choose "
        "another range.", first=first, last=last, shared=len(shared), low=low, high=high)


def overlap_here(first: int, last: int) -> str | None:
    """`overlap` with this machine's kernel; None also where the kernel does not say."""
    try:
        return overlap(first, last, ephemeral=EPHEMERAL.read_text(), reserved=RESERVED.read_text())
    except (OSError, ValueError):
        return None
