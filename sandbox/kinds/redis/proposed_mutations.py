"""Proposed mutations of Redis keys: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.kinds.common.texts import wrong
from verifiers.errors import VerifierError
from verifiers.formats.snapshot import FILE
from verifiers.formats.snapshot_reader import parsed
from verifiers.states.redis.keys import RedisKey, keys_of
from verifiers.tree import FileTree

Change = Mapping[str, Any]


def _deleted(arguments: Mapping[str, Any]) -> Change:
    return {"key": arguments["key"], "delete": True}


def _counted(arguments: Mapping[str, Any]) -> Change:
    return {"key": f"{arguments.get('prefix', '')}not this", "put": {"string": "not this"}}


def _expiring(arguments: Mapping[str, Any]) -> Change:
    return {"key": arguments["key"], **({"persist": True} if arguments["expires"] else {"expire": 60})}


_OF_A_KEY = (
    "hashEquals",
    "hashFieldEquals",
    "jsonEquals",
    "keyExists",
    "listEquals",
    "scoreEquals",
    "setContains",
    "setEquals",
    "sortedSetEquals",
    "streamHasEntry",
    "stringEquals",
)
BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    **{f"redis.{name}": _deleted for name in _OF_A_KEY},
    "redis.keyCount": _counted,
    "redis.expires": _expiring,
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each key that the right solution made, changed or removed."""
    old, new = _keys(before), _keys(after)
    for key, entry in new.items():
        if key not in old:
            yield f"left-out {key}", {"key": key, "delete": True}
        if entry != old.get(key):
            yield from _in_key(key, entry)
    for key in old.keys() - new.keys():
        if (put := _put(old[key])) is not None:
            yield f"not-removed {key}", {"key": key, "put": put}
    untouched = [key for key, entry in new.items() if entry == old.get(key)]
    if untouched:
        yield f"other-key-touched {untouched[0]}", {"key": untouched[0], "delete": True}


def _in_key(key: str, entry: RedisKey) -> Iterator[tuple[str, Change]]:
    for kind, other in wrong(key):
        yield f"{kind} in the name of {key}", {"key": key, "rename": other}
    if entry.left is not None:
        yield f"never-runs-out {key}", {"key": key, "persist": True}
    for kind, value in _wrong_values(entry):
        yield f"{kind} {key}", {"key": key, "put": {entry.type: value}}


def _wrong_values(entry: RedisKey) -> Iterator[tuple[str, Any]]:
    value = entry.value
    if entry.type == "string":
        yield from wrong(value)
    elif entry.type in {"list", "set"}:
        yield "last-left-out", value[:-1]
        yield "one-too-many", [*value, "not this"]
        if entry.type == "list" and value != value[::-1]:
            yield "other-end", value[::-1]
    elif entry.type == "hash":
        for field, text in value.items():
            yield f"left-out {field} of", {name: other for name, other in value.items() if name != field}
            for kind, other in wrong(text):
                yield f"{kind} {field} of", {**value, field: other}
    elif entry.type == "zset":
        scores = {member: float(score) for member, score in value.items()}
        for member, score in scores.items():
            yield f"off-by-one {member} of", {**scores, member: score + 1}


def _put(entry: RedisKey) -> Mapping[str, Any] | None:
    if entry.type == "zset":
        return {"zset": {member: float(score) for member, score in entry.value.items()}}
    return {entry.type: entry.value} if entry.type in {"string", "list", "set", "hash"} else None


def _keys(tree: FileTree) -> Mapping[str, RedisKey]:
    node = tree.get(FILE)
    if node is None:
        return {}
    try:
        return keys_of(parsed(node.data))
    except VerifierError:
        return {}
