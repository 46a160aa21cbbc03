"""Messages between a gateway, the model process and the runner: a length, then one JSON object.

    gateway -> model process   {"id", "wire", "request"}    {"id", "cancel": true}
    model process -> gateway   {"id", "status", "stream"}   {"id", "data": text}   {"id", "end": true}
    model process -> runner    see `sandbox.model_gateway.log_protocol`

Either side may be lied to, so every reader caps what it holds; a message is strict JSON, and
what its fields must be is checked where they are used (`fits`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.strict_json import strict_object
from vault.errors import Malformed as NotStrict

LENGTH = struct.Struct(">I")
MAX_MESSAGE = 64 * 1024 * 1024  # an answer at its cap, all of it escaped twice
MAX_VALUES = 1 << 20  # in a message
CHUNK = 64 * 1024


def pack(message: Mapping[str, Any]) -> bytes:
    """Write one message.

    Raises:
        Malformed: it is longer than any reader takes.
    """
    data = json.dumps(message).encode()
    if len(data) > MAX_MESSAGE:
        raise Malformed(f"a message has at most {MAX_MESSAGE} bytes, not {len(data)}")
    return LENGTH.pack(len(data)) + data


class LinkReader:
    """Cuts a byte stream into messages; holds at most one that has not come in whole."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Take the next bytes and give the messages that are complete.

        Raises:
            Malformed: a message is too long, or no JSON object.
        """
        self._buffer += data
        while len(self._buffer) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._buffer)
            if length > MAX_MESSAGE:
                raise Malformed(f"a message announces {length} bytes; {MAX_MESSAGE} are allowed")
            end = LENGTH.size + length
            if len(self._buffer) < end:
                return
            message = _read(bytes(self._buffer[LENGTH.size : end]))
            del self._buffer[:end]
            yield message


def fits(message: Mapping[str, Any], form: Mapping[str, type]) -> bool:
    """Say whether a message has exactly the fields of a form, each of its very type."""
    return message.keys() == form.keys() and all(type(message[name]) is kind for name, kind in form.items())


def _read(data: bytes) -> dict[str, Any]:
    try:
        return strict_object(data, "a message", max_size=MAX_MESSAGE, max_values=MAX_VALUES)
    except NotStrict as error:
        raise Malformed(str(error)) from None
