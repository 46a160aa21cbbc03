"""Equality of values: JSON values, table cells, and numbers within a tolerance.

Numbers are compared exactly, as the decimals that they are written as, so 0.1 + 0.2 is 0.3 and 1 is 1.0; a number never
equals a text. A tolerance is always explicit.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, TypeAlias

from verifiers.quoting import quoted

Number: TypeAlias = int | float
SNIPPET = 40
_EXACT = Context(prec=20_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
"""Has digits for sums of whatever a cell holds; a sum that it had to round would raise, and never be wrong."""


def _decimal(number: Number | Decimal) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def exact(number: Number) -> Fraction:
    """Return the exact decimal that a number is written as.

    Raises:
        ValueError, OverflowError: it is infinite or no number.
    """
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def exact_sum(numbers: Iterable[Number | Decimal]) -> Fraction:
    """Add numbers without rounding, as decimals: fractions would need a common divisor at every addition."""
    integers, rest = 0, Decimal(0)
    for number in numbers:
        if isinstance(number, int):
            integers += number
        else:
            rest = _EXACT.add(rest, _decimal(number))
    return integers + Fraction(rest)


def near(left: Fraction | Number, right: Number, tolerance: Number = 0) -> bool:
    """Say whether two numbers differ by no more than the tolerance.

    Numbers of a state are subtracted as decimals: of 1e300 and 1e-300, that takes a fiftieth of what fractions take.
    """
    if not isinstance(left, Fraction):
        return _EXACT.abs(_EXACT.subtract(_decimal(left), _decimal(right))) <= _decimal(tolerance)
    return abs(left - exact(right)) <= exact(tolerance)


def is_number(value: object) -> bool:
    """Say whether a value is a number (a boolean is none)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def json_equal(left: Any, right: Any) -> bool:
    """Compare two JSON values: the order of keys and 1 against 1.0 do not count, types do."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return bool(left == right)


def cell_equal(cell: object, value: object) -> bool:
    """Compare a table's cell with a JSON scalar: by type and value, null equals null, and a blob equals nothing."""
    return cell == value and (type(cell) is type(value) or (is_number(cell) and is_number(value)))


def at_pointer(value: Any, pointer: str) -> Any:
    """Follow a JSON pointer (RFC 6901).

    Raises:
        LookupError: it leads nowhere.
    """
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if (
                not (key.isascii() and key.isdigit())
                or (key != "0" and key.startswith("0"))
                or len(key) > len(str(len(value)))
            ):
                raise LookupError(key)
            value = value[int(key)]
        elif isinstance(value, dict):
            value = value[key]
        else:
            raise LookupError(key)  # noqa: TRY004 - a value that holds nothing is a step that leads nowhere
    return value


def difference(data: bytes, expected: bytes) -> str:
    """Say where two byte strings first differ, and how each continues."""
    if data == expected:
        return "holds just that"
    at, end = 0, min(len(data), len(expected))
    while at < end:  # by halves: a loop over bytes takes a hundred times as long
        middle = (at + end + 1) // 2
        at, end = (middle, end) if data[at:middle] == expected[at:middle] else (at, middle - 1)
    actual, wanted = (part[at : at + SNIPPET].decode("utf-8", "replace") for part in (data, expected))
    return f"differs: from byte {at} on it has {quoted(actual)} and not {quoted(wanted)}"
