"""Proposed mutations of workbooks: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.kinds.common.texts import other, wrong
from verifiers.errors import CorruptState
from verifiers.states.workbook.model import Place, Sheet, Value, Workbook, WorkbookCell, name_of
from verifiers.states.workbook.reader import read_workbook
from verifiers.tree import FileTree

Change = Mapping[str, Any]

STRAY = "Stray notes"
LOOKED_AT = 4  # cells of a sheet


def _in(arguments: Mapping[str, Any], *names: str, **more: Any) -> dict[str, Any]:
    return {key: arguments[key] for key in ("path", *names)} | more


def _wrong(value: Value, tolerance: float = 0) -> Value:
    if isinstance(value, bool) or value is None:
        return "not this"
    return value + 1 + 2 * tolerance if isinstance(value, int | float) else other(value)


def _cell(arguments: Mapping[str, Any]) -> Change:
    value = _wrong(arguments.get("value"), arguments.get("tolerance", 0))
    return {"write": _in(arguments, "sheet", "cell", value=value)}


def _first_cell(arguments: Mapping[str, Any]) -> Change:
    value = _wrong(arguments["rows"][0][0], arguments.get("tolerance", 0))
    return {"write": _in(arguments, "sheet", cell=arguments["area"].partition(":")[0], value=value)}


def _one_more(arguments: Mapping[str, Any]) -> Change:
    below = name_of((len(arguments["rows"]) + 1, 1))
    return {"write": _in(arguments, "sheet", cell=below, value="not this")}


def _more(arguments: Mapping[str, Any]) -> Change:
    more = {arguments["column"]: 1 + 2 * arguments.get("tolerance", 0)} if "column" in arguments else {}
    return {"add_row": _in(arguments, "sheet", values={**arguments.get("where", {}), **more})}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "spreadsheet.cellEquals": _cell,
    "spreadsheet.cellsMerged": lambda arguments: {"unmerge": _in(arguments, "sheet", "area")},
    "spreadsheet.columnSum": _more,
    "spreadsheet.formulaIs": _cell,
    "spreadsheet.hasFormula": _cell,
    "spreadsheet.namedRangeIs": lambda arguments: {"name": _in(arguments, "name", refers_to=None)},
    "spreadsheet.rangeEquals": _first_cell,
    "spreadsheet.rowCount": _more,
    "spreadsheet.rowExists": lambda arguments: {"remove_rows": _in(arguments, "sheet", "where")},
    "spreadsheet.sheetEquals": _one_more,
    "spreadsheet.sheetExists": lambda arguments: {"rename_sheet": _in(arguments, "sheet", to=STRAY)},
    "spreadsheet.sheetsAre": lambda arguments: {"add_sheet": _in(arguments, name=STRAY)},
    "spreadsheet.tableExists": lambda arguments: {"drop_table": _in(arguments, "sheet", "name")},
    "spreadsheet.workbookAbsent": lambda arguments: {"create": arguments["path"]},
    "spreadsheet.workbookExists": lambda arguments: {"remove": arguments["path"]},
    "spreadsheet.workbooksAre": lambda arguments: {"create": f"{len(arguments['paths'])} {STRAY}.xlsx"},
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each workbook that the right solution made or changed."""
    old, new = _workbooks(before), _workbooks(after)
    for path, workbook in new.items():
        if path not in old:
            yield f"left-out {path}", {"remove": path}
            yield f"wrong-place {path}", {"move": {"from": path, "to": f"copy-of-{path.replace('/', '-')}"}}
        yield from _in_workbook(path, workbook, old.get(path, Workbook(())))
    untouched = [path for path, workbook in new.items() if workbook == old.get(path)]
    if untouched:
        yield f"other-workbook-lost {untouched[0]}", {"remove": untouched[0]}
    if new != old:
        yield "workbook-too-many", {"create": f"{STRAY}.xlsx"}


def _in_workbook(path: str, workbook: Workbook, was: Workbook) -> Iterator[tuple[str, Change]]:
    old = {sheet.name: sheet for sheet in was.sheets}
    for name, refers in workbook.names.items():
        if was.names.get(name) != refers:
            yield (
                f"name-left-out {path} {name}",
                {"name": {"path": path, "name": name, "refers_to": was.names.get(name)}},
            )
    for sheet in workbook.sheets:
        at = {"path": path, "sheet": sheet.name}
        if sheet.name not in old and was.sheets:
            if len(workbook.sheets) > 1:
                yield f"left-out {path} {sheet.name}", {"remove_sheet": at}
            if sheet.name.swapcase() != sheet.name:
                yield f"wrong-case {path} {sheet.name}", {"rename_sheet": {**at, "to": sheet.name.swapcase()}}
        if sheet != old.get(sheet.name):
            yield from _in_sheet(at, sheet, old.get(sheet.name, Sheet(sheet.name, {})))


def _in_sheet(at: Mapping[str, str], sheet: Sheet, was: Sheet) -> Iterator[tuple[str, Change]]:
    where = f"{at['path']} {at['sheet']}"
    touched = [place for place in sorted({*sheet.cells, *was.cells}) if sheet.cells.get(place) != was.cells.get(place)]
    for place in touched[:LOOKED_AT]:
        yield f"left-out {where} {name_of(place)}", _written(at, place, was.cells.get(place))
        yield from _in_cell(at, where, place, sheet.cells.get(place))
    if touched and (cell := sheet.cells.get(touched[0])):
        beside = (touched[0][0], touched[0][1] + 1)
        if beside not in sheet.cells:
            yield f"also-beside {where} {name_of(beside)}", _written(at, beside, cell)
    untouched = [place for place in sheet.cells if place not in touched]
    if untouched:
        yield f"other-cell-lost {where} {name_of(untouched[-1])}", _written(at, untouched[-1], None)
    if sheet.cells:
        yield f"row-too-many {where}", {"add_row": {**at, "values": {}}}


def _in_cell(
    at: Mapping[str, str], where: str, place: Place, cell: WorkbookCell | None
) -> Iterator[tuple[str, Change]]:
    if cell is None or cell.formula is not None:
        return
    if isinstance(cell.value, str):
        for name, text in wrong(cell.value):
            yield f"{name} {where} {name_of(place)}", _written(at, place, WorkbookCell(text))
    elif isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
        yield f"off-by-one {where} {name_of(place)}", _written(at, place, WorkbookCell(cell.value + 1))
        yield f"number-as-text {where} {name_of(place)}", _written(at, place, WorkbookCell(str(cell.value)))


def _written(at: Mapping[str, str], place: Place, cell: WorkbookCell | None) -> Change:
    value = None if cell is None else cell.value if cell.formula is None else f"={cell.formula}"
    return {"write": {**at, "cell": name_of(place), "value": value}}


def _workbooks(tree: FileTree) -> dict[str, Workbook]:
    """Return the workbooks that can be read."""
    out: dict[str, Workbook] = {}
    for path, node in tree.items():
        if node.kind == "file":
            try:
                out[path] = read_workbook(node.data)
            except CorruptState:
                continue
    return out
