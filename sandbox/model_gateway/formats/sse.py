"""Server-sent events (WHATWG HTML, "Server-sent events"): parsed from an upstream with caps, and written anew.

What is written is one line of ASCII JSON an event, under a name of ours: no byte of an upstream's stream can end a
line, begin a header or start another event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.errors import Malformed

MAX_LINE = 4 * 1024 * 1024
_END = re.compile(rb"\r\n|\n|\r")


@dataclass
class Parser:
    """Cuts a byte stream into events; holds at most one that has not come in whole.

    A line that is still open after MAX_LINE bytes, and an event of more than that, is no event of any model.
    """

    _buffer: bytearray = field(default_factory=bytearray)
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take the next bytes and give the data of each event that is complete.

        Raises:
            Malformed: a line or an event is beyond the cap, or no UTF-8 field at all.
        """
        self._buffer += chunk
        while end := _END.search(self._buffer):
            if end.group() == b"\r" and end.end() == len(self._buffer):
                break  # the other half of \r\n may follow
            line = bytes(self._buffer[: end.start()])
            del self._buffer[: end.end()]
            if line:
                self._take(line)
            elif self._data:
                yield b"\n".join(self._data)
                self._data, self._size = [], 0
        if len(self._buffer) > MAX_LINE:
            raise Malformed(f"the upstream sent a line of more than {MAX_LINE} bytes")

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name != b"data":
            return  # `event` is said again inside the data; `id`, `retry` and comments are nobody's business
        self._size += len(value)
        if self._size > MAX_LINE:
            raise Malformed(f"the upstream sent an event of more than {MAX_LINE} bytes")
        self._data.append(value.removeprefix(b" "))


def event(document: Mapping[str, Any], name: str | None = None) -> str:
    """Write one event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(document)}\n\n"


DONE = "data: [DONE]\n\n"
