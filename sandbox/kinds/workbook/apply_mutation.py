"""Applies a mutation to a workbook: read by `verifiers.states.workbook`, changed, and written again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.workbook.schema import MUTATIONS
from verifiers.errors import VerifierError
from verifiers.states.workbook.examples import cell_of
from verifiers.states.workbook.model import Sheet, Workbook, WorkbookCell, place_of
from verifiers.states.workbook.reader import read_workbook
from verifiers.states.workbook.writer import write_workbook
from verifiers.tree import FileTree, Node

Change: TypeAlias = Mapping[str, Any]


def mutate(tree: FileTree, change: Change) -> FileTree:
    """Return a copy after one change.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or what it names is not there.
    """
    check(MUTATIONS, change, "the spreadsheet change")
    ((step, argument),) = change.items()
    if step == "create":
        return _with(tree, argument, Workbook((Sheet("Sheet1", {}),)))
    if step in {"remove", "move"}:
        path = argument if step == "remove" else argument["from"]
        node = _file(tree, path)
        rest = {name: other for name, other in tree.items() if name != path}
        return FileTree(rest if step == "remove" else rest | {argument["to"]: node})
    try:
        workbook = read_workbook(_file(tree, argument["path"]).data)
    except VerifierError as error:
        raise Malformed(f"the spreadsheet change needs a workbook that can be read: {error}") from None
    return _with(tree, argument["path"], _STEPS[step](workbook, argument))


def _file(tree: FileTree, path: str) -> Node:
    node = tree.get(path)
    if node is None or node.kind != "file":
        raise Malformed(f"the spreadsheet change names {path!r}, which is not in the final state")
    return node


def _with(tree: FileTree, path: str, workbook: Workbook) -> FileTree:
    return FileTree({**tree, path: Node("file", data=write_workbook(workbook))})


def _changed(workbook: Workbook, name: str, change: Callable[[Sheet], Sheet | None]) -> Workbook:
    """Change one sheet; nothing takes its place if nothing is given."""
    if name not in {sheet.name for sheet in workbook.sheets}:
        raise Malformed(f"the spreadsheet change names the sheet {name!r}, which is not in the workbook")
    sheets = [change(sheet) if sheet.name == name else sheet for sheet in workbook.sheets]
    return replace(workbook, sheets=tuple(sheet for sheet in sheets if sheet is not None))


def _write(workbook: Workbook, what: Change) -> Workbook:
    def change(sheet: Sheet) -> Sheet:
        place, cells = place_of(what["cell"]), dict(sheet.cells)
        cells.pop(place, None)
        return replace(sheet, cells=cells if what["value"] is None else cells | {place: cell_of(what["value"])})

    return _changed(workbook, what["sheet"], change)


def _heads(sheet: Sheet) -> dict[Any, int]:
    first = min((row for row, _ in sheet.cells), default=1)
    return {cell.value: column for (row, column), cell in sheet.cells.items() if row == first}


def _add_row(workbook: Workbook, what: Change) -> Workbook:
    def change(sheet: Sheet) -> Sheet:
        heads, below = _heads(sheet), max((row for row, _ in sheet.cells), default=0) + 1
        if unknown := what["values"].keys() - heads.keys():
            raise Malformed(f"the spreadsheet change names the column {min(unknown)!r}, which the sheet does not have")
        values = what["values"] or dict.fromkeys(list(heads)[:1] or [None], "not this")
        more = {(below, heads.get(name, 1)): cell_of(value) for name, value in values.items() if value is not None}
        return replace(sheet, cells={**sheet.cells, **more})

    return _changed(workbook, what["sheet"], change)


def _remove_rows(workbook: Workbook, what: Change) -> Workbook:
    def change(sheet: Sheet) -> Sheet:
        heads = _heads(sheet)
        if unknown := what["where"].keys() - heads.keys():
            raise Malformed(f"the spreadsheet change names the column {min(unknown)!r}, which the sheet does not have")
        nothing = WorkbookCell(None)
        first = min((row for row, _ in sheet.cells), default=1)
        removed = {
            row
            for row in {row for row, _ in sheet.cells if row > first}
            if all(sheet.cells.get((row, heads[name]), nothing).value == value for name, value in what["where"].items())
        }
        return replace(sheet, cells={place: cell for place, cell in sheet.cells.items() if place[0] not in removed})

    return _changed(workbook, what["sheet"], change)


def _add_sheet(workbook: Workbook, what: Change) -> Workbook:
    return replace(workbook, sheets=(*workbook.sheets, Sheet(what["name"], {})))


def _name(workbook: Workbook, what: Change) -> Workbook:
    names = {name: refers for name, refers in workbook.names.items() if name.casefold() != what["name"].casefold()}
    return replace(workbook, names=names | ({what["name"]: what["refers_to"]} if what["refers_to"] else {}))


def _drop_table(workbook: Workbook, what: Change) -> Workbook:
    def change(sheet: Sheet) -> Sheet:
        remaining = [table for table in sheet.tables if table.name.casefold() != what["name"].casefold()]
        return replace(sheet, tables=tuple(remaining))

    return _changed(workbook, what["sheet"], change)


def _unmerge(workbook: Workbook, what: Change) -> Workbook:
    def change(sheet: Sheet) -> Sheet:
        return replace(sheet, merged=tuple(area for area in sheet.merged if area != what["area"]))

    return _changed(workbook, what["sheet"], change)


_STEPS: Mapping[str, Callable[[Workbook, Change], Workbook]] = {
    "write": _write,
    "add_row": _add_row,
    "remove_rows": _remove_rows,
    "add_sheet": _add_sheet,
    "rename_sheet": lambda workbook, what: _changed(
        workbook, what["sheet"], lambda sheet: replace(sheet, name=what["to"])
    ),
    "remove_sheet": lambda workbook, what: _changed(workbook, what["sheet"], lambda _: None),
    "name": _name,
    "drop_table": _drop_table,
    "unmerge": _unmerge,
}
