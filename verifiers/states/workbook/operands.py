"""Value conversions of spreadsheet operators: blanks, numeric texts, areas, and error values."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from verifiers.predicates.values import is_number
from verifiers.states.workbook.model import Value

Area: TypeAlias = list[list[Value]]
Operand: TypeAlias = "Value | Area"

ERROR = re.compile(r"#(DIV/0!|N/A|VALUE!|REF!|NAME\?|NUM!)")


MAX_TEXT = 32_767
"""Characters of a cell's text, in any spreadsheet."""
MAX_EXACT = 2**53
"""From here on a whole number is rounded to a double, as in a spreadsheet."""


_DATE = re.compile(r"\d{4}-\d\d-\d\d(T.*)?", re.DOTALL)


class WholeArea(list[list[Value]]):
    """The used part of whole columns or rows, and how many blank cells lie beyond it."""

    def __init__(self, values: Area, beyond: int) -> None:
        super().__init__(values)
        self.beyond = beyond


class Unknown(Exception):
    """The value cannot be determined."""


class CellError(Exception):
    """The value is one of a spreadsheet's own errors."""


def held(value: Operand) -> Operand:
    """Limit a value to what a cell may hold: a text has a maximum length, and a number is a double.

    Raises:
        CellError: a text is longer than a cell takes.
        OverflowError: a number is larger than a double.
    """
    if isinstance(value, str) and len(value) > MAX_TEXT:
        refuse()
    if isinstance(value, int) and abs(value) >= MAX_EXACT:
        return float(value)
    return value


def rounded(value: Value) -> Value:
    """Round a number to 15 digits, as spreadsheets show it."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return "#NUM!"
    value = float(f"{value:.15g}")
    return int(value) if value.is_integer() and abs(value) < MAX_EXACT else value


def single(value: Operand) -> Value:
    """Take the value of an area of one cell.

    Raises:
        Unknown: it has more.
    """
    if isinstance(value, list):
        if len(value) == len(value[0]) == 1:
            return value[0][0]
        raise Unknown
    return value


def as_number(value: Operand) -> Any:
    """Take a value as a number, as an operator does: nothing is 0, and a text may be one."""
    scalar = single(value)
    if scalar is None:
        return 0
    if isinstance(scalar, str):
        if ERROR.fullmatch(scalar):
            raise CellError(scalar)
        if _DATE.fullmatch(scalar):  # a date is its text here, and a number in a spreadsheet
            raise Unknown
        try:
            return float(scalar) if re.fullmatch(r"\s*-?\d{1,40}(\.\d*)?\s*", scalar) else refuse()
        except ValueError:
            refuse()
    return int(scalar) if isinstance(scalar, bool) else scalar


def refuse() -> NoReturn:
    """Raise the error for a value of the wrong type.

    Raises:
        CellError: always.
    """
    raise CellError("#VALUE!")


def as_text(value: Operand) -> str:
    """Take a value as a text, as `&` does: nothing is an empty one."""
    scalar = rounded(single(value))
    if isinstance(scalar, bool):
        return str(scalar).upper()
    return "" if scalar is None else str(scalar)


def as_truth(value: Operand) -> bool:
    """Take a value as true or false: a number is true but for 0."""
    return bool(as_number(value))


def flat(*values: Operand) -> Iterator[Value]:
    """List every value, areas cell by cell."""
    for value in values:
        if isinstance(value, list):
            for row in value:
                yield from row
        else:
            yield value


def numbers_of(*values: Operand) -> list[Any]:
    """Give the numbers among values: in areas only what is one; an error anywhere is one."""
    for value in flat(*values):
        if isinstance(value, str) and ERROR.fullmatch(value):
            raise CellError(value)
    return [
        item
        for value in values
        for item in (filter(is_number, flat(value)) if isinstance(value, list) else [as_number(value)])
    ]


def _divided(left: Operand, right: Operand) -> Any:
    if not as_number(right):
        raise CellError("#DIV/0!")
    return as_number(left) / as_number(right)


def _powered(left: Operand, right: Operand) -> Any:
    base, exponent = float(as_number(left)), float(as_number(right))
    result = base**exponent
    return result if isinstance(result, float) else refuse()


def _calculated(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: apply(as_number(left), as_number(right))


def _compares(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(left: Value, right: Value) -> bool:
        left, right = (_blank(right) if left is None else left), (_blank(left) if right is None else right)
        ranks = [2 if isinstance(value, bool) else 1 if isinstance(value, str) else 0 for value in (left, right)]
        keys = [value.casefold() if isinstance(value, str) else value for value in (left, right)]
        return bool(apply(*(keys if ranks[0] == ranks[1] else ranks)))

    return compare


def _blank(other: Value) -> Value:
    return "" if isinstance(other, str) else False if isinstance(other, bool) else 0


UNARY = 7
OPERATORS: Mapping[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "%": (6, _divided),
    "^": (5, _powered),
    "*": (4, _calculated(operator.mul)),
    "/": (4, _divided),
    "+": (3, _calculated(operator.add)),
    "-": (3, _calculated(operator.sub)),
    "&": (2, lambda left, right: as_text(left) + as_text(right)),
    "=": (1, _compares(operator.eq)),
    "<>": (1, _compares(operator.ne)),
    "<": (1, _compares(operator.lt)),
    ">": (1, _compares(operator.gt)),
    "<=": (1, _compares(operator.le)),
    ">=": (1, _compares(operator.ge)),
}
