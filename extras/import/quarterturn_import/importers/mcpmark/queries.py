"""Idioms of mcpmark's verifiers of PostgreSQL: what psycopg2 gives of a query, as predicates over query results.

Rows and cells are known by their queries alone; what is asked about them becomes another query. A comparison that
raises an exception in Python on some values (a number with None) is a condition of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from quarterturn_import.importers.formula import Formula
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.values import Cell, FirstRow, Rows
from verifiers.budget import ReadingBudget
from verifiers.errors import VerifierError
from verifiers.sql.errors import NotSupported
from verifiers.sql.names import AGGREGATES
from verifiers.sql.parser import parsed
from verifiers.sql.plan import StoredTable, rows_of
from verifiers.sql.syntax import (
    Binary,
    Call,
    Cast,
    Derived,
    Exists,
    Join,
    Literal,
    Query,
    Select,
    SetOperation,
    Star,
    Table,
    Unary,
    Values,
    parts,
)
from verifiers.states.postgres.source import catalogue_view

ERROR = "psycopg2.Error"
ROWS, COUNT = "postgres.queryRows", "postgres.queryCount"
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "and", "or", "like", "ilike", "is", "not", "is null"})


# queries


def executed(text: Any, parameters: Any) -> str:
    """Return the query that a cursor runs, with the values of its parameters.

    Raises:
        CannotSay: it is none that is evaluated here.
    """
    if not isinstance(text, str):
        raise CannotSay("a query that is not known")
    if parameters is not None:
        text = _filled(text, parameters)
    query: str = text.strip().rstrip(";").strip()
    _check(query)
    return query


def _filled(text: str, parameters: Any) -> str:
    """Put the values of `%s` and `%(name)s` in, as psycopg2 does."""
    if not isinstance(parameters, list | tuple | dict):
        raise CannotSay("parameters of a query that are not known")
    by_name = parameters if isinstance(parameters, dict) else {}
    values = iter(() if isinstance(parameters, dict) else parameters)

    def value(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        try:
            return _parameter(next(values) if match[1] is None else by_name[match[1]])
        except (LookupError, StopIteration):
            raise CannotSay("parameters of a query that do not fit it") from None

    return re.sub(r"%%|%(?:\((\w+)\))?s", value, text)


def _parameter(value: Any) -> str:
    """Write a parameter as psycopg2 does: a tuple for IN, a list for ANY."""
    if isinstance(value, tuple) and value:
        return f"({', '.join(map(literal, value))})"
    if isinstance(value, list) and value:
        return f"ARRAY[{', '.join(map(literal, value))}]"
    return literal(value)


@lru_cache(maxsize=512)
def _check(query: str) -> None:
    """Refuse a query that is not evaluated here, also one of the catalogue that cannot be answered.

    Raises:
        CannotSay: it says why.
    """
    try:
        tree = parsed(query)
    except NotSupported as error:
        word = "" if error.place is None else " near " + " ".join(query[error.place : error.place + 30].split())
        raise CannotSay(f"{error}{word}") from None
    views = [table for table in _tables(tree) if table.schema == "information_schema" or table.name.startswith("pg_")]
    for view in views:
        if catalogue_view(view.schema, view.name) is None:
            raise CannotSay(f"the view {view.name} of the catalogue is not read")
    if views:
        try:
            rows_of(tree, _Catalogue(), ReadingBudget())
        except VerifierError as error:
            raise CannotSay(f"a query of the catalogue: {error}") from None


class _Catalogue:
    """The views of the catalogue without rows; any other table has no columns that are known."""

    def table(self, schema: str | None, name: str) -> StoredTable:
        return StoredTable(catalogue_view(schema, name) or (), [])


def _tables(node: Any) -> list[Table]:  # noqa: PLR0911 - one return for each form
    """List the tables that a query names, in queries inside it too, but for those of its WITH lists."""
    match node:
        case Query(named, body):
            inner = [table for one in named for table in _tables(one.query)] + _tables(body)
            inner += [table for one in (*node.order, node.limit, node.offset) for table in _tables(one)]
            names = {one.name for one in named}
            return [table for table in inner if table.schema is not None or table.name not in names]
        case Table():
            return [node]
        case Derived(query):
            return _tables(query)
        case Join(_, left, right, on):
            return [*_tables(left), *_tables(right), *_tables(on)]
        case SetOperation(_, _, left, right):
            return [*_tables(left), *_tables(right)]
        case Select():
            inner = [*_tables(node.source), *(table for item in node.items for table in _tables(item.value))]
            for one in (node.where, *node.group, node.having, *node.distinct_on):
                inner += _tables(one)
            return inner
        case Values(rows):
            return [table for row in rows for one in row for table in _tables(one)]
        case None:
            return []
    inner_query = getattr(node, "query", None)
    found = _tables(inner_query) if isinstance(inner_query, Query) else []
    return found + [table for part in parts(node) for table in _tables(part)]


def width(query: str) -> int:
    """Return the number of columns of a query.

    Raises:
        CannotSay: it has a star, so that the number depends on the tables.
    """
    body: Any = parsed(query).body
    while isinstance(body, SetOperation):
        body = body.left.body
    if isinstance(body, Values):
        return len(body.rows[0])
    if any(isinstance(item.value, Star) for item in body.items):
        raise CannotSay("a query with a star, whose columns are not known")
    return len(body.items)


def _one_row(query: str) -> bool:
    """Say whether a query gives one row whatever the tables hold."""
    tree = parsed(query)
    body = tree.body
    if tree.limit is not None or tree.offset is not None:
        return False
    if isinstance(body, Values):
        return len(body.rows) == 1
    if not isinstance(body, Select) or body.group or body.having or body.distinct_on:
        return False
    if body.source is None:
        return body.where is None
    return any(_has_aggregate(item.value) for item in body.items)


def _has_aggregate(node: Any) -> bool:
    if isinstance(node, Call):
        return (node.name in AGGREGATES and node.over is None) or any(map(_has_aggregate, parts(node)))
    return any(map(_has_aggregate, parts(node)))


def _kind(cell: Cell) -> str | None:
    """Return the type of a cell where its query says so: `number`, `truth`, `comparison` (perhaps null), or None."""
    body = parsed(cell.query).body
    column = re.fullmatch(r"c(\d+)", cell.expression)
    items = body.items if isinstance(body, Select) and column is not None else ()
    value: Any = items[int(column[1]) - 1].value if column is not None and items else None
    while isinstance(value, Cast) and value.type in {"int4", "int8"}:
        value = value.operand
    match value:
        case Call("count", _) if value.over is None:
            return "number"
        case Exists():
            return "truth"
        case Binary(operator) | Unary(operator) if operator in _COMPARISONS:
            return "comparison"
        case Call("bool_and" | "bool_or" | "every"):
            return "comparison"
        case Literal(number, "int4" | "int8") if number is not None:
            return "number"
    return None


def named(query: str, wanted: str, *, condition: str = "", end: str = "") -> str:
    """Return a query over the rows of another one, whose columns are c1, c2 and so on."""
    columns = ", ".join(f"c{number}" for number in range(1, width(query) + 1))
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {wanted} FROM ({query}) AS q ({columns}){where}{end}"  # noqa: S608 - it is never run by a database


# conditions


def runs(query: str) -> Formula:
    """A query does not fail."""
    return {COUNT: {"query": query, "count": 0, "at_least": True}}


def has_rows(query: str, number: int, *, at_least: bool = False) -> Formula:
    """A query gives so many rows."""
    if number < 0 or (at_least and number == 0):
        return at_least
    return {COUNT: {"query": query, "count": number, **({"at_least": True} if at_least else {})}}


def same_number(query: str, other: str) -> Formula:
    """Two queries give the same number of rows, whichever is named first."""
    query, other = sorted([query, other])
    count = "SELECT COUNT(*) FROM ({}) AS q"
    return {ROWS: {"query": count.format(query), "same_as": count.format(other)}}


def first_says(cell: Cell, condition: str) -> Formula:
    """A condition on a cell of the first row holds; `{}` stands for the cell."""
    asked = named(cell.query, condition.replace("{}", cell.expression), end=" LIMIT 1")
    return {ROWS: {"query": asked, "rows": [[True]]}}


def cell_is(cell: Cell, value: Any) -> Formula:
    """A cell is equal to a constant, or is null where that is None."""
    if value is None:
        return first_says(cell, "{} IS NULL")
    if isinstance(value, bool) and _kind(cell) not in {"truth", "comparison"}:
        raise CannotSay("whether a cell of another type is a truth value")
    return first_says(cell, "{} IS NOT DISTINCT FROM " + literal(value))


def cell_compares(cell: Cell, sign: str, value: Any) -> tuple[Formula, Formula]:
    """Return the condition under which a cell can be compared with a constant, and that of the comparison."""
    if _kind(cell) in {"truth", "comparison"}:
        raise CannotSay("an order of truth values")
    condition = f"{cell.expression} {sign} {literal(value)}"
    can = True if _kind(cell) == "number" else first_says(cell, f"({condition}) IS NOT NULL")
    return can, first_says(cell, condition)


def cell_holds(cell: Cell) -> Formula:
    """A cell counts as true in Python.

    Raises:
        CannotSay: the query does not say which type it has.
    """
    match _kind(cell):
        case "number":
            return first_says(cell, "{} <> 0")
        case "truth" | "comparison":
            return first_says(cell, "{}")
    raise CannotSay("whether a cell counts as true, when its type is not known")


def as_double(cell: Cell) -> Cell:
    """Return a cell as a floating-point number."""
    if _kind(cell) in {"truth", "comparison"}:
        raise CannotSay("a truth value as a number")
    return Cell(cell.query, f"({cell.expression})::float8")


def needs_row(query: str) -> Formula:
    """A query gives a first row."""
    return True if _one_row(query) else has_rows(query, 1, at_least=True)


def column(query: str, index: Any) -> str:
    """Return the name of a column by its place in a row.

    Raises:
        CannotSay: there is no such column.
    """
    number = width(query)
    if not isinstance(index, int) or isinstance(index, bool) or not -number <= index < number:
        raise CannotSay("a column that the query does not have")
    return f"c{index % number + 1}"


def column_of(rows: Rows, index: Any) -> Rows:
    """Return the cells of a column."""
    return Rows(named(rows.query, column(rows.query, index)), flat=True)


def row_at(rows: Rows, index: Any) -> FirstRow:
    """Return a row by its number.

    Raises:
        CannotSay: it is counted from the end.
    """
    if not isinstance(index, int) or isinstance(index, bool) or index < 0 or rows.flat or rows.distinct:
        raise CannotSay("a row that is not counted from the first")
    columns = ", ".join(f"c{number}" for number in range(1, width(rows.query) + 1))
    return FirstRow(rows.query if index == 0 else named(rows.query, columns, end=f" LIMIT 1 OFFSET {index}"))


def contains(rows: Rows, value: Any) -> Formula:
    """A row, or a cell of the one column, is among the rows."""
    cells = [value] if rows.flat else list(value) if isinstance(value, tuple) else None
    if cells is None or len(cells) != width(rows.query):
        raise CannotSay("whether a value is among rows")
    condition = " AND ".join(f"c{i} IS NOT DISTINCT FROM {literal(cell)}" for i, cell in enumerate(cells, 1))
    return has_rows(named(rows.query, "1", condition=condition), 1, at_least=True)


def rows_are(rows: Rows, wanted: Any) -> Formula:
    """The rows are those of another query, or constants: a list in its order, a set in any and each once."""
    if isinstance(wanted, Rows):
        if rows.distinct or wanted.distinct or rows.flat is not wanted.flat:
            raise CannotSay("a comparison of rows that were made a set")
        return {ROWS: {"query": rows.query, "same_as": wanted.query}}
    if rows.distinct is not isinstance(wanted, set | frozenset):
        return False
    if isinstance(wanted, set | frozenset):
        distinct = named(rows.query, "DISTINCT " + ", ".join(f"c{i}" for i in range(1, width(rows.query) + 1)))
        if not wanted:
            return has_rows(rows.query, 0)
        return {ROWS: {"query": distinct, "same_as": constants(rows, sorted(wanted, key=repr)), "any_order": True}}
    if not isinstance(wanted, list):
        raise CannotSay("a comparison of rows")
    return {ROWS: {"query": rows.query, "same_as": constants(rows, wanted)}} if wanted else has_rows(rows.query, 0)


# constants


def literal(value: Any) -> str:  # noqa: PLR0911 - one return for each type
    """Write a constant of Python in SQL, with its type.

    Raises:
        CannotSay: it has none.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if value - value == 0:
            return f"{Decimal(repr(value)):f}::float8"
        case Decimal() if value.is_finite():
            return f"{value:f}::numeric"
        case str() if "\0" not in value:
            return "'" + value.replace("'", "''") + "'"
        case datetime() if value.tzinfo is None:
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case date() if not isinstance(value, datetime):
            return f"DATE '{value.isoformat()}'"
    raise CannotSay("a constant that SQL has not")


