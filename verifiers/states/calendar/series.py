"""Occurrences of an event or a task, by its rule, its listed dates, and what changes single ones (RFC 5545, 3.8.5).

1. DTSTART is the first occurrence, then those by RRULE up to COUNT or UNTIL, and those that RDATE lists.
2. EXDATE takes occurrences away; a whole day takes those that begin on it.
3. A RECURRENCE-ID replaces one occurrence, with RANGE=THISANDFUTURE also moves those after it; a cancelled one is away.
   One that is of no occurrence is an occurrence of its own, as an invitation to one of somebody else's series is.

A moment is aware, or naive midnight of a whole day. An item that has more occurrences than `MAX_OCCURRENCES` says until
when they are known.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.states.calendar.items import Item, Series, instant
from verifiers.states.calendar.rules import list_starts, read_rule

MAX_OCCURRENCES = 2000
"""By the rule of a series; every day, that is five years."""
MAX_YEARS, MIN_OCCURRENCES = 10, 120
"""Years after which a series ends to be looked at that has had so many occurrences."""
MIN_DAYS = 100
"""Days that `MAX_OCCURRENCES` fill at least; what repeats faster was made to be expensive."""
AN_OCCURRENCE = 12  # steps
_COMPARED = ("summary", "location", "description", "status", "attendees")


class Length(NamedTuple):
    """How long an occurrence takes: days by the calendar, and then exact time."""

    days: datetime.timedelta = datetime.timedelta(0)
    time: datetime.timedelta = datetime.timedelta(0)


NO_LENGTH = Length()


@dataclass(frozen=True, slots=True)
class Component:
    """What one component of a file says: of all occurrences of its item, or of the one that it `replaces`.

    `until` is UNTIL, `added` and `excluded` are RDATE and EXDATE, and `following` says that it moves later ones too.
    """

    item: Item
    start: datetime.datetime | None = None
    length: Length = NO_LENGTH
    until: datetime.datetime | None = None
    added: Sequence[tuple[datetime.datetime, Length | None]] = ()
    excluded: Sequence[datetime.datetime] = ()
    replaces: datetime.datetime | None = None
    following: bool = False


class _Occurrence(NamedTuple):
    when: datetime.datetime
    text: str
    part: Component


_Starts: TypeAlias = Mapping[datetime.datetime, tuple[datetime.datetime, Length]]


def in_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a moment without its zone: in UTC, or the midnight of a whole day."""
    offset = moment.utcoffset()
    return moment if offset is None else moment.replace(tzinfo=None) - offset


def text_of(moment: datetime.datetime) -> str:
    """Write a moment as an item has it."""
    return moment.date().isoformat() if moment.tzinfo is None else instant(in_utc(moment).replace(tzinfo=datetime.UTC))


def end_of(start: datetime.datetime, length: Length) -> datetime.datetime:
    """Return when an occurrence ends that begins then; of a time of day, with the offset that it has there."""
    end = start + length.days
    if end.tzinfo is not None:
        end = end.replace(tzinfo=datetime.timezone(end.utcoffset() or datetime.timedelta(0)))
    return end + length.time


def unite(master: Component | None, changes: Sequence[Component], budget: ReadingBudget) -> Item:
    """Return the item with all its occurrences; of several changes of one, the last counts.

    Raises:
        CorruptState: it repeats too fast, or costs more than the budget has.
        ValueError: its rule is none, or one that is refused.
    """
    item = (master or changes[0]).item
    listed = master is not None and (item.repeats or master.added or master.excluded)
    if not listed and master is not None and not changes:
        return item
    begun, cut = _starts(master, budget) if master is not None and master.start is not None else ({}, None)
    occurrences = sorted(_changed(master, begun, changes, budget), key=lambda occurrence: occurrence[:2])
    differing = {
        occurrence.text: fields
        for occurrence in occurrences
        if occurrence.part is not master and (fields := _differences(item, occurrence.part.item))
    }
    texts = tuple(occurrence.text for occurrence in occurrences)
    if texts and item.start:
        first = occurrences[0].text.split("/")
        start, end = (text if "T" not in text else instant(datetime.datetime.fromisoformat(text)) for text in first)
        item = replace(item, start=start, end=end)
    if len(texts) == 1 and not differing and cut is None:
        return item
    return replace(item, series=Series(texts, text_of(cut) if cut else "", differing))


