"""Spreadsheet functions that formulas may call."""

from __future__ import annotations

import calendar
import datetime
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

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
    WholeArea,
    as_number,
    as_text,
    as_truth,
    flat,
    numbers_of,
    refuse,
    single,
)
from verifiers.states.workbook.wildcard import Wildcard
from verifiers.texts import COMPARISONS

MAX_STARS = 3
MAX_PATTERN = 255
_BY_LETTER = {
    *("AVERAGEIF", "AVERAGEIFS", "COUNTIF", "COUNTIFS", "LOWER", "MATCH", "MAXIFS", "MINIFS"),
    *("SUMIF", "SUMIFS", "UPPER", "VLOOKUP", "EXACT", "FIND", "HLOOKUP", "PROPER", "SEARCH", "SUBSTITUTE", "TEXTJOIN"),
    "XLOOKUP",
}
_SEARCHES = {"FIND", "SEARCH", "SUBSTITUTE"}
EPOCH = datetime.date(1899, 12, 30)
"""Day 0 of a workbook's dates."""
FIRST_DAY = 61
"""1 March 1900: before it spreadsheets have a day that there was not."""
FIRST_YEAR, LAST_YEAR = 1900, 9999
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
    if name in _SEARCHES and len(given) > 1:
        part, text = sorted(len(value) for value in map(str, given[:2]))
        letters += part * text // COMPARISONS * 4
    if name in {"HLOOKUP", "MATCH", "VLOOKUP"}:  # which look whether values ascend
        cells *= 2
    return A_CALL + cells + (letters // 4 if name in _BY_LETTER else letters // A_STEP)


def _criterion(criterion: Operand) -> Callable[[Value], bool]:
    """Compile a criterion of COUNTIF: a value, or a text such as `>=5`, `<>x` or `te*`."""
    wanted = 0 if (held := single(criterion)) is None else held
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


def _beyond(area: Operand) -> int:
    return area.beyond if isinstance(area, WholeArea) else 0


def _counted(*criteria: Operand) -> int:
    """Count the positions that meet all criteria, the blank ones behind the used part of whole columns too."""
    blank = all(_criterion(criterion)(None) for criterion in criteria[1::2])
    return len(_chosen(criteria[0], *criteria)) + (_beyond(criteria[0]) if blank else 0)


def _added_up(area: Operand, criterion: Operand, of: Operand) -> Area:
    """Give what SUMIF adds up: of the other area where there is one, else of the one that is looked at."""
    return [_chosen(area if of is None else of, area, criterion)]


def _to_digits(rounding: str) -> Callable[..., float]:
    def rounded(value: Operand, digits: Operand = 0) -> float:
        step = Decimal(1).scaleb(-int(as_number(digits)))
        return float((Decimal(repr(as_number(value))) / step).quantize(Decimal(1), rounding) * step)

    return rounded


def _matched(wanted: Operand, area: Operand, kind: Operand = 1) -> int:
    if as_number(kind) == 1:
        return _last_not_above(single(wanted), list(flat(area)))
    if as_number(kind) != 0:
        raise Unknown
    test = OPERATORS["="][1]
    for number, value in enumerate(flat(area), 1):
        if value is not None and test(single(wanted), value):
            return number
    raise CellError("#N/A")


def _last_not_above(wanted: Value, values: Sequence[Value]) -> int:
    """Return the place of the last value that is not above one, in values that ascend.

    Raises:
        CellError: all are above it.
        Unknown: they do not ascend, or are of several sorts: then it depends on how a spreadsheet searches.
    """
    held = [(number, value) for number, value in enumerate(values, 1) if value is not None]
    above = OPERATORS[">"][1]
    if len({is_number(value) for value in [wanted, *(value for _, value in held)]}) != 1:
        raise Unknown
    if any(above(before, after) for (_, before), (_, after) in pairwise(held)):
        raise Unknown
    fitting = [number for number, value in held if not above(value, wanted)]
    return fitting[-1] if fitting else _not_found()


def _not_found() -> NoReturn:
    raise CellError("#N/A")


def _looked_up(wanted: Operand, area: Any, column: Operand, is_sorted: Operand = True) -> Value:  # noqa: FBT002
    kind = 1 if as_truth(is_sorted) else 0
    row: list[Value] = area[_matched(wanted, [line[:1] for line in area], kind) - 1]
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


def _looked_up_across(wanted: Operand, area: Any, row: Operand, is_sorted: Operand = True) -> Value:  # noqa: FBT002
    return _looked_up(wanted, [list(column) for column in zip(*area, strict=True)], row, is_sorted)


def _found_beside(wanted: Operand, area: Operand, results: Operand, otherwise: Operand = "#N/A") -> Value:
    """Look a value up in a row or a column, and return what lies beside it (XLOOKUP with one row or column)."""
    beside = list(flat(results))
    if len(beside) != len(list(flat(area))):
        raise Unknown
    try:
        return beside[_matched(wanted, area, 0) - 1]
    except CellError as fault:
        if single(otherwise) == str(fault):
            raise
        return single(otherwise)


def _kth(step: int) -> Callable[[Operand, Operand], Any]:
    """Return LARGE (step -1) or SMALL (step 1): the k-th from one end."""

    def kth(area: Operand, k: Operand) -> Any:
        numbers, number = sorted(numbers_of(area)), int(as_number(k))
        if not 0 < number <= len(numbers):
            raise CellError("#NUM!")
        return numbers[-number] if step < 0 else numbers[number - 1]

    return kth


def _rank(value: Operand, area: Operand, ascending: Operand = 0) -> Any:
    numbers, wanted = numbers_of(area), as_number(value)
    if wanted not in numbers:
        _not_found()
    return 1 + sum(other < wanted if as_truth(ascending) else other > wanted for other in numbers)


def _percentile(area: Operand, share: Operand) -> Any:
    numbers, place = sorted(numbers_of(area)), float(as_number(share))
    if not numbers or not 0 <= place <= 1:
        raise CellError("#NUM!")
    at = place * (len(numbers) - 1)
    below = math.floor(at)
    above = min(below + 1, len(numbers) - 1)
    return numbers[below] + (numbers[above] - numbers[below]) * (at - below)


def _spread(of_sample: int, power: float) -> Callable[..., float]:
    """Return a variance (power 1) or a standard deviation (1/2), of a sample (1) or of all (0)."""

    def spread(*values: Operand) -> float:
        numbers = numbers_of(*values)
        if len(numbers) <= of_sample:
            raise CellError("#DIV/0!")
        mean = _mean(numbers)
        return float((math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - of_sample)) ** power)

    return spread


