"""Reader of the filesystem server's files: lists every entry without parsing any content."""

from __future__ import annotations

from verifiers.budget import ReadingBudget
from verifiers.normal_form import NormalState
from verifiers.tree import FileTree


def read_files(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """List every entry, with the bytes of the files as blobs.

    Raises:
        CorruptState: there is more than the budget allows.
    """
    entries: list[list[object]] = []
    blobs: list[bytes] = []
    for path, node in tree.items():
        budget.step()
        budget.keep(len(path) + len(node.data) + len(node.target))
        held: object = node.target
        if node.kind == "file":
            held = len(blobs)
            blobs.append(node.data)
        entries.append([path, node.kind, node.mode, held])
    return NormalState({"entries": entries}, tuple(blobs))
