"""Parser of the events and tasks in iCalendar files (RFC 5545).

A file has VCALENDARs with VEVENTs and VTODOs in them; those of one UID are one item with its occurrences. Alarms are
not looked at. Moments are texts: `2026-01-05` for a whole day, `2026-01-05T10:00:00Z` for an instant, whatever zone it
was written in; one without a zone is in UTC. A zone that the file defines counts before the machine's of that name. A
file is capped in bytes and lines; one that violates RFC 5545 counts against the agent. The machine's time zones are
loaded on import, so that reading opens no file.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import CorruptState
from verifiers.states.calendar.items import TEXTS, Item, Kind
from verifiers.states.calendar.rules import CalendarRefused
from verifiers.states.calendar.series import Component, Length, end_of, in_utc, text_of, unite
from verifiers.states.calendar.zones import MAX_OBSERVANCES, FileZone, Observance, read_offset, read_yearly

Property: TypeAlias = tuple[str, Mapping[str, str], str]
"""Name in capitals, options, value."""
Zones: TypeAlias = Mapping[str, datetime.tzinfo]

MAX_BYTES = 256 << 10
MAX_LINES = 5000
MAX_DATES = 2000
"""Dates that a series lists one by one."""
DEEPEST = 4
MAX_STEPS = 60_000
"""Steps for the occurrences in a file, so that one file leaves the others their share."""
A_FILE, A_BLOCK, A_LINE = 60, 20, 4  # steps

_VALUE = r'(?:"[^"]*+"|[^";:])*+'
_OPTION = re.compile(rf";([A-Za-z0-9_.-]+)=({_VALUE})")
_LINE = re.compile(rf"([A-Za-z0-9_.-]+)((?:;[A-Za-z0-9_.-]+={_VALUE})*+):(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_DURATION = re.compile(r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?")
_KINDS: Mapping[str, Kind] = {"VEVENT": "event", "VTODO": "todo"}
_ZONES: Mapping[str, datetime.tzinfo] = {name: ZoneInfo(name) for name in sorted(available_timezones())}


def read_items(data: bytes, budget: ReadingBudget | None = None) -> list[Item]:
    """Read a calendar file.

    Raises:
        CorruptState: it holds no event or task, or one that is not supported, or it costs more than the budget has.
    """
    budget = budget or ReadingBudget()
    budget.parse(len(data))
    budget.step(A_FILE + A_BLOCK * data.count(b"BEGIN:V") + A_LINE * data.count(b"\n"))
    budget.step(2 * (data.count(b";") + data.count(b",")) + data.count(b"\\") // 2 + data.count(b'"') // 16)
    if len(data) > MAX_BYTES:
        raise CorruptState(f"it is longer than {MAX_BYTES} bytes")
    own = ReadingBudget(MAX_STEPS, what="for the occurrences in")
    try:
        return _items(data.decode().removeprefix("\ufeff"), own)
    except (CalendarRefused, BudgetSpent) as error:
        raise CorruptState(str(error)) from None
    except (ValueError, LookupError, OverflowError):
        raise CorruptState("it is not written as RFC 5545 has it") from None
    finally:
        budget.step(own.steps)


def _items(text: str, budget: ReadingBudget) -> list[Item]:
    components = list(_components(text))
    tables = [component for component in components if component.name == "VTIMEZONE"]
    if sum(len(table.parts) for table in tables) > MAX_OBSERVANCES:
        raise ValueError
    zones = {
        name: FileZone(list(map(_observance, table.parts)), budget) for table in tables for name in table.values("TZID")
    }
    known: dict[tuple[str, str], list[Component]] = {}
    for component in components:
        if component.name in _KINDS:
            part = _component(_KINDS[component.name], component.properties, zones)
            known.setdefault((part.item.kind, part.item.uid), []).append(part)
    if not known:
        raise CalendarRefused("it has no event and no task")
    return [_united(parts, budget) for parts in known.values()]


def _united(parts: Sequence[Component], budget: ReadingBudget) -> Item:
    masters = [part for part in parts if part.replaces is None]
    if len(masters) > 1:
        raise CalendarRefused("it has two events or tasks of one UID")
    return unite(masters[0] if masters else None, [part for part in parts if part.replaces is not None], budget)


@dataclass(frozen=True, slots=True)
class _Block:
    """A component with its properties, and the components that are directly in it."""

    name: str
    properties: list[Property] = field(default_factory=list)
    parts: list[_Block] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        return [value for known, _, value in self.properties if known == name]


def _components(text: str) -> Sequence[_Block]:
    """Return the components that are directly in the calendar."""
    lines = re.sub(r"\r?\n[ \t]", "", text).replace("\r\n", "\n").split("\n")
    lines = [line for line in lines if line]
    if len(lines) > MAX_LINES:
        raise CalendarRefused(f"it has more than {MAX_LINES} lines")
    if lines[0].upper() != "BEGIN:VCALENDAR" or lines[-1].upper() != "END:VCALENDAR":
        raise ValueError
    around = [whole := _Block("")]
    for line in lines:
        name, options, value = _line(line)
        if name == "BEGIN":
            around.append(_Block(value.upper()))
            around[-2].parts.append(around[-1])
        elif name == "END":
            if around.pop().name != value.upper() or not around:
                raise ValueError
        else:
            around[-1].properties.append((name, options, value))
        if len(around) > DEEPEST + 1:
            raise ValueError
    return [component for calendar in whole.parts for component in calendar.parts]


def _observance(component: _Block) -> Observance:
    rule = _rule(next(iter(component.values("RRULE")), ""))
    first, before, offset = (component.values(name)[0] for name in ("DTSTART", "TZOFFSETFROM", "TZOFFSETTO"))
    others = [_local(value) for values in component.values("RDATE") for value in values.split(",")]
    until = _local(rule["UNTIL"].removesuffix("Z")) if "UNTIL" in rule else None
    return Observance(_local(first), read_offset(before), read_offset(offset), others, read_yearly(rule), until)


def _local(value: str) -> datetime.datetime:
    """Read a moment without a zone: of the observance's own, or UTC in UNTIL."""
    match = _MOMENT.fullmatch(value)
    if match is None or match[7]:
        raise ValueError
    return datetime.datetime(*(int(part or 0) for part in match.groups()[:6]))  # type: ignore[arg-type]  # noqa: DTZ001


