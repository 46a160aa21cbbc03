"""What Redis held, as its reader wrote it down.

    {"keys": {"name": {"type": "string", "value": …, "left": milliseconds or null}}}

The value is a text (`string`), a list of texts (`list`, and `set`, sorted), an object of texts (`hash`, and `zset` with
the scores as Redis prints them), a list of `[id, [[field, value]]]` (`stream`), or null for a type that nobody reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verifiers.context import Context
from verifiers.errors import Spoiled
from verifiers.snapshot import document_of

_SCORE = re.compile(r"-?(inf|[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?)")
_SHAPES: Mapping[str, type] = {"string": str, "list": list, "set": list, "hash": dict, "zset": dict, "stream": list}


@dataclass(frozen=True, slots=True)
class Entry:
    """One key: its type, what it holds, and the milliseconds that were left to it when it was read, if it runs out."""

    type: str
    value: Any = field(repr=False)
    left: int | None


def open_keys(context: Context) -> Mapping[str, Entry]:
    """Give the keys of a state, once an evaluation.

    Raises:
        Spoiled: it cannot be read.
        Unreadable: it was not read out.
    """
    return context.once("redis", lambda: keys_of(document_of(context, "redis")))


def keys_of(document: Mapping[str, Any]) -> Mapping[str, Entry]:
    """Give the keys that a document tells of.

    Raises:
        Spoiled: it tells of none.
    """
    try:
        keys = {name: Entry(entry["type"], entry["value"], entry["left"]) for name, entry in document["keys"].items()}
    except (LookupError, TypeError, AttributeError):
        raise Spoiled("the state was read as something that is no set of keys") from None
    if not all(map(_is_sound, keys.values())):
        raise Spoiled("the state was read as something that is no set of keys")
    return keys


def _is_sound(entry: Entry) -> bool:
    if not isinstance(entry.value, _SHAPES.get(str(entry.type), object)):
        return False
    if not isinstance(entry.value, dict) or entry.type != "zset":
        return True
    return all(isinstance(score, str) and _SCORE.fullmatch(score) for score in entry.value.values())
