"""Value conversions of spreadsheet operators: blanks, numeric texts, areas, and error values."""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from verifiers.predicates import values
from verifiers.states.workbook.model import EPOCH, FIRST_DAY, LAST_DAY, DateText, Place, Value

Area: TypeAlias = list[list[Value]]
Operand: TypeAlias = "Value | Area"

ERROR = re.compile(r"#(DIV/0!|N/A|VALUE!|REF!|NAME\?|NUM!|NULL!|SPILL!|CALC!)")


MAX_TEXT = 32_767
"""Characters of a cell's text, in any spreadsheet."""
SMALLEST_AS_TEXT = 1e-4
MAX_NUMBER = 60
"""Characters of a text that may stand for a number."""
MAX_EXACT = 2**53
"""From here on a whole number is rounded to a double, as in a spreadsheet."""


_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_NUMBER = re.compile(r"[+-]?(\d{1,40}|\d{1,3}(,\d{3}){1,12})?(\.\d{0,40})?(e[+-]?\d{1,3})?%?", re.IGNORECASE)
_WORDS = re.compile(r"(?i)jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*|[ap]m?\b|e")
_MAYBE = re.compile(r"(?=.*\d)[\d\s.,:/()+$€£¥%-]*")
"""What is left of a text that a spreadsheet may take for a number, without names of months."""


class CellRange(list[list[Value]]):
    """The values of an area of cells; of whole columns or rows the used part.

    Attributes:
        sheet: its sheet.
        top, left: its first row and column.
        height, width: how many there are.
    """

    def __init__(self, values: Area, sheet: str, first: Place, size: tuple[int, int]) -> None:
        super().__init__(values)
        self.sheet = sheet
        self.top, self.left = first
        self.height, self.width = size

    def has(self, place: Place) -> bool:
        """Say whether a cell lies in it."""
        return 0 <= place[0] - self.top < self.height and 0 <= place[1] - self.left < self.width

    @property
    def beyond(self) -> int:
        """Count the blank cells behind the used part."""
        return self.height * self.width - len(self) * len(self[0])


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
        return _number_in(scalar)
    return int(scalar) if isinstance(scalar, bool) else scalar


def is_number(value: object) -> bool:
    """Say whether a spreadsheet has a number in a cell; a date is one."""
    return values.is_number(value) or isinstance(value, DateText)


def as_date(value: Value) -> Value:
    """Show a number as a cell with a date's format does."""
    if values.is_number(value) and 0 <= as_number(value) <= LAST_DAY:
        return DateText.of(as_number(value))
    return value


def _number_in(text: str) -> float:
    """Return the number that a text stands for.

    Raises:
        CellError: it stands for none, or is an error.
        Unknown: it does so in some countries, or is a date that is counted from 1904.
    """
    if isinstance(text, DateText):
        return text.number if math.isfinite(text.number) else raise_unknown()
    if ERROR.fullmatch(text):
        raise CellError(text)
    text = text.strip(" ")
    if len(text) > MAX_NUMBER:
        refuse()
    if _NUMBER.fullmatch(text) and any(map(str.isdigit, text.partition("e")[0])):
        number = float(text.rstrip("%").replace(",", ""))
        return number / 100 if text.endswith("%") else number
    if _DATE.fullmatch(text):
        try:
            days = (datetime.datetime.fromisoformat(text) - EPOCH) / datetime.timedelta(days=1)
        except ValueError:
            refuse()
        return days if days >= FIRST_DAY else raise_unknown()
    if match := _TIME.fullmatch(text):
        return (int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)) / 86400
    if _MAYBE.fullmatch(_WORDS.sub("", text)):
        raise Unknown
    return refuse()


def raise_unknown() -> NoReturn:
    """Raise `Unknown`, in an expression.

    Raises:
        Unknown: always.
    """
    raise Unknown


def refuse() -> NoReturn:
    """Raise the error for a value of the wrong type.

    Raises:
        CellError: always.
    """
    raise CellError("#VALUE!")


