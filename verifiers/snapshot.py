"""The JSON document that stands for a backend's state, where a backend has to be started to read it.

A database of a server program cannot be read from its files by us, so a fresh reader does it before we look, behind the
same walls as the world it came from: it starts the backend on a copy of what was left, and writes one JSON document,
`snapshot.json`. What it read may be hostile, so nothing in the document is believed beyond its shape.

    {"wreckage": "sentence"}     the state cannot be read, and a sound one can
    anything else                what the server's own reader writes (`postgres_state`, `redis_state`)
"""

from __future__ import annotations

import json
from typing import Any

from verifiers.context import Context
from verifiers.errors import Spoiled, Unreadable
from verifiers.views import Node, Tree

FILE = "snapshot.json"


def written(document: object) -> Tree:
    """Give the tree that stands for a state."""
    return Tree({FILE: Node("file", json.dumps(document).encode())})


def parsed(data: bytes) -> dict[str, Any]:
    """Parse a document.

    Raises:
        Spoiled: it is none, or says that the state cannot be read.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Spoiled("the state was read as something that is no document")
    if "wreckage" in document:
        raise Spoiled(f"the state cannot be read: {document['wreckage']}")
    return document


def document_of(context: Context, namespace: str) -> dict[str, Any]:
    """Give a namespace's document.

    Raises:
        Spoiled: see `parsed`.
        Unreadable: it was not read out.
    """
    node = context.tree(namespace).get(FILE)
    if node is None or node.kind != "file":
        raise Unreadable(f"the state of {namespace} was not read back by its reader, so nobody can look at it")
    return parsed(node.data)
