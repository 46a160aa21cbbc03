"""Applies a mutation to a SQLite database: one statement, executed in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.sqlite.kind import FILE, MUTATIONS, in_memory, refusals_named
from verifiers.tree import FileTree, Node


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Give a copy after one statement.

    Raises:
        Malformed: the change is not of the form `MUTATIONS`, there is no readable database, or SQLite refuses it.
    """
    check(MUTATIONS, change, "the sqlite change")
    if (node := tree.get(FILE)) is None or node.kind != "file":
        raise Malformed(f"the sqlite change needs the file {FILE!r}, which is not in the final state")
    with closing(in_memory()) as base, refusals_named("the sqlite change"):
        if node.data:
            base.deserialize(node.data)
        base.set_authorizer(_no_files)  # only now: to deserialize is to attach, for SQLite
        base.execute(change["sql"], change.get("parameters", ()))
        return FileTree({**tree, FILE: Node("file", data=base.serialize(), mode=node.mode)})


def _no_files(action: int, *_: str | None) -> int:
    """Keep a statement in memory: ATTACH and VACUUM INTO are the ways to a file."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
