"""What every reader and judge does: give everything up, read one request, write one reply, and end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sandbox.confine import Bounds, give_up
from sandbox.judge import message
from sandbox.judge.filter import reading_filter

READER_USER, JUDGE_USER = 65532, 65533
MEMORY = 2 * 1024**3
DESCRIPTORS = 8
CPU_SECONDS = 30
"""More than the runner waits: who counts seconds is the runner alone."""
CHUNK = 1 << 20

Operation: TypeAlias = Callable[[Mapping[str, Any], Sequence[bytes]], bytes]
"""Is given a request's header and parts, and gives the reply."""


def run(user: int, operations: Mapping[str, Operation], descriptors: Sequence[int]) -> None:
    """Carry out the one operation that is asked for, and end the process.

    Args:
        user: whom it runs as, where its fork server is root.
        operations: what may be asked for, by the header's `do`.
        descriptors: an anonymous file that holds the request, and a stream for the reply.
    """
    request, replies = descriptors
    give_up(Bounds(user, MEMORY, DESCRIPTORS, CPU_SECONDS), reading_filter())
    try:
        header, parts = message.unpack(_read(request))
        said = operations[header.pop("do")](header, parts)
    except MemoryError:
        said = message.answer("memory")
    rest = memoryview(said)
    while rest:
        rest = rest[os.write(replies, rest[:CHUNK]) :]
    os._exit(0)


def _read(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, CHUNK):
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)
