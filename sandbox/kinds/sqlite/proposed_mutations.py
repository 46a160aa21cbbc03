"""Proposed mutations of SQLite tables: changes that break a predicate, and typical errors of agents."""

# ruff: noqa: S608 - names are quoted, values are parameters, and the database is a mutant in memory

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.states.sqlite.reader import recovered_file
from verifiers.tree import FileTree

Change = Mapping[str, Any]
Row = tuple[Any, ...]

LOOKED_AT = 3  # rows of a table


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _where(condition: Mapping[str, Any]) -> tuple[str, list[Any]]:
    parts = [f"{_quoted(column)} IS ?" for column in condition]
    return " AND ".join(parts) or "1", list(condition.values())


def _emptied(arguments: Mapping[str, Any]) -> Change:
    condition, values = _where(arguments.get("where", {}))
    return {"sql": f"DELETE FROM {_quoted(arguments['table'])} WHERE {condition}", "parameters": values}


def _doubled_or_lost(arguments: Mapping[str, Any]) -> Change:
    """Take one row away where there should be some; a table that should be empty gets one."""
    table = _quoted(arguments["table"])
    if arguments.get("rows", arguments.get("count")):
        condition, values = _where(arguments.get("where", {}))
        selected = f"SELECT rowid FROM {table} WHERE {condition} LIMIT 1"
        return {"sql": f"DELETE FROM {table} WHERE rowid IN ({selected})", "parameters": values}
    return {"sql": f"INSERT INTO {table} DEFAULT VALUES"}


def _changed(arguments: Mapping[str, Any]) -> Change:
    condition, values = _where(arguments.get("where", {}))
    column = _quoted(arguments["column"])
    value = arguments["value"]
    wrong = value + 1 + arguments.get("tolerance", 0) if isinstance(value, int | float) else f"{value} not this"
    sql = f"UPDATE {_quoted(arguments['table'])} SET {column} = ? WHERE {condition}"
    return {"sql": sql, "parameters": [wrong, *values]}


def _summed(arguments: Mapping[str, Any]) -> Change:
    condition, values = _where(arguments.get("where", {}))
    table, column = _quoted(arguments["table"]), _quoted(arguments["column"])
    selected = f"SELECT rowid FROM {table} WHERE {condition} LIMIT 1"
    more = 1 + 2 * arguments.get("tolerance", 0)
    return {"sql": f"UPDATE {table} SET {column} = {column} + {more} WHERE rowid IN ({selected})", "parameters": values}


def _renamed(arguments: Mapping[str, Any]) -> Change:
    table = _quoted(arguments["table"])
    return {"sql": f"ALTER TABLE {table} RENAME COLUMN {_quoted(arguments['column'])} TO not_this"}


def _dropped(arguments: Mapping[str, Any]) -> Change:
    return {"sql": f"DROP TABLE {_quoted(arguments['table'])}"}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "sqlite.cellEquals": _changed,
    "sqlite.columnExists": _renamed,
    "sqlite.rowCount": _doubled_or_lost,
    "sqlite.rowExists": _emptied,
    "sqlite.schemaUnchanged": lambda arguments: {
        "sql": f"ALTER TABLE {_quoted(arguments['table'])} ADD COLUMN not_this TEXT"
    },
    "sqlite.sumEquals": _summed,
    "sqlite.tableEquals": _doubled_or_lost,
    "sqlite.tableExists": _dropped,
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each table that the right solution made or changed."""
    old, new = _tables(before), _tables(after)
    for name, table in new.items():
        if name not in old:
            yield f"left-out {name}", {"sql": f"DROP TABLE {_quoted(name)}"}
        if table != old.get(name):
            yield from _in_table(table, old.get(name, replace(table, rows={})))
    untouched = [table for name, table in new.items() if table == old.get(name) and table.rows]
    if untouched:
        yield f"other-table-touched {untouched[0].name}", untouched[0].without(min(untouched[0].rows))


@dataclass(frozen=True, slots=True)
class _Table:
    """A base table with its rows by rowid."""

    name: str
    columns: tuple[str, ...]
    rows: Mapping[int, Row]

    def without(self, rowid: int) -> Change:
        return {"sql": f"DELETE FROM {_quoted(self.name)} WHERE rowid = ?", "parameters": [rowid]}

    def put(self, rowid: int, row: Row, *, how: str = "REPLACE") -> Change:
        names = ", ".join(["rowid", *map(_quoted, self.columns)])
        marks = ", ".join("?" * (len(row) + 1))
        return {"sql": f"{how} INTO {_quoted(self.name)} ({names}) VALUES ({marks})", "parameters": [rowid, *row]}

    def with_cell(self, rowid: int, place: int, value: Any) -> Change:
        sql = f"UPDATE {_quoted(self.name)} SET {_quoted(self.columns[place])} = ? WHERE rowid = ?"
        return {"sql": sql, "parameters": [value, rowid]}


def _in_table(table: _Table, was: _Table) -> Iterator[tuple[str, Change]]:
    touched = [rowid for rowid, row in table.rows.items() if row != was.rows.get(rowid)]
    for rowid in touched[:LOOKED_AT]:
        undone = was.put(rowid, was.rows[rowid]) if rowid in was.rows else table.without(rowid)
        yield f"row-left-out {table.name} {rowid}", undone
        yield from _in_cells(table, was, rowid)
    for rowid in [rowid for rowid in was.rows if rowid not in table.rows][:LOOKED_AT]:
        yield f"row-not-removed {table.name} {rowid}", was.put(rowid, was.rows[rowid])
    if untouched := [rowid for rowid in table.rows if rowid not in touched]:
        yield f"wrong-row {table.name} {untouched[0]}", table.without(untouched[0])
    if table.rows:
        last = max(table.rows)
        more = tuple(last + 1 if value == last else value for value in table.rows[last])
        yield f"row-too-many {table.name}", table.put(last + 1, more, how="INSERT")


def _in_cells(table: _Table, was: _Table, rowid: int) -> Iterator[tuple[str, Change]]:
    row = table.rows[rowid]
    before = was.rows.get(rowid) if was.columns == table.columns else None
    for place, value in enumerate(row):
        if before is not None and before[place] == value:
            continue
        name = f"{table.name} {rowid} {table.columns[place]}"
        if isinstance(value, str) and value.swapcase() != value:
            yield f"wrong-case {name}", table.with_cell(rowid, place, value.swapcase())
        elif isinstance(value, int | float) and value != rowid:
            yield f"off-by-one {name}", table.with_cell(rowid, place, value + 1)


def _tables(tree: FileTree) -> dict[str, _Table]:
    try:
        data = recovered_file(tree, ReadingBudget())
    except CorruptState:
        return {}
    if not data:
        return {}
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(data)
        names = base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return {name: _table(base, name) for (name,) in names.fetchall()}


def _table(base: sqlite3.Connection, name: str) -> _Table:
    read = base.execute(f"SELECT rowid, * FROM {_quoted(name)} ORDER BY rowid")
    return _Table(name, tuple(column[0] for column in read.description[1:]), {row[0]: row[1:] for row in read})
