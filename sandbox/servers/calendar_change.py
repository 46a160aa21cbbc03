"""Spoiling calendars for admission's mutants: items are added, and what a condition picks out is removed or changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.errors import Malformed
from sandbox.servers.check import check
from verifiers.errors import VerifierError
from verifiers.states.calendar.entries import HOME, Entry
from verifiers.states.calendar.items import Item, Kind, normal
from verifiers.states.calendar.reader import entries_of
from verifiers.states.calendar.writer import write_item
from verifiers.views import Node, Tree

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
_ADDED = "added"  # the identity of what has none


def item_of(kind: Kind | str, document: Mapping[str, Any]) -> Item:
    """Make an item of what a document says.

    Raises:
        Malformed: a moment is none.
    """
    return _with(Item("event" if kind == "event" else "todo", document.get("uid", _ADDED)), document)


def mutate(tree: Tree, change: Mapping[str, Any]) -> Tree:
    """Give a copy after one change; what is picked out is everything that is as `where` says.

    Raises:
        Malformed: the change is none of `MUTATIONS`, or nothing is picked out.
    """
    check(MUTATIONS, change, "the calendar change")
    try:
        entries = entries_of(tree)
    except VerifierError as error:
        raise Malformed(f"the calendar change needs calendars that can be read: {error}") from None
    if "where" not in change:
        kind = "event" if "add_event" in change else "todo"
        item = item_of(kind, {"uid": f"{_ADDED}-{len(entries) + 1}", **change[f"add_{kind}"]})
        return Tree({**tree, **_file(change["calendar"], item)})
    picked = {path: entry for path, entry in entries.items() if _is_picked(entry, change["where"])}
    if not picked:
        raise Malformed("the calendar change picks out what is not in the final state")
    nodes = {path: node for path, node in tree.items() if path not in picked}
    for entry in picked.values() if "remove" not in change else ():
        nodes |= _file(change.get("move_to", entry.calendar), _with(entry.item, change.get("set", {})))
    return Tree(nodes)


def _file(calendar: str, item: Item) -> dict[str, Node]:
    return {f"{HOME}/{calendar}/{item.uid}.ics": Node("file", data=write_item(item))}


def _is_picked(entry: Entry, where: Mapping[str, str]) -> bool:
    there = {"calendar": entry.calendar, "uid": entry.item.uid, "kind": entry.item.kind}
    there["summary"] = entry.item.summary.strip()
    return all(there[name] == value.strip() for name, value in where.items())


def _with(item: Item, document: Mapping[str, Any]) -> Item:
    said = {"end" if name == "due" else name: value for name, value in document.items()}
    for name in ("start", "end"):
        if name in said:
            said[name] = _moment(said[name])
    if "attendees" in said:
        said["attendees"] = tuple(map(str.lower, said["attendees"]))
    return replace(item, **said)


def _moment(text: str) -> str:
    try:
        return normal(text)
    except (ValueError, OverflowError):
        raise Malformed("a moment of the calendar is none that there is") from None