def as_text(value: Operand) -> str:
    """Take a value as a text, as `&` does: nothing is an empty one."""
    scalar = single(value)
    if isinstance(scalar, str) and not isinstance(scalar, DateText):
        if ERROR.fullmatch(scalar):
            raise CellError(scalar)
        return scalar
    if scalar is None or isinstance(scalar, bool):
        return "" if scalar is None else str(scalar).upper()
    number = as_number(scalar)
    if 0 < abs(number) < SMALLEST_AS_TEXT:  # which is shown in one of two ways
        raise Unknown
    text = f"{number:.15g}".upper()
    return text if text != "-0" else "0"


def as_truth(value: Operand) -> bool:
    """Take a value as true or false: a number is true but for 0, and a text where it says so.

    Raises:
        Unknown: it is a text with a number, which some spreadsheets take for one.
    """
    scalar = single(value)
    if isinstance(scalar, str) and scalar.upper() in {"TRUE", "FALSE"}:
        return scalar.upper() == "TRUE"
    number = as_number(scalar)
    return bool(number) if not isinstance(scalar, str) or is_number(scalar) else raise_unknown()


def truths_of(*operands: Operand) -> list[bool]:
    """Return the truths among values: in areas only what is a number or a boolean.

    Raises:
        CellError: there is none.
    """
    found = [
        as_truth(value)
        for operand in operands
        for value in (flat(operand) if isinstance(operand, list) else [operand])
        if not isinstance(operand, list) or isinstance(value, bool) or is_number(value) or is_error(value)
    ]
    return found or refuse()


def is_error(value: object) -> bool:
    """Say whether a value is one of a spreadsheet's errors."""
    return isinstance(value, str) and ERROR.fullmatch(value) is not None


def flat(*values: Operand) -> Iterator[Value]:
    """List every value, areas cell by cell."""
    for value in values:
        if isinstance(value, list):
            for row in value:
                yield from row
        else:
            yield value


def numbers_of(*operands: Operand) -> list[Any]:
    """Return the numbers among values: in areas only what is one; an error anywhere is one."""
    return [
        as_number(item)
        for value in operands
        for item in (flat(value) if isinstance(value, list) else [value])
        if not isinstance(value, list) or is_number(item) or is_error(item)
    ]


def _divided(left: Operand, right: Operand) -> Any:
    if not as_number(right):
        raise CellError("#DIV/0!")
    return as_number(left) / as_number(right)


def _powered(left: Operand, right: Operand) -> Any:
    base, exponent = float(as_number(left)), float(as_number(right))
    if base == exponent == 0:
        raise CellError("#NUM!")
    result = base**exponent
    return result if isinstance(result, float) else raise_unknown()  # some roots of negative numbers are known to some


def _calculated(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def calculate(left: Any, right: Any) -> Any:
        result = apply(as_number(left), as_number(right))
        dates = isinstance(left, DateText) + isinstance(right, DateText)
        is_date = dates == 1 and (apply is operator.add or (apply is operator.sub and isinstance(left, DateText)))
        return DateText.of(result) if is_date and 0 <= result <= LAST_DAY else result

    return calculate


def _compares(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(left: Value, right: Value) -> bool:
        left, right = (_blank(right) if left is None else left), (_blank(left) if right is None else right)
        pair = [as_number(value) if is_number(value) or is_error(value) else value for value in (left, right)]
        ranks = [2 if isinstance(value, bool) else 1 if isinstance(value, str) else 0 for value in pair]
        keys = [value.casefold() if isinstance(value, str) else rounded(value) for value in pair]
        if ranks == [1, 1] and apply not in {operator.eq, operator.ne}:
            _must_be_ordered(*map(str, keys))
        return bool(apply(*(keys if ranks[0] == ranks[1] else ranks)))

    return compare


def _must_be_ordered(left: str, right: str) -> None:
    """Compare the first letters in which two texts differ.

    Raises:
        Unknown: their order depends on the language.
    """
    differing = next((pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]), ("a", "a"))
    if not all(letter == " " or (letter.isascii() and letter.isalnum()) for letter in differing):
        raise Unknown


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
