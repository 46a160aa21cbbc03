"""Message format between the runner and its readers and judges: a short JSON header, followed by byte strings.

    length of the header, 4 bytes, big endian | header: {..., "sizes": [length of each part]} | the parts

On the way to a child the whole message's length comes first, in 8 bytes. A child trusts the request, which its runner
wrote. The runner trusts nothing of a reply: `reply` checks the shape of its header and that its parts are as long as
the header says, and gives them on unread.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from sandbox.errors import Malformed
from vault.canonical import parse_object
from vault.errors import Malformed as NotStrict

LENGTH = struct.Struct(">I")
WHOLE = struct.Struct(">Q")
MAX_HEADER = 16 * 1024
MAX_SENTENCE = 1000
"""Characters of what a reply says in words."""

OUTCOMES = ("done", "unreadable", "refused", "memory")
"""How an operation ended: it gave its part; the state is no state; what was asked does not fit the state; or its
process had too little memory."""


def pack(header: Mapping[str, Any], *parts: bytes) -> bytes:
    """Write a message."""
    head = json.dumps({**header, "sizes": [len(part) for part in parts]}).encode()
    return b"".join([LENGTH.pack(len(head)), head, *parts])


def framed(request: bytes) -> bytes:
    """Put its length before a request, as a child reads it."""
    return WHOLE.pack(len(request)) + request


def unpack(data: bytes) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Take a request of our own apart."""
    (length,) = LENGTH.unpack_from(data)
    at = LENGTH.size + length
    header = json.loads(data[LENGTH.size : at])
    parts = []
    for size in header.pop("sizes"):
        parts.append(data[at : at + size])
        at += size
    return header, parts


def unframed(data: bytes, most: int = sys.maxsize) -> list[bytes]:
    """Take byte strings apart that were each `framed` and joined.

    Raises:
        Malformed: one is cut off, or there are more than `most`.
    """
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        start = at + WHOLE.size
        at = start + WHOLE.unpack_from(data, at)[0] if start <= len(data) else start
        if at > len(data) or len(parts) == most:
            raise Malformed("a part of a reply is cut off, or holds more than it may")
        parts.append(data[start:at])
    return parts


def answer(outcome: str, says: str = "", part: bytes = b"", *more: bytes) -> bytes:
    """Write a reply."""
    return pack({"outcome": outcome, "says": says[:MAX_SENTENCE]}, part, *more)


def reply(data: bytes) -> tuple[str, str, list[bytes]]:
    """Take a reply apart: how it ended, what it says, and its parts.

    Raises:
        Malformed: it is not as `answer` writes it.
    """
    if len(data) < LENGTH.size:
        raise Malformed("a reply was cut off before its header")
    (length,) = LENGTH.unpack_from(data)
    end = LENGTH.size + length
    if length > MAX_HEADER or len(data) < end:
        raise Malformed("a reply's header is cut off, or longer than the cap")
    try:
        header = parse_object(data[LENGTH.size : end], "a reply's header", max_size=MAX_HEADER)
    except NotStrict as error:
        raise Malformed(str(error)) from None
    outcome, says, sizes = header.get("outcome"), header.get("says"), header.get("sizes")
    if header.keys() != {"outcome", "says", "sizes"} or outcome not in OUTCOMES or not isinstance(says, str):
        raise Malformed("a reply's header has no known form")
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 0 for size in sizes):
        raise Malformed("a reply's header has no known form")
    if end + sum(sizes) != len(data) or len(says) > MAX_SENTENCE:
        raise Malformed("a reply is not as long as it says")
    return outcome, says, [data[start:stop] for start, stop in pairwise(accumulate(sizes, initial=end))]
