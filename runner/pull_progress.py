"""How far the pull of an image is, layer by layer, from what Docker says of it. Pure."""
from __future__ import annotations

import threading
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import Any, Mapping

from runner.sentence import Sentence

WAITING, DOWNLOADING, DOWNLOADED = "waiting", "downloading", "downloaded"
UNPACKING, DONE, WAS_HERE = "unpacking", "done", "here"
_STATES = {
    "Pulling fs layer": WAITING, "Waiting": WAITING, "Downloading": DOWNLOADING,
    "Verifying Checksum": DOWNLOADED, "Download complete": DOWNLOADED, "Extracting": UNPACKING,
    "Pull complete": DONE, "Already exists": WAS_HERE}
_IS_WHOLE = frozenset({DOWNLOADED, UNPACKING, DONE, WAS_HERE})
RATE_OVER_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Bytes as they come over the network; `total` None while it is not known."""

    id: str
    state: str = WAITING
    current: int = 0
    total: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.state in _IS_WHOLE


class PullProgress:
    """One thread takes Docker's lines, others look; all times in seconds of one clock."""

    def __init__(self, now_s: float) -> None:
        self._lock = threading.Lock()
        self._layers: dict[str, Layer] = {}
        self._is_announced = False  # Docker names all layers before the first one moves
        self._changed_s = now_s
        self._samples: deque[tuple[float, int]] = deque([(now_s, 0)])

    def take(self, line: Mapping[str, Any], now_s: float) -> None:
        """One line of Docker's stream; lines that tell of no layer are passed over."""
        state = _STATES.get(line.get("status", ""))
        if state is None or "id" not in line:
            return
        with self._lock:
            before = self._layers.get(line["id"], Layer(id=line["id"]))
            after = _advanced(before, state, line.get("progressDetail") or {})
            self._is_announced |= state not in (WAITING, WAS_HERE)
            if after != before or line["id"] not in self._layers:
                self._layers[line["id"]] = after
                self._changed_s = now_s
                self._sample(now_s)

    def touch(self, now_s: float) -> None:
        """It waits for its turn, which is no standstill."""
        self._changed_s = now_s

    def quiet_s(self, now_s: float) -> float:
        """For how long nothing has changed."""
        return now_s - self._changed_s

    def so_far(self) -> tuple[int, int | None]:
        """Bytes of all layers, and how many there will be; None while nobody knows."""
        with self._lock:
            return self._current(), self._total() if self._is_final() else None

    def in_words(self) -> str:
        """Layers and speed, to follow the name of the image; empty while nothing is known."""
        with self._lock:
            done = sum(layer.is_whole for layer in self._layers.values())
            rate = self._rate()
            if not self._layers:
                return ""
            speed = f", {rate / 1e6:.1f} MB/s" if rate else ""
            return Sentence(": {done} of {count} layers{speed}", done=done,
                            count=len(self._layers), speed=speed)

    def as_json(self) -> dict[str, Any]:
        """`total` is of the layers that are known; `is_total_final`: all are. `rate`: bytes/s."""
        with self._lock:
            return {"current": self._current(), "total": self._total(),
                    "is_total_final": self._is_final(), "rate": self._rate(),
                    "layers": [asdict(layer) for layer in self._layers.values()]}

    def _rate(self) -> int | None:
        (first_s, first), (last_s, last) = self._samples[0], self._samples[-1]
        return round((last - first) / (last_s - first_s)) if last_s > first_s else None

    def _current(self) -> int:
        return sum(layer.current for layer in self._layers.values())

    def _total(self) -> int:
        return sum(layer.total or 0 for layer in self._layers.values())

    def _is_final(self) -> bool:
        return self._is_announced and all(
            layer.total is not None or layer.is_whole for layer in self._layers.values())

    def _sample(self, now_s: float) -> None:
        self._samples.append((now_s, self._current()))
        while self._samples[1][0] <= now_s - RATE_OVER_S:
            self._samples.popleft()


def _advanced(layer: Layer, state: str, detail: Mapping[str, Any]) -> Layer:
    """The numbers of unpacking are others than those of the download, and are not taken."""
    if state == DOWNLOADING and detail.get("total"):
        return replace(layer, state=state, current=detail["current"], total=detail["total"])
    if state in _IS_WHOLE and layer.total is not None:
        return replace(layer, state=state, current=layer.total)
    return replace(layer, state=state)
