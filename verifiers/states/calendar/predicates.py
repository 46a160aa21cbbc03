"""Predicates over the calendars that the calendar server left.

A calendar is named as in its address (`work`). Without one, all of them are looked at. A moment is a day (`2026-01-05`)
or an instant with its offset (`2026-01-05T11:00:00+01:00`); instants are the same where they are the same instant. The
end of an event of whole days is the day after its last day. Texts are exact but for white space at their ends. A series
is one event, with the start and the end of its first occurrence; where it matters when something takes place, each of
its occurrences counts (`docs/SPEC.md`, 3). A day's events are those that touch it in UTC. A calendar in which a file
cannot be read counts against whoever left it; the others are judged all the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState, TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, NAME, NOTHING, TEXT, Example, ProbeResult, names, predicate
from verifiers.quoting import listed
from verifiers.states.calendar.entries import CalendarEntry, list_unreadable, open_calendars
from verifiers.states.calendar.examples import calendars
from verifiers.states.calendar.items import Item, Series, normal
from verifiers.states.calendar.rules import DAYS, list_starts, read_rule

Span: TypeAlias = tuple[datetime.datetime, datetime.datetime]

MAX_PAIRS = 500_000
AN_ENTRY, AN_OCCURRENCE, A_PAIR, LETTERS = 10, 6, 1, 256  # steps for an entry, …, and letters for a step
NO_TIME = {"CANCELLED", "TRANSPARENT"}
"""Parts of the status of an event that takes no time."""
DAY = {"type": "string", "pattern": r"^[0-9]{4}-[01][0-9]-[0-3][0-9]$", "description": "day, as `2026-01-05`"}
MOMENT = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](Z|[+-][0-1][0-9]:[0-5][0-9]))?$",
    "description": "day, or instant with its offset",
}
INSTANT = {**MOMENT, "pattern": str(MOMENT["pattern"]).replace(")?$", ")$"), "description": "instant with its offset"}
MAIL = {"type": "string", "minLength": 3, "maxLength": 200}
IN = {"calendar": NAME}
WHEN = {"start": MOMENT, "end": MOMENT}
TEXTS = {"location": TEXT, "description": TEXT}
STATUS = {
    "enum": ["NEEDS-ACTION", "IN-PROCESS", "COMPLETED", "CANCELLED"],
    "description": "status, as iCalendar has it",
}
FREQUENCY = {"enum": ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"], "description": "how often (RFC 5545)"}
EVENTS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["summary", "start", "end"],
        "additionalProperties": False,
        "properties": {"summary": TEXT, **WHEN},
    },
    "description": "list of objects with summary, start and end",
}

PLAN = Item(
    "event", "e1", "Plan", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z", "Bern", attendees=("bob@example.org",)
)
SERIES = Item(
    "event", "e2", "Weekly", "2026-01-06T09:00:00Z", "2026-01-06T10:00:00Z", repeats={"FREQ": "WEEKLY", "COUNT": "4"}
)
HOLIDAY = Item("event", "e3", "Holiday", "2026-01-08", "2026-01-09")
BUY = Item("todo", "t1", "Buy tea", end="2026-01-09T12:00:00Z", status="COMPLETED")
LATE = Item("event", "e1", "Plan", "2026-01-05T10:30:00Z", "2026-01-05T11:30:00Z", "Basel")
CLASH = Item("event", "e4", "Clash", "2026-01-05T11:00:00Z", "2026-01-05T12:00:00Z")
OPEN = Item("todo", "t1", "Buy tea", end="2026-01-10T12:00:00Z")
FULL = partial(calendars, {"work": [PLAN, SERIES, HOLIDAY], "home": [BUY]})
OTHER = partial(calendars, {"work": [LATE, CLASH], "home": [OPEN, Item("todo", "t2", "Buy milk")]})


@predicate(
    "calendar.eventExists",
    words="there is an event {summary}",
    takes={"summary": TEXT},
    may_take={**IN, **WHEN, **TEXTS},
    produces=("description",),
    example=Example({"summary": "Plan", "calendar": "work", "start": "2026-01-05T11:00:00+01:00"}, FULL, OTHER),
)
def event_exists(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context,
    summary: str,
    calendar: str | None = None,
    start: str | None = None,
    end: str | None = None,
    location: str | None = None,
    description: str | None = None,
) -> ProbeResult:
    """There is an event of this title, and all else that is given is so of the same event."""
    wanted = {"summary": summary, "start": start, "end": end, "location": location, "description": description}
    return _exists(context, "event", calendar, wanted)


@predicate(
    "calendar.eventAbsent",
    words="there is no event {summary}",
    takes={"summary": TEXT},
    may_take={**IN, "start": MOMENT},
    produces=NOTHING,
    example=Example({"summary": "Clash"}, FULL, OTHER),
)
def event_absent(context: Context, summary: str, calendar: str | None = None, start: str | None = None) -> ProbeResult:
    """No event has this title, or none of them has an occurrence that starts then."""
    entries = _entries(context, "event", calendar)
    fitting = [entry for entry in entries if _fits(entry.item, {"summary": summary})]
    if start is not None:
        wanted = _instant(_moment(start))
        fitting = [part.entry for part in _occurrences(context, fitting, wanted) if part.span[0] == wanted]
    return ProbeResult(not fitting, _description(entries))


@predicate(
    "calendar.eventMoved",
    words="the event {uid} is now from {start} to {end}",
    takes={"uid": NAME, **WHEN},
    may_take=IN,
    produces=NOTHING,  # a time is looked up, and other events have it too
    example=Example({"uid": "e3", "start": "2026-01-08", "end": "2026-01-09"}, FULL, OTHER),
)
def event_moved(context: Context, uid: str, start: str, end: str, calendar: str | None = None) -> ProbeResult:
    """The event of this identity is there, and begins and ends then: it was changed, and not made anew."""
    return _exists(context, "event", calendar, {"uid": uid, "start": start, "end": end})


@predicate(
    "calendar.attendeesAre",
    words="{attendees} are invited to the event {summary}",
    takes={"summary": TEXT, "attendees": names(MAIL)},
    may_take=IN,
    produces=NOTHING,  # whom to invite is looked up
    example=Example({"summary": "Plan", "attendees": ["bob@example.org"]}, FULL, OTHER),
)
def attendees_are(context: Context, summary: str, attendees: Sequence[str], calendar: str | None = None) -> ProbeResult:
    """There is one event of this title, and these are invited to it and nobody else; case does not count."""
    item = _only(context, "event", summary, calendar)
    context.budget.step(len(item.attendees))
    return ProbeResult(
        sorted(item.attendees) == sorted(map(str.lower, attendees)), f"invited are {listed(item.attendees)}"
    )


@predicate(
    "calendar.eventRepeats",
    words="the event {summary} repeats {frequency}",
    takes={"summary": TEXT, "frequency": FREQUENCY},
    may_take={"interval": {**COUNT, "minimum": 1}, "count": COUNT, "days": names(TEXT), **IN},
    produces=NOTHING,  # the goal says the rule
    example=Example({"summary": "Weekly", "frequency": "WEEKLY", "count": 4}, FULL, OTHER),
)
def event_repeats(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context,
    summary: str,
    frequency: str,
    interval: int = 1,
    count: int | None = None,
    days: Sequence[str] | None = None,
    calendar: str | None = None,
) -> ProbeResult:
    """There is one event of this title, and it has the occurrences of this series from its own start on.

    Whatever rule or list of dates makes them is right. Without a count, any number of at least two is. A day is `MO` to
    `SU`; without days, a series has those of its first occurrence.
    """
    item = _only(context, "event", summary, calendar)
    series = item.series or Series((f"{item.start}/{item.end}",))
    held = series.occurrences
    rule = {"FREQ": frequency, "INTERVAL": str(interval)} | ({"BYDAY": ",".join(days)} if days else {})
    if not set(days or ()) <= set(DAYS):
        raise TargetMissing(f"there is no such day: {listed(sorted(set(days or ()) - set(DAYS)))}")
    context.budget.step(AN_OCCURRENCE * len(held))
    walls = [tuple(map(_local, text.split("/"))) for text in held]
    first = walls[0] if walls and item.start else None
    starts = list_starts(read_rule(rule), first[0], context.budget) if first else iter(())
    same = first is not None and [start for start, _ in walls] == list(islice(starts, len(held)))
    same = same and len({end - start for start, end in walls}) == 1
    if count is None:
        same = same and len(held) > 1
    else:
        same = same and (len(held) < count if series.known_until else len(held) == count)
    more = f", and more after {series.known_until}" if series.known_until else ""
    return ProbeResult(same, f"it is {listed(held)}{more}")


@predicate(
    "calendar.countOnDay",
    words="there are {count} events on {day}",
    takes={"day": DAY, "count": COUNT},
    may_take=IN,
    produces=NOTHING,
    example=Example({"day": "2026-01-05", "count": 1}, FULL, OTHER),
)
def count_on_day(context: Context, day: str, count: int, calendar: str | None = None) -> ProbeResult:
    """This many events touch the day, which begins and ends in UTC; each occurrence of a series is one.

    What is cancelled does not count; what takes no time does.
    """
    wanted = _span_of_day(day)
    parts = _occurrences(context, _entries(context, "event", calendar), wanted[1])
    matching = [part.entry for part in parts if "CANCELLED" not in part.status and _overlap(part.span, wanted)]
    return ProbeResult(len(matching) == count, _description(matching))


@predicate(
    "calendar.eventCount",
    words="there are {count} events",
    takes={"count": COUNT},
    may_take={**IN, "summary": TEXT},
    produces=NOTHING,
    example=Example({"count": 3, "calendar": "work"}, FULL, OTHER),
)
def event_count(context: Context, count: int, calendar: str | None = None, summary: str | None = None) -> ProbeResult:
    """There are this many events, or this many of the title."""
    matching = [entry for entry in _entries(context, "event", calendar) if _fits(entry.item, {"summary": summary})]
    return ProbeResult(len(matching) == count, _description(matching))


@predicate(
    "calendar.eventsAre",
    words="the events of the calendar {calendar} are {events}",
    takes={"calendar": NAME, "events": EVENTS},
    produces=NOTHING,  # most events were there before
    example=Example(
        {
            "calendar": "work",
            "events": [
                {"summary": "Holiday", "start": "2026-01-08", "end": "2026-01-09"},
                {"summary": "Plan", "start": "2026-01-05T10:00:00Z", "end": "2026-01-05T11:00:00Z"},
                {"summary": "Weekly", "start": "2026-01-06T09:00:00Z", "end": "2026-01-06T10:00:00Z"},
            ],
        },
        FULL,
        OTHER,
    ),
)
def events_are(context: Context, calendar: str, events: Sequence[Mapping[str, str]]) -> ProbeResult:
    """The calendar has these events and no others, in any order."""
    entries = _entries(context, "event", calendar)
    actual = sorted((entry.item.summary.strip(), entry.item.start, entry.item.end) for entry in entries)
    wanted = sorted((event["summary"].strip(), _moment(event["start"]), _moment(event["end"])) for event in events)
    return ProbeResult(actual == wanted, _description(entries))


@predicate(
    "calendar.noOverlap",
    words="no two events overlap",
    takes={},
    may_take={**IN, "day": DAY},
    produces=NOTHING,
    example=Example({"day": "2026-01-05"}, FULL, partial(calendars, {"work": [PLAN], "home": [LATE]})),
)
def no_overlap(context: Context, calendar: str | None = None, day: str | None = None) -> ProbeResult:
    """No two events are at the same time, or none of those that touch the day; those of whole days do not count.

    Each occurrence of a series counts that is known (`docs/SPEC.md`, 3), and what is cancelled or takes no time does
    not.
    """
    wanted = _span_of_day(day) if day is not None else None
    parts = _occurrences(context, _entries(context, "event", calendar), wanted and wanted[1])
    spans = [part.span for part in parts if part.takes_time and "T" in part.entry.item.start]
    if wanted is not None:
        spans = [span for span in spans if _overlap(span, wanted)]
    clashes = _clashes(spans, context.budget)
    return ProbeResult(clashes == 0, f"of {len(spans)} events {clashes} pairs overlap")


@predicate(
    "calendar.isFree",
    words="nothing is between {start} and {end}",
    takes={"start": INSTANT, "end": INSTANT},
    may_take=IN,
    produces=NOTHING,
    example=Example({"start": "2026-01-05T11:00:00Z", "end": "2026-01-05T12:00:00Z"}, FULL, OTHER),
)
def is_free(context: Context, start: str, end: str, calendar: str | None = None) -> ProbeResult:
    """No event touches this time; what ends or begins just then does not.

    Each occurrence of a series counts, and an event of whole days does; what is cancelled or takes no time does not.
    """
    wanted = (_instant(_moment(start)), _instant(_moment(end)))
    parts = _occurrences(context, _entries(context, "event", calendar), wanted[1])
    overlapping = [part.entry for part in parts if part.takes_time and _overlap(part.span, wanted)]
    return ProbeResult(not overlapping, _description(overlapping))


@predicate(
    "calendar.todoExists",
    words="there is a task {summary}",
    takes={"summary": TEXT},
    may_take={**IN, "due": MOMENT, "status": STATUS, **TEXTS},
    produces=("description",),
    example=Example({"summary": "Buy tea", "status": "COMPLETED"}, FULL, OTHER),
)
def todo_exists(  # noqa: PLR0917 - each is an argument of the predicate
    context: Context,
    summary: str,
    calendar: str | None = None,
    due: str | None = None,
    status: str | None = None,
    location: str | None = None,
    description: str | None = None,
) -> ProbeResult:
    """There is a task of this title, and all else that is given is so of the same task.

    A task with no status needs action.
    """
    wanted = {"summary": summary, "end": due, "status": status, "location": location, "description": description}
    return _exists(context, "todo", calendar, wanted)


@predicate(
    "calendar.todoAbsent",
    words="there is no task {summary}",
    takes={"summary": TEXT},
    may_take=IN,
    produces=NOTHING,
    example=Example({"summary": "Buy milk"}, FULL, OTHER),
)
def todo_absent(context: Context, summary: str, calendar: str | None = None) -> ProbeResult:
    """No task has this title."""
    entries = _entries(context, "todo", calendar)
    return ProbeResult(not any(_fits(entry.item, {"summary": summary}) for entry in entries), _description(entries))


@predicate(
    "calendar.todoCount",
    words="there are {count} tasks",
    takes={"count": COUNT},
    may_take={**IN, "status": STATUS},
    produces=NOTHING,
    example=Example({"count": 1, "status": "COMPLETED"}, FULL, OTHER),
)
def todo_count(context: Context, count: int, calendar: str | None = None, status: str | None = None) -> ProbeResult:
    """There are this many tasks, or this many of the status."""
    matching = [entry for entry in _entries(context, "todo", calendar) if _fits(entry.item, {"status": status})]
    return ProbeResult(len(matching) == count, _description(matching))


def _entries(context: Context, kind: str, calendar: str | None) -> list[CalendarEntry]:
    """Return the events or tasks of a calendar, or of all.

    Raises:
        CorruptState: one of its files cannot be read.
    """
    for place, name, reason, _ in list_unreadable(context):
        if calendar in {None, place}:
            raise CorruptState(f"the file {place}/{name} of the calendar cannot be read: {reason}")
    return _readable(context, kind, calendar)


def _readable(context: Context, kind: str, calendar: str | None) -> list[CalendarEntry]:
    entries = open_calendars(context)
    letters = context.once("calendar letters", lambda: sum(map(_letters, entries)))
    context.budget.step(AN_ENTRY * len(entries) + letters // LETTERS)
    return [entry for entry in entries if entry.item.kind == kind and calendar in {None, entry.calendar}]


def _exists(context: Context, kind: str, calendar: str | None, wanted: Mapping[str, str | None]) -> ProbeResult:
    """Look for an item; one of a calendar that can be read is there whatever the others hold.

    Raises:
        CorruptState: it is not there, or in no such calendar, and a file cannot be read.
    """
    broken = {place for place, *_ in list_unreadable(context)}
    entries = [entry for entry in _readable(context, kind, calendar) if entry.calendar not in broken]
    there = any(_fits(entry.item, wanted) for entry in entries)
    return ProbeResult(there, _description(entries if there else _entries(context, kind, calendar)))


class _Occurrence(NamedTuple):
    entry: CalendarEntry
    span: Span
    status: str

    @property
    def takes_time(self) -> bool:
        return not NO_TIME & set(self.status.split())


def _occurrences(
    context: Context, entries: Sequence[CalendarEntry], until: datetime.datetime | None
) -> Iterator[_Occurrence]:
    """Yield the occurrences of events.

    Raises:
        CorruptState: a series goes on before this moment, but is not known until then.
    """
    for entry in entries:
        item, series = entry.item, entry.item.series
        if series is None:
            if item.start:
                yield _Occurrence(entry, _span(item.start, item.end), item.status)
            continue
        if until is not None and series.known_until and _instant(series.known_until) < until:
            raise CorruptState(f"the series {item.uid} is known until {series.known_until} only, and goes on")
        context.budget.step(len(series.occurrences))
        yield from context.once(("occurrences", id(entry)), partial(_parse_occurrences, context, entry, series))


def _parse_occurrences(context: Context, entry: CalendarEntry, series: Series) -> Sequence[_Occurrence]:
    """Return a series' occurrences, which several probes of an evaluation look at."""
    context.budget.step(AN_OCCURRENCE * len(series.occurrences))
    statuses = ((text, series.changed.get(text, {}).get("status", entry.item.status)) for text in series.occurrences)
    return [_Occurrence(entry, _span(*text.split("/")), status) for text, status in statuses]


