"""Normal form of the calendars that Radicale keeps.

It is `{"items": [[calendar, kind, uid, summary, start, end, location, description, status, repeats,
attendees]]}`, as in `Item`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from verifiers.predicates.context import Context
from verifiers.states.calendar.items import Item

HOME = "collection-root/agent"
PROPERTIES = ".Radicale.props"


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """An item with the name of its calendar, as in its address."""

    calendar: str
    item: Item


def open_calendars(context: Context) -> tuple[CalendarEntry, ...]:
    """Give every item of every calendar, parsed once for each evaluation.

    Raises:
        CorruptState: a file is not a calendar item.
        StateUnavailable: there is no state.
    """
    return context.once("calendar", lambda: entries_from(context.state("calendar").document))


def document_of(entries: Iterable[CalendarEntry]) -> dict[str, Any]:
    """Give the normal form of these items."""
    return {"items": [[entry.calendar, *(_plain(getattr(entry.item, name)) for name in _NAMES)] for entry in entries]}


def entries_from(document: dict[str, Any]) -> tuple[CalendarEntry, ...]:
    """Build the items from a normal form."""
    return tuple(CalendarEntry(calendar, _item(plain)) for calendar, *plain in document["items"])


def _item(plain: list[Any]) -> Item:
    return Item(**{**dict(zip(_NAMES, plain, strict=True)), "attendees": tuple(plain[-1])})


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


_NAMES = [field.name for field in fields(Item)]
