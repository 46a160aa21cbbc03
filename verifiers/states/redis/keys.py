"""Normal form of Redis keys, which is their snapshot document.

    {"keys": {"name": {"type": "string", "value": …, "left": milliseconds or null}}, "passed": milliseconds}

The value is a text (`string`), a list of texts (`list`, and `set`, sorted), an object of texts (`hash`, and `zset` with
the scores as Redis prints them), a list of `[id, [[field, value]]]` (`stream`), or null for a type that nobody reads.
`passed`, which older documents lack, is the time from the world's start until they were read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verifiers.errors import CorruptState
from verifiers.predicates.context import Context

_SCORE = re.compile(r"-?(inf|[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?)")
MAX_LEFT = 2**63
"""Milliseconds; no key of Redis has more left."""
_SHAPES: Mapping[str, type] = {"string": str, "list": list, "set": list, "hash": dict, "zset": dict, "stream": list}


@dataclass(frozen=True, slots=True)
class RedisKey:
    """A Redis key: its type, its value, and its remaining time to live in milliseconds, if it has one."""

    type: str
    value: Any = field(repr=False)
    left: int | None


def open_keys(context: Context) -> Mapping[str, RedisKey]:
    """Return the keys of a state, built once for each evaluation.

    Raises:
        CorruptState: it cannot be read.
        StateUnavailable: it was not read out.
    """
    return context.once("redis", lambda: keys_of(context.state("redis").document))


def keys_of(document: Mapping[str, Any]) -> Mapping[str, RedisKey]:
    """Build the keys from a document.

    Raises:
        CorruptState: it tells of none.
    """
    try:
        keys = {
            name: RedisKey(entry["type"], entry["value"], entry["left"]) for name, entry in document["keys"].items()
        }
    except (LookupError, TypeError, AttributeError):
        raise CorruptState("the state was read as something that is no set of keys") from None
    if not all(map(_is_sound, keys.values())):
        raise CorruptState("the state was read as something that is no set of keys")
    return keys


def document_of(keys: Mapping[str, RedisKey]) -> dict[str, Any]:
    """Return the normal form of some keys."""
    return {
        "keys": {
            name: {"type": entry.type, "value": entry.value if entry.type in _SHAPES else None, "left": entry.left}
            for name, entry in keys.items()
        }
    }


def _is_sound(entry: RedisKey) -> bool:
    left = entry.left
    if not isinstance(entry.type, str) or not (left is None or (type(left) is int and 0 <= left <= MAX_LEFT)):
        return False
    return entry.type not in _SHAPES or (isinstance(entry.value, _SHAPES[entry.type]) and _holds_texts(entry))


def _holds_texts(entry: RedisKey) -> bool:
    match entry.type:
        case "list" | "set":
            return _are_texts(entry.value)
        case "hash":
            return _are_texts(entry.value.values())
        case "zset":
            return all(isinstance(score, str) and _SCORE.fullmatch(score) for score in entry.value.values())
        case "stream":
            return all(map(_is_stream_entry, entry.value))
    return True


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_stream_entry(entry: Any) -> bool:
    match entry:
        case [str(), [*pairs]]:
            return all(isinstance(pair, list) and len(pair) == 2 and _are_texts(pair) for pair in pairs)  # noqa: PLR2004
    return False
