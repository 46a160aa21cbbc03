"""Orders of rows: stable, with nulls where they are asked for, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from verifiers.budget import ReadingBudget
from verifiers.sql.errors import QueryFailed
from verifiers.sql.operators import ORDERED
from verifiers.sql.scope import Row
from verifiers.sql.syntax import Order

T = TypeVar("T")


def ordered(rows: list[tuple[Row, T]], order: Sequence[Order], types: Sequence[str], budget: ReadingBudget) -> list[T]:
    """Sort things by their keys, and give them without.

    Raises:
        QueryFailed: a key has no order.
    """
    for type_ in types:
        if type_ not in ORDERED and type_ != "unknown":
            raise QueryFailed(f"values of the type {type_} are not ordered")
    budget.step(len(rows) * len(rows).bit_length() * len(order))
    made = list(rows)
    for place, key in reversed(list(enumerate(order))):
        nulls_low = key.nulls_first != key.descending
        made.sort(key=lambda row: _sort_key(row[0][place], nulls_low), reverse=key.descending)
    return [thing for _, thing in made]


def _sort_key(value: object, nulls_low: bool) -> tuple[bool, object]:  # noqa: FBT001 - a key, called for every row
    return ((value is None) != nulls_low, 0 if value is None else value)