def _letters(entry: CalendarEntry) -> int:
    return len(entry.item.summary) + len(entry.item.location) + len(entry.item.description)


def _only(context: Context, kind: str, summary: str, calendar: str | None) -> Item:
    matching = [entry for entry in _entries(context, kind, calendar) if _fits(entry.item, {"summary": summary})]
    if len(matching) != 1:
        raise TargetMissing(f"there are {len(matching)} of this title: {_description(matching)}")
    return matching[0].item


def _fits(item: Item, wanted: Mapping[str, str | None]) -> bool:
    return all(value is None or _has(item, name, value) for name, value in wanted.items())


def _has(item: Item, name: str, value: str) -> bool:
    if name in {"start", "end"}:
        return str(getattr(item, name)) == _moment(value)
    if name == "status":
        return (item.status or "NEEDS-ACTION") == value
    return str(getattr(item, name)).strip() == value.strip()


def _moment(text: str) -> str:
    try:
        return normal(text)
    except (ValueError, OverflowError):
        raise TargetMissing(f"there is no {text}") from None


def _instant(text: str) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text or "0001-01-01")
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _span_of_day(text: str) -> Span:
    first = _instant(_moment(text))
    return first, first + datetime.timedelta(days=1)


def _local(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=None)


def _span(start: str, end: str) -> Span:
    """Return a time span; what ends before it begins is a moment."""
    begin = _instant(start)
    return begin, max(begin, _instant(end))


