"""Scope of a query: the columns that its expressions can name, its own and those of the queries around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from verifiers.quoting import quoted
from verifiers.sql.errors import QueryFailed
from verifiers.sql.syntax import Call, Column, Slot

Row: TypeAlias = tuple[Any, ...]
Environment: TypeAlias = tuple[Row, Any]
"""A row, and the environment of the query around it."""


class Field(NamedTuple):
    """A column of a source: hidden where USING has merged it into another one, `key` where it is of a primary key."""

    table: str
    name: str
    type: str
    merged: bool = False
    hidden: bool = False
    key: bool = False


@dataclass
class Scope:
    """What a query can name.

    Attributes:
        fields: the columns of its sources, in the order of its rows.
        parent: the scope of the query around it.
        outer: whether it has named a column of a query around it.
        computed: aggregates and window functions that stand behind the columns in a row, with place and type.
    """

    fields: Sequence[Field]
    parent: Scope | None
    outer: bool = False
    computed: dict[Call, tuple[int, str]] = field(default_factory=dict)

    def find(self, column: Column) -> Slot:
        """Find a column here, or in a query around it.

        Raises:
            QueryFailed: there is none of this name, or more than one.
        """
        scope: Scope | None = self
        passed: list[Scope] = []
        while scope is not None:
            places = scope.places(column)
            if len(places) > 1:
                raise QueryFailed(f"the column {quoted(column.name)} is ambiguous")
            if places:
                for inner in passed:
                    inner.outer = True
                described = scope.fields[places[0]]
                return Slot(len(passed), places[0], described.type, described.name)
            passed.append(scope)
            scope = scope.parent
        shown = column.name if column.table is None else f"{column.table}.{column.name}"
        raise QueryFailed(f"there is no column {quoted(shown)}")

    def places(self, column: Column) -> list[int]:
        """Return the places of the columns here that a name means."""
        return [
            place
            for place, known in enumerate(self.fields)
            if known.name == column.name and (not known.hidden if column.table is None else known.table == column.table)
        ]

    def starred(self, table: str | None) -> list[Slot]:
        """Return the columns that a star stands for, merged ones first.

        Raises:
            QueryFailed: there is no such table.
        """
        wanted = [
            place
            for place, known in enumerate(self.fields)
            if (not known.hidden if table is None else known.table == table)
        ]
        if not wanted:
            raise QueryFailed("a star stands for nothing")
        if table is None:
            wanted.sort(key=lambda place: not self.fields[place].merged)
        return [Slot(0, place, self.fields[place].type, self.fields[place].name) for place in wanted]
