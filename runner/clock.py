"""How long something lasts, whatever the machine's clock is set to in the meantime."""
from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")


def mark() -> str:
    """This moment, for `seconds`, by a clock that nobody sets and that a reboot ends."""
    return f"{BOOT.read_text().strip()} {time.clock_gettime(time.CLOCK_BOOTTIME):.3f}"


def seconds(begin: str | None, end: str | None, *, written: tuple[str | None, str | None],
            ) -> float | None:
    """From one mark to another; None where something has not begun or ended.

    `written` are the same moments in UTC, which count where there was a reboot between the marks,
    or none was kept.
    """
    if begin and end and begin.split()[0] == end.split()[0]:
        return round(float(end.split()[1]) - float(begin.split()[1]), 3)
    if not (written[0] and written[1]):
        return None
    first, last = map(datetime.fromisoformat, (written[0], written[1]))
    return max(0.0, round((last - first).total_seconds(), 3))
