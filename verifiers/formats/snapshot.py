"""The JSON document that stands for a backend's state, where a backend has to be started to read it.

A database of a server program cannot be read from its files by us, so a fresh reader does it before we look, behind the
same walls as the world it came from: it starts the backend on a copy of what was left, and writes one JSON document,
`snapshot.json`. What it read may be hostile, so nothing in the document is believed beyond its shape.

    {"wreckage": "sentence"}     the state cannot be read, and a sound one can
    anything else                what the server's own reader writes (`postgres.tables`, `redis.keys`)
"""

from __future__ import annotations

import json

from verifiers.tree import Node, Tree

FILE = "snapshot.json"


def written(document: object) -> Tree:
    """Give the tree that stands for a state."""
    return Tree({FILE: Node("file", json.dumps(document).encode())})