def _overlap(left: Span, right: Span) -> bool:
    """Say whether two time spans overlap; a span without length is a moment."""
    return max(left[0], right[0]) < min(left[1], right[1]) or any(
        span[0] == span[1] and other[0] <= span[0] < other[1] for span, other in ((left, right), (right, left))
    )


def _clashes(spans: Sequence[Span], budget: ReadingBudget) -> int:
    """Count the pairs of overlapping spans.

    Raises:
        CorruptState: too many begin before others end to look at each pair, or the budget ends.
    """
    clashes = looked_at = 0
    ordered = sorted(spans)
    budget.step(2 * A_PAIR * len(ordered))
    for place, left in enumerate(ordered):
        for at in range(place + 1, len(ordered)):
            right = ordered[at]
            if right[0] >= left[1] and right[0] > left[0]:
                break
            looked_at += 1
            budget.step(A_PAIR)
            if looked_at > MAX_PAIRS:
                raise CorruptState(f"more than {MAX_PAIRS} pairs of events may be at the same time")
            clashes += _overlap(left, right)
    return clashes


def _description(entries: Sequence[CalendarEntry]) -> str:
    return "there are " + listed(list(_entry_lines(entries)))


def _entry_lines(entries: Sequence[CalendarEntry]) -> Iterator[str]:
    for entry in entries:
        item = entry.item
        yield f"{entry.calendar}/{item.uid}: {item.summary} {item.start} {item.end} {item.status}".rstrip()
