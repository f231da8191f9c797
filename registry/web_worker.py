"""gunicorn's settings: the web process begins warm, and closes at once what browsers keep open."""
from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from registry import memory

# What is read and made once for all of these waits for no reader: index, templates, translations.
FIRST = ("/?q=a", "/api/v3/complete?q=a")
LANGUAGES = ("en", "zh")


def post_worker_init(worker: Any) -> None:
    """gunicorn calls this when a worker has loaded the application."""
    warm(worker.wsgi)
    memory.settle()
    before: Any = signal.getsignal(signal.SIGTERM)
    end_sockets = worker.wsgi.extensions["paishare"].sockets.end

    def end(number: int, frame: FrameType | None) -> None:
        # In a thread: this interrupts whatever runs, which may hold the locks that are needed.
        threading.Thread(target=end_sockets).start()
        before(number, frame)

    signal.signal(signal.SIGTERM, end)


def warm(app: Any) -> None:
    """Ask for the pages that are asked for most; where one cannot be had, leave it at that."""
    client = app.test_client()
    for language in LANGUAGES:
        for path in FIRST:
            if client.get(path, headers={"Accept-Language": language}).status_code != 200:
                return
