"""Predicates over the SQLite server's database, `main.db`.

Only stored columns of base tables are looked at, never a view or a computed column. The names of tables and columns do
not mind upper and lower case, as in SQLite. `where` is a set of columns with the value that each must have. Values are
compared by type and value: 1 is 1.0, "1" is not 1, and null is null. A database that is missing or corrupt counts
against the agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from verifiers.errors import StateUnavailable, TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, NAME, NOTHING, SCALAR, Example, ProbeResult, predicate
from verifiers.predicates.values import cell_equal, exact_sum, is_number, near
from verifiers.quoting import listed, plain, quoted
from verifiers.states.sqlite.examples import database
from verifiers.states.sqlite.tables import A_COLUMN, declared, fold, open_database

Where: TypeAlias = Mapping[str, Any]

WHERE = {"type": "object", "additionalProperties": SCALAR, "minProperties": 1, "description": "object: column to value"}
NUMBER = {"type": "number"}
TOLERANCE = {"type": "number", "minimum": 0}
A_SUMMAND, A_DECLARATION = 6, 500  # steps
COLUMNS = {"type": "array", "items": NAME, "minItems": 1, "uniqueItems": True}
ROWS = {
    "type": "array",
    "items": {"type": "array", "items": SCALAR},
    "description": "list of rows, each a list of values",
}
DECLARED = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "array",
        "prefixItems": [NAME, {"type": "string", "pattern": "^[A-Za-z0-9_ (),.'+-]*$", "maxLength": 200}],
        "items": False,
        "minItems": 2,
    },
    "description": "list of `[name, declaration]`, as in the initial state",
}

MAKE = "CREATE TABLE stock (id INTEGER PRIMARY KEY, item TEXT NOT NULL, price REAL)"
TWO = [MAKE, "INSERT INTO stock VALUES (1, 'lamp', 9.5), (2, 'desk', 80)"]
ONE = [MAKE, "INSERT INTO stock VALUES (1, 'lamp', 10)"]
STOCK = {"table": "stock"}


@predicate(
    "sqlite.tableExists",
    words="there is a table {table}",
    takes={"table": NAME},
    produces=NOTHING,
    example=Example(STOCK, partial(database, ONE), partial(database, ["CREATE VIEW stock AS SELECT 1"])),
)
def table_exists(context: Context, table: str) -> ProbeResult:
    """There is a base table of this name; a view is none."""
    base = open_database(context)
    context.budget.step(len(base.tables))
    return ProbeResult(fold(table) in base.tables, f"the tables are {listed(sorted(base.tables.values()))}")


@predicate(
    "sqlite.columnExists",
    words="the table {table} has a column {column}",
    takes={"table": NAME, "column": NAME},
    produces=NOTHING,
    example=Example(
        {**STOCK, "column": "price"}, partial(database, ONE), partial(database, ["CREATE TABLE stock (id)"])
    ),
)
def column_exists(context: Context, table: str, column: str) -> ProbeResult:
    """There is a base table of this name, and it has this column."""
    columns = open_database(context).columns(table)
    if columns is None:
        raise TargetMissing(f"there is no table {quoted(table)}")
    context.budget.step(A_COLUMN * len(columns))
    names = [known.name for known in columns]
    return ProbeResult(fold(column) in map(fold, names), f"{quoted(table)} has the columns {listed(names)}")


@predicate(
    "sqlite.rowExists",
    words="the table {table} has a row with {where}",
    takes={"table": NAME, "where": WHERE},
    produces=("where",),
    example=Example({**STOCK, "where": {"item": "desk", "price": 80}}, partial(database, TWO), partial(database, ONE)),
)
def row_exists(context: Context, table: str, where: Where) -> ProbeResult:
    """At least one row has these values."""
    count = sum(1 for _ in _select(context, table, [], where))
    return ProbeResult(count > 0, f"{quoted(table)} has {count} such rows")


@predicate(
    "sqlite.rowCount",
    words="the table {table} has {count} rows",
    takes={"table": NAME, "count": COUNT},
    may_take={"where": WHERE},
    produces=NOTHING,
    example=Example({**STOCK, "count": 2}, partial(database, TWO), partial(database, ONE)),
)
def row_count(context: Context, table: str, count: int, where: Where | None = None) -> ProbeResult:
    """The table has this many rows, or this many with the values of `where`."""
    actual = sum(1 for _ in _select(context, table, [], where or {}))
    return ProbeResult(actual == count, f"{quoted(table)} has {actual} such rows")


@predicate(
    "sqlite.cellEquals",
    words="in the table {table}, the row with {where} has {value} in {column}",
    takes={"table": NAME, "where": WHERE, "column": NAME, "value": SCALAR},
    produces=("value",),
    example=Example(
        {**STOCK, "where": {"id": 1}, "column": "price", "value": 9.5}, partial(database, TWO), partial(database, ONE)
    ),
)
def cell_equals(context: Context, table: str, where: Where, column: str, value: Any) -> ProbeResult:
    """Exactly one row has the values of `where`, and its cell in the column has this value."""
    cells = [cell for (cell,) in _select(context, table, [column], where)]
    if len(cells) != 1:
        raise TargetMissing(f"{quoted(table)} has {len(cells)} such rows")
    return ProbeResult(cell_equal(cells[0], value), f"the cell has {quoted(cells[0])}")


@predicate(
    "sqlite.tableEquals",
    words="the rows of the table {table} are {rows} in the columns {columns}",
    takes={"table": NAME, "columns": COLUMNS, "rows": ROWS},
    may_take={"where": WHERE},
    produces=NOTHING,  # most rows were there before, or are copied
    example=Example(
        {**STOCK, "columns": ["item", "price"], "rows": [["desk", 80], ["lamp", 9.5]]},
        partial(database, TWO),
        partial(database, ONE),
    ),
)
def table_equals(
    context: Context, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], where: Where | None = None
) -> ProbeResult:
    """The table's rows, or those with the values of `where`, are these in these columns, in any order and as often."""
    wanted = Counter(map(tuple, rows))
    actual: Counter[tuple[Any, ...]] = Counter()
    for row in _select(context, table, columns, where or {}):
        actual[row] += 1
        if actual[row] > wanted[row]:  # they differ, however it goes on
            return ProbeResult(holds=False, found=f"{quoted(table)} has besides {quoted(list(row))}")
    lacking = list(wanted - actual)
    return ProbeResult(
        not lacking, f"{quoted(table)} " + (f"lacks {quoted(lacking)}" if lacking else "has just these rows")
    )


