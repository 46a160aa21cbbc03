"""JSON Schema of a change of a PostgreSQL state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAME = {"type": "string", "minLength": 1}
_VALUE = {"type": ["string", "number", "boolean", "null", "array", "object"]}
_ROW = {"type": "object", "additionalProperties": _VALUE}
_CHOICE = {"where": _ROW, "row": {"type": "integer", "minimum": 0}, "first": {"const": True}}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _chosen_and(**properties: Any) -> dict[str, Any]:
    """Return the schema of something that is done to chosen rows."""
    both = _closed(**properties) | {"oneOf": [{"required": ["where"]}, {"required": ["row"]}]}
    return both | {"properties": {**properties, **_CHOICE}}


_STEPS: Mapping[str, Any] = {
    "insert": _ROW,
    "update": _chosen_and(set=_ROW),
    "add": _chosen_and(column=_NAME, by={"type": "number"}),
    "delete": _chosen_and(),
    "copy": _chosen_and(),
    "drop": {"const": True},
    "rename": _NAME,
    "drop_column": _NAME,
    "rename_column": _closed(**{"from": _NAME, "to": _NAME}),
    "add_column": _closed(name=_NAME, type=_NAME),
    "drop_index": _NAME,
    "drop_indexes": {"const": True},
    "drop_constraint": _NAME,
    "drop_constraints": {"const": True},
}
_OF_A_TABLE = {
    "type": "object",
    "required": ["table"],
    "additionalProperties": False,
    "properties": {"table": _NAME, "schema": _NAME, **_STEPS},
    "oneOf": [{"required": [step]} for step in _STEPS],
}
MUTATIONS = {"oneOf": [_OF_A_TABLE, _closed(drop_schema=_NAME)]}
