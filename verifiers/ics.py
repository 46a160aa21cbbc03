"""Reads and writes the part of iCalendar (RFC 5545) that a calendar's files hold: events and tasks.

A file has one VCALENDAR with a VEVENT or a VTODO in it; what changes single occurrences of a series, time zones'
tables and alarms are not looked at. Moments are texts: `2026-01-05` for a whole day, `2026-01-05T10:00:00Z` for an
instant, whatever zone it was written in. A file is capped in bytes and lines; one that is not written as RFC 5545 says
counts against whoever left it. The same item gives the same bytes.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from verifiers.errors import Spoiled

Kind: TypeAlias = Literal["event", "todo"]

MAX_BYTES = 256 << 10
MAX_LINES = 5000
DEEPEST = 4

_VALUE = r'(?:"[^"]*"|[^";:])*'
_OPTION = re.compile(rf";([A-Za-z0-9-]+)=({_VALUE})")
_LINE = re.compile(rf"([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+={_VALUE})*):(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_DURATION = re.compile(r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?")
_KINDS: Mapping[str, Kind] = {"VEVENT": "event", "VTODO": "todo"}
_TEXTS = {"SUMMARY": "summary", "LOCATION": "location", "DESCRIPTION": "description"}


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


def read_item(data: bytes) -> Item:
    """Read a file.

    Raises:
        Spoiled: it is none that holds an event or a task.
    """
    if len(data) > MAX_BYTES:
        raise Spoiled(f"a file of the calendar is longer than {MAX_BYTES} bytes")
    try:
        found = [item for item in _items(data.decode()) if item is not None]
        return found[0]
    except (ValueError, IndexError, OverflowError):
        raise Spoiled("a file of the calendar is not written as one") from None


def _items(text: str) -> Iterator[Item | None]:
    lines = re.sub(r"\r?\n[ \t]", "", text).replace("\r\n", "\n").rstrip("\n").split("\n")
    if len(lines) > MAX_LINES or lines[0].upper() != "BEGIN:VCALENDAR" or lines[-1].upper() != "END:VCALENDAR":
        raise ValueError
    inside: list[str] = []
    said: list[tuple[str, Mapping[str, str], str]] = []
    for line in lines:
        name, options, value = _line(line)
        if name == "BEGIN":
            inside.append(value.upper())
            said = [] if len(inside) == 2 else said  # noqa: PLR2004 - what is directly in the calendar
        elif name == "END":
            if not inside or inside.pop() != value.upper():
                raise ValueError
            if len(inside) == 1 and value.upper() in _KINDS:
                yield _item(_KINDS[value.upper()], said)
        elif len(inside) == 2:  # noqa: PLR2004 - an alarm in an event is not looked at
            said.append((name, options, value))
        if not 0 <= len(inside) <= DEEPEST:
            raise ValueError


def _line(line: str) -> tuple[str, Mapping[str, str], str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError
    options = {option[1].upper(): option[2].strip('"') for option in _OPTION.finditer(match[2])}
    return match[1].upper(), options, match[3]


def _item(kind: Kind, said: list[tuple[str, Mapping[str, str], str]]) -> Item | None:
    """Make an item; what changes one occurrence of a series is none of its own."""
    single = {name: (options, value) for name, options, value in said}
    if "RECURRENCE-ID" in single:
        return None
    moments = {name: _moment(*single[name]) for name in ("DTSTART", "DTEND", "DUE") if name in single}
    start, end = moments.get("DTSTART", ""), moments.get("DTEND" if kind == "event" else "DUE", "")
    if not end and start and "DURATION" in single:
        end = later(start, _duration(single["DURATION"][1]))
    elif not end and start and kind == "event":
        end = later(start, datetime.timedelta(days=1)) if "T" not in start else start
    rule = single.get("RRULE", ({}, ""))[1]
    return Item(
        kind,
        single["UID"][1] if "UID" in single else _refuse(),
        start=start,
        end=end,
        status=single.get("STATUS", ({}, ""))[1].upper(),
        repeats=dict(part.upper().split("=", 1) for part in rule.split(";")) if rule else {},
        attendees=tuple(_address(value) for name, _, value in said if name == "ATTENDEE"),
        **{field: unescaped(single[name][1]) for name, field in _TEXTS.items() if name in single},
    )


def _refuse() -> str:
    raise ValueError


def _address(value: str) -> str:
    return value.strip().lower().removeprefix("mailto:")


def _moment(options: Mapping[str, str], value: str) -> str:
    match = _MOMENT.fullmatch(value)
    if match is None:
        raise ValueError
    year, month, day, *clock = match.groups()
    if clock[0] is None:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    zone: datetime.tzinfo = datetime.UTC
    if not clock[3] and "TZID" in options:
        try:
            zone = ZoneInfo(options["TZID"])
        except (ZoneInfoNotFoundError, OSError):
            raise ValueError(value) from None
    hour, minute, second = (int(part) for part in clock[:3])
    moment = datetime.datetime(int(year), int(month), int(day), hour, minute, min(second, 59), tzinfo=zone)
    return instant(moment)


def _duration(value: str) -> datetime.timedelta:
    match = _DURATION.fullmatch(value)
    if match is None:
        raise ValueError
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    length = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if match[1] == "-" else length


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


def unescaped(text: str) -> str:
    """Give the text that a value stands for (RFC 5545, 3.3.11)."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)


def _escaped(text: str) -> str:
    text = re.sub(r"([\\;,])", r"\\\1", text)
    return re.sub(r"\r\n?|\n", r"\\n", text)


def write_item(item: Item) -> bytes:
    """Write the file of an item."""
    block = "VEVENT" if item.kind == "event" else "VTODO"
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Quarterturn//World//EN", f"BEGIN:{block}", f"UID:{item.uid}"]
    lines.append("DTSTAMP:20240101T000000Z")
    lines += _dated("DTSTART", item.start)
    lines += _dated("DTEND" if item.kind == "event" else "DUE", item.end)
    lines += [f"{name}:{_escaped(text)}" for name, key in _TEXTS.items() if (text := getattr(item, key))]
    lines += [f"STATUS:{item.status}"] if item.status else []
    if item.repeats:
        lines.append("RRULE:" + ";".join(f"{name}={value}" for name, value in item.repeats.items()))
    lines += [f"ATTENDEE:mailto:{address}" for address in item.attendees]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, f"END:{block}", "END:VCALENDAR"]).encode()


def _dated(name: str, moment: str) -> list[str]:
    if not moment:
        return []
    plain = re.sub("[-:]", "", moment)
    return [f"{name}:{plain}" if "T" in moment else f"{name};VALUE=DATE:{plain}"]


def _folded(line: str) -> str:
    """Break a line that is long (3.1); 24 characters of UTF-8 are never more than a line takes."""
    parts = [line[at : at + 18] for at in range(0, len(line), 18)] if len(line.encode()) > 75 else [line]  # noqa: PLR2004
    return "\r\n ".join(parts)
