"""JSON Schema of calendars in a document, and the items that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.errors import Malformed
from verifiers.states.calendar.items import Item, Kind, normal

ID = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]{0,60}$(?!\n)"}
_TEXT = {"type": "string", "maxLength": 4000}
_MOMENT = {
    "type": "string",
    "pattern": r"^[12]\d{3}-[01]\d-[0-3]\d(T[0-2]\d:[0-5]\d:[0-5]\d(Z|[+-][01]\d:[0-5]\d))?$(?!\n)",
}
_STATUS = {"enum": ["NEEDS-ACTION", "IN-PROCESS", "COMPLETED", "CANCELLED"]}
_RULE = {
    "type": "object",
    "required": ["FREQ"],
    "propertyNames": {"enum": ["FREQ", "INTERVAL", "COUNT", "BYDAY", "BYMONTH", "BYMONTHDAY", "UNTIL"]},
    "additionalProperties": {"type": "string", "pattern": r"^[A-Z0-9,+-]{1,60}$(?!\n)"},
}
_MAIL = {"type": "string", "pattern": r"^[^\s@:;,\"]{1,64}@[A-Za-z0-9.-]{1,100}$(?!\n)"}
_COMMON = {"uid": ID, "summary": {**_TEXT, "minLength": 1}, "location": _TEXT, "description": _TEXT}
_EVENT = {
    **_COMMON,
    "start": _MOMENT,
    "end": _MOMENT,
    "attendees": {"type": "array", "uniqueItems": True, "items": _MAIL},
    "repeats": _RULE,
}
_TODO = {**_COMMON, "start": _MOMENT, "due": _MOMENT, "status": _STATUS}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": dict(properties)}


EVENT = _object(_EVENT, "summary", "start", "end")
TODO = _object(_TODO, "summary")
_WHERE = _object({"calendar": ID, "uid": _TEXT, "summary": _TEXT, "kind": {"enum": ["event", "todo"]}})
MUTATIONS = {
    "oneOf": [
        _object({"calendar": ID, "add_event": EVENT}, "calendar", "add_event"),
        _object({"calendar": ID, "add_todo": TODO}, "calendar", "add_todo"),
        _object({"where": _WHERE, "remove": {"const": True}}, "where", "remove"),
        _object({"where": _WHERE, "move_to": ID}, "where", "move_to"),
        _object({"where": _WHERE, "set": _object({**_EVENT, **_TODO})}, "where", "set"),
    ]
}
ADDED = "added"  # the identity of what has none


def item_of(kind: Kind | str, document: Mapping[str, Any]) -> Item:
    """Make an item of what a document says.

    Raises:
        Malformed: a moment is none.
    """
    return item_with(Item("event" if kind == "event" else "todo", document.get("uid", ADDED)), document)


def item_with(item: Item, document: Mapping[str, Any]) -> Item:
    """Return an item with what a document says of it.

    Raises:
        Malformed: a moment is none.
    """
    fields = {"end" if name == "due" else name: value for name, value in document.items()}
    for name in ("start", "end"):
        if name in fields:
            fields[name] = _moment(fields[name])
    if "attendees" in fields:
        fields["attendees"] = tuple(map(str.lower, fields["attendees"]))
    return replace(item, **fields)


def _moment(text: str) -> str:
    try:
        return normal(text)
    except (ValueError, OverflowError):
        raise Malformed("a date or time of the calendar does not exist") from None
