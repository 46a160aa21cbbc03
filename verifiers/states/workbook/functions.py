"""Spreadsheet functions that formulas may call."""

from __future__ import annotations

import calendar
import datetime
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from verifiers.budget import A_STEP
from verifiers.states.workbook.model import EPOCH, FIRST_DAY, LAST_DAY, DateText, Value
from verifiers.states.workbook.number_formats import format_number
from verifiers.states.workbook.operands import (
    MAX_EXACT,
    MAX_TEXT,
    OPERATORS,
    Area,
    CellError,
    CellRange,
    Operand,
    Unknown,
    as_number,
    as_text,
    as_truth,
    flat,
    is_error,
    is_number,
    numbers_of,
    raise_unknown,
    refuse,
    single,
    truths_of,
)
from verifiers.states.workbook.wildcard import Wildcard
from verifiers.texts import COMPARISONS

MAX_STARS = 3
MAX_PATTERN = 255
_BY_LETTER = {
    *("AVERAGEIF", "AVERAGEIFS", "COUNTIF", "COUNTIFS", "LOWER", "MATCH", "MAXIFS", "MINIFS"),
    *("SUMIF", "SUMIFS", "UPPER", "VLOOKUP", "EXACT", "FIND", "HLOOKUP", "PROPER", "SEARCH", "SUBSTITUTE", "TEXTJOIN"),
    *("XLOOKUP", "LOOKUP", "TEXT", "VALUE", "CLEAN", "REPLACE", "CODE"),
}
_NUMBERS_BEGIN = frozenset("0123456789+-.")
_SEARCHES = {"FIND", "SEARCH", "SUBSTITUTE"}
FIRST_YEAR, LAST_YEAR = 1900, 9999
SATURDAY = 5
A_CALL = 4  # steps