def _multiple(rounding: Callable[[Fraction], int]) -> Callable[..., float]:
    """Return CEILING or FLOOR: the next multiple of a step; exact, because 0.3 / 0.1 is not."""

    def multiple(value: Operand, step: Operand = 1) -> float:
        number, by = (Fraction(Decimal(repr(as_number(operand)))) for operand in (value, step))
        if number > 0 > by:
            raise CellError("#NUM!")
        return float(rounding(number / by) * by) if by else 0.0

    return multiple


def _logarithm(value: Operand, base: Operand = 10) -> float:
    number, of = as_number(value), as_number(base)
    if number <= 0 or of <= 0 or of == 1:
        raise CellError("#NUM!")
    return math.log10(number) if of == 10 else math.log(number) / math.log(of)  # noqa: PLR2004


def _root(value: Operand) -> float:
    number = as_number(value)
    return math.sqrt(number) if number >= 0 else _no_number()


def _no_number() -> NoReturn:
    raise CellError("#NUM!")


def _day(value: Operand) -> datetime.date:
    """Read a date, which is its text here, or the number that a spreadsheet has for it.

    Raises:
        Unknown: another text, which may be a date to a spreadsheet; or before March 1900, where they count differently.
    """
    scalar = single(value)
    if isinstance(scalar, str):
        try:
            return datetime.date.fromisoformat(scalar.partition("T")[0])
        except ValueError:
            raise Unknown from None
    if (number := int(as_number(scalar))) < FIRST_DAY:
        raise Unknown
    return EPOCH + datetime.timedelta(days=number)


