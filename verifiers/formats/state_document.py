"""JSON form of a state: the files of each namespace by path, so that a state fits into a line of a release.

    {namespace: {path: {"kind": "file" | "directory" | "symlink" | "other", "mode": permission bits,
                        "data": a file's bytes in base64, "target": where a link points}}}

`data` stands with files and nowhere else, `target` with links. Of a namespace that only its own backend can read there
is one file, `verifiers.formats.snapshot.FILE`, with what was read back.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, get_args

from verifiers.errors import Malformed
from verifiers.tree import DIRECTORY, FileTree, Kind, Node

KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_MODE = 0o7777
_CONTENT = {"file": "data", "symlink": "target"}


def document_of(trees: Mapping[str, FileTree]) -> dict[str, Any]:
    """Return the document of a state, a tree a namespace."""
    return {name: {path: _plain(node) for path, node in tree.items()} for name, tree in trees.items()}


def tree_of(document: Any, what: str = "the state") -> FileTree:
    """Read a document: one tree, with a folder for each namespace.

    Raises:
        Malformed: it has another shape; the message names the place.
    """
    nodes: dict[str, Node] = {}
    for name, files in _mapping(document, f"{what} at $").items():
        if not name.isidentifier():
            raise Malformed(f"{what} at $: {name!r} is no namespace")
        nodes[name] = DIRECTORY
        for path, entry in _mapping(files, f"{what} at $.{name}").items():
            nodes[f"{name}/{path}"] = _node(entry, f"{what} at $.{name}[{path!r}]")
    return FileTree(nodes)


def _plain(node: Node) -> dict[str, Any]:
    content = {"file": {"data": base64.b64encode(node.data).decode()}, "symlink": {"target": node.target}}
    return {"kind": node.kind, "mode": node.mode} | content.get(node.kind, {})


def _node(entry: Any, where: str) -> Node:
    says = _mapping(entry, where)
    kind, mode = next((known for known in KINDS if known == says.get("kind")), None), says.get("mode")
    if kind is None or type(mode) is not int or not 0 <= mode <= MAX_MODE:
        raise Malformed(f"{where} needs a `kind` of {', '.join(KINDS)}, and a `mode` of 0 to {MAX_MODE}")
    expected = {"kind", "mode"} | ({_CONTENT[kind]} if kind in _CONTENT else set())
    content = says.get(_CONTENT.get(kind, ""), "")
    if says.keys() != expected or not isinstance(content, str):
        raise Malformed(f"{where} must have exactly {', '.join(sorted(expected))}")
    if kind != "file":
        return Node(kind, target=content, mode=mode)
    try:
        return Node("file", data=base64.b64decode(content, validate=True), mode=mode)
    except (binascii.Error, ValueError):
        raise Malformed(f"{where}.data is not base64") from None


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Malformed(f"{where} must be an object")
    return value
