"""Proposed mutations of calendars: changes that break a predicate, and typical errors of agents."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from verifiers.errors import CorruptState
from verifiers.states.calendar.entries import CalendarEntry
from verifiers.states.calendar.items import Item, later, normal
from verifiers.states.calendar.reader import entries_of
from verifiers.tree import FileTree

Change = Mapping[str, Any]

STRAY = {"summary": "Not this", "start": "2001-01-01", "end": "2001-01-02"}
STRAYS = "not-this"  # a calendar for what belongs to no other
HOUR = datetime.timedelta(hours=1)


def _where(arguments: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"kind": kind, **{key: arguments[key] for key in ("calendar", "uid", "summary") if key in arguments}}


def _more(kind: str) -> Callable[[Mapping[str, Any]], Change]:
    """Return one more of what is counted or should not be there."""

    def change(arguments: Mapping[str, Any]) -> Change:
        item = {key: arguments[key] for key in ("summary", "status") if key in arguments}
        item = {"summary": "Not this", **item}
        if kind == "event":
            start = arguments.get("start", arguments.get("day", "2001-01-01"))
            item |= {"start": start, "end": later(normal(start), HOUR if "T" in start else datetime.timedelta(days=1))}
        return {"calendar": arguments.get("calendar", STRAYS), f"add_{kind}": item}

    return change


def _clash(arguments: Mapping[str, Any]) -> Change:
    """Return one event that overlaps whatever there is: it takes a year."""
    day = arguments.get("day", "2001-01-01")
    long = {"summary": "Not this", "start": f"{day}T00:00:00Z", "end": "2998-01-01T00:00:00Z"}
    return {"calendar": arguments.get("calendar", STRAYS), "add_event": long}


def _moved(arguments: Mapping[str, Any]) -> Change:
    return {"where": _where(arguments, "event"), "set": {"start": later(normal(arguments["start"]), HOUR * 24)}}


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], Change]] = {
    "calendar.attendeesAre": lambda arguments: {
        "where": _where(arguments, "event"),
        "set": {"attendees": [*arguments["attendees"], "not-this@example.org"]},
    },
    "calendar.countOnDay": _more("event"),
    "calendar.eventAbsent": _more("event"),
    "calendar.eventCount": _more("event"),
    "calendar.eventExists": lambda arguments: {"where": _where(arguments, "event"), "remove": True},
    "calendar.eventMoved": _moved,
    "calendar.eventRepeats": lambda arguments: {
        "where": _where(arguments, "event"),
        "set": {"repeats": {"FREQ": "YEARLY" if arguments["frequency"] != "YEARLY" else "DAILY"}},
    },
    "calendar.eventsAre": _more("event"),
    "calendar.isFree": _more("event"),
    "calendar.noOverlap": _clash,
    "calendar.todoAbsent": _more("todo"),
    "calendar.todoCount": _more("todo"),
    "calendar.todoExists": lambda arguments: {"where": _where(arguments, "todo"), "remove": True},
}
"""By predicate: a change that certainly makes it false."""


def mistakes(before: FileTree, after: FileTree) -> Iterator[tuple[str, Change]]:
    """Yield the mutations for each event and task that the right solution made or changed."""
    old, new = _entries(before), _entries(after)
    for path, entry in new.items():
        if path not in old:
            yield f"left-out {path}", {"where": _picked(entry), "remove": True}
            elsewhere = {other_entry.calendar for other_entry in new.values()} - {entry.calendar}
            yield f"wrong-place {path}", {"where": _picked(entry), "move_to": min(elsewhere, default=STRAYS)}
        if entry != old.get(path):
            yield from _in_item(path, entry, old.get(path))
    for path, entry in old.items():
        if path not in new:
            yield f"left-out {path}", {"calendar": entry.calendar, f"add_{entry.item.kind}": _document(entry.item)}
    untouched = [entry for path, entry in new.items() if entry == old.get(path)]
    if untouched:
        yield f"another-one-lost {untouched[0].item.uid}", {"where": _picked(untouched[0]), "remove": True}
    if new and new != old:
        first = next(iter(new.values()))
        yield "event-too-many", {"calendar": first.calendar, "add_event": STRAY}


def _in_item(path: str, entry: CalendarEntry, was: CalendarEntry | None) -> Iterator[tuple[str, Change]]:
    item, where = entry.item, _picked(entry)
    if was is not None:
        yield f"left-out {path}", {"where": where, "set": _document(was.item)}
    if item.summary.swapcase() != item.summary and (was is None or was.item.summary != item.summary):
        yield f"wrong-case {path}", {"where": where, "set": {"summary": item.summary.swapcase()}}
    end = "end" if item.kind == "event" else "due"
    ends = {name: text for name, text in (("start", item.start), (end, item.end)) if text}
    if ends and (was is None or (was.item.start, was.item.end) != (item.start, item.end)):
        for name, by in (("off-by-an-hour", HOUR), ("off-by-a-day", HOUR * 24), ("off-by-a-year", HOUR * 24 * 365)):
            if all("T" in text or by >= HOUR * 24 for text in ends.values()):
                yield f"{name} {path}", {"where": where, "set": {key: later(text, by) for key, text in ends.items()}}


def _picked(entry: CalendarEntry) -> dict[str, str]:
    return {"calendar": entry.calendar, "uid": entry.item.uid}


def _document(item: Item) -> dict[str, Any]:
    """Write an item as a change takes it; what it does not have is left out."""
    fields = {key: value for key, value in asdict(item).items() if value and key not in {"kind", "status", "series"}}
    if item.kind == "todo":
        fields["status"] = item.status or "NEEDS-ACTION"
        fields |= {"due": fields.pop("end")} if "end" in fields else {}
    return fields | ({"attendees": list(item.attendees)} if item.attendees else {})


def _entries(tree: FileTree) -> Mapping[str, CalendarEntry]:
    try:
        return entries_of(tree)
    except CorruptState:
        return {}