def _starts(master: Component, budget: ReadingBudget) -> tuple[_Starts, datetime.datetime | None]:
    """Return when the occurrences of a series begin before single ones are changed, and until when that is known."""
    begun: dict[datetime.datetime, tuple[datetime.datetime, Length]] = {}
    first = last = master.start or datetime.datetime.min  # noqa: DTZ901 - its caller has looked
    cut = None
    rule = read_rule(master.item.repeats or {"FREQ": "DAILY", "COUNT": "1"})
    for number, local in enumerate(list_starts(rule, first.replace(tzinfo=None), budget)):
        budget.step(AN_OCCURRENCE)
        moment = local.replace(tzinfo=first.tzinfo)
        if master.until is not None and _is_past(moment, master.until):
            break
        if number >= MAX_OCCURRENCES or (number >= MIN_OCCURRENCES and local.year - first.year >= MAX_YEARS):
            if (local - first.replace(tzinfo=None)).days < MIN_DAYS:
                raise CorruptState(f"its series has {number} occurrences in less than {MIN_DAYS} days")
            cut = last
            break
        begun[in_utc(moment)], last = (moment, master.length), moment
    begun |= {in_utc(moment): (moment, length or master.length) for moment, length in master.added}
    days = {moment for moment in master.excluded if moment.tzinfo is None}
    excluded = {in_utc(moment) for moment in master.excluded if moment.tzinfo is not None}
    if days or excluded:
        begun = {at: at_it for at, at_it in begun.items() if at not in excluded and _midnight(at_it[0]) not in days}
    budget.step(AN_OCCURRENCE * (len(master.added) + len(master.excluded)))
    return begun, cut


def _is_past(moment: datetime.datetime, until: datetime.datetime) -> bool:
    """Say whether a rule has ended: UNTIL is a whole day with its end, or an instant."""
    if moment.tzinfo is None or until.tzinfo is None:
        return moment.date() > until.date()
    return in_utc(moment) > in_utc(until)


def _midnight(moment: datetime.datetime) -> datetime.datetime:
    return datetime.datetime.combine(moment.date(), datetime.time())


def _changed(
    master: Component | None, begun: _Starts, changes: Sequence[Component], budget: ReadingBudget
) -> Iterator[_Occurrence]:
    budget.step(AN_OCCURRENCE * len(changes))
    single = {in_utc(part.replaces): part for part in changes if part.replaces is not None}
    following = sorted(at for at, part in single.items() if part.following)
    moving = [single[at] for at in following]
    for at, (start, length) in begun.items():
        if single and (part := single.pop(at, None) or single.pop(_midnight(start), None)) is not None:
            yield from _own(part)
            continue
        place = bisect_left(following, at) if following else 0
        if place and (part := moving[place - 1]).start is not None and part.replaces is not None:
            yield from _own(part, start + (part.start.replace(tzinfo=None) - part.replaces.replace(tzinfo=None)))
        elif master is not None:
            yield _Occurrence(at, _written(start, length), master)
    for part in single.values():
        yield from _own(part)


def _own(part: Component, start: datetime.datetime | None = None) -> Iterator[_Occurrence]:
    """Yield the occurrence that a component of its own describes, unless it is called off."""
    start = start or part.start or part.replaces
    if start is not None and "CANCELLED" not in part.item.status:
        yield _Occurrence(in_utc(start), _written(start, part.length), part)


def _written(start: datetime.datetime, length: Length) -> str:
    """Write an occurrence: its days, or its times with the offsets that they have there."""
    if start.tzinfo is None:
        return f"{start.date()}/{end_of(start, length).date()}"
    if length.days:
        return f"{start.isoformat()}/{end_of(start, length).isoformat()}".replace("+00:00", "Z")
    begin = start.isoformat()
    offset = begin[19:].replace("+00:00", "Z")
    return f"{begin[:19]}{offset}/{(start.replace(tzinfo=None) + length.time).isoformat()}{offset}"


def _differences(item: Item, other: Item) -> dict[str, Any]:
    return {name: getattr(other, name) for name in _COMPARED if getattr(other, name) != getattr(item, name)}
