"""Example workbooks for the predicate catalogue's examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifiers.states.workbook.model import Sheet, Value, Workbook, WorkbookCell, WorkbookTable, name_of
from verifiers.states.workbook.writer import write_workbook
from verifiers.tree import JudgeInput, tree_of


def workbook(
    path: str,
    sheets: Mapping[str, Sequence[Sequence[Value]]],
    *,
    names: Mapping[str, str] | None = None,
    table: str | None = None,
    merged: str | None = None,
) -> JudgeInput:
    """Return the views of a world whose spreadsheet server holds one workbook.

    Args:
        path: where it is.
        sheets: its rows from A1 on; a text that begins with `=` is a formula.
        names: its names, and what each refers to.
        table: the name of a table over all of the first sheet.
        merged: an area of the last sheet that is merged.
    """
    made = [_sheet(name, rows) for name, rows in sheets.items()]
    if table:
        rows = next(iter(sheets.values()))
        area = f"A1:{name_of((len(rows), len(rows[0])))}"
        made[0] = Sheet(made[0].name, made[0].cells, tables=(WorkbookTable(table, area, tuple(map(str, rows[0]))),))
    if merged:
        made[-1] = Sheet(made[-1].name, made[-1].cells, merged=(merged,))
    return JudgeInput({"spreadsheet": tree_of({path: write_workbook(Workbook(tuple(made), names or {}))})})


def _sheet(name: str, rows: Sequence[Sequence[Value]]) -> Sheet:
    cells = {
        (row, column): cell_of(value)
        for row, values in enumerate(rows, 1)
        for column, value in enumerate(values, 1)
        if value is not None
    }
    return Sheet(name, cells)


def cell_of(value: Value) -> WorkbookCell:
    """Return the cell for a value; a text that begins with `=` is a formula."""
    if isinstance(value, str) and value.startswith("="):
        return WorkbookCell(None, value[1:])
    return WorkbookCell(value)
