"""Calendar item (an event or a task), and the text format of its moments."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["event", "todo"]
TEXTS: Mapping[str, str] = {"SUMMARY": "summary", "LOCATION": "location", "DESCRIPTION": "description"}
"""Property of iCalendar to the attribute of an item."""


@dataclass(frozen=True, slots=True)
class Series:
    """The occurrences of an item that has not exactly one.

    Attributes:
        occurrences: start and end of each, in their order, as `2026-01-05T10:00:00+01:00/2026-01-05T11:00:00+01:00`, or
            as days.
        known_until: the last moment until which they are known, if there are more; or "".
        changed: by occurrence, what it has other than its item has.
    """

    occurrences: tuple[str, ...] = ()
    known_until: str = ""
    changed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """An event or a task.

    Attributes:
        kind: `event` or `todo` (a task).
        uid: its UID, which is also the name of its file.
        summary: its title.
        start: when it begins, or ""; of a series, when its first occurrence does.
        end: when an event ends, or a task is due, or "". The end of an event of whole days is the day after its last.
        status: as RFC 5545 spells it (`COMPLETED`), or ""; of an event that takes no time, `TRANSPARENT` is behind it.
        repeats: its rule, part by part (`{"FREQ": "WEEKLY", "COUNT": "4"}`); empty where it does not repeat.
        attendees: their addresses, in small letters.
        series: its occurrences, if a file has other than one; made by the reader.
    """

    kind: Kind
    uid: str
    summary: str = field(default="", repr=False)
    start: str = ""
    end: str = ""
    location: str = field(default="", repr=False)
    description: str = field(default="", repr=False)
    status: str = ""
    repeats: Mapping[str, str] = field(default_factory=dict, repr=False)
    attendees: tuple[str, ...] = field(default=(), repr=False)
    series: Series | None = field(default=None, repr=False)


def instant(moment: datetime.datetime) -> str:
    """Format an instant as text."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def normal(text: str) -> str:
    """Normalize a day, or an instant with an offset (`2026-01-05T11:00:00+01:00`), to our text format.

    Raises:
        ValueError: it is neither a day nor an instant.
    """
    if "T" not in text:
        return datetime.date.fromisoformat(text).isoformat()
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return instant(moment)


def later(text: str, by: datetime.timedelta) -> str:
    """Add a duration to a moment."""
    if "T" not in text:
        return (datetime.date.fromisoformat(text) + by).isoformat()
    return instant(datetime.datetime.fromisoformat(text) + by)
