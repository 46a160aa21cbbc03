"""Tables in three forms: HTML for a page, JSON for programs, CSV for spreadsheets. Pure.

1. All three show the same rows in the same order, and the last two the same values under the same names.
2. CSV is that of RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front
   (https://owasp.org/www-community/attacks/CSV_Injection); a number stays one.
3. A name is whatever a submitter chose: on a page it is made legible and kept on one line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterturn.pages.drawing.formatting import NONE, legible

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

LONG = 160  # characters of a text on a page; the other two forms have all of it

Row = Mapping[str, Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def briefly(value: Any) -> str:
    """Write a long text for people: its beginning, which says that there is more."""
    text = plainly(value)
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def minute(moment: str | None) -> str:
    """Write a moment to the minute; it stands on one line."""
    return NONE if moment is None else f"{moment[:10]}\N{NO-BREAK SPACE}{moment[11:16]}\N{NO-BREAK SPACE}UTC"


def plainly(value: Any) -> str:
    """Write a cell for people."""
    if value is None or value == "":
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return legible(str(value))


@dataclass(frozen=True)
class Cell:
    """A cell as people see it, where it leads to, and whether it stands among numbers."""

    text: str
    href: str
    number: bool


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

    def cell(self, row: Row, *, number: bool) -> Cell:
        """Write a cell for people."""
        value = row[self.name]
        return Cell(self.write(value), self.href.format_map(row) if value is not None else "", number)


@dataclass(frozen=True)
class Grid:
    """A table. Its name is the last part of its address, so it is a word of small letters and hyphens."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]

    def cells(self) -> list[list[Cell]]:
        """Return the rows for people."""
        heads = self.heads()
        pairs = list(zip(self.columns, heads, strict=True))
        return [[column.cell(row, number=head.number) for column, head in pairs] for row in self.rows]

    def heads(self) -> list[Cell]:
        """Return the titles; one above numbers stands as they do."""
        return [
            Cell(column.title, "", any(_is_number(row[column.name]) for row in self.rows)) for column in self.columns
        ]

    def as_json(self) -> bytes:
        """Return the rows for programs."""
        rows = [{column.name: row[column.name] for column in self.columns} for row in self.rows]
        return json.dumps({self.name: rows}, separators=(",", ":"), allow_nan=False).encode()

    def as_csv(self) -> bytes:
        """Return the rows for spreadsheets, with their names above."""
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
