"""Strict JSON parser for untrusted input, with a bounded cost.

`vault.canonical` refuses what two parsers could read differently. It has to build the value first, and a megabyte of
brackets can become a hundred; so this module first counts the values and the levels in the bytes, in one pass that
stores nothing. Nothing depends on how deep an interpreter, or a library's parser, can recurse.
"""

from __future__ import annotations

import re
from typing import Any

from vault.canonical import MAX_DEPTH, parse
from vault.errors import Malformed

MAX_NODES = 20_000

# A string, or one that never ends: every quote is passed once, so that no text takes more than linear time.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = b"[]{}"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS))


def nodes(data: bytes) -> int:
    """Count the values of a JSON text, without reading it; never too few for a text that is JSON."""
    return _count(_STRING.sub(b"", data))


def strict_json(data: bytes, what: str, *, max_size: int, max_values: int = MAX_NODES) -> Any:
    """Read one JSON value.

    Raises:
        Malformed: it is beyond the caps on bytes, values or levels, no JSON, or not strict.
    """
    if len(data) > max_size:
        raise Malformed(f"{what} has {len(data)} bytes; {max_size} are allowed.")
    bare = _STRING.sub(b"", data)
    if _count(bare) > max_values:
        raise Malformed(f"{what} holds more than {max_values} values.")
    if _is_deeper(bare, MAX_DEPTH):
        raise Malformed(f"{what} is nested deeper than {MAX_DEPTH} levels.")
    return parse(data, what, max_size=max_size)


def strict_object(data: bytes, what: str, *, max_size: int, max_values: int = MAX_NODES) -> dict[str, Any]:
    """Read one JSON object; like `strict_json`, and anything but an object is refused."""
    value = strict_json(data, what, max_size=max_size, max_values=max_values)
    if not isinstance(value, dict):
        raise Malformed(f"{what} must be a JSON object at $.")
    return value


def _count(bare: bytes) -> int:
    return 1 + sum(bare.count(mark) for mark in (b",", b"[", b"{"))


def _is_deeper(bare: bytes, levels: int) -> bool:
    """Say whether more brackets are open at a time than `levels`; `bare` has no strings in it."""
    level = 0
    for mark in bare.translate(None, _OTHERS):
        level += 1 if mark in b"[{" else -1
        if level > levels:
            return True
    return False
