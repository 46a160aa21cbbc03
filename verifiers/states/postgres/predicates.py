"""Predicates over the PostgreSQL server's database.

Only base tables are looked at, never a view, and no rule, policy, function or operator of the database has a say in
what is read. The names of tables and columns are exact: PostgreSQL folds a name that is not quoted to small letters.
A table is looked for in `schema`, which is `public` where none is given, and in no search path. `where` is a set of
columns with the value that each must have. Numbers are compared exactly, a truth value is none, a JSON document is
compared by its content, and every other type by its text: dates and times in ISO form and UTC. A database that cannot
be read counts against the agent.

A query is evaluated by us on what was read of the tables, never by a database: one SELECT or VALUES in PostgreSQL's
SQL, with joins, WITH, groups, window functions and set operations, and the views `information_schema.tables`,
`columns`, `table_constraints` and `key_column_usage`, `pg_indexes` and `pg_tables`. What is not evaluated (whatever
depends on the clock, regular expressions, intervals, arrays, functions that are not in `verifiers/sql/names.py`) is
refused when the predicate is read. A query that fails on the database makes a predicate false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from verifiers.errors import StateUnavailable, TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NAME, NOTHING, Example, ProbeResult, names, predicate
from verifiers.predicates.values import exact_sum, near
from verifiers.quoting import listed, quoted
from verifiers.states.postgres import queries  # noqa: F401 - it registers its predicates
from verifiers.states.postgres.declarations import SPELLINGS, declared
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.postgres.parts import MAKE, ONE, ROWS, TOLERANCE, TWO, VALUE
from verifiers.states.postgres.tables import (
    Cell,
    PostgresColumn,
    PostgresTable,
    evidence_value,
    matching,
    open_database,
)

Where: TypeAlias = Mapping[str, Any]

WHERE = {"type": "object", "additionalProperties": VALUE, "minProperties": 1, "description": "object: column to value"}
NUMBER = {"type": "number"}
A_ROW, A_SUMMAND, AN_ENTRY = 3, 3, 4  # steps
COLUMNS = names(least=1)
DECLARED = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "array",
        "prefixItems": [NAME, {"type": "string", "minLength": 1, "maxLength": 200}],
        "items": False,
        "minItems": 2,
    },
    "description": "list of `[name, declaration]`, as in the initial state",
}
KINDS = {"primary key": "p", "unique": "u", "foreign key": "f", "check": "c", "exclude": "x"}
KIND = {"enum": list(KINDS), "description": "one of " + ", ".join(f"`{kind}`" for kind in KINDS)}
SCHEMA = {"schema": NAME}

STOCK = {"table": "stock"}
NONE = partial(postgres_database, {})
ORDERS = {**MAKE, "orders": [["id", "integer primary key"], ["stock_id", "integer references stock (id)"]]}


@predicate(
    "postgres.schemaExists",
    words="there is a schema {schema}",
    takes={"schema": NAME},
    produces=NOTHING,
    example=Example({"schema": "public"}, ONE, partial(postgres_database, {}, schemas=["other"])),
)
def schema_exists(context: Context, schema: str) -> ProbeResult:
    """There is a schema of this name."""
    schemas = open_database(context).schemas
    return ProbeResult(schema in schemas, f"the schemas are {listed(schemas)}")


@predicate(
    "postgres.tableExists",
    words="there is a table {table}",
    takes={"table": NAME},
    may_take=SCHEMA,
    produces=NOTHING,
    example=Example(STOCK, ONE, NONE),
)
def table_exists(context: Context, table: str, schema: str = "public") -> ProbeResult:
    """There is a base table of this name in the schema; a view or a partitioned table is none."""
    tables = open_database(context).tables
    context.budget.step(len(tables))
    table_names = [known.name for known in tables if known.schema == schema]
    return ProbeResult(table in table_names, f"the tables of {quoted(schema)} are {listed(table_names)}")


@predicate(
    "postgres.columnExists",
    words="the table {table} has a column {column}",
    takes={"table": NAME, "column": NAME},
    may_take={"type": NAME, **SCHEMA},
    produces=NOTHING,
    example=Example({**STOCK, "column": "price"}, ONE, partial(postgres_database, {"stock": [["id", "integer"]]})),
)
def column_exists(
    context: Context,
    table: str,
    column: str,
    type: str | None = None,  # noqa: A002 - what the argument is called in documents
    schema: str = "public",
) -> ProbeResult:
    """The table has this column, of this type where one is given, in any of PostgreSQL's spellings."""
    columns = _table(context, table, schema).columns
    match = next((known for known in columns if known.name == column), None)
    holds = match is not None and (type is None or match.type == SPELLINGS.of(type))
    return ProbeResult(holds, f"{quoted(table)} has the columns {_described(columns)}")


