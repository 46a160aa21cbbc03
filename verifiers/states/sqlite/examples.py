"""Example SQLite databases for the predicate catalogue's examples."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from verifiers.tree import FileTree, JudgeInput, Node


def database(statements: Sequence[str]) -> JudgeInput:
    """Return the views of a world whose SQLite server ran these statements."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        return JudgeInput({"sqlite": FileTree({"main.db": Node("file", connection.serialize())})})
