"""Twins of a knowledge graph: what a solution added, in another order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from verifiers.states.graph.entities import FILE
from verifiers.tree import FileTree, Node


def _records(tree: FileTree) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tree.get(FILE, Node("file")).data.decode().splitlines() if line.strip()]


def _order(before: FileTree, after: FileTree) -> FileTree:
    old = {record["name"]: record["observations"] for record in _records(before) if record["type"] == "entity"}
    names = [record.get("name") for record in _records(before)]
    records = _records(after)
    for record in records:
        if record["type"] == "entity":
            record["observations"] = _added_reversed(old.get(record["name"], []), record["observations"])
    added = [record for record in records if record["type"] == "relation" or record["name"] not in names]
    kept = [record for record in records if record not in added]
    lines = [json.dumps(record, ensure_ascii=False) for record in (*kept, *reversed(added))]
    return FileTree({**after, FILE: Node("file", data="\n".join(lines).encode())}) if lines else after


def _added_reversed(old: list[str], new: list[str]) -> list[str]:
    added = [text for text in new if text not in old]
    return [*(text for text in new if text in old), *reversed(added)]


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {"order": _order}
"""By name: gives the twin of a final state."""
