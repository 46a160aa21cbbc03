"""Output of an agent: drained, so that the agent never blocks on us, and kept up to a cap.

It is hostile text. It is shown to people only after every character that could move a cursor, hide, or reorder what
stands beside it has been escaped, and no program of ours ever reads it.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Protocol

CHUNK = 1 << 16
CUT = "\n[cut: the agent printed more than is kept]\n"


def printable(data: bytes) -> str:
    """Return bytes as text of printable characters and newlines; whatever else is in there is escaped."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(char if char == "\n" or char.isprintable() else ascii(char)[1:-1] for char in text)


class ReadableStream(Protocol):
    """Byte stream that can be read to its end."""

    def read(self, size: int, /) -> bytes | None:
        """Read some of it, waiting for it; empty at the end."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class CappedOutput:
    """Reads a source to its end in a thread of its own, and keeps the first `cap` bytes.

    Args:
        source: what is read; it is closed at its end.
        cap: how much is kept.
        ended: set once nothing more can come.
    """

    def __init__(self, source: ReadableStream, cap: int, ended: threading.Event | None = None) -> None:
        self._source, self._cap = source, cap
        self._ended = ended or threading.Event()
        self._kept = bytearray()
        self._cut = False
        self._thread = threading.Thread(target=self._drain, name="agent-output", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return what came so far."""
        return printable(bytes(self._kept)) + (CUT if self._cut else "")

    def close(self) -> None:
        """Wait for its end: whoever printed is gone by now."""
        self._thread.join(5)

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError), contextlib.closing(self._source):
            while data := self._source.read(CHUNK):
                room = self._cap - len(self._kept)
                self._kept += data[:room]
                self._cut = self._cut or len(data) > room
        self._ended.set()
