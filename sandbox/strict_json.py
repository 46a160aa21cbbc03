"""Strict JSON parser for untrusted input, with a bounded cost.

`vault.canonical` refuses what two parsers could read differently. It has to build the value first, and a megabyte of
brackets can become a hundred; so this module first counts the values in the bytes, in one pass that stores nothing.
"""

from __future__ import annotations

import re
from typing import Any

from vault.canonical import parse_object
from vault.errors import Malformed

MAX_NODES = 20_000

# A string, or one that never ends: every quote is passed once, so that no text takes more than linear time.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def nodes(data: bytes) -> int:
    """Count the values of a JSON text, without reading it; never too few for a text that is JSON."""
    bare = _STRING.sub(b"", data)
    return 1 + sum(bare.count(mark) for mark in (b",", b"[", b"{"))


def strict_object(data: bytes, what: str, *, max_size: int) -> dict[str, Any]:
    """Read one JSON object.

    Raises:
        Malformed: it is larger than the caps on bytes or values, no JSON, or not strict.
    """
    if len(data) > max_size:
        raise Malformed(f"{what} has {len(data)} bytes; {max_size} are allowed.")
    if nodes(data) > MAX_NODES:
        raise Malformed(f"{what} holds more than {MAX_NODES} values.")
    return parse_object(data, what, max_size=max_size)
