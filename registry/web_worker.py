"""gunicorn's settings: at its end the web process closes what browsers keep open, at once."""
from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


def post_worker_init(worker: Any) -> None:
    """gunicorn calls this when a worker has loaded the application."""
    before: Any = signal.getsignal(signal.SIGTERM)
    end_sockets = worker.wsgi.extensions["paishare"].sockets.end

    def end(number: int, frame: FrameType | None) -> None:
        # In a thread: this interrupts whatever runs, which may hold the locks that are needed.
        threading.Thread(target=end_sockets).start()
        before(number, frame)

    signal.signal(signal.SIGTERM, end)