@predicate(
    "sqlite.sumEquals",
    words="in the table {table}, the column {column} adds up to {value}",
    takes={"table": NAME, "column": NAME, "value": NUMBER},
    may_take={"where": WHERE, "tolerance": TOLERANCE},
    produces=("value",),
    example=Example({**STOCK, "column": "price", "value": 89.5}, partial(database, TWO), partial(database, ONE)),
)
def sum_equals(
    context: Context, table: str, column: str, value: float, *, where: Where | None = None, tolerance: float = 0
) -> ProbeResult:
    """The column's numbers add up to this, without rounding and within the tolerance (0 if none is given).

    Nulls do not count; a cell that holds anything else than a number makes it false.
    """
    cells = [cell for (cell,) in _select(context, table, [column], where or {}) if cell is not None]
    strange = next((cell for cell in cells if not is_number(cell) or cell in {float("inf"), float("-inf")}), None)
    if strange is not None:
        raise TargetMissing(f"the column has {quoted(strange)} in it, which is not a number")
    context.budget.step(A_SUMMAND * len(cells))
    total = exact_sum(cells)
    return ProbeResult(near(total, value, tolerance), f"{len(cells)} cells add up to {_plain(total)}")


@predicate(
    "sqlite.schemaUnchanged",
    words="the table {table} still has just the columns {columns}",
    takes={"table": NAME, "columns": DECLARED},
    produces=NOTHING,
    example=Example(
        {**STOCK, "columns": [["id", "INTEGER PRIMARY KEY"], ["item", "TEXT NOT NULL"], ["price", "REAL"]]},
        partial(database, ONE),
        partial(database, [*ONE, "ALTER TABLE stock ADD COLUMN note"]),
    ),
)
def schema_unchanged(context: Context, table: str, columns: Sequence[tuple[str, str]]) -> ProbeResult:
    """The table's columns are these, in this order, with these types, defaults, keys and null constraints."""
    context.budget.step(A_DECLARATION)
    wanted = declared(columns)
    if wanted is None:
        raise StateUnavailable("SQLite refuses the columns that the predicate declares: correct the predicate")
    actual = open_database(context).columns(table)
    if actual is None:
        raise TargetMissing(f"there is no table {quoted(table)}")
    return ProbeResult(
        actual == wanted, f"the columns are {listed([f'{column.name} {column.type}' for column in actual])}"
    )


def _select(context: Context, table: str, columns: Sequence[str], where: Where) -> Iterator[tuple[Any, ...]]:
    """Yield the named columns of the rows that have the values of `where`."""
    base = open_database(context)
    known_columns = base.columns(table)
    if known_columns is None:
        raise TargetMissing(f"there is no table {quoted(table)}")
    real = {fold(column.name): column.name for column in known_columns if not column.computed}
    unknown = [name for name in (*columns, *where) if fold(name) not in real]
    if unknown:
        raise TargetMissing(
            f"{quoted(table)} has no stored column {listed(unknown)}; it has {listed(list(real.values()))}"
        )
    asked = [real[fold(name)] for name in (*where, *columns)]
    values = list(where.values())
    for row in base.rows(table, asked, context.budget):
        if all(map(cell_equal, row, values)):
            yield row[len(values) :] if columns else ()


def _plain(number: Fraction) -> str:
    if number.denominator == 1:
        return quoted(number.numerator)
    return f"about {plain(number)}"
