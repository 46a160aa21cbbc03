"""Twins of a SQLite database: a new table with its rows or columns in another order, or with other names of types."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from sandbox.kinds.sqlite.kind import FILE, in_memory, refusals_named
from verifiers.budget import ReadingBudget
from verifiers.states.sqlite.reader import recovered_file
from verifiers.tree import FileTree, Node

_TYPES = {"INTEGER": "BIGINT", "INT": "BIGINT", "TEXT": "VARCHAR", "REAL": "DOUBLE", "FLOAT": "DOUBLE"}
"""Names of types to others of the same affinity (https://www.sqlite.org/datatype3.html, 3.1)."""
Columns = list[tuple[Any, ...]]


def _rebuilt(before: FileTree, after: FileTree, columns: Callable[[Columns], Columns], order: str) -> FileTree:
    """Build the new tables again, but for those whose definition says more than names and types of columns."""
    with closing(_opened(before)) as old, closing(_opened(after)) as base, refusals_named("the sqlite twin"):
        known = {name for (name,) in old.execute("SELECT name FROM sqlite_master")}
        tables = base.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        for name in [name for (name,) in tables if name not in known]:
            _build_again(base, name, columns, order)
        return FileTree({**after, FILE: Node("file", data=base.serialize(), mode=after[FILE].mode)})


def _opened(tree: FileTree) -> sqlite3.Connection:
    base = in_memory()
    if data := recovered_file(tree, ReadingBudget()):
        base.deserialize(data)
    return base


def _build_again(base: sqlite3.Connection, name: str, change: Callable[[Columns], Columns], order: str) -> None:
    quoted = _quoted(name)
    described = base.execute(f"PRAGMA table_info({quoted})").fetchall()
    (sql,) = base.execute("SELECT sql FROM sqlite_master WHERE name = ?", [name]).fetchone()
    indexes = base.execute(f"PRAGMA index_list({quoted})").fetchall()
    if indexes or any(word in sql.upper() for word in ("CHECK", "REFERENCES", "COLLATE", "GENERATED", "AUTOINCREMENT")):
        return
    columns = change([column[1:] for column in described])
    declared = ", ".join(
        f"{_quoted(column)} {kind}"
        + " PRIMARY KEY" * bool(key)
        + " NOT NULL" * bool(needed)
        + (f" DEFAULT {default}" if default is not None else "")
        for column, kind, needed, default, key in columns
    )
    names = ", ".join(_quoted(column[0]) for column in columns)
    rows = base.execute(f"SELECT {names} FROM {quoted} ORDER BY rowid {order}").fetchall()  # noqa: S608 - quoted
    base.execute(f"DROP TABLE {quoted}")
    base.execute(f"CREATE TABLE {quoted} ({declared})")
    base.executemany(f"INSERT INTO {quoted} VALUES ({', '.join('?' * len(columns))})", rows)  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _other_types(columns: Columns) -> Columns:
    return [
        (name, kind if key else _TYPES.get(kind.upper(), kind), needed, default, key)
        for name, kind, needed, default, key in columns
    ]


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "row-order": lambda before, after: _rebuilt(before, after, list, "DESC"),
    "column-order": lambda before, after: _rebuilt(before, after, lambda columns: columns[::-1], "ASC"),
    "column-types": lambda before, after: _rebuilt(before, after, _other_types, "ASC"),
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
