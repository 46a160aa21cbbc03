"""JSON Schema of a change of a Redis state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXT = {"type": "string"}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


_PUT = {
    "oneOf": [
        _closed(string=_TEXT),
        _closed(list={"type": "array", "items": _TEXT}),
        _closed(set={"type": "array", "items": _TEXT}),
        _closed(hash={"type": "object", "additionalProperties": _TEXT}),
        _closed(zset={"type": "object", "additionalProperties": {"type": "number"}}),
    ]
}
_STEPS: Mapping[str, Any] = {
    "put": _PUT,
    "delete": {"const": True},
    "rename": _TEXT,
    "copy": _TEXT,
    "expire": {"type": "integer", "minimum": 1},
    "persist": {"const": True},
}
MUTATIONS = {
    "type": "object",
    "required": ["key"],
    "additionalProperties": False,
    "properties": {"key": _TEXT, **_STEPS},
    "oneOf": [{"required": [step]} for step in _STEPS],
}
