"""Workbook data model: sheets, cells, tables, and defined names.

A cell's value is a text, a number, a boolean or nothing; a date is its text, with its number of days.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None

Place: TypeAlias = tuple[int, int]

"""Row and column, both from 1."""

ROWS, COLUMNS = 1_048_576, 16_384

_REFERENCES = re.compile(
    r"""(?P<kept>"[^"]*"|'[^']*'|\[[^][]*\])|(?<![\w.$\\])"""
    r"(?:\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}|\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3}|\$?[1-9]\d{0,6}:\$?[1-9]\d{0,6})(?![\w.(!\\])"
)
_PLACE = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})")


EPOCH = datetime.datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet has no time zone
"""Day 0 of a workbook's dates."""
FIRST_DAY, LAST_DAY = 61, 2_958_465
"""1 March 1900, before which Excel has a day that there was not, and the end of 9999."""


class DateText(str):
    """The text of a date or a time, and its number of days; not a number in a workbook that counts from 1904."""

    number: float = math.nan

    @classmethod
    def of(cls, number: float, *, early: bool = False) -> DateText:
        """Return the text of a number of days: `2026-01-05`, `2026-01-05T10:30:00`, or a time of less than a day.

        Raises:
            OverflowError: there is no such day.
        """
        days = 1462 if early else 1 <= number < FIRST_DAY - 1  # from 1904, or with the day that there was not
        moment = EPOCH + datetime.timedelta(days=days, seconds=round(number * 86400))
        if 0 <= number < 1:
            text = moment.time().isoformat()
        else:
            text = moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat()
        made = cls(text)
        made.number = math.nan if early else number
        return made


@dataclass(frozen=True, slots=True)
class WorkbookCell:
    """A cell: its value, and the text of its formula without the leading `=`.

    Attributes:
        is_date: numbers in it are shown as dates.
        array: the area of its array formula.
    """

    value: Value = field(repr=False)
    formula: str | None = field(default=None, repr=False)
    is_date: bool = field(default=False, compare=False)
    array: str = ""


@dataclass(frozen=True, slots=True)
class WorkbookTable:
    """A table of a sheet: its name, its area (`A1:C9`) and the names of its columns."""

    name: str
    area: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A worksheet: its non-empty cells, its tables and its merged areas."""

    name: str
    cells: Mapping[Place, WorkbookCell] = field(repr=False)
    hidden: bool = False
    tables: tuple[WorkbookTable, ...] = ()
    merged: tuple[str, ...] = ()
    hides_rows: bool = False


@dataclass(frozen=True, slots=True)
class Workbook:
    """A workbook: its worksheets in order, its defined names with what each refers to, and what is beside values.

    `local_names` are those of one sheet, by its name and their own.
    """

    sheets: tuple[Sheet, ...]
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    appearance: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    local_names: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    early: bool = False


def place_of(text: str) -> Place:
    """Turn `B3` into (3, 2).

    Raises:
        ValueError: it is no cell of a sheet.
    """
    match = _PLACE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - 64
    row = int(match[2])
    if row > ROWS or column > COLUMNS:
        raise ValueError(text)
    return row, column


def name_of(place: Place) -> str:
    """Turn (3, 2) into `B3`."""
    row, column = place
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


class SharedFormula:
    """A formula that cells share; it is taken apart once, because there may be thousands of them.

    Attributes:
        text: the formula as its first cell has it.
        cost: the steps of writing it down for another cell.
    """

    def __init__(self, text: str, place: Place) -> None:
        self.text, self._place = text, place
        self._parts: list[str | tuple[str, int, str, int]] = []
        at = 0
        for match in _REFERENCES.finditer(text):
            if match["kept"] is None:
                self._parts.append(text[at : match.start()])
                for number, side in enumerate(match[0].split(":")):
                    self._parts += [":"] * number
                    self._parts.append(_sides(side))
                at = match.end()
        self._parts.append(text[at:])
        self.cost = 1 + len(text) // 8 + 4 * len(self._parts)

    def at(self, place: Place) -> str:
        """Return the formula of another cell: what has no `$` moves with it."""
        rows, columns = place[0] - self._place[0], place[1] - self._place[1]
        return "".join(part if isinstance(part, str) else _move(part, rows, columns) for part in self._parts)


def _sides(reference: str) -> tuple[str, int, str, int]:
    """Take `$A1`, `A` or `1` apart: what stands before the column, its number or 0, and the same of the row."""
    match = re.fullmatch(r"(\$?)([A-Za-z]*)(\$?)(\d*)", reference)
    if match is None or not match[2]:
        return "", 0, reference[: reference.startswith("$")], int(reference.removeprefix("$"))
    return match[1], place_of(f"{match[2]}1")[1], match[3], int(match[4] or 0)


def _move(reference: tuple[str, int, str, int], rows: int, columns: int) -> str:
    before, column, between, row = reference
    column += columns if column and not before else 0
    row += rows if row and not between else 0
    if not ((reference[1] == 0 or 0 < column <= COLUMNS) and (reference[3] == 0 or 0 < row <= ROWS)):
        return "#REF!"
    return f"{before}{name_of((1, column))[:-1] if column else ''}{between}{row or ''}"


def area_of(text: str) -> tuple[Place, Place]:
    """Turn `A1:C3` or `B2` into its first and its last cell.

    Raises:
        ValueError: it is no area of a sheet.
    """
    first, _, last = text.partition(":")
    (top, left), (bottom, right) = place_of(first), place_of(last or first)
    return (min(top, bottom), min(left, right)), (max(top, bottom), max(left, right))