def _date(year: Operand, month: Operand, day: Operand) -> str:
    """Return the text of a date; months and days beyond the last go on into the next year and month."""
    months = int(as_number(year)) * 12 + int(as_number(month)) - 1
    if not FIRST_YEAR * 12 < months < LAST_YEAR * 12:
        raise Unknown
    first = datetime.date(months // 12, months % 12 + 1, 1)
    return (first + datetime.timedelta(days=int(as_number(day)) - 1)).isoformat()


def _months_later(value: Operand, months: Operand, *, last: bool = False) -> str:
    day, count = _day(value), int(as_number(months))
    at = day.year * 12 + day.month - 1 + count
    if not FIRST_YEAR * 12 < at < LAST_YEAR * 12:
        raise Unknown
    length = calendar.monthrange(at // 12, at % 12 + 1)[1]
    return datetime.date(at // 12, at % 12 + 1, length if last else min(day.day, length)).isoformat()


def _weekday(value: Operand, kind: Operand = 1) -> int:
    firsts = {1: 1, 2: 0, 3: 0}
    if (how := int(as_number(kind))) not in firsts:
        raise Unknown
    return (_day(value).weekday() + firsts[how]) % 7 + (how != 3)  # noqa: PLR2004 - which counts from 0


def _substituted(text: Operand, old: Operand, new: Operand, place: Operand = None) -> str:
    whole, part, instead = as_text(text), as_text(old), as_text(new)
    if not part:
        return whole
    if len(whole) + whole.count(part) * len(instead) > MAX_TEXT * 2:
        refuse()
    if place is None:
        return whole.replace(part, instead)
    parts, number = whole.split(part), int(as_number(place))
    if not 0 < number < len(parts):
        return whole if number > 0 else refuse()
    return part.join(parts[:number]) + instead + part.join(parts[number:])


def _place_in(fold: Callable[[str], str]) -> Callable[..., int]:
    def place(part: Operand, text: Operand, start: Operand = 1) -> int:
        wanted, first = as_text(part), int(as_number(start))
        if fold is not str and re.search(r"[*?~]", wanted):
            raise Unknown
        found = fold(as_text(text)).find(fold(wanted), first - 1) if first > 0 else -1
        return found + 1 if found >= 0 else refuse()

    return place


def _joined(delimiter: Operand, leave_out: Operand, *values: Operand) -> str:
    between = as_text(delimiter)
    texts = [as_text(value) for value in flat(*values)]
    texts = [text for text in texts if text] if as_truth(leave_out) else texts
    if sum(map(len, texts)) + len(between) * len(texts) > MAX_TEXT + len(between):
        refuse()
    return between.join(texts)


def _repeated(text: Operand, times: Operand) -> str:
    part, count = as_text(text), int(as_number(times))
    return part * count if 0 <= count * len(part) <= MAX_TEXT and count >= 0 else refuse()


def _mean(numbers: Sequence[Any]) -> float:
    return math.fsum(numbers) / len(numbers)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ABS": lambda value: abs(as_number(value)),
    "AND": lambda *values: all(map(as_truth, flat(*values))),
    "AVERAGE": lambda *values: _mean(numbers_of(*values)),
    "AVERAGEIF": lambda area, criterion, of=None: _mean(numbers_of(_added_up(area, criterion, of))),
    "AVERAGEIFS": lambda of, *criteria: _mean(numbers_of([_chosen(of, *criteria)])),
    "CEILING": _multiple(math.ceil),
    "CONCAT": lambda *values: "".join(map(as_text, flat(*values))),
    "CONCATENATE": lambda *values: "".join(map(as_text, values)),
    "COUNT": lambda *values: sum(map(is_number, flat(*values))),
    "COUNTA": lambda *values: sum(value is not None for value in flat(*values)),
    "COUNTBLANK": lambda area: sum(value is None or value == "" for value in flat(area)) + _beyond(area),
    "COUNTIF": _counted,
    "COUNTIFS": _counted,
    "DATE": _date,
    "DAY": lambda value: _day(value).day,
    "DAYS": lambda end, start: (_day(end) - _day(start)).days,
    "EDATE": _months_later,
    "EOMONTH": lambda value, months: _months_later(value, months, last=True),
    "EXACT": lambda left, right: as_text(left) == as_text(right),
    "EXP": lambda value: math.exp(as_number(value)),
    "FIND": _place_in(str),
    "FLOOR": _multiple(math.floor),
    "HLOOKUP": _looked_up_across,
    "IF": lambda value: value,
    "IFERROR": lambda value: value,
    "INDEX": _indexed,
    "INT": lambda value: math.floor(as_number(value)),
    "ISBLANK": lambda value: single(value) is None,
    "ISNUMBER": lambda value: is_number(single(value)),
    "ISTEXT": lambda value: isinstance(single(value), str),
    "LARGE": _kth(-1),
    "LEFT": lambda text, length=1: as_text(text)[: max(int(as_number(length)), 0)],
    "LEN": lambda text: len(as_text(text)),
    "LN": lambda value: _logarithm(value, math.e),
    "LOG": _logarithm,
    "LOG10": _logarithm,
    "LOWER": lambda text: as_text(text).lower(),
    "MATCH": _matched,
    "MAX": lambda *values: max(numbers_of(*values), default=0),
    "MAXIFS": lambda of, *criteria: max(numbers_of([_chosen(of, *criteria)]), default=0),
    "MEDIAN": lambda *values: statistics.median(numbers_of(*values)),
    "MID": lambda text, start, length: as_text(text)[int(as_number(start)) - 1 :][: max(int(as_number(length)), 0)],
    "MIN": lambda *values: min(numbers_of(*values), default=0),
    "MINIFS": lambda of, *criteria: min(numbers_of([_chosen(of, *criteria)]), default=0),
    "MOD": lambda value, by: as_number(value) % as_number(by),
    "MONTH": lambda value: _day(value).month,
    "NOT": lambda value: not as_truth(value),
    "OR": lambda *values: any(map(as_truth, flat(*values))),
    "PERCENTILE": _percentile,
    "PERCENTILE.INC": _percentile,
    "PI": lambda: math.pi,
    "POWER": OPERATORS["^"][1],
    "PRODUCT": lambda *values: math.prod(map(float, numbers_of(*values))),
    "PROPER": lambda text: as_text(text).title(),
    "QUARTILE": lambda area, number: _percentile(area, int(as_number(number)) / 4),
    "RANK": _rank,
    "RANK.EQ": _rank,
    "REPT": _repeated,
    "RIGHT": lambda text, length=1: as_text(text)[-int(as_number(length)) :] if as_number(length) >= 1 else "",
    "ROUND": _to_digits(ROUND_HALF_UP),
    "ROUNDDOWN": _to_digits(ROUND_DOWN),
    "ROUNDUP": _to_digits(ROUND_UP),
    "SEARCH": _place_in(str.casefold),
    "SIGN": lambda value: (as_number(value) > 0) - (as_number(value) < 0),
    "SMALL": _kth(1),
    "SQRT": _root,
    "STDEV": _spread(1, 0.5),
    "STDEV.P": _spread(0, 0.5),
    "STDEV.S": _spread(1, 0.5),
    "STDEVP": _spread(0, 0.5),
    "SUBSTITUTE": _substituted,
    "SUM": lambda *values: math.fsum(numbers_of(*values)),
    "SUMIF": lambda area, criterion, of=None: math.fsum(numbers_of(_added_up(area, criterion, of))),
    "SUMIFS": lambda of, *criteria: math.fsum(numbers_of([_chosen(of, *criteria)])),
    "SUMPRODUCT": _product_sum,
    "SUMSQ": lambda *values: math.fsum(number * number for number in numbers_of(*values)),
    "TEXTJOIN": _joined,
    "TRIM": lambda text: " ".join(as_text(text).split()),
    "TRUNC": _to_digits(ROUND_DOWN),
    "UPPER": lambda text: as_text(text).upper(),
    "VAR": _spread(1, 1),
    "VAR.P": _spread(0, 1),
    "VAR.S": _spread(1, 1),
    "VLOOKUP": _looked_up,
    "WEEKDAY": _weekday,
    "XLOOKUP": _found_beside,
    "YEAR": lambda value: _day(value).year,
}
"""By name: what it does with its arguments."""
