"""Reader of the snapshot document that a backend's own reader wrote (`verifiers.formats.snapshot`)."""

from __future__ import annotations

import json
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState, StateUnavailable
from verifiers.formats.snapshot import FILE
from verifiers.quoting import quoted
from verifiers.tree import FileTree


def parsed(data: bytes, budget: ReadingBudget | None = None) -> dict[str, Any]:
    """Parse a snapshot document.

    Raises:
        CorruptState: it is not one, says that the state cannot be read, or costs more than the budget has.
    """
    (budget or ReadingBudget()).parse_json(data)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise CorruptState("the state was read as something that is no document")
    if "wreckage" in document:
        reason = document["wreckage"]
        raise CorruptState(f"the state cannot be read: {reason[:200] if isinstance(reason, str) else quoted(reason)}")
    return document


def document_in(tree: FileTree, namespace: str, budget: ReadingBudget) -> dict[str, Any]:
    """Return the snapshot document of a namespace's state.

    Raises:
        CorruptState: see `parsed`.
        StateUnavailable: it was not read out.
    """
    node = tree.get(FILE)
    if node is None or node.kind != "file":
        raise StateUnavailable(f"the state of {namespace} was not read back by its reader, so nobody can look at it")
    return parsed(node.data, budget)