def _rule(value: str) -> dict[str, str]:
    return dict(part.upper().split("=", 1) for part in value.split(";")) if value else {}


def _line(line: str) -> tuple[str, Mapping[str, str], str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError
    options = {option[1].upper(): option[2].strip('"') for option in _OPTION.finditer(match[2])}
    return match[1].upper(), options, match[3]


def _component(kind: Kind, properties: Sequence[Property], zones: Zones) -> Component:
    """Return what a VEVENT or VTODO says."""
    single = {name: (options, value) for name, options, value in properties}
    if "EXRULE" in single or sum(name == "RRULE" for name, _, _ in properties) > 1:
        raise CalendarRefused("its series has more than one rule")
    given = {
        name: _moment(*single[name], zones) for name in ("DTSTART", "DTEND", "DUE", "RECURRENCE-ID") if name in single
    }
    start, end = given.get("DTSTART"), given.get("DTEND" if kind == "event" else "DUE")
    length = _length(start, end, single.get("DURATION", ({}, ""))[1], kind)
    if end is None and start is not None and (kind == "event" or "DURATION" in single):
        end = end_of(start, length)
    status = single.get("STATUS", ({}, ""))[1].upper()
    if kind == "event" and single.get("TRANSP", ({}, ""))[1].upper() == "TRANSPARENT":
        status = f"{status} TRANSPARENT".lstrip()
    rule = _rule(single.get("RRULE", ({}, ""))[1])
    dates = {
        name: [
            (options, value) for known, options, values in properties if known == name for value in values.split(",")
        ]
        for name in ("RDATE", "EXDATE")
    }
    if sum(map(len, dates.values())) > MAX_DATES:
        raise CalendarRefused(f"its series lists more than {MAX_DATES} dates")
    item = Item(
        kind,
        single["UID"][1],
        start=text_of(start) if start else "",
        end=text_of(end) if end else "",
        status=status,
        repeats=rule,
        attendees=tuple(_address(value) for name, _, value in properties if name == "ATTENDEE"),
        **{field: unescaped(single[name][1]) for name, field in TEXTS.items() if name in single},  # type: ignore[arg-type]
    )
    return Component(
        item,
        start or end,
        length,
        _moment({}, re.sub("[-:]", "", rule["UNTIL"]), zones) if "UNTIL" in rule else None,
        [_period(options, value, zones) for options, value in dates["RDATE"]],
        [_moment(options, value, zones) for options, value in dates["EXDATE"]],
        given.get("RECURRENCE-ID"),
        single.get("RECURRENCE-ID", ({}, ""))[0].get("RANGE") == "THISANDFUTURE",
    )


def _length(start: datetime.datetime | None, end: datetime.datetime | None, duration: str, kind: str) -> Length:
    """Return how long an occurrence takes: exactly as long as the first, or by a duration with days."""
    if start is not None and end is not None:
        days = start.tzinfo is None and end.tzinfo is None
        return Length(days=end - start) if days else Length(time=in_utc(end) - in_utc(start))
    if duration:
        return _duration(duration)
    whole_day = start is not None and start.tzinfo is None and kind == "event"
    return Length(days=datetime.timedelta(days=whole_day))


def _period(options: Mapping[str, str], value: str, zones: Zones) -> tuple[datetime.datetime, Length | None]:
    """Read a date of RDATE: a moment, or with its end or duration a period."""
    first, _, last = value.partition("/")
    start = _moment(options, first, zones)
    if not last:
        return start, None
    return start, _duration(last) if "P" in last else _length(start, _moment(options, last, zones), "", "event")


def _address(value: str) -> str:
    return value.strip().lower().removeprefix("mailto:")


def _moment(options: Mapping[str, str], value: str, zones: Zones) -> datetime.datetime:
    """Read a moment; a whole day is its midnight without a zone."""
    match = _MOMENT.fullmatch(value)
    if match is None:
        raise ValueError
    numbers = [int(part or 0) for part in match.groups()[:6]]
    if match[4] is None:
        return datetime.datetime(*numbers)  # type: ignore[arg-type]  # noqa: DTZ001 - a whole day
    numbers[5] = min(numbers[5], 59)  # a leap second
    zone = datetime.UTC if match[7] or "TZID" not in options else _zone(options["TZID"], zones)
    return datetime.datetime(*numbers, tzinfo=zone)  # type: ignore[arg-type,misc]


def _zone(name: str, zones: Zones) -> datetime.tzinfo:
    """Return a zone of the file, or the machine's, also where its maker is before it (`/example.org/Europe/Rome`)."""
    if name in zones:
        return zones[name]
    parts = name.split("/")
    return (
        next((_ZONES[end] for end in ("/".join(parts[at:]) for at in range(len(parts))) if end in _ZONES), None)
        or _ZONES[name]
    )


def _duration(value: str) -> Length:
    match = _DURATION.fullmatch(value)
    if match is None:
        raise ValueError
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    sign = -1 if match[1] == "-" else 1
    time = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return Length(sign * datetime.timedelta(weeks=weeks, days=days), sign * time)


def unescaped(text: str) -> str:
    """Return the text that a value stands for (RFC 5545, 3.3.11)."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)
