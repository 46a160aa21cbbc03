"""Normal form of workbooks: every cell with its stored or calculated value.

Normal form of a namespace: `{"paths": [[path, kind]], "books": {path: book}}`, where a book is `{"spoiled": sentence}`
for a file that is no workbook, or

    {"sheets": [{"name", "hidden", "tables": [[name, area, columns]], "merged": [area],
                 "cells": [[row, column, value] or [row, column, value, formula, whether the value is clear]],
                 "dates": [[row, column] of a value that is a date, and no text of one]}],
     "names": {name: what it refers to}, "appearance": [[sheet or "", place, text]]}
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState, TargetMissing
from verifiers.predicates.context import Context
from verifiers.quoting import listed, quoted
from verifiers.states.workbook.model import Place, Sheet, Value, Workbook, WorkbookCell, WorkbookTable
from verifiers.texts import A_FOLD

_TEXT = re.compile(r'("(?:[^"]|"")*")')
A_CELL = 2  # steps


class Unclear:
    """Placeholder for the value of a formula that cannot be calculated."""

    def __repr__(self) -> str:
        return "a value that only a spreadsheet knows"


UNCLEAR = Unclear()


class CalculatedWorkbook:
    """A workbook with a lookup of cell values.

    Args:
        workbook: its cells have the values of their formulas.
        unclear: sheet and place of the formulas whose value is not known.
    """

    def __init__(self, workbook: Workbook, unclear: Collection[tuple[str, Place]] = ()) -> None:
        self.workbook = workbook
        self.sheets = {sheet.name: sheet for sheet in workbook.sheets}
        self._unclear = frozenset(unclear)

    def value(self, sheet: str, place: Place) -> Value | Unclear:
        """Return a cell's value, or `UNCLEAR`."""
        if (sheet, place) in self._unclear:
            return UNCLEAR
        cell = self.sheets[sheet].cells.get(place)
        return None if cell is None else cell.value


def open_paths(context: Context) -> dict[str, str]:
    """Return what there is: path to kind (`file`, `directory`, `symlink`, `other`).

    Raises:
        CorruptState: nobody can read it.
        StateUnavailable: there is no state.
    """
    return context.once("spreadsheet", lambda: dict(context.state("spreadsheet").document["paths"]))


def open_book(context: Context, path: str) -> CalculatedWorkbook:
    """Return the workbook at a path, built once for each evaluation.

    Raises:
        TargetMissing: there is no file.
        CorruptState: it is no workbook.
        StateUnavailable: there is no state.
    """
    paths = open_paths(context)
    if paths.get(path) != "file":
        raise TargetMissing(f"there is no workbook {quoted(path)}; there are {listed(list(paths))}")
    books = context.state("spreadsheet").document["books"]
    return context.once(("spreadsheet", path), lambda: book_from(books[path], context.budget))


def book_from(document: dict[str, Any], budget: ReadingBudget) -> CalculatedWorkbook:
    """Build the workbook from a normal form.

    Raises:
        CorruptState: it is none, or has more cells than the budget has steps for.
    """
    if "spoiled" in document:
        raise CorruptState(str(document["spoiled"]))
    sheets, unclear = [], []
    for sheet in document["sheets"]:
        cells = {}
        budget.step(A_CELL * len(sheet["cells"]))
        for row, column, value, *formula in sheet["cells"]:
            cells[row, column] = WorkbookCell(value, formula[0] if formula else None)
            if formula and not formula[1]:
                unclear.append((sheet["name"], (row, column)))
        tables = tuple(WorkbookTable(name, area, tuple(columns)) for name, area, columns in sheet["tables"])
        sheets.append(Sheet(sheet["name"], cells, sheet["hidden"], tables, tuple(sheet["merged"])))
    return CalculatedWorkbook(Workbook(tuple(sheets), document["names"]), unclear)


def same_formula(left: str, right: str, budget: ReadingBudget) -> bool:
    """Say whether two formulas are the same but for `=`, blanks, `$` and case outside of texts."""
    budget.step(1 + len(left) // A_FOLD + left.count('"') // 2)
    return _plain(left) == _plain(right)


def _plain(formula: str) -> str:
    parts = _TEXT.split(formula.strip().removeprefix("="))
    parts[::2] = ["".join(part.split()).replace("$", "").upper().replace("_XLFN.", "") for part in parts[::2]]
    return "".join(parts)
