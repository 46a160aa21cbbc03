"""Shape checks for parsed JSON that copy only the known fields, in one pass and with counted steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from verifiers.budget import ReadingBudget

Shape: TypeAlias = Callable[[Any, ReadingBudget], Any]
"""Gives the part of a value that belongs to the shape, or raises LookupError, TypeError or ValueError."""

INT64_LIMIT = 2**63


def record(optional: Mapping[str, Shape] | None = None, **fields: Shape) -> Shape:
    """Return the shape of an object with at least these keys, and perhaps the optional ones; other keys are dropped."""
    perhaps = optional or {}

    def checked(value: Any, budget: ReadingBudget) -> Any:
        budget.step(1 + len(fields))
        if not isinstance(value, dict):
            raise TypeError
        made = {name: shape(value[name], budget) for name, shape in fields.items()}
        return made | {name: shape(value[name], budget) for name, shape in perhaps.items() if name in value}

    return checked


def map_of(shape: Shape) -> Shape:
    """Return the shape of an object with any keys."""

    def checked(value: Any, budget: ReadingBudget) -> Any:
        if not isinstance(value, dict):
            raise TypeError
        return {key: shape(member, budget) for key, member in value.items()}

    return checked


def list_of(shape: Shape) -> Shape:
    """Return the shape of a list."""

    def checked(value: Any, budget: ReadingBudget) -> Any:
        if not isinstance(value, list):
            raise TypeError
        return [shape(item, budget) for item in value]

    return checked


def or_none(shape: Shape) -> Shape:
    """Return the shape that also allows null."""
    return lambda value, budget: None if value is None else shape(value, budget)


def one_of(*values: str) -> Shape:
    """Return the shape of a text that is one of these."""

    def checked(value: Any, budget: ReadingBudget) -> Any:
        budget.step()
        if value not in values:
            raise ValueError
        return value

    return checked


def _of_type(kind: type) -> Shape:
    def checked(value: Any, budget: ReadingBudget) -> Any:
        budget.step()
        if type(value) is not kind or (isinstance(value, int) and not -INT64_LIMIT <= value < INT64_LIMIT):
            raise TypeError
        return value

    return checked


text, flag, integer = _of_type(str), _of_type(bool), _of_type(int)
