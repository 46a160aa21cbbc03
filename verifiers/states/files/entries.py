"""Normal form of files and folders: `{"entries": [[path, kind, mode, blob or link target]]}`."""

from __future__ import annotations

from verifiers.normal_form import NormalState
from verifiers.predicates.context import Context
from verifiers.tree import FileTree, Node


def open_files(context: Context, namespace: str = "filesystem") -> FileTree:
    """Return the files of a state, built once for each evaluation.

    Raises:
        CorruptState: nobody can read them.
        StateUnavailable: there is no state.
    """
    return context.once(namespace, lambda: tree_from(context.state(namespace)))


def tree_from(state: NormalState) -> FileTree:
    """Build the file tree from a normal form."""
    nodes = {}
    for path, kind, mode, held in state.document["entries"]:
        data, target = (state.blobs[held], "") if kind == "file" else (b"", held)
        nodes[path] = Node(kind, data, target, mode)
    return FileTree(nodes)
