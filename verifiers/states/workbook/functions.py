"""Spreadsheet functions that formulas may call."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from typing import Any

from verifiers.budget import A_STEP
from verifiers.predicates.values import is_number
from verifiers.states.workbook.model import Value
from verifiers.states.workbook.operands import (
    MAX_TEXT,
    OPERATORS,
    Area,
    CellError,
    Operand,
    Unknown,
    as_number,
    as_text,
    as_truth,
    flat,
    numbers_of,
    refuse,
    single,
)
from verifiers.states.workbook.wildcard import Wildcard

MAX_STARS = 3
MAX_PATTERN = 255
_BY_LETTER = {
    *("AVERAGEIF", "AVERAGEIFS", "COUNTIF", "COUNTIFS", "LOWER", "MATCH", "MAXIFS", "MINIFS"),
    *("SUMIF", "SUMIFS", "UPPER", "VLOOKUP"),
}
A_CALL = 4  # steps


def cost(name: str, given: Sequence[Any]) -> int:
    """Give the steps of a function: a value is one, and so are some letters of a text that is joined or compared.

    Raises:
        CellError: a text that would be made is longer than a cell takes.
    """
    letters = sum(len(value) for value in flat(*given) if isinstance(value, str))
    if name in {"CONCAT", "CONCATENATE"} and letters > MAX_TEXT:
        refuse()
    cells = sum(len(argument) * len(argument[0]) if isinstance(argument, list) else 1 for argument in given)
    return A_CALL + cells + (letters // 4 if name in _BY_LETTER else letters // A_STEP)


def _criterion(criterion: Operand) -> Callable[[Value], bool]:
    """Compile a criterion of COUNTIF: a value, or a text such as `>=5`, `<>x` or `te*`."""
    wanted = single(criterion)
    if not isinstance(wanted, str):
        return lambda value: value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
    match = re.fullmatch(r"(<=|>=|<>|=|<|>)?(.*)", wanted, re.DOTALL)
    sign, rest = (match[1] or "=", match[2]) if match else ("=", wanted)
    if re.fullmatch(r"-?\d{1,40}(\.\d*)?", rest):
        number, apply = float(rest), OPERATORS[sign][1]
        return lambda value: bool(apply(value, number)) if is_number(value) else sign == "<>"
    if sign not in {"=", "<>"} or rest.count("*") > MAX_STARS or len(rest) > MAX_PATTERN:
        raise Unknown
    shape = Wildcard(rest)
    return lambda value: shape.matches(value if isinstance(value, str) else "") == (sign == "=")


def _chosen(of: Operand, *criteria: Operand) -> list[Value]:
    """Give the values of an area at the positions where all other areas meet their criteria."""
    values = list(flat(of))
    chosen = [True] * len(values)
    for area, criterion in zip(criteria[::2], criteria[1::2], strict=True):
        test, tested = _criterion(criterion), list(flat(area))
        if len(tested) != len(values):
            raise CellError("#VALUE!")
        chosen = [is_chosen and test(value) for is_chosen, value in zip(chosen, tested, strict=True)]
    return [value for value, is_chosen in zip(values, chosen, strict=True) if is_chosen]


def _added_up(area: Operand, criterion: Operand, of: Operand) -> Area:
    """Give what SUMIF adds up: of the other area where there is one, else of the one that is looked at."""
    return [_chosen(area if of is None else of, area, criterion)]


def _to_digits(rounding: str) -> Callable[..., float]:
    def rounded(value: Operand, digits: Operand = 0) -> float:
        step = Decimal(1).scaleb(-int(as_number(digits)))
        return float((Decimal(repr(as_number(value))) / step).quantize(Decimal(1), rounding) * step)

    return rounded


def _matched(wanted: Operand, area: Operand, kind: Operand = 1) -> int:
    if as_number(kind) != 0:
        raise Unknown
    test = OPERATORS["="][1]
    for number, value in enumerate(flat(area), 1):
        if value is not None and test(single(wanted), value):
            return number
    raise CellError("#N/A")


def _looked_up(wanted: Operand, area: Any, column: Operand, is_sorted: Operand = True) -> Value:  # noqa: FBT002
    if as_truth(is_sorted):
        raise Unknown
    row: list[Value] = area[_matched(wanted, [line[:1] for line in area], 0) - 1]
    if not 0 < as_number(column) <= len(row):
        refuse()
    return row[int(as_number(column)) - 1]


def _indexed(area: Any, row: Operand, column: Operand = None) -> Value:
    down, across = int(as_number(row)), int(as_number(column)) if column is not None else 1
    if column is None and len(area) == 1:
        down, across = 1, down
    if not (0 < down <= len(area) and 0 < across <= len(area[0])):
        raise CellError("#REF!")
    value: Value = area[down - 1][across - 1]
    return value


def _product_sum(*areas: Operand) -> Any:
    columns = [
        [float(value) if isinstance(value, int | float) and is_number(value) else 0.0 for value in flat(area)]
        for area in areas
    ]
    return math.fsum(math.prod(row) for row in zip(*columns, strict=True))


def _mean(numbers: Sequence[Any]) -> float:
    return math.fsum(numbers) / len(numbers)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ABS": lambda value: abs(as_number(value)),
    "AND": lambda *values: all(map(as_truth, flat(*values))),
    "AVERAGE": lambda *values: _mean(numbers_of(*values)),
    "AVERAGEIF": lambda area, criterion, of=None: _mean(numbers_of(_added_up(area, criterion, of))),
    "AVERAGEIFS": lambda of, *criteria: _mean(numbers_of([_chosen(of, *criteria)])),
    "CONCAT": lambda *values: "".join(map(as_text, flat(*values))),
    "CONCATENATE": lambda *values: "".join(map(as_text, values)),
    "COUNT": lambda *values: sum(map(is_number, flat(*values))),
    "COUNTA": lambda *values: sum(value is not None for value in flat(*values)),
    "COUNTBLANK": lambda *values: sum(value is None or value == "" for value in flat(*values)),
    "COUNTIF": lambda area, criterion: len(_chosen(area, area, criterion)),
    "COUNTIFS": lambda *criteria: len(_chosen(criteria[0], *criteria)),
    "IF": lambda value: value,
    "IFERROR": lambda value: value,
    "INDEX": _indexed,
    "INT": lambda value: math.floor(as_number(value)),
    "LEFT": lambda text, length=1: as_text(text)[: max(int(as_number(length)), 0)],
    "LEN": lambda text: len(as_text(text)),
    "LOWER": lambda text: as_text(text).lower(),
    "MATCH": _matched,
    "MAX": lambda *values: max(numbers_of(*values), default=0),
    "MAXIFS": lambda of, *criteria: max(numbers_of([_chosen(of, *criteria)]), default=0),
    "MEDIAN": lambda *values: statistics.median(numbers_of(*values)),
    "MID": lambda text, start, length: as_text(text)[int(as_number(start)) - 1 :][: max(int(as_number(length)), 0)],
    "MIN": lambda *values: min(numbers_of(*values), default=0),
    "MINIFS": lambda of, *criteria: min(numbers_of([_chosen(of, *criteria)]), default=0),
    "MOD": lambda value, by: as_number(value) % as_number(by),
    "NOT": lambda value: not as_truth(value),
    "OR": lambda *values: any(map(as_truth, flat(*values))),
    "PRODUCT": lambda *values: math.prod(map(float, numbers_of(*values))),
    "RIGHT": lambda text, length=1: as_text(text)[-int(as_number(length)) :] if as_number(length) >= 1 else "",
    "ROUND": _to_digits(ROUND_HALF_UP),
    "ROUNDDOWN": _to_digits(ROUND_DOWN),
    "ROUNDUP": _to_digits(ROUND_UP),
    "SUM": lambda *values: math.fsum(numbers_of(*values)),
    "SUMIF": lambda area, criterion, of=None: math.fsum(numbers_of(_added_up(area, criterion, of))),
    "SUMIFS": lambda of, *criteria: math.fsum(numbers_of([_chosen(of, *criteria)])),
    "SUMPRODUCT": _product_sum,
    "TRIM": lambda text: " ".join(as_text(text).split()),
    "UPPER": lambda text: as_text(text).upper(),
    "VLOOKUP": _looked_up,
}
"""By name: what it does with its arguments."""
