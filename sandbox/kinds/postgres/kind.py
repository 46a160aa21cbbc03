"""State kind of PostgreSQL: one database, owned by a role without special rights.

State: `{"before": ["CREATE TYPE …"], "tables": {"people": {"columns": [["id", "serial primary key"], …], "rows":
[[1], …], "constraints": ["FOREIGN KEY (boss) REFERENCES people (id)"], "indexes": [{"columns": ["name"], "unique":
true}]}}, "after": ["CREATE VIEW …"]}`. A table is in the schema `public`, or as `sales.people` in one that is made. A
column's second entry, a constraint and a statement are put into SQL as they stand; a value that is a list or an object
becomes a JSON text. What refers to another table goes into `constraints`, which come after every table and its rows.

The seed is the SQL that creates this, and PostgreSQL runs it when the server gets its first message: a world whose
agent never asks for a database has none. An error in the SQL shows then, as a server that does not come up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import encoded
from sandbox.kinds.common.state_kind import OUR_KINDS, PROGRAMS, Backend, StateKind
from sandbox.kinds.postgres.schema import MUTATIONS
from verifiers.tree import FileTree, Node

FILE = "seed.sql"

_NAME = {"type": "string", "pattern": r"^[a-z_][a-z0-9_]{0,62}$(?!\n)"}
_TABLE = {"pattern": r"^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,62}$(?!\n)"}
_PART = {"type": "string", "pattern": r"^[A-Za-z0-9_ (),.'<>=+*/\[\]|~-]{1,200}$(?!\n)"}
_VALUE = {"type": ["string", "number", "boolean", "null", "array", "object"]}
_STATEMENTS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 4000}}
STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "before": _STATEMENTS,
        "after": _STATEMENTS,
        "tables": {
            "type": "object",
            "propertyNames": _TABLE,
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
                            "prefixItems": [_NAME, {**_PART, "not": {"pattern": r"(?i)\breferences\b"}}],
                        },
                    },
                    "rows": {"type": "array", "items": {"type": "array", "items": _VALUE}},
                    "constraints": {"type": "array", "items": _PART},
                    "indexes": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["columns"],
                            "additionalProperties": False,
                            "properties": {
                                "columns": {"type": "array", "minItems": 1, "items": _NAME},
                                "unique": {"type": "boolean"},
                                "name": _NAME,
                            },
                        },
                    },
                },
            },
        },
    },
}
_COUNTED = re.compile(r"(?i)\b(small|big)?serial[248]?\b|\bgenerated\b.*\bas identity\b")


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the SQL that makes the state.

    Raises:
        Malformed: a row is not as long as its table's list of columns, or a text is none that a database can hold.
    """
    tables = {_quoted(name): table for name, table in state.get("tables", {}).items()}
    schemas = sorted({name.partition(".")[0] for name in state.get("tables", {}) if "." in name} - {"public"})
    lines = [f'CREATE SCHEMA "{schema}";' for schema in schemas]
    lines += map(_ended, state.get("before", ()))
    for name, table in tables.items():
        lines += _made(name, table)
    lines += sorted((line for name, table in tables.items() for line in _tied(name, table)), key=_refers)
    lines += map(_ended, state.get("after", ()))
    text = "".join(f"{line}\n" for line in lines)
    if "\0" in text:
        raise Malformed("the postgres state holds a NUL, which no PostgreSQL text can hold")
    return FileTree({FILE: Node("file", data=encoded(text, "the postgres state"))})


def _made(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    columns, rows = table["columns"], table.get("rows", [])
    if any(len(row) != len(columns) for row in rows):
        raise Malformed(f"the postgres state's table {name} has a row that is not as long as its list of columns")
    yield f"CREATE TABLE {name} ({', '.join(f'{_quoted(column)} {kind}' for column, kind in columns)});"
    if rows:
        written = ",\n".join(f"({', '.join(map(_literal, row))})" for row in rows)
        yield f"INSERT INTO {name} OVERRIDING SYSTEM VALUE VALUES\n{written};"
    for column, kind in columns:
        if rows and _COUNTED.search(kind):
            counted = f"pg_get_serial_sequence({_literal(name)}, {_literal(column)}), max({_quoted(column)})"
            yield f"SELECT setval({counted}) FROM {name};"  # noqa: S608 (names fit their pattern)


def _tied(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    for constraint in table.get("constraints", ()):
        yield f"ALTER TABLE {name} ADD {constraint};"
    for index in table.get("indexes", ()):
        kind, own = "UNIQUE INDEX" if index.get("unique") else "INDEX", index.get("name")
        yield f"CREATE {kind} {_quoted(own) if own else ''} ON {name} ({', '.join(map(_quoted, index['columns']))});"


def _refers(line: str) -> bool:
    """Sort what refers to a key behind the keys."""
    return "references" in line.lower()


def _ended(statement: str) -> str:
    return statement.rstrip().removesuffix(";") + ";"


def _quoted(name: str) -> str:
    return ".".join(f'"{part}"' for part in name.split("."))


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, Sequence | Mapping) and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return "'" + str(value).replace("'", "''") + "'"


_CLUSTER = (f"{PROGRAMS}/python/postgres/bin/python", "-I", "-S", f"{OUR_KINDS}/postgres/backend/cluster.py")
POSTGRES = StateKind(
    name="postgres",
    about="one PostgreSQL database on port 5432, owned by a role without special rights",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
    backend=Backend((*_CLUSTER, "keep"), needs=(f"{PROGRAMS}/postgres/template.tar",)),
    reader=(*_CLUSTER, "read"),
)
