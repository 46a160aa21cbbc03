"""An event or a task of a calendar, and how its moments are written."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["event", "todo"]
TEXTS: Mapping[str, str] = {"SUMMARY": "summary", "LOCATION": "location", "DESCRIPTION": "description"}
"""Property of iCalendar to the attribute of an item."""


@dataclass(frozen=True, slots=True)
class Item:
    """An event or a task.

    Attributes:
        kind: which of the two.
        uid: its identity; its file is called so.
        summary: its title.
        start: when it begins, or "".
        end: when an event ends, or a task is due, or "". The end of an event of whole days is the day after its last.
        status: as RFC 5545 spells it (`COMPLETED`), or "".
        repeats: its rule, part by part (`{"FREQ": "WEEKLY", "COUNT": "4"}`); empty where it does not repeat.
        attendees: their addresses, in small letters.
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


def instant(moment: datetime.datetime) -> str:
    """Write an instant as its text."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def normal(text: str) -> str:
    """Give a day or an instant with an offset (`2026-01-05T11:00:00+01:00`) as we write it.

    Raises:
        ValueError: it is neither.
    """
    if "T" not in text:
        return datetime.date.fromisoformat(text).isoformat()
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return instant(moment)


def later(text: str, by: datetime.timedelta) -> str:
    """Give the moment that is so much later."""
    if "T" not in text:
        return (datetime.date.fromisoformat(text) + by).isoformat()
    return instant(datetime.datetime.fromisoformat(text) + by)
