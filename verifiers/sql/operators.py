"""Operators of SQL on values that are not null, by the types of both sides (PostgreSQL's manual, chapter 9)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal, Inexact, InvalidOperation
from itertools import groupby
from typing import Any, NamedTuple

from verifiers.budget import A_STEP, ReadingBudget
from verifiers.sql.errors import QueryFailed
from verifiers.sql.values import EXACT, MAX_SCALE, MAX_TEXT, NUMBERS, TEXTS, TIMES, Value, common, converter, in_range
from verifiers.texts import count_search

Operation = Callable[[Any, Any], Value]
COMPARISONS: dict[str, Operation] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ORDERED = (*NUMBERS, "float4", *TEXTS, *TIMES, "bool")
_BASE, _DIGITS = 10_000, 4
MIN_DIGITS = 16
A_DIGIT, A_RUN = 8, 4  # digits, and runs of letters of a pattern, for a step


def comparable(left: str, right: str, sign: str) -> str:
    """Return the type as which two types are compared.

    Raises:
        QueryFailed: they are not compared, or have no order.
    """
    type_ = common([left, right])
    if type_ not in ORDERED and (sign not in {"=", "<>"} or type_ in {"json", "xml", "point"}):
        raise QueryFailed(f"values of the type {type_} are not compared with {sign}")
    return type_


def arithmetic(sign: str, left: str, right: str, budget: ReadingBudget) -> tuple[str, Operation]:
    """Return the type and the function of an arithmetic operator.

    Raises:
        QueryFailed: there is none for these types.
    """
    if left == "unknown" and right in NUMBERS:
        left = right
    if right == "unknown" and left in NUMBERS:
        right = left
    if {left, right} <= {*NUMBERS, "float4"} and {left, right} != {"float4"}:
        type_ = common([left, right])
        to_left, to_right = converter(left, type_), converter(right, type_)
        made = _numbers(sign, type_, budget)
        return type_, lambda one, two: made(to_left(one), to_right(two))
    if (left, right, sign) == ("date", "date", "-"):
        return "int4", lambda one, two: (one - two).days
    if sign == "-" and left in TIMES and right in TIMES:
        type_ = common([left, right])
        to_left, to_right = converter(left, type_), converter(right, type_)
        return "interval", lambda one, two: to_left(one) - to_right(two)
    if left == "date" and right == "int4" and sign in "+-":
        return "date", lambda one, two: _later(one, two if sign == "+" else -two)
    if left == "int4" and right == "date" and sign == "+":
        return "date", lambda one, two: _later(two, one)
    raise QueryFailed(f"there is no {left} {sign} {right} here")


def _later(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        raise QueryFailed("a date is out of range") from None


def _numbers(sign: str, type_: str, budget: ReadingBudget) -> Operation:
    match type_:
        case "int4" | "int8":
            made = _INTEGERS[sign]
            return lambda one, two: in_range(made(one, two), type_)
        case "numeric":
            decimals = _DECIMALS[sign]

            def counted(one: Decimal, two: Decimal) -> Decimal:
                budget.step(1 + (len(one.as_tuple().digits) + len(two.as_tuple().digits)) // A_DIGIT)
                try:
                    return decimals(one, two)
                except (Inexact, InvalidOperation):
                    raise QueryFailed("a number has too many digits") from None

            return counted
    floats = _FLOATS.get(sign)
    if floats is None:
        raise QueryFailed(f"there is no float8 {sign} float8 here")
    return lambda one, two: _finite(floats(one, two))


def _finite(number: float) -> float:
    if number - number != 0:
        raise QueryFailed("a double is out of range")
    return number


def _quotient(one: int, two: int) -> int:
    """Divide integers, truncated towards zero."""
    if two == 0:
        raise QueryFailed("a number is divided by zero")
    made = abs(one) // abs(two)
    return made if (one < 0) == (two < 0) else -made


def _remainder(one: int, two: int) -> int:
    return one - _quotient(one, two) * two


def _double(one: float, two: float) -> float:
    if two == 0:
        raise QueryFailed("a number is divided by zero")
    return one / two


def divided(one: Decimal, two: Decimal) -> Decimal:
    """Divide numerics to the scale that PostgreSQL chooses (`select_div_scale` and `div_var` of its numeric.c)."""
    if two == 0:
        raise QueryFailed("a number is divided by zero")
    (weight, first), (other_weight, other_first) = _leading(one), _leading(two)
    quotient_weight = weight - other_weight - (first <= other_first)
    scale = max(MIN_DIGITS - quotient_weight * _DIGITS, scale_of(one), scale_of(two), 0)
    scale = min(scale, MAX_SCALE)
    above, below = _ratio(one, two)
    made, rest = divmod(abs(above) * 10**scale, below)
    made += 2 * rest >= below
    return Decimal(-made if above < 0 else made).scaleb(-scale, context=EXACT)


def _ratio(one: Decimal, two: Decimal) -> tuple[int, int]:
    above, below = one.as_integer_ratio()
    by, over = two.as_integer_ratio()
    above, below = above * over, below * by
    return (-above, -below) if below < 0 else (above, below)


def scale_of(number: Decimal) -> int:
    """Return the number of decimal places that a numeric is shown with."""
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _leading(number: Decimal) -> tuple[int, int]:
    """Return the weight and the first digit of a numeric in PostgreSQL's base of 10,000."""
    if number == 0:
        return 0, 0
    place = number.adjusted()
    weight = place // _DIGITS
    count = place - _DIGITS * weight + 1
    digits = "".join(map(str, number.as_tuple().digits[:count])).ljust(count, "0")
    return weight, int(digits)


