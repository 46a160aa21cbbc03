"""Tables that are read three ways: by people on a page, by programs as JSON, by spreadsheets as CSV. Pure.

1. All three show the same rows in the same order, and the last two the same values under the same names.
2. CSV is that of RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front
   (https://owasp.org/www-community/attacks/CSV_Injection); a number stays one.
3. A name is whatever somebody chose: on a page it stands legibly and on one line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterturn.pages.marks import NONE, legible

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

Row = Mapping[str, Any]


def plainly(value: Any) -> str:
    """Write a cell for people."""
    if value is None or value == "":
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return legible(str(value))


@dataclass(frozen=True)
class Cell:
    """A cell as people see it, and where it leads to."""

    text: str
    href: str


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: for programs.
        title: for people.
        write: how its cells are written for people.
        href: where they lead to, with the row's values in braces; nowhere if it is empty.
    """

    name: str
    title: str
    write: Callable[[Any], str] = plainly
    href: str = ""

    def cell(self, row: Row) -> Cell:
        """Write a cell for people."""
        return Cell(self.write(row[self.name]), self.href.format_map(row) if row[self.name] is not None else "")


@dataclass(frozen=True)
class Grid:
    """A table. Its name is the last part of its address, so it is a word of small letters and hyphens."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]

    def cells(self) -> list[list[Cell]]:
        """Give the rows for people."""
        return [[column.cell(row) for column in self.columns] for row in self.rows]

    def as_json(self) -> bytes:
        """Give the rows for programs."""
        rows = [{column.name: row[column.name] for column in self.columns} for row in self.rows]
        return json.dumps({self.name: rows}, separators=(",", ":"), allow_nan=False).encode()

    def as_csv(self) -> bytes:
        """Give the rows for spreadsheets, with their names above."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(column.name for column in self.columns)
        writer.writerows([_cell(row[column.name]) for column in self.columns] for row in self.rows)
        return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text
