"""Aggregates of SQL (PostgreSQL's manual, 9.21): the type that each gives, and its fold of values that are not null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, Inexact
from typing import Any

from verifiers.budget import A_STEP, ReadingBudget
from verifiers.sql.errors import QueryFailed
from verifiers.sql.operators import A_DIGIT, ORDERED, divided
from verifiers.sql.values import EXACT, MAX_TEXT, Value, converter, in_range

Fold = Callable[[Sequence[Any]], Value]


def aggregate(name: str, types: Sequence[str], budget: ReadingBudget) -> tuple[str, Fold]:
    """Return the type of an aggregate and the function of the values of its group, one tuple for each row.

    Raises:
        QueryFailed: there is none for arguments of these types.
    """
    match name, list(types):
        case "count", [] | [_]:
            return "int8", len
        case (("sum" | "avg"), ["int4" | "int8" | "numeric" | "float8"]):
            return _sum(types[0], budget) if name == "sum" else _average(types[0], budget)
        case (("min" | "max"), [type_]) if type_ in ORDERED and type_ != "bool":
            pick: Callable[[Sequence[Any]], Any] = min if name == "min" else max
            return type_, lambda values: pick(values) if values else None
        case (("bool_and" | "every"), ["bool"]):
            return "bool", lambda values: all(values) if values else None
        case "bool_or", ["bool"]:
            return "bool", lambda values: any(values) if values else None
        case "string_agg", [("text" | "unknown"), ("text" | "unknown")]:
            return "text", lambda values: _joined(values, budget)
    raise QueryFailed(f"there is no {name}({', '.join(types)}) here")


def _sum(type_: str, budget: ReadingBudget) -> tuple[str, Fold]:
    if type_ == "float8":
        return "float8", lambda values: _float_sum(values) if values else None
    result = "int8" if type_ == "int4" else "numeric"
    if type_ == "int4":
        return result, lambda values: in_range(sum(values), "int8") if values else None
    return result, lambda values: _exact(values, budget) if values else None


def _average(type_: str, budget: ReadingBudget) -> tuple[str, Fold]:
    if type_ == "float8":
        return "float8", lambda values: _float_sum(values) / len(values) if values else None
    return "numeric", lambda values: divided(_exact(values, budget), Decimal(len(values))) if values else None


def _float_sum(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    if total - total != 0:
        raise QueryFailed("a double is out of range")
    return total


def _exact(values: Sequence[Any], budget: ReadingBudget) -> Decimal:
    total, number = Decimal(0), converter("int8", "numeric")
    for value in values:
        decimal = value if isinstance(value, Decimal) else number(value)
        budget.step(1 + (len(decimal.as_tuple().digits) + len(total.as_tuple().digits)) // A_DIGIT)
        try:
            total = EXACT.add(total, decimal)
        except Inexact:
            raise QueryFailed("a number has too many digits") from None
    return total


def _joined(values: Sequence[tuple[str, str | None]], budget: ReadingBudget) -> str | None:
    size = sum(len(text) + len(separator or "") for text, separator in values)
    budget.step(1 + size // A_STEP)
    if size > MAX_TEXT:
        raise QueryFailed("a text is too long")
    parts = [(separator or "") + text if number else text for number, (text, separator) in enumerate(values)]
    return "".join(parts) if values else None
