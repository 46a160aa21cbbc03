"""State kind of files: text and binary files below one folder.

State: `{"files": {"a/b.txt": "text", "logo.png": {"base64": "…"}}, "directories": ["empty/dir"]}`. The folders that
lead to a file need not be listed.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import PATH, PATH_SCHEMA, encoded
from sandbox.kinds.common.state_kind import StateKind
from verifiers.tree import DIRECTORY, FileTree, Node

STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "files": {
            "type": "object",
            "propertyNames": {"pattern": PATH},
            "additionalProperties": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "required": ["base64"],
                        "additionalProperties": False,
                        "properties": {"base64": {"type": "string"}},
                    },
                ]
            },
        },
        "directories": {"type": "array", "uniqueItems": True, "items": PATH_SCHEMA},
    },
}


def _with_fields(name: str, **fields: Any) -> dict[str, Any]:
    body = {"type": "object", "additionalProperties": False, "required": sorted(fields), "properties": fields}
    return {"type": "object", "additionalProperties": False, "required": [name], "properties": {name: body}}


MUTATIONS = {
    "oneOf": [
        *(
            {"type": "object", "additionalProperties": False, "required": [name], "properties": {name: PATH_SCHEMA}}
            for name in ("remove", "mkdir")
        ),
        _with_fields("write", path=PATH_SCHEMA, text={"type": "string"}),
        _with_fields("move", **{"from": PATH_SCHEMA, "to": PATH_SCHEMA}),
        _with_fields("copy", **{"from": PATH_SCHEMA, "to": PATH_SCHEMA}),
    ]
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Build the folder.

    Raises:
        Malformed: a path is both a file and a folder, or a base64 text is none.
    """
    nodes: dict[str, Node] = {}
    for path in state.get("directories", ()):
        put(nodes, path, DIRECTORY)
    for path, content in state.get("files", {}).items():
        if path in nodes:
            raise Malformed(f"the filesystem state lists {path!r} both as a file and as a folder")
        put(nodes, path, Node("file", data=_content(path, content)))
    return FileTree(nodes)


def _content(path: str, content: str | Mapping[str, str]) -> bytes:
    what = f"the filesystem state's file {path!r}"
    if isinstance(content, str):
        return encoded(content, what)
    try:
        return base64.b64decode(content["base64"], validate=True)
    except (binascii.Error, ValueError):
        raise Malformed(f"{what} is not valid base64") from None


def put(nodes: dict[str, Node], path: str, node: Node) -> None:
    """Put a node into the tree, with the folders that lead to it."""
    parent = posixpath.dirname(path)
    while parent:
        if nodes.setdefault(parent, DIRECTORY).kind != "directory":
            raise Malformed(f"the path {path!r} leads through {parent!r}, which is a file")
        parent = posixpath.dirname(parent)
    nodes[path] = node


FILES = StateKind(
    name="files",
    about="files below one folder: text, and any other format by presence, size and SHA-256",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
)