@predicate(
    "postgres.rowExists",
    words="the table {table} has a row with {where}",
    takes={"table": NAME, "where": WHERE},
    may_take=SCHEMA,
    produces=("where",),
    example=Example({**STOCK, "where": {"item": "desk", "price": 80}}, TWO, ONE),
)
def row_exists(context: Context, table: str, where: Where, schema: str = "public") -> ProbeResult:
    """At least one row has these values."""
    count = sum(1 for _ in _select(context, _table(context, table, schema), [], where))
    return ProbeResult(count > 0, f"{quoted(table)} has {count} such rows")


@predicate(
    "postgres.rowCount",
    words="the table {table} has {count} rows",
    takes={"table": NAME, "count": COUNT},
    may_take={"where": WHERE, **SCHEMA},
    produces=NOTHING,
    example=Example({**STOCK, "count": 2}, TWO, ONE),
)
def row_count(
    context: Context, table: str, count: int, where: Where | None = None, schema: str = "public"
) -> ProbeResult:
    """The table has this many rows, or this many with the values of `where`."""
    actual = sum(1 for _ in _select(context, _table(context, table, schema), [], where or {}))
    return ProbeResult(actual == count, f"{quoted(table)} has {actual} such rows")


@predicate(
    "postgres.cellEquals",
    words="in the table {table}, the row with {where} has {value} in {column}",
    takes={"table": NAME, "where": WHERE, "column": NAME, "value": VALUE},
    may_take=SCHEMA,
    produces=("value",),
    example=Example({**STOCK, "where": {"id": 1}, "column": "price", "value": 9.5}, TWO, ONE),
)
def cell_equals(
    context: Context, table: str, where: Where, column: str, value: Any, *, schema: str = "public"
) -> ProbeResult:
    """Exactly one row has the values of `where`, and its cell in the column has this value."""
    definition = _table(context, table, schema)
    cells = [cell for (cell,) in _select(context, definition, [column], where)]
    if len(cells) != 1:
        raise TargetMissing(f"{quoted(table)} has {len(cells)} such rows")
    fits = matching(value, _column(definition, column), context.budget)
    return ProbeResult(fits(cells[0]), f"the cell has {quoted(evidence_value(cells[0]))}")


@predicate(
    "postgres.tableEquals",
    words="the rows of the table {table} are {rows} in the columns {columns}",
    takes={"table": NAME, "columns": COLUMNS, "rows": ROWS},
    may_take={"where": WHERE, **SCHEMA},
    produces=NOTHING,  # most rows were there before, or are copied
    example=Example({**STOCK, "columns": ["item", "price"], "rows": [["desk", 80], ["lamp", 9.5]]}, TWO, ONE),
)
def table_equals(
    context: Context,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    where: Where | None = None,
    schema: str = "public",
) -> ProbeResult:
    """The table's rows, or those with the values of `where`, are these in these columns, in any order and as often."""
    definition = _table(context, table, schema)
    described = [_column(definition, name) for name in columns]
    lacking = [
        (wanted, [matching(value, column, context.budget) for value, column in zip(wanted, described, strict=False)])
        for wanted in rows
    ]
    for row, times in Counter(_select(context, definition, columns, where or {})).items():
        for _ in range(times):
            place = next((place for place, wanted in enumerate(lacking) if _row_is(row, *wanted)), None)
            if place is None:  # they differ, however it goes on
                return ProbeResult(
                    holds=False, found=f"{quoted(table)} has besides {quoted([evidence_value(cell) for cell in row])}"
                )
            del lacking[place]
    left = [wanted for wanted, _ in lacking]
    return ProbeResult(not left, f"{quoted(table)} " + (f"lacks {quoted(left)}" if left else "has just these rows"))


