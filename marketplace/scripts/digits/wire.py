"""Arrays over TCP: each message is its length in 8 bytes, then the arrays as an .npz file.

numpy's own format with allow_pickle=False can only hold numbers. Python's pickle would be shorter,
but whoever sends a pickle can run any code where it is read.
"""
from __future__ import annotations

import io
import socket
import struct
import zipfile
from typing import Mapping

import numpy as np

LENGTH = struct.Struct(">Q")
MAX_BYTES = 64 * 2**20


def send(connection: socket.socket, arrays: Mapping[str, np.ndarray]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    connection.sendall(LENGTH.pack(buffer.tell()) + buffer.getvalue())


def receive(connection: socket.socket) -> dict[str, np.ndarray]:
    """Wait for one message; raises ConnectionError when it is broken or nobody is there."""
    (size,) = LENGTH.unpack(_exactly(connection, LENGTH.size))
    if size > MAX_BYTES:
        raise ConnectionError(f"a message of {size} bytes is longer than {MAX_BYTES}")
    data = io.BytesIO(_exactly(connection, size))
    try:
        with np.load(data, allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise ConnectionError(f"a message that is no .npz file of numbers: {error}") from error


def _exactly(connection: socket.socket, count: int) -> bytes:
    # TCP is a stream: one recv may return a part of a message only.
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(count - len(data), 2**16))
        if not part:
            raise ConnectionError("the other side closed the connection")
        data += part
    return bytes(data)
