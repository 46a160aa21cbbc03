"""Calls of psycopg2, and what is done with rows: each gives another query, or a condition on what a query gives."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from quarterturn_import.importers.formula import Formula, negated
from quarterturn_import.importers.mcpmark import idioms, queries
from quarterturn_import.importers.mcpmark.conditions import Conditions
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.values import Cell, Cursor, FirstRow, Length, Pairs, Rows, is_plain
from verifiers.sql.functions import SCALAR_FUNCTIONS
from verifiers.sql.names import AGGREGATES, WINDOW_FUNCTIONS

_CONSTANTS = {
    "Decimal": Decimal,
    "decimal.Decimal": Decimal,
    "date": date,
    "datetime.date": date,
    "datetime": datetime,
    "datetime.datetime": datetime,
}
_SIGNS = {"==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class DatabaseCalls(Conditions):
    """Reader of what verifiers do with a database; `changed` where one may have changed it before."""

    changed = False

    def database_function(  # noqa: PLR0911 - one return for each function
        self, name: str, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function on rows, or one that makes a constant; None where it is none of these."""
        if name == "psycopg2.connect":
            return Cursor()
        if name in _CONSTANTS and is_plain(args) and is_plain(kwargs):
            return _CONSTANTS[name](*args, **kwargs)
        match name, args:
            case "len", [Rows() as rows]:
                return Length(rows)
            case (("list" | "tuple"), [Rows() as rows]):
                return rows
            case "set", [Rows() as rows]:
                return replace(rows, distinct=True)
            case "zip", [Rows() as rows, Rows() | list() as others] if not rows.flat and not rows.distinct:
                return Pairs(rows, others)
            case "enumerate", [Pairs() as pairs, *_]:
                return replace(pairs, numbered=True)
            case "float", [Cell() as cell]:
                return queries.as_double(cell)
            case "abs", [Cell(query, expression)]:
                return Cell(query, f"abs({expression})")
        return None

    def cursor_method(self, cursor: Cursor, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a method of a cursor or of a connection.

        Raises:
            CannotSay: the query is none that is evaluated here, or it is not known which one was run.
        """
        if kwargs:
            raise CannotSay(f"the method {name} of a cursor with {', '.join(kwargs)}")
        match name:
            case "cursor":
                return Cursor()
            case "close" | "commit" | "rollback" | "set_session" | "set_isolation_level":
                return False
            case "execute" if args:
                self._execute(cursor, args)
                return False
            case "fetchall" | "fetchone" if not args:
                query = self._query_of(cursor)
                cursor.query, cursor.why = None, "rows that another call has left"
                return Rows(query) if name == "fetchall" else FirstRow(query)
        raise CannotSay(f"the method {name} of a cursor")

    def _execute(self, cursor: Cursor, args: list[Any]) -> None:
        cursor.query, cursor.why = None, ""
        if self.changed:
            cursor.why = "the verifier may have changed the database before"
            raise CannotSay(cursor.why)
        try:
            query = queries.executed(args[0], args[1] if len(args) > 1 else None)
        except CannotSay as error:
            cursor.why = str(error)
            self.changed = self.changed or not _only_reads(args[0])
            raise
        self.require(queries.runs(query), queries.ERROR)
        cursor.query, cursor.guard = query, self.path()

    def _query_of(self, cursor: Cursor) -> str:
        if cursor.query is None or not self.certain(cursor.guard):
            raise CannotSay(cursor.why or "it is not known which query gives it")
        return cursor.query

    def row_item(self, row: FirstRow | Rows, key: Any) -> Any:
        """Return a cell of a first row, or a row of rows; where there is none, an exception is raised."""
        if isinstance(row, FirstRow):
            self.require(queries.needs_row(row.query), "TypeError")
            return Cell(row.query, queries.column(row.query, key))
        found = queries.row_at(row, key)
        self.require(queries.needs_row(found.query), "IndexError")
        return found

    def row_parts(self, row: FirstRow, size: int) -> list[Any]:
        """Return the cells of a first row that is taken apart."""
        self.require(queries.needs_row(row.query), "TypeError")
        if queries.width(row.query) != size:
            raise CannotSay("a row that is taken apart into another number of cells")
        return [Cell(row.query, queries.column(row.query, number)) for number in range(size)]

    def database_compared(self, left: Any, sign: str, right: Any) -> Formula | None:
        """Compare rows, their number or a cell; None where it is none of these."""
        match left, right:
            case Length(Rows() as rows), int() if not rows.distinct:
                if sign in {"==", "!="}:
                    same = queries.has_rows(rows.query, right)
                    return same if sign == "==" else negated(same)
                return idioms.ranged(sign, right, lambda least: queries.has_rows(rows.query, least, at_least=True))
            case Length(Rows() as rows), Length(Rows() as others) if (
                not rows.distinct and not others.distinct and sign in {"==", "!="}
            ):
                same = queries.same_number(rows.query, others.query)
                return same if sign == "==" else negated(same)
            case Cell(), _ if is_plain(right) or right is None:
                return self._cell_compared(left, sign, right)
            case Rows(), _ if sign in {"==", "!="} and (isinstance(right, Rows) or is_plain(right)):
                same = queries.rows_are(left, right)
                return same if sign == "==" else negated(same)
        return None

    def _cell_compared(self, cell: Cell, sign: str, value: Any) -> Formula:
        if sign in {"==", "!="}:
            same = queries.cell_is(cell, value)
            return same if sign == "==" else negated(same)
        if not isinstance(value, int | float | Decimal | str | date) or isinstance(value, bool):
            raise CannotSay("an order of a cell and something else than a number, a text or a date")
        can, holds = queries.cell_compares(cell, _SIGNS[sign], value)
        self.require(can, "TypeError")
        return holds

    def calculated(self, cell: Cell, operator: ast.operator, other: Any) -> Cell:
        """Add a constant to a cell, or take it away.

        Raises:
            CannotSay: something else is calculated.
        """
        signs: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-"}
        if type(operator) not in signs or not isinstance(other, int | float) or isinstance(other, bool):
            raise CannotSay("something is calculated with a cell")
        return Cell(cell.query, f"{cell.expression} {signs[type(operator)]} ({queries.literal(other)})")


_CHANGING = re.compile(r"\b(?:insert|update|delete|merge|into|share|lock)\b")
_WORDS = frozenset(
    # what stands before a bracket and is no function
    "all and any array as between by else exists filter from group having in interval join not numeric on or over row "  # noqa: SIM905
    "partition select then union using values varchar when where with".split()
)
_READING = (
    _WORDS | AGGREGATES | SCALAR_FUNCTIONS | WINDOW_FUNCTIONS | {"has_table_privilege", "now", "array_agg", "age"}
)


def _only_reads(text: Any) -> bool:
    """Say whether a query that is not evaluated here certainly changes nothing: it is a SELECT of known functions."""
    words = text.strip().lower() if isinstance(text, str) else ""
    called = set(re.findall(r"([a-z_][a-z_0-9]*)\s*\(", words))
    return words.startswith(("select", "with", "values")) and not _CHANGING.search(words) and called <= _READING