@predicate(
    "postgres.sumEquals",
    words="in the table {table}, the column {column} adds up to {value}",
    takes={"table": NAME, "column": NAME, "value": NUMBER},
    may_take={"where": WHERE, "tolerance": TOLERANCE, **SCHEMA},
    produces=("value",),
    example=Example({**STOCK, "column": "price", "value": 89.5}, TWO, ONE),
)
def sum_equals(
    context: Context,
    table: str,
    column: str,
    value: float,
    *,
    where: Where | None = None,
    tolerance: float = 0,
    schema: str = "public",
) -> ProbeResult:
    """The column's numbers add up to this, without rounding and within the tolerance (0 if none is given).

    Nulls do not count; a cell that holds anything else than a number makes it false.
    """
    definition = _table(context, table, schema)
    cells = [cell for (cell,) in _select(context, definition, [column], where or {}) if cell is not None]
    numbers = [cell for cell in cells if isinstance(cell, int | Decimal) and not isinstance(cell, bool)]
    if len(numbers) < len(cells):
        raise TargetMissing(f"the column {quoted(column)} has something in it that is not a number")
    context.budget.step(A_SUMMAND * len(numbers))
    total = exact_sum(numbers)
    return ProbeResult(near(total, value, tolerance), f"{len(cells)} cells add up to {quoted(evidence_value(total))}")


@predicate(
    "postgres.schemaUnchanged",
    words="the table {table} still has just the columns {columns}",
    takes={"table": NAME, "columns": DECLARED},
    may_take=SCHEMA,
    produces=NOTHING,
    example=Example(
        {**STOCK, "columns": MAKE["stock"]},
        ONE,
        partial(postgres_database, {"stock": [*MAKE["stock"], ["note", "text"]]}),
    ),
)
def schema_unchanged(
    context: Context, table: str, columns: Sequence[tuple[str, str]], schema: str = "public"
) -> ProbeResult:
    """The table's columns are these, in this order, with these types, null constraints, defaults and primary key.

    Of a default counts whether there is one.
    """
    wanted = [declared(name, declaration) for name, declaration in columns]
    if None in wanted:
        raise StateUnavailable("a column that the predicate declares cannot be understood: correct the predicate")
    definition = _table(context, table, schema)
    keys = {name for constraint in definition.constraints if constraint.kind == "p" for name in constraint.columns}
    actual = [
        (column.name, column.type, column.not_null, column.default is not None or column.identity, column.name in keys)
        for column in definition.columns
    ]
    return ProbeResult(actual == wanted, f"the columns are {_described(definition.columns)}")


@predicate(
    "postgres.indexExists",
    words="the table {table} has an index on {columns}",
    takes={"table": NAME, "columns": COLUMNS},
    may_take={"unique": FLAG, "name": NAME, **SCHEMA},
    produces=NOTHING,
    example=Example(
        {**STOCK, "columns": ["item"]}, partial(postgres_database, MAKE, indexes={"stock": [["item"]]}), ONE
    ),
)
def index_exists(
    context: Context,
    table: str,
    columns: Sequence[str],
    *,
    unique: bool | None = None,
    name: str | None = None,
    schema: str = "public",
) -> ProbeResult:
    """The table has an index on just these columns, in this order, over all of its rows."""
    indexes = _table(context, table, schema).indexes
    context.budget.step(AN_ENTRY * len(indexes))
    fitting = [
        index
        for index in indexes
        if list(index.columns) == list(columns)
        and index.valid
        and not index.partial
        and unique in {None, index.unique}
        and name in {None, index.name}
    ]
    return ProbeResult(bool(fitting), f"the indexes of {quoted(table)} are {listed([index.name for index in indexes])}")


