"""Strict reader of plain tables: CSV, or Parquet where pyarrow is installed, with one line per agent and task.

Columns are found by their names, in any order; others are left alone. Every message has file, line, column and what to
do about it.
"""

from __future__ import annotations

import csv
import math
import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from rotation.detection.leaderboards.leaderboard import TaskResult
from rotation.errors import Malformed

SUFFIXES = (".csv", ".parquet")
COLUMNS = ("agent", "task", "day", "passed", "rate", "calls", "group", "server", "cutoff")
PASSED = {"true": 1.0, "yes": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "no": 0.0, "0": 0.0, "0.0": 0.0}
MOST_CALLS = 5000  # of a result; the leak test enumerates them
PERCENT = 100.0
_DAY = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d)(?:[T ].*)?)?")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a table: where it stands, and column -> text."""

    place: str
    cells: dict[str, str]

    def wrong(self, column: str, what: str) -> Malformed:
        """Return the error for a cell."""
        return Malformed(f"{self.place}, column '{column}': {self.cells[column]!r} {what}, and scan again")

    def name(self, column: str) -> str:
        """Read a name, which may not be empty."""
        if not self.cells[column]:
            raise self.wrong(column, "is no name; write one")
        return self.cells[column]

    def share(self) -> float:
        """Read the share of samples that passed, or the one result."""
        column = "rate" if "rate" in self.cells else "passed"
        if not self.cells[column]:
            raise self.wrong(column, "is no result; leave out the lines of what an agent did not try")
        if column == "passed":
            if (passed := PASSED.get(self.cells["passed"].lower())) is None:
                raise self.wrong("passed", "is neither true nor false; write a share of several samples as 'rate'")
            return passed
        text = self.cells["rate"]
        try:
            rate = float(text.removesuffix("%"))
        except ValueError:
            rate = math.nan
        if 0 <= rate <= 1 and not text.endswith("%"):
            return rate
        if 0 <= rate <= PERCENT:
            raise self.wrong("rate", "is a percentage; write shares from 0 to 1")
        raise self.wrong("rate", "is no share; write a number from 0 to 1")

    def day(self, column: str, *, month: bool = False) -> date | None:
        """Read a day, or the last day of a month if that will do; None for an empty or missing cell."""
        text = self.cells.get(column, "")
        matched = _DAY.fullmatch(text)
        try:
            if matched and (matched[3] or month):
                year, number = int(matched[1]), int(matched[2])
                return date(year, number, int(matched[3] or monthrange(year, number)[1]))
        except ValueError:
            pass
        if text:
            raise self.wrong(column, f"is no day; write YYYY-MM-DD{' or YYYY-MM' if month else ''}")
        return None

    def calls(self) -> int | None:
        """Read a number of calls; None for an empty or missing cell."""
        text = self.cells.get("calls", "").removesuffix(".0")
        if text and not (text.isascii() and text.isdigit() and int(text[:9]) <= MOST_CALLS):
            raise self.wrong("calls", f"is no number of calls; write one from 0 to {MOST_CALLS}")
        return int(text) if text else None


def read(path: Path, *, with_days: bool) -> Iterator[TaskResult]:
    """Read the results of a table.

    Args:
        path: of a CSV or a Parquet file.
        with_days: whether it has to have the column `day`.
    """
    for line in _lines(path, ("agent", "task", "passed", *(("day",) if with_days else ()))):
        if with_days and not line.cells["day"]:
            raise line.wrong("day", "is no day; write YYYY-MM-DD")
        yield TaskResult(
            place=line.place,
            agent=line.name("agent"),
            task=line.name("task"),
            share=line.share(),
            day=line.day("day"),
            calls=line.calls(),
            group=line.cells.get("group", ""),
            server=line.cells.get("server", ""),
            cutoff=line.day("cutoff", month=True),
        )


def read_days(path: Path) -> dict[str, date]:
    """Read the days of tasks from a table with the columns `task` and `day`."""
    days: dict[str, date] = {}
    for line in _lines(path, ("task", "day")):
        day = line.day("day")
        if day is None:
            raise line.wrong("day", "is no day; write YYYY-MM-DD")
        if days.setdefault(line.name("task"), day) != day:
            raise line.wrong("day", f"is not the day of this task further up, {days[line.name('task')]}; correct one")
    return days


def _lines(path: Path, needed: Sequence[str]) -> Iterator[_Line]:
    """Read the lines of a table that has these columns; `rate` will do for `passed`."""
    rows = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    _, head = next(rows, ("", []))
    names = [name.strip().lower() for name in head]
    if not any(names):
        raise Malformed(f"{path}: the file is empty; its first line has to name the columns: {', '.join(needed)}")
    for separator, what in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0]:
            raise Malformed(f"{path}, line 1: the columns are separated by {what}; save the table with commas")
    for name in needed:
        if name not in names and not (name == "passed" and "rate" in names):
            either = "'passed' or 'rate'" if name == "passed" else f"'{name}'"
            raise Malformed(
                f"{path}, line 1: there is no column {either} among {', '.join(map(repr, names))}; rename or add one"
            )
    if twice := [name for name in COLUMNS if names.count(name) > 1]:
        raise Malformed(f"{path}, line 1: there are two columns '{twice[0]}'; rename one of them")
    place = ""
    for place, cells in rows:
        if len(cells) != len(names):
            raise Malformed(
                f"{place}: there are {len(cells)} fields for {len(names)} columns; quote a text with a comma in it"
            )
        yield _Line(place, dict(zip(names, map(str.strip, cells), strict=True)))
    if not place:
        raise Malformed(f"{path}: there is no result below the names of the columns; add one line for each")


def _csv(path: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                if cells:
                    yield f"{path}, line {reader.line_num}", cells
    except OSError as error:
        raise Malformed(
            f"{path}: it cannot be read ({error.strerror}); name a table, or a folder of results"
        ) from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{path}: it is not UTF-8; save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise Malformed(f"{path}, line {reader.line_num}: it is no CSV ({error}); correct the line") from error


def _parquet(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Read a Parquet file as texts, as CSV has them."""
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - an extra, which the caller found to be there

    try:
        table = parquet.ParquetFile(path).read()
        columns = [column.to_pylist() for column in table.columns]
    except (ArrowException, OSError, ValueError) as error:
        raise Malformed(f"{path}: it is no Parquet file that pyarrow reads; write it again, or save a CSV") from error
    yield "", [str(name) for name in table.column_names]
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield f"{path}, row {number}", ["" if value is None else str(value) for value in row]
