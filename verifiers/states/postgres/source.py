"""Tables of a PostgreSQL database as a source of queries, with the views of the catalogue that tasks look into.

What is not among a table's readable columns cannot be named. A column is read only where the query names it, or has a
star. The views of the catalogue tell of base tables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from verifiers.predicates.context import Context
from verifiers.quoting import listed, quoted
from verifiers.sql.errors import QueryFailed
from verifiers.sql.parser import parsed
from verifiers.sql.plan import Result, StoredTable, rows_of
from verifiers.sql.scope import Row
from verifiers.sql.tokens import Token, tokens
from verifiers.sql.values import Value, cell, type_of
from verifiers.states.postgres.tables import (
    A_CELL,
    A_DIGIT,
    A_NUMBER,
    PostgresDatabase,
    PostgresTable,
    open_database,
)

A_VIEW_ROW = 8


def result_of(context: Context, query: str) -> Result:
    """Evaluate a query on the database, once for each evaluation.

    Raises:
        QueryFailed: it fails on this database.
        CorruptState: the database cannot be read, or the query takes more steps than there are.
        StateUnavailable: the state was not read out.
    """
    source = DatabaseSource(context, open_database(context), named(query))
    return context.once(("postgres query", query), lambda: rows_of(parsed(query), source, context.budget))


def named(query: str) -> frozenset[str] | None:
    """Return the names that a query has, or None where a star may stand for any."""
    found = tokens(query)
    if any(
        token.text == "*" and _is_star(before, after)
        for before, token, after in zip(found, found[1:], found[2:], strict=False)
    ):
        return None
    return frozenset(token.text for token in found if token.kind in {"word", "quoted"})


def _is_star(before: Token, after: Token) -> bool:
    """Say whether a star stands for columns: neither is it between two numbers, nor in `count(*)`."""
    if before.text in {".", ","}:
        return True
    return before.kind == "word" and before.text in {"select", "distinct", "all"} and after.text != "("


class DatabaseSource:
    """The tables that queries can read."""

    def __init__(self, context: Context, base: PostgresDatabase, columns: frozenset[str] | None) -> None:
        self.context, self.base, self.columns = context, base, columns

    def table(self, schema: str | None, name: str) -> StoredTable:
        """Return a table of the schema public where none is named, else a view of the catalogue.

        Raises:
            QueryFailed: there is none, or a cell that is read has no value here.
        """
        stored = self.base.by_name.get((schema or "public", name))
        if stored is not None:
            return self._stored(stored)
        view = _VIEWS.get((schema or "pg_catalog", name))
        if view is None:
            shown = name if schema is None else f"{schema}.{name}"
            tables = [table.name for table in self.base.tables if table.schema == (schema or "public")]
            raise QueryFailed(f"there is no table {quoted(shown)}; the tables there are {listed(tables)}")
        columns, make = view
        rows = list(make(self.base))
        self.context.budget.step(A_VIEW_ROW * len(rows))
        return StoredTable(_typed(columns), rows)

    def _stored(self, table: PostgresTable) -> StoredTable:
        readable = [column for column in table.columns if column.readable]
        columns = [(column.name, type_of(column.base)) for column in readable]
        self.context.budget.step(len(table.columns) + len(table.rows))
        parts = []
        for place, (name, type_) in enumerate(columns):
            if self.columns is None or name in self.columns:
                key = ("postgres values", table.schema, table.name, name)
                parts.append(self.context.once(key, partial(self._values, table, place, type_)))
            else:
                parts.append([None] * len(table.rows))
        rows: list[Row] = list(zip(*parts, strict=True)) if parts else [()] * len(table.rows)
        keys = [constraint.columns for constraint in table.constraints if constraint.kind == "p"]
        return StoredTable(columns, rows, keys[0] if keys else ())

    def _values(self, table: PostgresTable, place: int, type_: str) -> list[Value]:
        texts = [row[place] for row in table.rows]
        cost = A_NUMBER if type_ in {"numeric", "float4", "float8"} else A_CELL
        self.context.budget.step(cost * len(texts) + sum(len(text or "") for text in texts) // A_DIGIT)
        return [cell(text, type_) for text in texts]


# the catalogue

View = tuple[Sequence[str], Callable[[PostgresDatabase], Iterator[Row]]]
_VIEW_TYPES = {"ordinal_position": "int4"}
_CONSTRAINTS = {"p": "PRIMARY KEY", "u": "UNIQUE", "f": "FOREIGN KEY", "c": "CHECK"}
DATABASE = "task"


def _tables(base: PostgresDatabase) -> Iterator[Row]:
    for table in base.tables:
        yield DATABASE, table.schema, table.name, "BASE TABLE"


def _columns(base: PostgresDatabase) -> Iterator[Row]:
    for table in base.tables:
        for place, column in enumerate(table.columns, 1):
            shown = column.type.partition("(")[0]
            shown += column.type.partition(")")[2]
            kind = "ARRAY" if column.type.endswith("]") else shown
            nullable = "NO" if column.not_null else "YES"
            yield DATABASE, table.schema, table.name, column.name, place, column.default, nullable, kind


def _constraints(base: PostgresDatabase) -> Iterator[Row]:
    for table in base.tables:
        for constraint in table.constraints:
            if constraint.kind in _CONSTRAINTS:
                yield table.schema, constraint.name, table.schema, table.name, _CONSTRAINTS[constraint.kind]


def _key_columns(base: PostgresDatabase) -> Iterator[Row]:
    for table in base.tables:
        for constraint in table.constraints:
            if constraint.kind in {"p", "u", "f"}:
                for place, column in enumerate(constraint.columns, 1):
                    yield table.schema, constraint.name, table.schema, table.name, column, place


def _indexes(base: PostgresDatabase) -> Iterator[Row]:
    for table in base.tables:
        for index in table.indexes:
            yield table.schema, table.name, index.name, index.definition


def _plain_tables(base: PostgresDatabase) -> Iterator[Row]:
    for table in base.tables:
        yield table.schema, table.name


_VIEWS: Mapping[tuple[str, str], View] = {
    ("information_schema", "tables"): (("table_catalog", "table_schema", "table_name", "table_type"), _tables),
    ("information_schema", "columns"): (
        (
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "ordinal_position",
            "column_default",
            "is_nullable",
            "data_type",
        ),
        _columns,
    ),
    ("information_schema", "table_constraints"): (
        ("constraint_schema", "constraint_name", "table_schema", "table_name", "constraint_type"),
        _constraints,
    ),
    ("information_schema", "key_column_usage"): (
        ("constraint_schema", "constraint_name", "table_schema", "table_name", "column_name", "ordinal_position"),
        _key_columns,
    ),
    ("pg_catalog", "pg_indexes"): (("schemaname", "tablename", "indexname", "indexdef"), _indexes),
    ("pg_catalog", "pg_tables"): (("schemaname", "tablename"), _plain_tables),
}
"""By schema and name: the columns, of which those of `_VIEW_TYPES` are no texts, and the rows."""


def catalogue_view(schema: str | None, name: str) -> list[tuple[str, str]] | None:
    """Return the columns of a view of the catalogue with their types, or None where there is no such view."""
    view = _VIEWS.get((schema or "pg_catalog", name))
    return None if view is None else _typed(view[0])


def _typed(columns: Sequence[str]) -> list[tuple[str, str]]:
    return [(column, _VIEW_TYPES.get(column, "text")) for column in columns]
