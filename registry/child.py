"""Become another program that ends when its parent does: python child.py PARENT_PID ARGV…

Started as a file of its own, because it must import nothing else before it becomes the program.
"""
from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

PR_SET_PDEATHSIG = 1


def main(parent: int, argv: list[str]) -> NoReturn:
    """Ask the kernel for SIGTERM at the parent's death, however it dies, then exec."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit("The parent ended before its child began.")
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
