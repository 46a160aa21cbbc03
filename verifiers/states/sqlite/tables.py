"""Normal form of a SQLite database: its base tables, with their stored columns and rows, and what else is declared.

It is `{"tables": [table], "others": [[type, name, table, statement]], "header": {name: number}}`,
where the others are indexes, views, triggers and virtual tables, and a table is
`{"name", "spoiled": sentence, "sql"}` or

    {"name", "columns": [[name, type, not null, default, key, hidden]], "rows": [[cell of each stored column]], "sql"}

with `{"spoiled": sentence}` instead of the rows where they cannot be read. A cell is null, an integer, a number, a
text, `{"blob": index}`, or `{"float": "inf" or "-inf"}`. What was not UTF-8 in a text is a lone surrogate (PEP 383).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.predicates.context import Context

_COMPUTED = 2  # in the column `hidden` of table_xinfo


class SQLiteColumn(NamedTuple):
    """A column as the schema describes it: all of `PRAGMA table_xinfo` but its position."""

    name: str
    type: str
    not_null: int
    default: str | None
    key: int
    hidden: int  # 2: computed when it is read

    @property
    def computed(self) -> bool:
        """Whether its cells are computed and not stored."""
        return self.hidden == _COMPUTED


@dataclass
class SQLiteDatabase:
    """The base tables of a database; access to a corrupt one raises `CorruptState`."""

    state: NormalState = field(repr=False)

    @cached_property
    def _found(self) -> dict[str, Mapping[str, Any]]:
        return {fold(table["name"]): table for table in self.state.document["tables"]}

    @cached_property
    def tables(self) -> dict[str, str]:
        """Map the folded names of the base tables to their names as they are written."""
        return {key: table["name"] for key, table in self._found.items()}

    def columns(self, table: str) -> list[SQLiteColumn] | None:
        """Return a base table's columns, or None if there is no such base table.

        Raises:
            CorruptState: nobody can read them.
        """
        record = self._found.get(fold(table))
        if record is None:
            return None
        if "spoiled" in record:
            raise CorruptState(f"the database cannot be read: {record['spoiled']}")
        return [SQLiteColumn(*column) for column in record["columns"]]

    def rows(self, table: str, columns: Sequence[str], budget: ReadingBudget) -> Iterator[tuple[Any, ...]]:
        """Yield these columns of a base table, row by row; both have to be there, and the columns are stored.

        Raises:
            CorruptState: nobody can read the rows, or they are more than the budget has.
        """
        rows = self._found[fold(table)]["rows"]
        if isinstance(rows, dict):
            raise CorruptState(f"the database cannot be read: {rows['spoiled']}")
        stored = {column.name: at for at, column in enumerate(c for c in self.columns(table) or () if not c.computed)}
        places = [stored[name] for name in columns]
        budget.step(A_COLUMN * len(stored) + len(rows) * (A_ROW + A_CELL * len(places)))
        for row in rows:
            yield tuple([row[place] if type(row[place]) is not dict else self._cell(row[place]) for place in places])

    def _cell(self, cell: dict[str, Any]) -> Any:
        return self.state.blobs[cell["blob"]] if "blob" in cell else float(cell["float"])


A_ROW, A_CELL, A_COLUMN = 3, 2, 3  # steps


def fold(name: str) -> str:
    """Fold a name as SQLite does: upper and lower case of ASCII letters are the same."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def open_database(context: Context) -> SQLiteDatabase:
    """Return the SQLite server's database, built once for each evaluation.

    Raises:
        CorruptState: it is missing or not a database.
        StateUnavailable: there is no state.
    """
    return context.once("sqlite", lambda: SQLiteDatabase(context.state("sqlite")))


def declared(columns: Sequence[tuple[str, str]]) -> list[SQLiteColumn] | None:
    """Return the columns of a table that a predicate declares so, or None if SQLite refuses the declaration."""
    body = ", ".join(f"{quoted_name(name)} {declaration}" for name, declaration in columns)
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"CREATE TABLE t ({body})")
        except (sqlite3.Error, sqlite3.Warning):
            return None
        return [SQLiteColumn(*row[1:]) for row in connection.execute("PRAGMA table_xinfo(t)")]


def quoted_name(name: str) -> str:
    """Quote a name for SQL, whatever it contains."""
    return '"' + name.replace('"', '""') + '"'
