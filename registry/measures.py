"""Amounts as people read them: memory in MiB and GiB, as the kernel counts it. Pure."""
from __future__ import annotations


def memory(count: int) -> str:
    """Bytes of memory: `64 MiB`, `9.3 GiB`; what is asked for as `memoryMB` is in MiB, too."""
    mib = count / 2**20
    if mib >= 1024:
        return f"{mib / 1024:.1f} GiB"
    return f"{mib:.0f} MiB" if mib >= 10 or not mib else f"{mib:.1f} MiB"
