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
    r"""(?P<kept>"[^"]*"|'[^']*'|\[[^\]]*\])|(?<![\w.$\\])"""
    r"(?:\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}|\$?[A-Za-z]{1,3}:\$?[A-Za-z]{1,3}|\$?[1-9]\d{0,6}:\$?[1-9]\d{0,6})(?![\w.(!\\])"
)
_PLACE = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})")


FIRST_DAY = 60
"""The day that Excel has for 29 February 1900, which there was not: days before it are counted from a day later."""
LAST_DAY = 2_958_465


class DateText(str):
    """The text of a date or a time, and its number of days; not a number in a workbook that counts from 1904."""

    number: float = math.nan

    @classmethod
    def of(cls, number: float, *, early: bool = False) -> DateText:
        """Return the text of a number of days: `2026-01-05`, `2026-01-05T10:30:00`, or a time of less than a day.

        Raises:
            OverflowError: there is no such day.
        """
        epoch = datetime.datetime(1904, 1, 1) if early else datetime.datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet has no time zone
        moment = epoch + datetime.timedelta(days=not early and 1 <= number < FIRST_DAY, seconds=round(number * 86400))
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


def moved(formula: str, rows: int, columns: int) -> str:
    """Return a formula as it stands so many rows and columns further on: what has no `$` moves with it."""

    def shifted(match: re.Match[str]) -> str:
        if match["kept"] is not None:
            return match[0]
        try:
            return ":".join(_shifted(part, rows, columns) for part in match[0].split(":"))
        except ValueError:
            return "#REF!"

    return _REFERENCES.sub(shifted, formula)


def _shifted(reference: str, rows: int, columns: int) -> str:
    match = re.fullmatch(r"(\$?)([A-Za-z]*)(\$?)(\d*)", reference)
    if match is None:
        raise ValueError(reference)
    _, column = place_of(f"{match[2] or 'A'}1")
    column += 0 if match[1] or not match[2] else columns
    row = int(match[4] or 1) + (0 if match[3] or not match[4] or (match[1] and not match[2]) else rows)
    if not (0 < row <= ROWS and 0 < column <= COLUMNS):
        raise ValueError(reference)
    letters = name_of((1, column))[:-1] if match[2] else ""
    return f"{match[1]}{letters}{match[3]}{row if match[4] else ''}"


def area_of(text: str) -> tuple[Place, Place]:
    """Turn `A1:C3` or `B2` into its first and its last cell.

    Raises:
        ValueError: it is no area of a sheet.
    """
    first, _, last = text.partition(":")
    (top, left), (bottom, right) = place_of(first), place_of(last or first)
    return (min(top, bottom), min(left, right)), (max(top, bottom), max(left, right))
