"""JSON Schema of a change of a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifiers.states.json_document.predicates import POINTER

_ANYTHING: Mapping[str, Any] = {}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


MUTATIONS: Mapping[str, Any] = {
    "oneOf": [
        _closed(set=_closed(pointer=POINTER, value=_ANYTHING)),
        _closed(delete=POINTER),
        _closed(append=_closed(pointer=POINTER, item=_ANYTHING)),
    ]
}
"""`set` replaces a value or adds a key to an object; `delete` takes a value away (all of it: the file); `append` adds
an item to a list."""
