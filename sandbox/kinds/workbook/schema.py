"""JSON Schema of workbooks in a document."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.common.check import PATH_SCHEMA

NAME = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_.]{0,60}$(?!\n)"}
SHEET = {"type": "string", "pattern": r"^(?!')[^\u0000-\u001f\[\]:*?/\\]{1,31}$(?!\n)(?<!')"}
CELL = {"type": "string", "pattern": r"^[A-Z]{1,2}[1-9][0-9]{0,4}$(?!\n)"}
AREA = {"type": "string", "pattern": r"^[A-Z]{1,2}[1-9][0-9]{0,4}:[A-Z]{1,2}[1-9][0-9]{0,4}$(?!\n)"}
VALUE = {"type": ["string", "number", "boolean", "null"], "maxLength": 8000}
ROW = {"type": "object", "additionalProperties": VALUE}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _in(**properties: Any) -> dict[str, Any]:
    return _closed(path=PATH_SCHEMA, **properties)


MUTATIONS = {
    "oneOf": [
        _closed(remove=PATH_SCHEMA),
        _closed(create=PATH_SCHEMA),
        _closed(move=_closed(**{"from": PATH_SCHEMA, "to": PATH_SCHEMA})),
        _closed(write=_in(sheet=SHEET, cell=CELL, value=VALUE)),
        _closed(add_row=_in(sheet=SHEET, values=ROW)),
        _closed(remove_rows=_in(sheet=SHEET, where=ROW)),
        _closed(add_sheet=_in(name=SHEET)),
        _closed(rename_sheet=_in(sheet=SHEET, to=SHEET)),
        _closed(remove_sheet=_in(sheet=SHEET)),
        _closed(name=_in(name=NAME, refers_to={"type": ["string", "null"]})),
        _closed(drop_table=_in(sheet=SHEET, name=NAME)),
        _closed(unmerge=_in(sheet=SHEET, area=AREA)),
    ]
}
