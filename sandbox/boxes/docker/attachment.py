"""A container's standard streams as one plain byte stream.

An engine's attachment carries the container's output in chunks with headers of 8 bytes (`stream, 0, 0, 0, length`, from
the Docker Engine API, "Attach to a container"); its input goes in as it is.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import Any

STDOUT = 1


class Attachment:
    """One attachment (`sandbox.world.channel.Stream`).

    Args:
        file: what the SDK gives for the upgraded connection: a socket, or a raw file over one.
        only: the one output stream that is wanted, or None for both as they come.
    """

    HEADER = struct.Struct(">BxxxI")

    def __init__(self, file: Any, only: int | None) -> None:
        self._file = file
        self._socket: socket.socket = getattr(self._file, "_sock", self._file)
        self._only = only
        self._buffer = bytearray()

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def recv(self, size: int) -> bytes:
        """Read what is there.

        Raises:
            BlockingIOError: what came was less than one of the engine's chunks, or of a stream that is not wanted.
        """
        data = self._socket.recv(size)
        if not data:
            return b""
        self._buffer += data
        wanted = b"".join(self._chunks())
        if not wanted:
            raise BlockingIOError
        return wanted

    def read(self, size: int) -> bytes:
        """Read some of it, waiting for it; empty at the end."""
        while True:
            with contextlib.suppress(BlockingIOError):
                return self.recv(size)

    def send(self, data: bytes) -> int:
        """Write some of it to the container's standard input."""
        return self._socket.send(data)

    def settimeout(self, seconds: float | None) -> None:
        """Bound the next reads."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Detach; a container whose standard input this was sees its end."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for end in (self._file, self._socket):
            with contextlib.suppress(OSError):
                end.close()

    def _chunks(self) -> Iterator[bytes]:
        while len(self._buffer) >= self.HEADER.size:
            stream, length = self.HEADER.unpack_from(self._buffer)
            end = self.HEADER.size + length
            if len(self._buffer) < end:
                return
            if self._only in (None, stream):
                yield bytes(self._buffer[self.HEADER.size : end])
            del self._buffer[:end]
