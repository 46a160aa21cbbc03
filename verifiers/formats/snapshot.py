"""Snapshot document: the JSON dump of a backend's state, for backends that must be started to be read.

The files of a database server cannot be read without that server, so a fresh reader, isolated like the world that the
state came from, starts the backend on a copy of the state and writes one JSON document, `snapshot.json`. The data may
be hostile, so nothing in the document is trusted beyond its shape.

    {"wreckage": "sentence"}     the state cannot be read, and a sound one can
    anything else                what the server's own reader writes (`postgres.tables`, `redis.keys`)
"""

from __future__ import annotations

import json

from verifiers.tree import FileTree, Node

FILE = "snapshot.json"


def written(document: object) -> FileTree:
    """Return the file tree that holds a snapshot document."""
    return FileTree({FILE: Node("file", json.dumps(document).encode())})
