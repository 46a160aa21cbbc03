"""Applies a mutation to a PostgreSQL state by editing the document that the reader wrote; no database is started.

A change names a table (`schema` is `public` where it is not given) and one thing to do to it, or a schema to drop.
Values are written as PostgreSQL prints them; rows are chosen as a predicate chooses them (`where`; with `first` only
the first of them), or by their place from 0 (`row`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.postgres.schema import MUTATIONS
from verifiers.errors import VerifierError
from verifiers.formats.snapshot import FILE, written
from verifiers.formats.snapshot_reader import parsed
from verifiers.states.postgres.tables import cell_of, database_of, same
from verifiers.tree import FileTree


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one change.

    Raises:
        Malformed: the change is none of `MUTATIONS`, what it names is not in the state, or nobody read the state back.
    """
    check(MUTATIONS, change, "the postgres change")
    node = tree.get(FILE)
    if node is None:
        raise Malformed("the postgres change needs a state that was read back, because a predicate looks at it")
    try:
        document = parsed(node.data)
        database_of(document)
    except VerifierError as error:
        raise Malformed(f"the postgres change needs a state that can be read: {error}") from None
    if "drop_schema" in change:
        return written(_without_schema(document, change["drop_schema"]))
    table = _found(document["tables"], change)
    for step, do in _DO.items():
        if step in change:
            do(document["tables"], table, change[step])
    return written(document)


def _without_schema(document: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in document["schemas"]:
        raise Malformed(f"the postgres change names the schema {name!r}, which is not in the final state")
    schemas = [schema for schema in document["schemas"] if schema != name]
    return {
        **document,
        "schemas": schemas,
        "tables": [table for table in document["tables"] if table["schema"] != name],
    }


def _found(tables: list[dict[str, Any]], change: Mapping[str, Any]) -> dict[str, Any]:
    place = change.get("schema", "public"), change["table"]
    for table in tables:
        if (table["schema"], table["name"]) == place:
            return table
    raise Malformed(f"the postgres change names the table {place[1]!r}, which is not in the final state")


def _entry(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise Malformed(f"the postgres change names {name!r}, which is not in the final state")


def _stored(table: Mapping[str, Any], name: str) -> tuple[int, dict[str, Any]]:
    """Return a readable column's place in a row, and what the catalogue says of it."""
    _entry(table["columns"], name)
    stored = [column for column in table["columns"] if column["readable"]]
    column = _entry(stored, name)
    return stored.index(column), column


def _chosen(table: Mapping[str, Any], choice: Mapping[str, Any]) -> list[list[str | None]]:
    """Return the rows that are chosen; there has to be one."""
    place = choice.get("row")
    rows: list[list[str | None]] = _fitting(table, choice["where"]) if place is None else table["rows"][place:][:1]
    if not rows:
        raise Malformed("the postgres change chooses rows that are not in the final state")
    return rows[:1] if "first" in choice else rows


def _fitting(table: Mapping[str, Any], where: Mapping[str, Any]) -> list[list[str | None]]:
    base = database_of({"schemas": [], "tables": [table]}).tables[0]
    wanted = []
    for name, value in where.items():
        place, column = _stored(table, name)
        known = base.column(name)
        assert known is not None  # noqa: S101 - it was found just now
        wanted.append((place, column["base"], known, value))
    return [
        row
        for row in table["rows"]
        if all(same(cell_of(row[place], kind), value, known) for place, kind, known, value in wanted)
    ]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    return json.dumps(value, ensure_ascii=False)


def _put(table: Mapping[str, Any], row: list[str | None], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        row[_stored(table, name)[0]] = _text(value)


def _insert(_tables: Any, table: dict[str, Any], values: Mapping[str, Any]) -> None:
    row: list[str | None] = [None] * sum(column["readable"] for column in table["columns"])
    _put(table, row, values)
    table["rows"].append(row)


def _update(_tables: Any, table: dict[str, Any], what: Mapping[str, Any]) -> None:
    for row in _chosen(table, what):
        _put(table, row, what["set"])


def _add(_tables: Any, table: dict[str, Any], what: Mapping[str, Any]) -> None:
    place, column = _stored(table, what["column"])
    for row in _chosen(table, what):
        cell = cell_of(row[place], column["base"])
        if isinstance(cell, bool | str | None):
            raise Malformed("the postgres change adds to what is no number")
        row[place] = str(Decimal(row[place] or "0") + Decimal(repr(what["by"])))


def _delete(_tables: Any, table: dict[str, Any], what: Mapping[str, Any]) -> None:
    for row in _chosen(table, what):
        table["rows"].remove(row)


def _copy(_tables: Any, table: dict[str, Any], what: Mapping[str, Any]) -> None:
    table["rows"] += [list(row) for row in _chosen(table, what)]


def _drop(tables: list[dict[str, Any]], table: dict[str, Any], _: Any) -> None:
    tables.remove(table)


def _rename(_tables: Any, table: dict[str, Any], name: str) -> None:
    table["name"] = name


def _drop_column(_tables: Any, table: dict[str, Any], name: str) -> None:
    place, column = _stored(table, name)
    table["columns"].remove(column)
    for row in table["rows"]:
        del row[place]
    for part in ("indexes", "constraints"):
        table[part] = [entry for entry in table[part] if name not in (entry["columns"] or ())]


def _rename_column(_tables: Any, table: dict[str, Any], names: Mapping[str, str]) -> None:
    _entry(table["columns"], names["from"])["name"] = names["to"]
    for entry in (*table["indexes"], *table["constraints"]):
        entry["columns"] = [names["to"] if name == names["from"] else name for name in entry["columns"] or ()]


def _add_column(_tables: Any, table: dict[str, Any], column: Mapping[str, str]) -> None:
    made = dict.fromkeys(("not_null", "identity", "computed"), False) | {"default": None, "readable": True}
    table["columns"].append({**column, "base": column["type"], **made})
    for row in table["rows"]:
        row.append(None)


def _bare(part: str) -> Callable[[Any, dict[str, Any], Any], None]:
    def drop(_tables: Any, table: dict[str, Any], _: Any) -> None:
        table[part] = []

    return drop


def _without(part: str) -> Callable[[Any, dict[str, Any], str], None]:
    def drop(_tables: Any, table: dict[str, Any], name: str) -> None:
        table[part].remove(_entry(table[part], name))

    return drop


_DO: Mapping[str, Callable[[list[dict[str, Any]], dict[str, Any], Any], None]] = {
    "insert": _insert,
    "update": _update,
    "add": _add,
    "delete": _delete,
    "copy": _copy,
    "drop": _drop,
    "rename": _rename,
    "drop_column": _drop_column,
    "rename_column": _rename_column,
    "add_column": _add_column,
    "drop_index": _without("indexes"),
    "drop_indexes": _bare("indexes"),
    "drop_constraint": _without("constraints"),
    "drop_constraints": _bare("constraints"),
}
