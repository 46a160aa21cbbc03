"""Applies a mutation to files and folders: one is written, made, moved, copied or removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check, encoded
from sandbox.kinds.files.kind import MUTATIONS, put
from verifiers.tree import DIRECTORY, FileTree, Node


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy with one thing changed.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or what it names is not there.
    """
    check(MUTATIONS, change, "the filesystem change")
    ((name, argument),) = change.items()
    nodes = dict(tree)
    _CHANGES[name](nodes, argument)
    return FileTree(nodes)


def _below(nodes: Mapping[str, Node], path: str) -> list[str]:
    names = [name for name in nodes if name == path or name.startswith(f"{path}/")]
    if not names:
        raise Malformed(f"the filesystem change names {path!r}, which is not in the final state")
    return names


def _remove(nodes: dict[str, Node], path: str) -> None:
    for name in _below(nodes, path):
        del nodes[name]


def _copy(nodes: dict[str, Node], ends: Mapping[str, str]) -> None:
    for name in _below(nodes, ends["from"]):
        put(nodes, ends["to"] + name[len(ends["from"]) :], nodes[name])


def _move(nodes: dict[str, Node], ends: Mapping[str, str]) -> None:
    moved = {name: nodes[name] for name in _below(nodes, ends["from"])}
    _remove(nodes, ends["from"])
    for name, node in moved.items():
        put(nodes, ends["to"] + name[len(ends["from"]) :], node)


def _write(nodes: dict[str, Node], file: Mapping[str, str]) -> None:
    put(nodes, file["path"], Node("file", data=encoded(file["text"], "the filesystem change")))


def _mkdir(nodes: dict[str, Node], path: str) -> None:
    put(nodes, path, DIRECTORY)


_CHANGES: Mapping[str, Callable[[dict[str, Node], Any], None]] = {
    "remove": _remove,
    "copy": _copy,
    "move": _move,
    "write": _write,
    "mkdir": _mkdir,
}
