"""Applies a mutation to calendars: items are added, and the items that match are removed or changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.calendar.schema import ADDED, MUTATIONS, item_of, item_with
from sandbox.kinds.common.check import check
from verifiers.errors import VerifierError
from verifiers.states.calendar.entries import HOME, CalendarEntry
from verifiers.states.calendar.items import Item
from verifiers.states.calendar.reader import entries_of
from verifiers.states.calendar.writer import write_item
from verifiers.tree import FileTree, Node


def mutate(tree: FileTree, change: Mapping[str, Any]) -> FileTree:
    """Return a copy after one change; what is picked out is everything that is as `where` says.

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
        item = item_of(kind, {"uid": f"{ADDED}-{len(entries) + 1}", **change[f"add_{kind}"]})
        return FileTree({**tree, **_file(change["calendar"], item)})
    picked = {path: entry for path, entry in entries.items() if _is_picked(entry, change["where"])}
    if not picked:
        raise Malformed("the calendar change picks out what is not in the final state")
    nodes = {path: node for path, node in tree.items() if path not in picked}
    for entry in picked.values() if "remove" not in change else ():
        nodes |= _file(change.get("move_to", entry.calendar), item_with(entry.item, change.get("set", {})))
    return FileTree(nodes)


def _file(calendar: str, item: Item) -> dict[str, Node]:
    return {f"{HOME}/{calendar}/{item.uid}.ics": Node("file", data=write_item(item))}


def _is_picked(entry: CalendarEntry, where: Mapping[str, str]) -> bool:
    properties = {"calendar": entry.calendar, "uid": entry.item.uid, "kind": entry.item.kind}
    properties["summary"] = entry.item.summary.strip()
    return all(properties[name] == value.strip() for name, value in where.items())
