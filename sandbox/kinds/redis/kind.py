"""State kind of Redis: one database of keys, on the world's loopback.

State: `{"strings": {"greeting": "hello"}, "lists": {"queue": ["a", "b"]}, "sets": {"tags": ["x", "y"]}, "hashes":
{"user:1": {"name": "Ann"}}, "sorted_sets": {"scores": {"ann": 3, "bob": 1.5}}}`. A key is in one of them, and what it
holds is not empty, as in Redis. No key expires.

The seed is this document; Redis loads it when the server gets its first message.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import encoded
from sandbox.kinds.common.state_kind import OUR_KINDS, PROGRAMS, Backend, StateKind
from sandbox.kinds.redis.schema import MUTATIONS
from verifiers.tree import FileTree, Node

FILE = "seed.json"

_TEXT = {"type": "string"}
_KEY = {"minLength": 1, "maxLength": 200}


def _keys(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "propertyNames": _KEY, "additionalProperties": value}


def _filled(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "minProperties": 1, "additionalProperties": value}


STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "strings": _keys(_TEXT),
        "lists": _keys({"type": "array", "minItems": 1, "items": _TEXT}),
        "sets": _keys({"type": "array", "minItems": 1, "uniqueItems": True, "items": _TEXT}),
        "hashes": _keys(_filled(_TEXT)),
        "sorted_sets": _keys(_filled({"type": "number"})),
    },
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the document that Redis takes in.

    Raises:
        Malformed: a key holds two things, or a text is half of a surrogate pair.
    """
    held = Counter(key for keys in state.values() for key in keys)
    if twice := [key for key, times in held.items() if times > 1]:
        raise Malformed(f"the redis state has the key {twice[0]!r} twice, and a key holds one thing")
    text = json.dumps(state, ensure_ascii=False, sort_keys=True)
    return FileTree({FILE: Node("file", data=encoded(text, "the redis state"))})


_STORE = (f"{PROGRAMS}/python/redis/bin/python", "-I", "-S", f"{OUR_KINDS}/redis/backend/service.py")
REDIS = StateKind(
    name="redis",
    about="one Redis database of keys on port 6379",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    backend=Backend((*_STORE, "keep"), needs=("/usr/bin/redis-check-rdb",)),
    reader=(*_STORE, "read"),
)
