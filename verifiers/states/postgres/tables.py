"""Normal form of a PostgreSQL database, which is its snapshot document, and parsing of its cells.

    {"schemas": [name], "tables": [{"schema", "name", "rows": [[text or null]],
      "columns": [{"name", "type", "base", "not_null", "default", "identity", "computed", "readable"}],
      "constraints": [{"name", "kind", "definition", "valid", "columns", "to", "to_columns"}],
      "indexes": [{"name", "unique", "valid", "partial", "columns", "definition"}]}],
     "objects": [[name, definition]], "sequences": [[name, how far it counted: `41, 30 logged`, or `starts at 1`]]}

Only base tables are among the tables. All else that can be made is among the `objects`, as PostgreSQL describes it:
views, foreign and partitioned tables, functions, triggers, types, comments, privileges, …

A row has the text of its readable columns, in their order, as PostgreSQL prints them with ISO dates in UTC. A column
that is computed, or of a type that is not PostgreSQL's own, an enumeration or an array of those, is not readable.
`kind` is PostgreSQL's letter (`pg_constraint.contype`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState, TargetMissing
from verifiers.formats.plain_json import parse_json
from verifiers.predicates.context import Context
from verifiers.predicates.values import is_number, json_equal
from verifiers.quoting import listed, quoted

INTEGERS = {"int2", "int4", "int8", "oid"}
FRACTIONS = {"float4", "float8", "numeric"}
DOCUMENTS = {"json", "jsonb"}
PADDED = "bpchar"

# As PostgreSQL prints them: an exponent is a double's. What is longer, or no number, stays a text.
_INTEGER, _NUMBER = re.compile(r"-?[0-9]{1,20}"), re.compile(r"-?[0-9]{1,4000}(\.[0-9]{1,4000})?(e[+-]?[0-9]{1,3})?")

T = TypeVar("T")
Cell: TypeAlias = str | int | bool | Decimal | None

A_CELL, A_NUMBER, A_DOCUMENT = 2, 4, 12  # steps
A_DIGIT = 8
"""Digits of a number that are a step; what is calculated with them grows with their number alone."""


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """A column, as the system catalogue describes it."""

    name: str
    type: str
    base: str
    not_null: bool
    default: str | None
    identity: bool
    computed: bool
    readable: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a table; `to` is the schema and the table that a foreign key leads to."""

    name: str
    kind: str
    definition: str
    valid: bool
    columns: Sequence[str]
    to: Sequence[str] | None
    to_columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class Index:
    """An index; an expression in it has no column name, and its definition is the statement that makes it."""

    name: str
    unique: bool
    valid: bool
    partial: bool
    columns: Sequence[str | None]
    definition: str = ""


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A base table with its rows."""

    schema: str
    name: str
    columns: Sequence[PostgresColumn]
    constraints: Sequence[Constraint]
    indexes: Sequence[Index]
    rows: Sequence[Sequence[str | None]] = field(repr=False)

    def column(self, name: str) -> PostgresColumn | None:
        """Return the column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)

    def cells(self, name: str, budget: ReadingBudget) -> list[Cell]:
        """Return the cells of a column, row by row.

        Raises:
            TargetMissing: there is no such column, or it is computed.
            CorruptState: its type is one that nobody here reads, or it costs more than the budget has.
        """
        self._must_be_readable(name)
        stored = [column for column in self.columns if column.readable]
        budget.step(len(self.columns) + A_CELL * len(self.rows))
        place, base = [(place, column.base) for place, column in enumerate(stored) if column.name == name][-1]
        if base in FRACTIONS:
            budget.step(sum(A_NUMBER + len(row[place] or "") // A_DIGIT for row in self.rows))
        return [cell_of(row[place], base) for row in self.rows]

    def _must_be_readable(self, name: str) -> None:
        column = self.column(name)
        if column is None or column.computed:
            names = [other.name for other in self.columns if not other.computed]
            raise TargetMissing(f"{quoted(self.name)} has no stored column {quoted(name)}; it has {listed(names)}")
        if not column.readable:
            raise CorruptState(f"the column {quoted(name)} has the type {column.type}, which is not PostgreSQL's own")


@dataclass(frozen=True)
class PostgresDatabase:
    """The schemas and tables of a database, what else is in it, and how far its sequences have counted."""

    schemas: Sequence[str]
    tables: Sequence[PostgresTable]
    objects: Sequence[Sequence[str]] = ()
    sequences: Sequence[Sequence[str | int | None]] = ()

    @cached_property
    def by_name(self) -> dict[tuple[str, str], PostgresTable]:
        """Map schema and name to the table."""
        return {(table.schema, table.name): table for table in self.tables}


def open_database(context: Context) -> PostgresDatabase:
    """Return the database of a state, built once for each evaluation.

    Raises:
        CorruptState: it cannot be read.
        StateUnavailable: it was not read out.
    """
    return context.once("postgres", lambda: database_of(context.state("postgres").document))


def database_of(document: dict[str, Any]) -> PostgresDatabase:
    """Build the database from a document.

    Raises:
        CorruptState: it tells of none.
    """
    try:
        return PostgresDatabase(
            _texts(document["schemas"]),
            tuple(_table(table) for table in document["tables"]),
            tuple(_pair(entry, str) for entry in document.get("objects", ())),  # releases before 1.0 have neither
            tuple(_pair(entry, int | str | None) for entry in document.get("sequences", ())),
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        raise CorruptState("the state was read as something that is no database") from None


def cell_of(text: str | None, base: str) -> Cell:
    """Parse a cell's text: a number, a boolean, or the text itself."""
    if text is None:
        return None
    if base in INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    if base in FRACTIONS and _NUMBER.fullmatch(text):
        return Decimal(text)
    if base == "bool":
        return text == "t"
    return text.rstrip(" ") if base == PADDED else text


def matching(value: Any, column: PostgresColumn, budget: ReadingBudget) -> Callable[[Cell], bool]:
    """Return the test whether a cell has a JSON scalar's value; of a JSON document its content counts, not its form.

    What the value means is found out once, and not again for every cell.
    """
    if isinstance(value, bool):
        return lambda cell: cell is value
    if is_number(value):
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        integer = int(number) if number == number.to_integral_value() else None
        return lambda cell: cell == integer if type(cell) is int else type(cell) is Decimal and cell == number
    if column.base in DOCUMENTS and isinstance(value, str):
        wanted = _document(value)
        return lambda cell: isinstance(cell, str) and _is_document(cell, value, wanted, budget)
    return lambda cell: type(cell) is type(value) and cell == value


def same(cell: Cell, value: Any, column: PostgresColumn) -> bool:
    """Say whether one cell has a JSON scalar's value; see `matching`."""
    return matching(value, column, ReadingBudget())(cell)


def evidence_value(cell: Cell | Fraction) -> Any:
    """Format a cell for evidence."""
    number = Fraction(cell) if isinstance(cell, Decimal) else cell
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number


def _is_document(cell: str, text: str, wanted: list[Any], budget: ReadingBudget) -> bool:
    budget.step(A_DOCUMENT)
    budget.parse_json(cell)
    document = _document(cell)
    return json_equal(document, wanted) if document and wanted else cell == text


def _document(text: str) -> list[Any]:
    """Return the one value of a JSON document in a list, or an empty list where it is none."""
    try:
        return [parse_json(text)]
    except ValueError:
        return []


def document_of(base: PostgresDatabase) -> dict[str, Any]:
    """Return the normal form of a database."""
    return {attribute.name: _plain(getattr(base, attribute.name)) for attribute in fields(base)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {attribute.name: _plain(getattr(value, attribute.name)) for attribute in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _table(table: dict[str, Any]) -> PostgresTable:
    columns = tuple(_entry(PostgresColumn, column) for column in table["columns"])
    width = sum(column.readable for column in columns)
    rows = tuple(_texts(row, or_none=True) for row in table["rows"])
    if any(len(row) != width for row in rows):
        raise ValueError
    schema, name = _texts([table["schema"], table["name"]])
    return PostgresTable(
        schema,
        name,
        columns,
        tuple(_entry(Constraint, entry) for entry in table["constraints"]),
        tuple(_entry(Index, entry) for entry in table["indexes"]),
        rows,
    )


def _entry(kind: Callable[..., T], entry: dict[str, Any]) -> T:
    """Make a catalogue's entry; every list in it is one of texts.

    Raises:
        TypeError, ValueError: it has something that is neither a text, a flag, nothing, nor such a list.
    """
    values = {name: _listed(name, value) for name, value in entry.items()}
    if not all(value is None or isinstance(value, str | bool | tuple | list) for value in values.values()):
        raise TypeError
    return kind(**values)


def _listed(name: str, value: Any) -> Any:
    """Return a list as it is kept, and one that is empty where there has to be one."""
    if isinstance(value, list):
        return _texts(value, or_none=True) if name != "to" else list(_texts(value))
    return () if value is None and name in {"columns", "to_columns"} else value


def _pair(entry: Any, kind: Any) -> tuple[str, Any]:
    name, value = entry
    if not isinstance(name, str) or not isinstance(value, kind):
        raise TypeError
    return name, value


def _texts(values: Any, *, or_none: bool = False) -> tuple[Any, ...]:
    if not isinstance(values, list) or not all(isinstance(text, str) or (or_none and text is None) for text in values):
        raise TypeError
    return tuple(values)