def cost(name: str, given: Sequence[Any]) -> int:
    """Return the steps of a function: a value is one, and so are some letters of a text that is joined or compared.

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
    if name in {"HLOOKUP", "LOOKUP", "MATCH", "VLOOKUP"}:  # which look whether values ascend
        cells *= 2
    return A_CALL + cells + (letters // 4 if name in _BY_LETTER else letters // A_STEP)


def _criterion(criterion: Operand) -> Callable[[Value], bool]:
    """Compile a criterion of COUNTIF: a value, or a text such as `>=5`, `<>x` or `te*`."""
    wanted = 0 if (held := single(criterion)) is None else held
    if isinstance(wanted, bool):
        return lambda value: value is wanted
    if is_number(wanted):
        wanted = as_text(wanted)
    match = re.fullmatch(r"(<=|>=|<>|=|<|>)?(.*)", str(wanted), re.DOTALL)
    sign, rest = (match[1] or "", match[2]) if match else ("", str(wanted))
    apply = OPERATORS[sign or "="][1]
    if rest.upper() in {"TRUE", "FALSE"}:
        truth = rest.upper() == "TRUE"
        return lambda value: apply(value, truth) if isinstance(value, bool) else sign == "<>"
    if rest == "":
        return lambda value: (value is None or (value == "" and not sign)) == (sign != "<>") and sign in {"", "=", "<>"}
    with suppress(CellError):
        number = as_number(rest)
        if sign in {"", "=", "<>"}:
            return lambda value: (
                ((as_number(value) if is_number(value) else _number_of(value)) == number) == (sign != "<>")
            )
        return lambda value: is_number(value) and apply(value, number)
    if is_error(rest) or sign not in {"", "=", "<>"}:
        raise Unknown
    shape = _pattern(rest)
    return lambda value: (isinstance(value, str) and not is_number(value) and shape.matches(value)) == (sign != "<>")


def _number_of(value: Value) -> float | None:
    """Return a number, or that of a text which stands for one: to a criterion they are equal."""
    if is_number(value):
        return float(as_number(value))
    if isinstance(value, str) and value[:1] in _NUMBERS_BEGIN:
        with suppress(CellError, Unknown):
            return float(as_number(value))
    return None


def _pattern(text: str) -> Wildcard:
    """Return a pattern with `*` and `?`.

    Raises:
        Unknown: it costs too much, or has a `~`.
    """
    if "~" in text or text.count("*") > MAX_STARS or len(text) > MAX_PATTERN:
        raise Unknown
    return Wildcard(text)


def _chosen(of: Operand, *criteria: Operand) -> list[Value]:
    """Return the values of an area at the positions where all other areas meet their criteria."""
    values = list(flat(of))
    chosen = [True] * len(values)
    for area, criterion in zip(criteria[::2], criteria[1::2], strict=True):
        test, tested = _criterion(criterion), list(flat(area))
        if len(tested) != len(values):
            raise CellError("#VALUE!")
        chosen = [is_chosen and test(value) for is_chosen, value in zip(chosen, tested, strict=True)]
    return [value for value, is_chosen in zip(values, chosen, strict=True) if is_chosen]


def _beyond(area: Operand) -> int:
    return area.beyond if isinstance(area, CellRange) else 0


def _counted(*criteria: Operand) -> int:
    """Count the positions that meet all criteria, the blank ones behind the used part of whole columns too."""
    blank = all(_criterion(criterion)(None) for criterion in criteria[1::2])
    return len(_chosen(criteria[0], *criteria)) + (_beyond(criteria[0]) if blank else 0)


def _added_up(area: Operand, criterion: Operand, of: Operand) -> Area:
    """Return what SUMIF adds up: of the other area where there is one, else of the one that is looked at.

    Raises:
        Unknown: the other area has another size, and a spreadsheet takes more cells than it names.
    """
    of = area if of is None else of
    if isinstance(of, list) and isinstance(area, list) and (len(of), len(of[0])) != (len(area), len(area[0])):
        raise Unknown
    return [_chosen(of, area, criterion)]


def _to_digits(rounding: str) -> Callable[..., float]:
    def rounded(value: Operand, digits: Operand = 0) -> float:
        if abs(as_number(value)) >= MAX_EXACT:  # which has no digits to round
            raise Unknown
        step = Decimal(1).scaleb(-int(as_number(digits)))
        return float((Decimal(repr(as_number(value))) / step).quantize(Decimal(1), rounding) * step)

    return rounded


def _matched(wanted: Operand, area: Operand, kind: Operand = 1) -> int:
    """Return the place of a value: exactly (0), or of the last that is not above (1) or below (-1) it."""
    sought, values = single(wanted), list(flat(area))
    if is_error(sought):
        raise CellError(str(sought))
    if (way := as_number(kind)) != 0:
        return _last_not_beyond(0 if sought is None else sought, values, OPERATORS[">" if way > 0 else "<"][1])
    if isinstance(sought, str) and not is_number(sought) and re.search(r"[*?~]", sought):
        shape = _pattern(sought)
        places = (number for number, value in enumerate(values, 1) if isinstance(value, str) and shape.matches(value))
    else:
        same = OPERATORS["="][1]
        places = (
            number
            for number, value in enumerate(values, 1)
            if value is not None and not is_error(value) and same(sought, value)
        )
    return next(places, 0) or _not_found()


def _last_not_beyond(wanted: Value, values: Sequence[Value], beyond: Callable[[Any, Any], bool]) -> int:
    """Return the place of the last value that is not beyond one; only those of its own sort are looked at.

    Raises:
        CellError: all are beyond it.
        Unknown: they are not in order: then it depends on how a spreadsheet searches.
    """
    held = [(number, value) for number, value in enumerate(values, 1) if _sort(value) == _sort(wanted)]
    if any(beyond(before, after) for (_, before), (_, after) in pairwise(held)):
        raise Unknown
    fitting = [number for number, value in held if not beyond(value, wanted)]
    return fitting[-1] if fitting else _not_found()


def _sort(value: Value) -> str:
    if value is None or is_error(value):
        return ""
    return "boolean" if isinstance(value, bool) else "number" if is_number(value) else "text"


def _not_found() -> NoReturn:
    raise CellError("#N/A")


def _looked_up(wanted: Operand, area: Any, column: Operand, is_sorted: Operand = True) -> Value:  # noqa: FBT002
    number = int(as_number(column))
    if number < 1:
        refuse()
    if number > len(area[0]):
        raise CellError("#REF!")
    kind = 1 if as_truth(is_sorted) else 0
    value: Value = area[_matched(wanted, [line[:1] for line in area], kind) - 1][number - 1]
    return value


def _looked_up_in_order(wanted: Operand, area: Any, results: Operand = None) -> Value:
    """Return LOOKUP: beside the last value that is not above one, or in the last row or column of the same area."""
    lines = area if len(area) >= len(area[0]) else [list(column) for column in zip(*area, strict=True)]
    place = _matched(wanted, [line[:1] for line in lines]) - 1
    beside = list(flat(results)) if isinstance(results, list) else [line[-1] for line in lines]
    return beside[place]


def _index(area: Any, row: Operand, column: Operand = None) -> Operand:
    """Return a cell of an area, or a whole row or column of it where the other number is 0."""
    down, across = int(as_number(row)), int(as_number(column)) if column is not None else -1
    if across < 0:
        down, across = (1, down) if len(area) == 1 else (down, 1 if len(area[0]) == 1 else raise_unknown())
    if min(down, across) < 0:
        refuse()
    height, width = (area.height, area.width) if isinstance(area, CellRange) else (len(area), len(area[0]))
    if down > height or across > width:
        raise CellError("#REF!")
    if down > len(area) or across > len(area[0]):
        return None  # behind the used part of whole columns or rows
    lines = area[down - 1 : down] if down else area
    return [line[across - 1 : across] if across else line for line in lines]


def _product_sum(*areas: Operand) -> Any:
    if len({(len(area), len(area[0])) if isinstance(area, list) else (1, 1) for area in areas}) != 1:
        refuse()
    columns = [[_factor(value) for value in flat(area)] for area in areas]
    return math.fsum(math.prod(row) for row in zip(*columns, strict=True))


def _factor(value: Value) -> float:
    return float(as_number(value)) if is_error(value) or is_number(value) else 0.0


def _looked_up_across(wanted: Operand, area: Any, row: Operand, is_sorted: Operand = True) -> Value:  # noqa: FBT002
    return _looked_up(wanted, [list(column) for column in zip(*area, strict=True)], row, is_sorted)


def _found_beside(
    wanted: Operand, area: Operand, results: Operand, otherwise: Operand = None, mode: Operand = 0
) -> Value:
    """Look a value up in a row or a column, and return what lies beside it (XLOOKUP with one row or column)."""
    beside = list(flat(results))
    if len(beside) != len(list(flat(area))) or as_number(mode) != 0 or re.search(r"[*?~]", str(single(wanted))):
        raise Unknown
    try:
        return beside[_matched(wanted, area, 0) - 1]
    except CellError as fault:
        if otherwise is None or str(fault) != "#N/A":
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

    def multiple(value: Operand, step: Operand) -> float:
        number, by = _exact(value), _exact(step)
        if number > 0 > by:
            raise CellError("#NUM!")
        return float(rounding(number / by) * by) if by or (number and rounding is math.floor) else 0.0

    return multiple


def _exact(value: Operand) -> Fraction:
    """Return a number as the decimal that it is written as."""
    return Fraction(Decimal(repr(as_number(value))))


def _remainder(value: Operand, by: Operand) -> Any:
    if isinstance(as_number(value), int) and isinstance(as_number(by), int):
        return as_number(value) % as_number(by)
    return float(_exact(value) % _exact(by))


def _counts(value: Operand) -> int:
    """Count the numbers in an area; a single value counts where it stands for one."""
    if isinstance(value, list):
        return sum(map(is_number, flat(value)))
    try:
        as_number(value)
    except CellError:
        return 0
    return 1


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
    """Return the day of a date.

    Raises:
        Unknown: it lies before March 1900, where spreadsheets count differently.
        CellError: it lies behind the last year.
    """
    if 0 <= (number := math.floor(as_number(value))) < FIRST_DAY:
        raise Unknown
    return EPOCH.date() + datetime.timedelta(days=number) if 0 < number <= LAST_DAY else _no_number()


def _serial(day: datetime.date) -> DateText:
    number = (day - EPOCH.date()).days
    return DateText.of(number) if number >= FIRST_DAY else raise_unknown()


def _date(year: Operand, month: Operand, day: Operand) -> DateText:
    """Return a date; months and days beyond the last go on into the next year and month."""
    in_year = int(as_number(year))
    months = (in_year + (FIRST_YEAR if 0 <= in_year < FIRST_YEAR else 0)) * 12 + int(as_number(month)) - 1
    if not FIRST_YEAR * 12 < months < LAST_YEAR * 12:
        raise Unknown
    first = datetime.date(months // 12, months % 12 + 1, 1)
    return _serial(first + datetime.timedelta(days=int(as_number(day)) - 1))


def _months_later(value: Operand, months: Operand, *, last: bool = False) -> DateText:
    day, count = _day(value), int(as_number(months))
    at = day.year * 12 + day.month - 1 + count
    if not FIRST_YEAR * 12 < at < LAST_YEAR * 12:
        raise Unknown
    length = calendar.monthrange(at // 12, at % 12 + 1)[1]
    return _serial(datetime.date(at // 12, at % 12 + 1, length if last else min(day.day, length)))


_FIRST_DAYS = {1: 6, 2: 0, 3: 0, **{10 + number: number - 1 for number in range(1, 8)}}
"""The first day of a week, by the kind of week; Monday is 0."""


def _weekday(value: Operand, kind: Operand = 1) -> int:
    day, first = _day(value), _FIRST_DAYS.get(int(as_number(kind)))
    if first is None:
        _no_number()
    return (day.weekday() - first) % 7 + int(as_number(kind) != 3)  # noqa: PLR2004 - which counts from 0


def _week(value: Operand, kind: Operand = 1) -> int:
    day, first = _day(value), _FIRST_DAYS.get(int(as_number(kind)))
    if first is None or as_number(kind) == 3:  # noqa: PLR2004 - in WEEKDAY alone
        return day.isocalendar().week if as_number(kind) == 21 else _no_number()  # noqa: PLR2004 - as in ISO 8601
    start = day.replace(month=1, day=1)
    return ((day - start).days + (start.weekday() - first) % 7) // 7 + 1


def _time(hour: Operand, minute: Operand, second: Operand) -> DateText:
    seconds = int(as_number(hour)) * 3600 + int(as_number(minute)) * 60 + int(as_number(second))
    return DateText.of(seconds % 86400 / 86400) if seconds >= 0 else _no_number()


def _of_day(unit: int, of: int) -> Callable[[Operand], int]:
    """Return HOUR, MINUTE or SECOND: how many such units, of so many, the time of a day has."""

    def part(value: Operand) -> int:
        number: float = as_number(value)
        return round(number % 1 * 86400) // unit % of if number >= 0 else _no_number()

    return part


def _between(start: Operand, end: Operand, unit: Operand) -> int:
    """Return DATEDIF: whole years, months or days from one date to another."""
    first, last, how = _day(start), _day(end), as_text(unit).lower()
    months = (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)
    if first > last or how not in {"y", "m", "d", "ym"}:
        return _no_number() if first > last else raise_unknown()
    return {"y": months // 12, "m": months, "d": (last - first).days, "ym": months % 12}[how]


def _working_days(start: Operand, end: Operand, holidays: Operand = None) -> int:
    first, last = sorted((_day(start), _day(end)))
    free = {_day(value) for value in flat(holidays) if value is not None}
    weeks, rest = divmod((last - first).days + 1, 7)
    days = weeks * 5 + sum((first + datetime.timedelta(days=number)).weekday() < SATURDAY for number in range(rest))
    days -= sum(first <= day <= last and day.weekday() < SATURDAY for day in free)
    return days if _day(start) <= _day(end) else -days


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
        wanted, whole, first = as_text(part), as_text(text), int(as_number(start))
        if fold is not str and re.search(r"[*?~]", wanted):
            raise Unknown
        at = fold(whole).find(fold(wanted), first - 1) if 0 < first <= max(len(whole), 1) else -1
        return at + 1 if at >= 0 else refuse()

    return place


def _count(length: Operand) -> int:
    number: float = as_number(length)
    return int(number) if number >= 0 else refuse()


def _middle(text: Operand, start: Operand, length: Operand) -> str:
    first = _count(start) or refuse()
    return as_text(text)[first - 1 :][: _count(length)]


def _replace_part(text: Operand, start: Operand, length: Operand, new: Operand) -> str:
    whole, first = as_text(text), _count(start) or refuse()
    return whole[: first - 1] + as_text(new) + whole[first - 1 + _count(length) :]


def _letter(number: Operand) -> str:
    code = int(as_number(number))
    if not 0 < code < 256:  # noqa: PLR2004
        refuse()
    return bytes([code]).decode("cp1252", "ignore")


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


def _measure(side: str) -> Callable[[Operand], int]:
    """Return ROW, COLUMN, ROWS or COLUMNS: a number that an area has."""

    def side_of(area: Operand) -> int:
        return int(getattr(area, side)) if isinstance(area, CellRange) else raise_unknown()

    return side_of


def _mean(numbers: Sequence[Any]) -> float:
    return math.fsum(numbers) / len(numbers)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ABS": lambda value: abs(as_number(value)),
    "AND": lambda *values: all(truths_of(*values)),
    "AVERAGE": lambda *values: _mean(numbers_of(*values)),
    "AVERAGEIF": lambda area, criterion, of=None: _mean(numbers_of(_added_up(area, criterion, of))),
    "AVERAGEIFS": lambda of, *criteria: _mean(numbers_of([_chosen(of, *criteria)])),
    "CEILING": _multiple(math.ceil),
    "CHAR": _letter,
    "CLEAN": lambda text: "".join(letter for letter in as_text(text) if letter >= " "),
    "CODE": lambda text: ord(as_text(text)[0]) if as_text(text)[:1].isascii() and as_text(text) else refuse(),
    "COLUMN": _measure("left"),
    "COLUMNS": _measure("width"),
    "CONCAT": lambda *values: "".join(map(as_text, flat(*values))),
    "CONCATENATE": lambda *values: "".join(map(as_text, values)),
    "COUNT": lambda *values: sum(map(_counts, values)),
    "COUNTA": lambda *values: sum(value is not None for value in flat(*values)),
    "COUNTBLANK": lambda area: sum(value is None or value == "" for value in flat(area)) + _beyond(area),
    "COUNTIF": _counted,
    "COUNTIFS": _counted,
    "DATE": _date,
    "DATEDIF": _between,
    "DATEVALUE": lambda text: math.floor(as_number(as_text(text))),
    "DAY": lambda value: _day(value).day,
    "DAYS": lambda end, start: (_day(end) - _day(start)).days,
    "EDATE": _months_later,
    "EOMONTH": lambda value, months: _months_later(value, months, last=True),
    "EXACT": lambda left, right: as_text(left) == as_text(right),
    "EXP": lambda value: math.exp(as_number(value)),
    "FIND": _place_in(str),
    "FLOOR": _multiple(math.floor),
    "HLOOKUP": _looked_up_across,
    "HOUR": _of_day(3600, 24),
    "HYPERLINK": lambda address, label=None: single(address if label is None else label),
    "IF": lambda value: value,
    "IFERROR": lambda value: value,
    "INDEX": _index,
    "INT": lambda value: math.floor(as_number(value)),
    "ISBLANK": lambda value: single(value) is None,
    "ISLOGICAL": lambda value: isinstance(single(value), bool),
    "ISNONTEXT": lambda value: _sort(single(value)) != "text",
    "ISNUMBER": lambda value: is_number(single(value)),
    "ISOWEEKNUM": lambda value: _day(value).isocalendar().week,
    "ISTEXT": lambda value: _sort(single(value)) == "text",
    "LARGE": _kth(-1),
    "LEFT": lambda text, length=1: as_text(text)[: _count(length)],
    "LEN": lambda text: len(as_text(text)),
    "LN": lambda value: _logarithm(value, math.e),
    "LOG": _logarithm,
    "LOG10": _logarithm,
    "LOOKUP": _looked_up_in_order,
    "LOWER": lambda text: as_text(text).lower(),
    "MATCH": _matched,
    "MAX": lambda *values: max(numbers_of(*values), default=0),
    "MAXIFS": lambda of, *criteria: max(numbers_of([_chosen(of, *criteria)]), default=0),
    "MEDIAN": lambda *values: statistics.median(numbers_of(*values) or _no_number()),
    "MID": _middle,
    "MIN": lambda *values: min(numbers_of(*values), default=0),
    "MINIFS": lambda of, *criteria: min(numbers_of([_chosen(of, *criteria)]), default=0),
    "MINUTE": _of_day(60, 60),
    "MOD": _remainder,
    "MONTH": lambda value: _day(value).month,
    "N": lambda value: 0 if _sort(single(value)) == "text" else as_number(value),
    "NA": _not_found,
    "NETWORKDAYS": _working_days,
    "NOT": lambda value: not as_truth(value),
    "OR": lambda *values: any(truths_of(*values)),
    "PERCENTILE": _percentile,
    "PERCENTILE.INC": _percentile,
    "PI": lambda: math.pi,
    "POWER": OPERATORS["^"][1],
    "PRODUCT": lambda *values: math.prod(map(float, numbers_of(*values) or [0])),
    "PROPER": lambda text: as_text(text).title(),
    "QUARTILE": lambda area, number: _percentile(area, int(as_number(number)) / 4),
    "QUARTILE.INC": lambda area, number: _percentile(area, int(as_number(number)) / 4),
    "RANK": _rank,
    "RANK.EQ": _rank,
    "REPLACE": _replace_part,
    "REPT": _repeated,
    "RIGHT": lambda text, length=1: as_text(text)[::-1][: _count(length)][::-1],
    "ROUND": _to_digits(ROUND_HALF_UP),
    "ROUNDDOWN": _to_digits(ROUND_DOWN),
    "ROUNDUP": _to_digits(ROUND_UP),
    "ROW": _measure("top"),
    "ROWS": _measure("height"),
    "SEARCH": _place_in(str.casefold),
    "SECOND": _of_day(1, 60),
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
    "T": lambda value: as_text(value) if is_error(single(value)) or _sort(single(value)) == "text" else "",
    "TEXT": lambda value, code: format_number(value, as_text(code)),
    "TEXTJOIN": _joined,
    "TIME": _time,
    "TRIM": lambda text: " ".join(filter(None, as_text(text).split(" "))),
    "TRUE": lambda: True,
    "FALSE": lambda: False,
    "TRUNC": _to_digits(ROUND_DOWN),
    "UPPER": lambda text: (
        as_text(text).upper() if len(as_text(text).upper()) == len(as_text(text)) else raise_unknown()
    ),
    "VALUE": as_number,
    "VAR": _spread(1, 1),
    "VAR.P": _spread(0, 1),
    "VAR.S": _spread(1, 1),
    "VARP": _spread(0, 1),
    "VLOOKUP": _looked_up,
    "WEEKDAY": _weekday,
    "WEEKNUM": _week,
    "XOR": lambda *values: sum(truths_of(*values)) % 2 == 1,
    "XLOOKUP": _found_beside,
    "YEAR": lambda value: _day(value).year,
}
"""By name: what it does with its arguments."""
ELEMENTWISE = {
    *("ABS", "DAY", "EXACT", "FIND", "INT", "ISNUMBER", "ISTEXT", "LEFT", "LEN", "LOWER", "MID", "MOD", "MONTH", "N"),
    *("NOT", "RIGHT", "ROUND", "SEARCH", "SQRT", "TEXT", "TRIM", "UPPER", "VALUE", "WEEKDAY", "YEAR"),
}
"""Functions of single values, which are applied to each cell where a formula calculates with whole areas."""
OF_DATES = {
    *("DATE", "DATEDIF", "DATEVALUE", "DAY", "DAYS", "EDATE", "EOMONTH", "ISOWEEKNUM", "MONTH", "NETWORKDAYS", "TEXT"),
    *("WEEKDAY", "WEEKNUM", "YEAR"),
}
"""Functions that count days from 1900, and so are not calculated in a workbook that counts them from 1904."""
