"""Twins of a JSON document: its keys in another order, with other white space."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox.kinds.common.texts import other_layout
from verifiers.states.json_document.document import FILE
from verifiers.tree import FileTree, Node


def _json_layout(before: FileTree, after: FileTree) -> FileTree:
    if before.get(FILE) == after.get(FILE):
        return after
    again = other_layout(after.get(FILE, Node("file")).data.decode(errors="replace"))
    return FileTree({**after, FILE: Node("file", data=again.encode())}) if again else after


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {"json-layout": _json_layout}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
