"""Proposed mutations of a PostgreSQL database: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.kinds.common.texts import wrong
from verifiers.errors import VerifierError
from verifiers.formats.snapshot import FILE
from verifiers.formats.snapshot_reader import parsed
from verifiers.sql.parser import parsed as parsed_query
from verifiers.sql.syntax import tables_in
from verifiers.states.postgres.tables import FRACTIONS, INTEGERS, PostgresTable, database_of
from verifiers.tree import FileTree

Change = Mapping[str, Any]

LOOKED_AT = 3  # rows of a table


def _on(arguments: Mapping[str, Any], **what: Any) -> Change:
    schema = {"schema": arguments["schema"]} if "schema" in arguments else {}
    return {"table": arguments["table"], **schema, **what}


def _one_row(arguments: Mapping[str, Any]) -> Change:
    """Take one row away where there should be some; a table that should be empty gets one."""
    if arguments.get("rows", arguments.get("count")):
        return _on(arguments, delete={"where": arguments.get("where", {}), "first": True})
    return _on(arguments, insert=arguments.get("where", {}))


def _changed(arguments: Mapping[str, Any]) -> Change:
    value = arguments["value"]
    if isinstance(value, bool) or value is None:
        other: Any = not value
    else:
        other = value + 1 if isinstance(value, int | float) else f"{value} not this"
    return _on(arguments, update={"where": arguments["where"], "set": {arguments["column"]: other}})


def _summed(arguments: Mapping[str, Any]) -> Change:
    more = 1 + 2 * arguments.get("tolerance", 0)
    chosen = {"where": arguments.get("where", {}), "first": True}
    return _on(arguments, add={**chosen, "column": arguments["column"], "by": more})


def _renamed(arguments: Mapping[str, Any]) -> Change:
    return _on(arguments, rename_column={"from": arguments["column"], "to": "not_this"})


def _without_table(arguments: Mapping[str, Any]) -> Change:
    """Drop a table that a query reads, so that it fails; where it reads the catalogue alone, drop all of `public`."""
    for table in tables_in(parsed_query(arguments["query"])):
        if table.schema not in ("pg_catalog", "information_schema") and not table.name.startswith("pg_"):
            return _on({"table": table.name, "schema": table.schema or "public"}, drop=True)
    return {"drop_schema": "public"}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "postgres.cellEquals": _changed,
    "postgres.columnExists": _renamed,
    "postgres.constraintExists": lambda arguments: _on(arguments, drop_constraints=True),
    "postgres.indexExists": lambda arguments: _on(arguments, drop_indexes=True),
    "postgres.queryCount": _without_table,
    "postgres.queryRows": _without_table,
    "postgres.rowCount": _one_row,
    "postgres.rowExists": lambda arguments: _on(arguments, delete={"where": arguments["where"]}),
    "postgres.schemaExists": lambda arguments: {"drop_schema": arguments["schema"]},
    "postgres.schemaUnchanged": lambda arguments: _on(arguments, add_column={"name": "not_this", "type": "text"}),
    "postgres.sumEquals": _summed,
    "postgres.tableEquals": _one_row,
    "postgres.tableExists": lambda arguments: _on(arguments, drop=True),
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each table that the right solution made or changed."""
    old, new = _tables(before), _tables(after)
    for place, table in new.items():
        address = {"schema": table.schema, "table": table.name}
        was = old.get(place)
        if was is None:
            yield f"left-out {table.name}", _on(address, drop=True)
        rows = [] if was is None or was.columns != table.columns else list(was.rows)
        if was is None or list(was.rows) != list(table.rows):
            yield from _in_table(address, table, rows)
    untouched = [place for place, table in new.items() if table == old.get(place) and table.rows]
    if untouched:
        schema, name = untouched[0]
        yield f"other-table-touched {name}", {"schema": schema, "table": name, "delete": {"row": 0}}


def _in_table(address: Mapping[str, Any], table: PostgresTable, was: list[Any]) -> Iterator[tuple[str, Change]]:
    touched = [number for number, row in enumerate(table.rows) if row not in was]
    for number in touched[:LOOKED_AT]:
        yield f"row-left-out {table.name} {number}", _on(address, delete={"row": number})
        yield f"row-doubled {table.name} {number}", _on(address, copy={"row": number})
        yield from _in_cells(address, table, number)
    names = [column.name for column in table.columns if column.readable]
    for row in [row for row in was if row not in table.rows][:LOOKED_AT]:
        yield f"row-not-removed {table.name}", _on(address, insert=dict(zip(names, row, strict=True)))
    if untouched := [number for number in range(len(table.rows)) if number not in touched]:
        yield f"wrong-row {table.name} {untouched[0]}", _on(address, delete={"row": untouched[0]})


def _in_cells(address: Mapping[str, Any], table: PostgresTable, number: int) -> Iterator[tuple[str, Change]]:
    keys = {name for constraint in table.constraints if constraint.kind == "p" for name in constraint.columns}
    stored = [column for column in table.columns if column.readable]
    for column, text in zip(stored, table.rows[number], strict=True):
        if text is None or column.name in keys:
            continue
        name = f"{table.name} {number} {column.name}"
        if column.base in INTEGERS | FRACTIONS:
            yield f"off-by-one {name}", _on(address, add={"row": number, "column": column.name, "by": 1})
        elif column.base in {"text", "varchar"}:
            for kind, other in wrong(text):
                yield f"{kind} {name}", _on(address, update={"row": number, "set": {column.name: other}})


def _tables(tree: FileTree) -> dict[tuple[str, str], PostgresTable]:
    node = tree.get(FILE)
    if node is None:
        return {}
    try:
        return dict(database_of(parsed(node.data)).by_name)
    except VerifierError:
        return {}
