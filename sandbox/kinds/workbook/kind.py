"""State kind of workbooks (`.xlsx`) below one folder.

State: `{"workbooks": {"stock.xlsx": {"sheets": [{"name": "Stock", "rows": [["item", "n", "sum"], ["tea", 2, "=B2*3"],
["milk", null, {"date": "2026-01-05"}]], "tables": [{"name": "Items", "area": "A1:B3"}], "merged": ["D1:E1"], "hidden":
false}], "names": {"total": "Stock!$B$4"}}}}`. Rows begin at A1; a text that begins with `=` is a formula. A date may
have a time: `2026-01-05T10:30:00`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.check import PATH
from sandbox.kinds.common.state_kind import StateKind
from sandbox.kinds.workbook.schema import AREA, MUTATIONS, NAME, SHEET, VALUE
from verifiers.states.workbook.examples import cell_of
from verifiers.states.workbook.model import Place, Sheet, Workbook, WorkbookTable, area_of
from verifiers.states.workbook.writer import write_workbook
from verifiers.tree import FileTree, tree_of

_DATE = {"type": "string", "pattern": r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9]:[0-5][0-9])?$(?!\n)"}
_CELL = {
    "anyOf": [
        VALUE,
        {"type": "object", "additionalProperties": False, "required": ["date"], "properties": {"date": _DATE}},
    ]
}
_TABLE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "area"],
    "properties": {"name": NAME, "area": AREA},
}
_SHEET = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": SHEET,
        "rows": {"type": "array", "maxItems": 5000, "items": {"type": "array", "maxItems": 200, "items": _CELL}},
        "hidden": {"type": "boolean"},
        "merged": {"type": "array", "uniqueItems": True, "items": AREA},
        "tables": {"type": "array", "items": _TABLE},
    },
}
STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "workbooks": {
            "type": "object",
            "propertyNames": {"allOf": [{"pattern": PATH}, {"pattern": r"\.xlsx$(?!\n)"}]},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["sheets"],
                "properties": {
                    "sheets": {"type": "array", "minItems": 1, "items": _SHEET},
                    "names": {"type": "object", "propertyNames": NAME, "additionalProperties": {"type": "string"}},
                },
            },
        }
    },
}


def seed(state: Mapping[str, Any]) -> FileTree:
    """Write the workbooks.

    Raises:
        Malformed: two sheets have one name, all are hidden, a table has no row of names, or a date is none.
    """
    return tree_of(
        {path: _workbook(f"the workbook {path!r}", made) for path, made in state.get("workbooks", {}).items()}
    )


def _workbook(what: str, made: Mapping[str, Any]) -> bytes:
    names = [sheet["name"].casefold() for sheet in made["sheets"]]
    if len(set(names)) < len(names):
        raise Malformed(f"{what} of the spreadsheet state has two sheets of one name")
    if all(sheet.get("hidden") for sheet in made["sheets"]):
        raise Malformed(f"{what} of the spreadsheet state has no sheet that is not hidden")
    dates = [(sheet["name"], place) for sheet in made["sheets"] for place in _dates(sheet)]
    workbook = Workbook(tuple(_sheet(what, sheet) for sheet in made["sheets"]), made.get("names", {}))
    try:
        return write_workbook(workbook, dates)
    except UnicodeEncodeError:
        raise Malformed(f"{what} holds half of a surrogate pair and is not valid Unicode") from None


def _sheet(what: str, made: Mapping[str, Any]) -> Sheet:
    cells = {
        place: cell_of(value if not isinstance(value, Mapping) else _date(what, value["date"]))
        for place, value in _cells(made)
    }
    tables = tuple(_table(what, made, table) for table in made.get("tables", ()))
    return Sheet(made["name"], cells, made.get("hidden", False), tables, tuple(made.get("merged", ())))


def _table(what: str, made: Mapping[str, Any], table: Mapping[str, str]) -> WorkbookTable:
    (top, left), (_, right) = area_of(table["area"])
    rows = made.get("rows", [])
    heads = rows[top - 1][left - 1 : right] if top <= len(rows) else []
    if len(heads) != right - left + 1 or not all(isinstance(head, str) and head for head in heads):
        raise Malformed(f"{what} of the spreadsheet state has a table with no text above one of its columns")
    return WorkbookTable(table["name"], table["area"], tuple(heads))


def _cells(made: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    for row, values in enumerate(made.get("rows", ()), 1):
        yield from (((row, column), value) for column, value in enumerate(values, 1) if value is not None)


def _dates(made: Mapping[str, Any]) -> Iterator[Place]:
    yield from (place for place, value in _cells(made) if isinstance(value, Mapping))


def _date(what: str, text: str) -> str:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        raise Malformed(f"{what} of the spreadsheet state has a date that is none") from None
    return text


WORKBOOK = StateKind(
    name="workbook",
    about="workbooks (.xlsx) below one folder",
    schema=STATE,
    seed=seed,
    mutations=MUTATIONS,
)
