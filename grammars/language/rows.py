"""Ranges of kind `rows`: generated tables (lists of maps) whose columns are ranges or expressions over earlier columns.

rows: {easy: 12, hard: 40}
columns:
  id:     "=index + 1"                    # `index` counts from 0, `row` holds the columns so far
  city:   {choice: cities}
  amount: {integer: [100, 99900]}
  label:  "{row.city.code}-{row.id}"
unique: [amount]                          # no two rows agree in this column
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from grammars.errors import Malformed
from grammars.language.expressions import Scope
from grammars.language.forms import Node, compile_value, fill, names_in
from grammars.language.ranges import Dictionaries, Drawn, Leveled, Range, between, parse_range

TRIES = 200
_OWN = frozenset({"row", "index"})


@dataclass(frozen=True)
class Rows(Range):
    """A range that draws a list of maps with the same columns."""

    where: str
    count: Leveled
    columns: Mapping[str, Range | Node]
    unique: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """Return the names that the count and the columns depend on, except `row` and `index`."""
        columns = (_names(column) for column in self.columns.values())
        return self.count.names | (frozenset().union(*columns) - _OWN)

    def draw(self, dice: Random, scope: Scope) -> Drawn:
        """Draw all rows.

        Raises:
            Malformed: no more different values could be found for a unique column.
        """
        number = between(self.count.at(scope), dice, self.count.where)
        scope.charge(number.value, self.count.where)
        rows: list[dict[str, Any]] = []
        taken: dict[str, set[Any]] = {column: set() for column in self.unique}
        bits = number.bits
        for index in range(number.value):
            row, row_bits = self._different(index, taken, dice, scope)
            for column in self.unique:
                taken[column].add(row[column])
            rows.append(row)
            bits += row_bits
        return Drawn(rows, bits)

    def _different(self, index: int, taken: Mapping[str, set[Any]], dice: Random, scope: Scope) -> Drawn:
        for _ in range(TRIES):
            drawn = self._row(index, dice, scope)
            if not any(drawn.value[column] in values for column, values in taken.items()):
                return drawn
        raise Malformed(f"{self.where}: {TRIES} tries found no row that differs from the others in {list(self.unique)}")

    def _row(self, index: int, dice: Random, scope: Scope) -> Drawn:
        row: dict[str, Any] = {}
        bits = 0.0
        with scope.inside(row=row, index=index):
            for name, column in self.columns.items():
                drawn = column.draw(dice, scope) if isinstance(column, Range) else Drawn(fill(column, scope), 0.0)
                row[name] = drawn.value
                bits += drawn.bits
        return Drawn(row, bits)


def _names(column: Range | Node) -> frozenset[str]:
    return column.names if isinstance(column, Range) else names_in(column)


def parse_parameter(spec: Any, where: str, dictionaries: Dictionaries, levels: Sequence[str]) -> Range:
    """Read one parameter: rows, or any of the plain ranges.

    Raises:
        Malformed: it has no kind or two, an unknown key, or nothing in it.
    """
    if not isinstance(spec, Mapping) or "rows" not in spec:
        return parse_range(spec, where, dictionaries, levels)
    if extra := set(spec) - {"rows", "columns", "unique"}:
        raise Malformed(f"{where}.{min(extra)}: a range of kind `rows` has no such key")
    columns, unique = spec.get("columns"), spec.get("unique", [])
    if not isinstance(columns, Mapping) or not columns:
        raise Malformed(f"{where}.columns: a map from column to range or expression is expected here")
    if not isinstance(unique, list) or any(name not in columns for name in unique):
        raise Malformed(f"{where}.unique: a list of this range's columns is expected here")
    for name, column in columns.items():
        if isinstance(column, Mapping) and "free" in column:
            raise Malformed(
                f"{where}.columns.{name}.free: a column is not free; make a parameter that is, and take it here"
            )
    parsed = {
        name: parse_range(column, f"{where}.columns.{name}", dictionaries, levels)
        if isinstance(column, Mapping)
        else compile_value(column, f"{where}.columns.{name}")
        for name, column in columns.items()
    }
    return Rows(where, Leveled.parse(spec["rows"], f"{where}.rows", levels), parsed, tuple(unique))
