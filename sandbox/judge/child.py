"""Main function of every reader and judge: drop privileges, read one request, write one reply, and end."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sandbox.isolation.confine import Bounds, give_up
from sandbox.judge import message
from sandbox.judge.filter import reading_filter

READER_USER, JUDGE_USER = 65529, 65528
"""Nobody else's: worlds, relays, agents, gateways and the model process have the others."""
MEMORY = 2 * 1024**3
DESCRIPTORS = 8
CPU_SECONDS = 30
"""More than the runner waits: who counts seconds is the runner alone."""
CHUNK = 1 << 20

Operation: TypeAlias = Callable[[Mapping[str, Any], Sequence[bytes]], bytes]
"""Is given a request's header and parts, and gives the reply."""


FILTER = reading_filter()


def run(user: int, operations: Mapping[str, Operation], descriptors: Sequence[int]) -> None:
    """Carry out the one operation that is asked for, and end the process.

    Args:
        user: whom it runs as, where its fork server is root.
        operations: what may be asked for, by the header's `do`.
        descriptors: a stream, for the request and then for the reply.
    """
    (stream,) = descriptors
    gc.disable()  # a state of small lists would be searched for circles again and again; the process ends with them
    give_up(Bounds(user, MEMORY, DESCRIPTORS, CPU_SECONDS), FILTER)
    try:
        header, parts = message.unpack(_read(stream))
        reply = operations[header.pop("do")](header, parts)
    except MemoryError:
        reply = message.answer("memory")
    rest = memoryview(reply)
    while rest:
        rest = rest[os.write(stream, rest[:CHUNK]) :]
    os.close(stream)  # the runner need not wait until all of this memory is given back
    os._exit(0)


def _read(stream: int) -> bytes:
    """Read one request; without a whole one, nobody waits for a reply."""
    received = bytearray()
    while (
        len(received) < message.WHOLE.size
        or len(received) < message.WHOLE.size + message.WHOLE.unpack_from(received)[0]
    ):
        data = os.read(stream, CHUNK)
        if not data:
            os._exit(0)
        received += data
    return bytes(received[message.WHOLE.size :])
