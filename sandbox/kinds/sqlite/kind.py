"""State kind of SQLite: one database file.

State: `{"tables": {"people": {"columns": [["id", "INTEGER PRIMARY KEY"], …], "rows": [[1], …]}}}`. A column's second
entry is put into CREATE TABLE as it stands, so a constraint of the whole table can follow the last one's:
`["day", "TEXT, UNIQUE (id, day)"]`. Indexes and views are the server's to make.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.state_kind import StateKind
from verifiers.tree import FileTree, Node

FILE = "main.db"

_NAME = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_ ]{0,62}$(?!\n)"}
_VALUE = {"type": ["string", "number", "boolean", "null"]}
STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "tables": {
            "type": "object",
            "propertyNames": {**_NAME, "not": {"pattern": "^[sS][qQ][lL][iI][tT][eE]_"}},
            "additionalProperties": {
                "type": "object",
                "required": ["columns"],
                "additionalProperties": False,
                "properties": {
                    "columns": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "array",
                            "minItems": 2,
                            "maxItems": 2,
                            "prefixItems": [
                                _NAME,
                                {"type": "string", "pattern": r"^[A-Za-z0-9_ (),.'<>=+*/-]{0,200}$(?!\n)"},
                            ],
                        },
                    },
                    "rows": {"type": "array", "items": {"type": "array", "items": _VALUE}},
                },
            },
        }
    },
}
MUTATIONS = {
    "type": "object",
    "required": ["sql"],
    "additionalProperties": False,
    "properties": {"sql": {"type": "string"}, "parameters": {"type": "array", "items": _VALUE}},
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Build the database in memory and give its bytes as the file.

    Raises:
        Malformed: SQLite refuses a table or a row; the message names the table.
    """
    tables = state.get("tables", {})
    if not tables:
        return FileTree({FILE: Node("file")})  # SQLite takes an empty file for an empty database
    with closing(in_memory()) as base:
        for name, table in tables.items():
            _create(base, name, table)
        return FileTree({FILE: Node("file", data=base.serialize())})


def _create(base: sqlite3.Connection, name: str, table: Mapping[str, Any]) -> None:
    what = f"the sqlite state's table {name!r}"
    columns, rows = table["columns"], table.get("rows", [])
    if any(len(row) != len(columns) for row in rows):
        raise Malformed(f"{what} has a row that is not as long as its list of columns")
    described = ", ".join(f'"{column}" {kind}' for column, kind in columns)
    with refusals_named(what):
        base.execute(f'CREATE TABLE "{name}" ({described})')
        base.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', rows)  # noqa: S608 (names fit their pattern)


def in_memory() -> sqlite3.Connection:
    """Open an empty database in memory, in autocommit mode."""
    return sqlite3.connect(":memory:", isolation_level=None)


@contextmanager
def refusals_named(what: str) -> Iterator[None]:
    """Turn SQLite's refusal into a sentence; its own may quote values, so only its class is named."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeEncodeError) as error:
        raise Malformed(f"{what} is refused by SQLite ({type(error).__name__})") from None


SQLITE = StateKind(
    name="sqlite",
    about="one SQLite database, main.db",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    file=FILE,
)
