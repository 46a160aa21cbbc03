"""Seed of a JSON document: the one file in which a server keeps its state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.kinds.common.check import encoded
from verifiers.states.json_document.document import FILE
from verifiers.tree import FileTree, Node

STATE: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"document": {"type": ["object", "array"]}},
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the file, if there is one.

    Raises:
        Malformed: a text is half of a surrogate pair.
    """
    return write_document(state["document"]) if "document" in state else FileTree({})


def write_document(document: Any) -> FileTree:
    """Write a document, the same whatever the order of its keys.

    Raises:
        Malformed: a text is half of a surrogate pair.
    """
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2) + "\n"
    return FileTree({FILE: Node("file", data=encoded(text, "the JSON document"))})