def constants(rows: Rows, wanted: Sequence[Any]) -> str:
    """Write constant rows as a query.

    Raises:
        CannotSay: they are no rows of the query's width, or a column of theirs has several types.
    """
    made = [(row,) if rows.flat else tuple(row) if isinstance(row, list | tuple) else () for row in wanted]
    if any(len(row) != width(rows.query) for row in made):
        raise CannotSay("rows of another width")
    for column in zip(*made, strict=True):
        if len({type(cell) for cell in column if cell is not None}) > 1:
            raise CannotSay("a column of constants that have several types")
    return "VALUES " + ", ".join(f"({', '.join(map(literal, row))})" for row in made)


# tidying


def tidied(formula: Formula) -> Formula:
    """Leave out the conditions that another one of a conjunction says as well: a query runs, or gives so many rows."""
    if isinstance(formula, bool) or "all" not in formula:
        return formula
    conjuncts = formula["all"]
    said = [text for part in conjuncts for text in _texts_of(part)]
    kept = [part for part in conjuncts if not _implied(part, said, conjuncts)]
    return {"all": kept} if len(kept) > 1 else kept[0]


def _texts_of(part: Mapping[str, Any]) -> list[str]:
    arguments = part.get(ROWS) or part.get(COUNT)
    if arguments is None or (part.get(COUNT) and arguments["count"] == 0 and arguments.get("at_least")):
        return []
    return [arguments["query"], arguments.get("same_as", "")]


def _implied(part: Mapping[str, Any], said: Sequence[str], conjuncts: Sequence[Mapping[str, Any]]) -> bool:
    if part.get(COUNT) and part[COUNT]["count"] == 0 and part[COUNT].get("at_least"):
        query = part[COUNT]["query"]
        return any(query == text or f"({query})" in text for text in said)
    pairs = [one[ROWS] for one in conjuncts if ROWS in one and "same_as" in one[ROWS] and one is not part]
    if ROWS in part and "same_as" in part[ROWS]:
        return any(part == same_number(pair["query"], pair["same_as"]) for pair in pairs)
    if COUNT in part and not part[COUNT].get("at_least"):
        return any(
            pair["query"] == part[COUNT]["query"] and part[COUNT]["count"] == _constant_rows(pair["same_as"])
            for pair in pairs
        )
    return False


def _constant_rows(query: str) -> int | None:
    body = parsed(query).body
    return len(body.rows) if isinstance(body, Values) else None
