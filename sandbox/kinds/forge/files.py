"""File layout of the forge's folder: `state.json`, and a bare repository each below `repositories/`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sandbox.errors import Malformed
from sandbox.kinds.forge.backend.storage.records import SCHEMA, Record
from sandbox.kinds.git.objects import CONFIG, InMemoryRepository
from verifiers.tree import DIRECTORY, FileTree, Node

STATE_FILE, FOLDER = "state.json", "repositories"


def bare(git: InMemoryRepository) -> FileTree:
    """Return a repository without a work tree."""
    config = CONFIG.replace(b"bare = false", b"bare = true").replace(b"\tlogallrefupdates = true\n", b"")
    return FileTree({**git.tree().below(".git"), "config": Node("file", data=config)})


def place(name: str) -> str:
    """Say where a repository lies."""
    return f"{FOLDER}/{name}.git"


def lay_out(data: Record, repositories: Mapping[str, FileTree]) -> FileTree:
    """Put the forge's folder together."""
    text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    nodes: dict[str, Node] = {FOLDER: DIRECTORY}
    for name, tree in repositories.items():
        nodes |= tree.under(place(name))
    try:
        return FileTree({**nodes, STATE_FILE: Node("file", data=text.encode())})
    except UnicodeEncodeError:
        raise Malformed("the github state holds half of a surrogate pair and is not valid Unicode") from None


def document(tree: FileTree) -> Record:
    """Read the forge's document back.

    Raises:
        Malformed: there is none that could be read.
    """
    node = tree.get(STATE_FILE)
    try:
        data = json.loads(node.data) if node else None
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise Malformed(f"the final state of github has no readable {STATE_FILE}")
    return data
