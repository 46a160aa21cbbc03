"""Normal form of the calendars that Radicale keeps.

It is `{"items": [[calendar, kind, uid, summary, start, end, location, description, status, repeats, attendees]],
"unreadable": [[calendar, file, reason, digest]]}`, as in `Item`; `repeats` is `{}`, or the item's `Series`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from verifiers.predicates.context import Context
from verifiers.states.calendar.items import Item, Series

HOME = "collection-root/agent"
PROPERTIES = ".Radicale.props"


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """An item with the name of its calendar, as in its address."""

    calendar: str
    item: Item


def open_calendars(context: Context) -> tuple[CalendarEntry, ...]:
    """Return every item of every calendar that can be read, parsed once for each evaluation.

    Raises:
        CorruptState: there is more than the reader's budget allows.
        StateUnavailable: there is no state.
    """
    return context.once("calendar", lambda: entries_from(context.state("calendar").document))


def list_unreadable(context: Context) -> Sequence[Sequence[str]]:
    """Return calendar, name, reason and digest of each file that cannot be read."""
    files: Sequence[Sequence[str]] = context.state("calendar").document.get("unreadable", ())
    return files


def document_of(entries: Iterable[CalendarEntry], unreadable: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return the normal form of these items and files."""
    items = [[entry.calendar, *(_plain(entry.item, name) for name in _NAMES)] for entry in entries]
    return {"items": items, "unreadable": [list(file) for file in unreadable]}


def entries_from(document: dict[str, Any]) -> tuple[CalendarEntry, ...]:
    """Build the items from a normal form; the rule of a series is not in it."""
    return tuple(CalendarEntry(calendar, _item(plain)) for calendar, *plain in document["items"])


def _item(plain: list[Any]) -> Item:
    values = dict(zip(_NAMES, plain, strict=True))
    series = values.pop("repeats")
    made = {**values, "attendees": tuple(values["attendees"])}
    if series:
        made["series"] = Series(tuple(series["occurrences"]), series["known_until"], series["changed"])
    return Item(**made)


def _plain(item: Item, name: str) -> object:
    if name == "repeats":
        names = (field.name for field in fields(Series)) if item.series else ()
        return {name: _listed(getattr(item.series, name)) for name in names}
    return _listed(getattr(item, name))


def _listed(value: object) -> object:
    """Return a value with lists in place of tuples, as JSON has them."""
    if isinstance(value, dict):
        return {key: _listed(part) for key, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


_NAMES = [field.name for field in fields(Item) if field.name != "series"]
