"""Shared parts of the `filesystem` predicates: argument schemas, and lookups in a file tree."""

from __future__ import annotations

from verifiers.errors import TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import PATH
from verifiers.quoting import quoted
from verifiers.states.files.entries import open_files
from verifiers.texts import decoded
from verifiers.tree import FileTree

FOLDER = {**PATH, "pattern": rf"^\.$|{PATH['pattern']}", "description": "relative path, or `.` for the root"}
BYTES, AN_ENTRY = 128, 1  # bytes of a file for a step, and steps for an entry of the tree
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 in 64 lower-case hex digits"}
KIND = {"type": "string", "enum": ["file", "directory"]}


def described(tree: FileTree, path: str) -> str:
    """Describe the entry at a path."""
    node = tree.get(path)
    if node is None:
        return f"{quoted(path)} is a folder" if is_folder(tree, path) else f"there is nothing at {quoted(path)}"
    match node.kind:
        case "file":
            return f"{quoted(path)} is a file of {len(node.data)} bytes"
        case "directory":
            return f"{quoted(path)} is a folder"
        case "symlink":
            return f"{quoted(path)} is a symbolic link, which is not followed"
        case _:
            return f"{quoted(path)} is neither a file nor a folder"


def is_folder(tree: FileTree, path: str) -> bool:
    """Say whether there is a folder at a path."""
    node = tree.get(path)
    if node is not None:
        return node.kind == "directory"
    return path == "." or any(other.startswith(path + "/") for other in tree)


def file_data(context: Context, path: str) -> bytes:
    """Return the content of the regular file at a path; its size counts against the budget.

    Raises:
        TargetMissing: there is none.
    """
    tree = open_files(context)
    context.budget.step(AN_ENTRY * len(tree))
    node = tree.get(path)
    if node is None or node.kind != "file":
        raise TargetMissing(described(tree, path))
    context.budget.step(len(node.data) // BYTES)
    return node.data


def is_of_kind(tree: FileTree, path: str, kind: str | None) -> bool:
    """Say whether a path is a file or a folder, as asked for; None takes anything."""
    if kind == "directory":
        return is_folder(tree, path)
    return kind is None or (path in tree and tree[path].kind == kind)


def file_text(context: Context, path: str) -> str:
    """Return the text of the regular file at a path, decoded once for each evaluation.

    Raises:
        TargetMissing: there is none.
    """
    data = file_data(context, path)
    return context.once(("file text", path), lambda: decoded(data, context.budget))
