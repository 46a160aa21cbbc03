"""Applies a mutation to a SQLite database: one statement, executed in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.sqlite.kind import FILE, MUTATIONS, in_memory, refusals_named
from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.states.sqlite.reader import recovered_file
from verifiers.tree import FileTree, Node


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one statement.

    Raises:
        Malformed: the change is not of the form `MUTATIONS`, there is no readable database, or SQLite refuses it.
    """
    check(MUTATIONS, change, "the sqlite change")
    try:
        data = recovered_file(tree, ReadingBudget())
    except CorruptState as error:
        raise Malformed(f"the sqlite change needs the file {FILE!r} of the final state, and {error}") from None
    with closing(in_memory()) as base, refusals_named("the sqlite change"):
        if data:
            base.deserialize(data)
        base.set_authorizer(_no_files)  # only now: to deserialize is to attach, for SQLite
        base.execute(change["sql"], change.get("parameters", ()))
        others = {path: node for path, node in tree.items() if not path.startswith(FILE)}  # a log is in the file now
        return FileTree({**others, FILE: Node("file", data=base.serialize(), mode=tree[FILE].mode)})


def _no_files(action: int, *_: str | None) -> int:
    """Keep a statement in memory: ATTACH and VACUUM INTO are the ways to a file."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
