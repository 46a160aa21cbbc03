"""Normal form of a JSON document: `{"value": the document}`, or `{}` where there is no file."""

from __future__ import annotations

from typing import Any

from verifiers.errors import CorruptState, TargetMissing
from verifiers.predicates.context import Context

FILE = "state.json"


def open_document(context: Context) -> Any:
    """Return the document of a state.

    Raises:
        CorruptState: it cannot be read.
        StateUnavailable: it was not read out.
        TargetMissing: there is no document.
    """
    normal = context.state("json_document").document
    if not isinstance(normal, dict) or not normal.keys() <= {"value"}:
        raise CorruptState("the state was read as something that is no JSON document")
    if "value" not in normal:
        raise TargetMissing(f"there is no {FILE}")
    return normal["value"]
