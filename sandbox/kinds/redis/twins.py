"""Twins of Redis keys: JSON documents in another layout, and the fields and members of new keys in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.kinds.common.texts import other_layout
from verifiers.formats.snapshot import FILE, written
from verifiers.formats.snapshot_reader import parsed
from verifiers.tree import FileTree


def _changed(before: FileTree, after: FileTree, change: Callable[[str, Any], Any]) -> FileTree:
    """Change the values of keys that were not there before, or had another value."""
    old, document = (parsed(tree[FILE].data)["keys"] if FILE in tree else {} for tree in (before, after))
    keys = {
        name: entry if entry == old.get(name) else {**entry, "value": change(entry["type"], entry["value"])}
        for name, entry in document.items()
    }
    return written({"keys": keys}) if FILE in after else after


def _json_layout(kind: str, value: Any) -> Any:
    if kind == "hash":
        return {field: other_layout(text) or text for field, text in value.items()}
    return (other_layout(value) or value) if kind == "string" else value


def _order(kind: str, value: Any) -> Any:
    if kind == "set":
        return value[::-1]
    return dict(reversed(value.items())) if kind in {"hash", "zset"} else value


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "json-layout": lambda before, after: _changed(before, after, _json_layout),
    "order": lambda before, after: _changed(before, after, _order),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