@predicate(
    "postgres.constraintExists",
    words="the table {table} has the constraint {kind} on {columns}",
    takes={"table": NAME, "kind": KIND, "columns": COLUMNS},
    may_take={"to": NAME, **SCHEMA},
    produces=NOTHING,
    example=Example(
        {"table": "orders", "kind": "foreign key", "columns": ["stock_id"], "to": "stock"},
        partial(postgres_database, ORDERS),
        partial(postgres_database, {**MAKE, "orders": [["id", "integer primary key"], ["stock_id", "integer"]]}),
    ),
)
def constraint_exists(
    context: Context, table: str, kind: str, columns: Sequence[str], *, to: str | None = None, schema: str = "public"
) -> ProbeResult:
    """The table has a valid constraint of this kind on just these columns, in any order.

    `to` is the table, in the same schema, that a foreign key leads to.
    """
    constraints = _table(context, table, schema).constraints
    context.budget.step(AN_ENTRY * len(constraints))
    fitting = [
        constraint
        for constraint in constraints
        if constraint.kind == KINDS[kind]
        and sorted(constraint.columns) == sorted(columns)
        and constraint.valid
        and (to is None or constraint.to == [schema, to])
    ]
    descriptions = [f"{constraint.name} {constraint.definition}" for constraint in constraints]
    return ProbeResult(bool(fitting), f"the constraints of {quoted(table)} are {listed(descriptions)}")


def _table(context: Context, table: str, schema: str) -> PostgresTable:
    base = open_database(context)
    context.budget.step(len(base.tables))
    match = base.by_name.get((schema, table))
    if match is None:
        table_names = [known.name for known in base.tables if known.schema == schema]
        raise TargetMissing(
            f"there is no table {quoted(table)} in {quoted(schema)}; its tables are {listed(table_names)}"
        )
    return match


def _column(table: PostgresTable, name: str) -> PostgresColumn:
    match = table.column(name)
    if match is None:
        raise TargetMissing(f"{quoted(table.name)} has no column {quoted(name)}; it has {_described(table.columns)}")
    return match


def _select(context: Context, table: PostgresTable, columns: Sequence[str], where: Where) -> Iterator[tuple[Cell, ...]]:
    """Yield the named columns of the rows that have the values of `where`."""
    budget = context.budget
    budget.step(len(table.columns) * (1 + len(where) + len(columns)) + A_ROW * len(table.rows))
    tests = [matching(value, _column(table, name), budget) for name, value in where.items()]
    tested = [_cells(context, table, name) for name in where]
    wanted = [_cells(context, table, name) for name in columns]
    budget.step((A_ROW - 1) * len(table.rows) * (len(tests) + len(wanted)))
    rows = zip(*wanted, strict=True) if wanted else repeat((), len(table.rows))
    if not tests:
        yield from rows
        return
    for row, cells in zip(rows, zip(*tested, strict=True), strict=True):
        if all(test(cell) for test, cell in zip(tests, cells, strict=True)):
            yield row


def _cells(context: Context, table: PostgresTable, name: str) -> list[Cell]:
    """Return the cells of a column, parsed once for each evaluation."""
    return context.once(("postgres", table.schema, table.name, name), lambda: table.cells(name, context.budget))


def _row_is(row: Sequence[Cell], wanted: Sequence[Any], tests: Sequence[Callable[[Cell], bool]]) -> bool:
    return len(row) == len(wanted) and all(test(cell) for test, cell in zip(tests, row, strict=True))


def _described(columns: Sequence[PostgresColumn]) -> str:
    return listed([f"{column.name} {column.type}" for column in columns])
