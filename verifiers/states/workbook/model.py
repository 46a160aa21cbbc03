"""Workbook data model: sheets, cells, tables, and defined names.

A cell's value is a text, a number, a boolean or nothing; a date is its text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None

Place: TypeAlias = tuple[int, int]

"""Row and column, both from 1."""

ROWS, COLUMNS = 1_048_576, 16_384

_PLACE = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})")


@dataclass(frozen=True, slots=True)
class WorkbookCell:
    """A cell: its value, and the text of its formula without the leading `=`."""

    value: Value = field(repr=False)
    formula: str | None = field(default=None, repr=False)


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
    """A workbook: its worksheets in order, its defined names with what each refers to, and what is beside values."""

    sheets: tuple[Sheet, ...]
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    appearance: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)


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


def area_of(text: str) -> tuple[Place, Place]:
    """Turn `A1:C3` or `B2` into its first and its last cell.

    Raises:
        ValueError: it is no area of a sheet.
    """
    first, _, last = text.partition(":")
    (top, left), (bottom, right) = place_of(first), place_of(last or first)
    return (min(top, bottom), min(left, right)), (max(top, bottom), max(left, right))
