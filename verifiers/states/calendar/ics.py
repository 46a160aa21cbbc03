"""Parser of the events and tasks in iCalendar files (RFC 5545).

A file has one VCALENDAR with a VEVENT or a VTODO in it; what changes single occurrences of a series, and alarms, are
not looked at. Moments are texts: `2026-01-05` for a whole day, `2026-01-05T10:00:00Z` for an instant, whatever zone it
was written in. A zone that the file defines counts before the machine's of that name. A file is capped in bytes and
lines; one that violates RFC 5545 counts against the agent. The machine's time zones are loaded on import, so that
reading opens no file.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.states.calendar.items import TEXTS, Item, Kind, instant, later
from verifiers.states.calendar.zones import MAX_OBSERVANCES, Observance, read_offset, utc_of

Property: TypeAlias = tuple[str, Mapping[str, str], str]
"""Name in capitals, options, value."""
Zones: TypeAlias = Mapping[str, Sequence[Observance]]

MAX_BYTES = 256 << 10
MAX_LINES = 5000
DEEPEST = 4
A_FILE, A_LINE, AN_OBSERVANCE = 90, 4, 80  # steps

_VALUE = r'(?:"[^"]*+"|[^";:])*+'
_OPTION = re.compile(rf";([A-Za-z0-9-]+)=({_VALUE})")
_LINE = re.compile(rf"([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+={_VALUE})*+):(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_DURATION = re.compile(r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?")
_KINDS: Mapping[str, Kind] = {"VEVENT": "event", "VTODO": "todo"}
_ZONES: Mapping[str, datetime.tzinfo] = {name: ZoneInfo(name) for name in sorted(available_timezones())}


def read_item(data: bytes, budget: ReadingBudget | None = None) -> Item:
    """Read a calendar file.

    Raises:
        CorruptState: it holds no event or task, or it costs more than the budget has.
    """
    budget = budget or ReadingBudget()
    budget.parse(len(data))
    budget.step(A_FILE + A_LINE * data.count(b"\n") + 2 * data.count(b";"))
    budget.step(data.count(b"\\") // 2 + data.count(b'"') // 16)
    if len(data) > MAX_BYTES:
        raise CorruptState(f"a file of the calendar is longer than {MAX_BYTES} bytes")
    try:
        items = [item for item in _items(data.decode().removeprefix("\ufeff"), budget) if item is not None]
        return items[0]
    except (ValueError, LookupError, OverflowError):
        raise CorruptState("a file of the calendar is not written as one") from None


def _items(text: str, budget: ReadingBudget) -> Iterator[Item | None]:
    components = list(_components(text))
    tables = [component for component in components if component.name == "VTIMEZONE"]
    observances = sum(len(table.parts) for table in tables)
    if observances > MAX_OBSERVANCES:
        raise ValueError
    budget.step(AN_OBSERVANCE * observances)
    zones = {value: list(map(_observance, table.parts)) for table in tables for value in table.values("TZID")}
    for component in components:
        if component.name in _KINDS:
            yield _item(_KINDS[component.name], component.properties, zones)


@dataclass(frozen=True, slots=True)
class _Component:
    """A component with its properties, and the components that are directly in it."""

    name: str
    properties: list[Property] = field(default_factory=list)
    parts: list[_Component] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        return [value for known, _, value in self.properties if known == name]


def _components(text: str) -> Sequence[_Component]:
    """Return the components that are directly in the calendar."""
    lines = re.sub(r"\r?\n[ \t]", "", text).replace("\r\n", "\n").split("\n")
    lines = [line for line in lines if line]
    if len(lines) > MAX_LINES or lines[0].upper() != "BEGIN:VCALENDAR" or lines[-1].upper() != "END:VCALENDAR":
        raise ValueError
    around = [whole := _Component("")]
    for line in lines:
        name, options, value = _line(line)
        if name == "BEGIN":
            around.append(_Component(value.upper()))
            around[-2].parts.append(around[-1])
        elif name == "END":
            if around.pop().name != value.upper() or not around:
                raise ValueError
        else:
            around[-1].properties.append((name, options, value))
        if len(around) > DEEPEST + 1:
            raise ValueError
    return [component for calendar in whole.parts for component in calendar.parts]


def _observance(component: _Component) -> Observance:
    rule = _rule(next(iter(component.values("RRULE")), ""))
    first, before, offset = (component.values(name)[0] for name in ("DTSTART", "TZOFFSETFROM", "TZOFFSETTO"))
    others = [_local(value) for values in component.values("RDATE") for value in values.split(",")]
    until = _local(rule["UNTIL"].removesuffix("Z")) if "UNTIL" in rule else None
    return Observance(_local(first), read_offset(before), read_offset(offset), others, rule, until)


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


def _item(kind: Kind, properties: Sequence[Property], zones: Zones) -> Item | None:
    """Build an item; overrides of single occurrences are not items of their own."""
    single = {name: (options, value) for name, options, value in properties}
    if "RECURRENCE-ID" in single:
        return None
    moments = {name: _moment(*single[name], zones) for name in ("DTSTART", "DTEND", "DUE") if name in single}
    start, end = moments.get("DTSTART", ""), moments.get("DTEND" if kind == "event" else "DUE", "")
    if not end and start and "DURATION" in single:
        end = later(start, _duration(single["DURATION"][1]))
    elif not end and start and kind == "event":
        end = later(start, datetime.timedelta(days=1)) if "T" not in start else start
    return Item(
        kind,
        single["UID"][1] if "UID" in single else _refuse(),
        start=start,
        end=end,
        status=single.get("STATUS", ({}, ""))[1].upper(),
        repeats=_rule(single.get("RRULE", ({}, ""))[1]),
        attendees=tuple(_address(value) for name, _, value in properties if name == "ATTENDEE"),
        **{field: unescaped(single[name][1]) for name, field in TEXTS.items() if name in single},
    )


def _refuse() -> str:
    raise ValueError


def _address(value: str) -> str:
    return value.strip().lower().removeprefix("mailto:")


def _moment(options: Mapping[str, str], value: str, zones: Zones) -> str:
    match = _MOMENT.fullmatch(value)
    if match is None:
        raise ValueError
    year, month, day, *clock = match.groups()
    if clock[0] is None:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    hour, minute, second = (int(part) for part in clock[:3])
    local = datetime.datetime(int(year), int(month), int(day), hour, minute, min(second, 59))  # noqa: DTZ001 - see below
    if clock[3] or "TZID" not in options:
        return instant(local.replace(tzinfo=datetime.UTC))
    if (zone := zones.get(options["TZID"])) is not None:
        return instant(utc_of(zone, local))
    return instant(local.replace(tzinfo=_ZONES[options["TZID"]]))


def _duration(value: str) -> datetime.timedelta:
    match = _DURATION.fullmatch(value)
    if match is None:
        raise ValueError
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    length = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if match[1] == "-" else length


def unescaped(text: str) -> str:
    """Give the text that a value stands for (RFC 5545, 3.3.11)."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)