def _decimal_remainder(one: Decimal, two: Decimal) -> Decimal:
    if two == 0:
        raise QueryFailed("a number is divided by zero")
    return EXACT.remainder(one, two)


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": _remainder,
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": divided,
    "%": _decimal_remainder,
}
_FLOATS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _double,
}


def uppered(text: str) -> str:
    """Make capitals of the letters a to z, which are all that the collation C knows."""
    return text.encode("utf-8", "surrogatepass").upper().decode("utf-8", "surrogatepass")


def lowered(text: str) -> str:
    """Make small letters of A to Z."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


class LikePart(NamedTuple):
    """What a LIKE pattern has between two `%`: its length, and its runs of letters with their places, longest first."""

    length: int
    runs: tuple[tuple[int, str], ...]


def like(text: str, parts: Sequence[LikePart], budget: ReadingBudget) -> bool:
    """Match a LIKE pattern; each part is found where it first occurs behind the one before."""
    budget.step(1 + len(parts))
    first, *middle, last = parts if len(parts) > 1 else (*parts, LikePart(0, ()))
    place, end = first.length, len(text) - last.length
    if place > end or (len(parts) == 1 and place < end):
        return False
    if not _is_at(text, first, 0, budget) or not _is_at(text, last, end, budget):
        return False
    for part in middle:
        place = _behind(text, part, place, end, budget)
        if place < 0:
            return False
    return True


def like_parts(pattern: str) -> list[LikePart]:
    r"""Split a pattern at its `%`: `%` is any text, `_` one character, a backslash takes the next one as it is."""
    parts: list[list[str | None]] = [[]]
    escaped = False
    for letter in pattern:
        if escaped or letter not in "%_\\":
            parts[-1].append(letter)
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == "%":
            parts.append([])
        else:
            parts[-1].append(None)
    return [LikePart(len(part), tuple(sorted(_runs(part), key=lambda run: -len(run[1])))) for part in parts]


def _runs(part: Sequence[str | None]) -> Iterator[tuple[int, str]]:
    place = 0
    for is_any, group in groupby(part, lambda letter: letter is None):
        letters = list(group)
        if not is_any:
            yield place, "".join(map(str, letters))
        place += len(letters)


def _is_at(text: str, part: LikePart, place: int, budget: ReadingBudget) -> bool:
    budget.step(1 + len(part.runs) // A_RUN + part.length // A_STEP)
    return all(text.startswith(run, place + at) for at, run in part.runs)


def _behind(text: str, part: LikePart, place: int, end: int, budget: ReadingBudget) -> int:
    """Return the end of the first occurrence of a part in `text[place:end]`, or -1."""
    last = end - part.length
    while part.runs and place <= last:
        at, run = part.runs[0]
        found = text.find(run, place + at, last + at + len(run))
        count_search(len(run), (found - at if found >= 0 else last) - place, budget)
        budget.step(len(run) // A_STEP)  # each search prepares anew
        place = found - at if found >= 0 else end
        if found >= 0 and _is_at(text, part, place, budget):
            break
        place += 1
    return place + part.length if place <= last else -1


def joined(one: str, two: str) -> str:
    """Join two texts.

    Raises:
        QueryFailed: the text is too long.
    """
    if len(one) + len(two) > MAX_TEXT:
        raise QueryFailed("a text is too long")
    return one + two
