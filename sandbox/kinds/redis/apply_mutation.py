"""Applies a mutation to a Redis state by editing the document that the reader wrote; no Redis is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.redis.schema import MUTATIONS
from verifiers.errors import VerifierError
from verifiers.formats.snapshot import FILE, written
from verifiers.formats.snapshot_reader import parsed
from verifiers.states.redis.keys import keys_of
from verifiers.tree import FileTree


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one change.

    Raises:
        Malformed: the change is none of `MUTATIONS`, names a key that is not there, or nobody read the state back.
    """
    check(MUTATIONS, change, "the redis change")
    node = tree.get(FILE)
    if node is None:
        raise Malformed("the redis change needs a state that was read back, because a predicate looks at it")
    try:
        document = parsed(node.data)
        keys_of(document)
    except VerifierError as error:
        raise Malformed(f"the redis change needs a state that can be read: {error}") from None
    keys, key = document["keys"], change["key"]
    if "put" not in change and key not in keys:
        raise Malformed(f"the redis change names the key {key!r}, which is not in the final state")
    for step, do in _DO.items():
        if step in change:
            do(keys, key, change[step])
    return written(document)


def _put(keys: dict[str, Any], key: str, what: Mapping[str, Any]) -> None:
    ((kind, value),) = what.items()
    if kind == "zset":
        value = {member: repr(score) for member, score in value.items()}
    keys[key] = {"type": kind, "value": value, "left": None}


def _delete(keys: dict[str, Any], key: str, _: Any) -> None:
    del keys[key]


def _rename(keys: dict[str, Any], key: str, name: str) -> None:
    keys[name] = keys.pop(key)


def _copy(keys: dict[str, Any], key: str, name: str) -> None:
    keys[name] = dict(keys[key])


def _expire(keys: dict[str, Any], key: str, seconds: int) -> None:
    keys[key]["left"] = seconds * 1000


def _persist(keys: dict[str, Any], key: str, _: Any) -> None:
    keys[key]["left"] = None


_DO: Mapping[str, Callable[[dict[str, Any], str, Any], None]] = {
    "put": _put,
    "delete": _delete,
    "rename": _rename,
    "copy": _copy,
    "expire": _expire,
    "persist": _persist,
}
