"""Recurrence rules of iCalendar (RFC 5545, 3.3.10): the local times at which the occurrences of a series begin.

Stepping is ours, because its cost must be counted: a library searches until the year 9999 for a rule that never yields
(`FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30`), and no caller can stop it. The tests compare with python-dateutil.

Refused: a frequency of seconds, more than `MAX_TIMES` times a day, weeks that are numbered from another day than
Monday, and a rule that yields nothing in `MAX_EMPTY_PERIODS` periods.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from verifiers.budget import ReadingBudget

MAX_EMPTY_PERIODS = 3000
"""Days, weeks, … in a row without an occurrence; between two 29ths of February there are at most 2,921 days."""
MAX_TIMES = 100
"""Times of a day that the parts BYHOUR, BYMINUTE and BYSECOND make."""
A_PERIOD, A_MONTH, A_DAY = 4, 10, 2  # steps: of a day or week, of a month or year, and of each part for each day in it

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_SECONDS = {"MINUTELY": 60, "HOURLY": 3600}
_FREQUENCIES = {"DAILY", "WEEKLY", "MONTHLY", "YEARLY", *_SECONDS}
_BOUNDS = {
    "BYMONTH": (1, 12),
    "BYMONTHDAY": (-31, 31),
    "BYYEARDAY": (-366, 366),
    "BYWEEKNO": (-53, 53),
    "BYSETPOS": (-366, 366),
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
    "BYSECOND": (0, 59),
}
_DATES = ("BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
_CLOCK = ("BYHOUR", "BYMINUTE", "BYSECOND")
_OTHERS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST"}
_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")


class CalendarRefused(ValueError):
    """A calendar file has what is not supported; the message is a sentence about it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule without its end in time; `days` are place (0 for each) and number of the weekday of each part of BYDAY."""

    frequency: str
    interval: int
    count: int | None
    days: Sequence[tuple[int, int]]
    numbers: Mapping[str, frozenset[int]]
    week_start: int


def read_rule(parts: Mapping[str, str]) -> Rule:
    """Read the parts of a rule.

    Raises:
        ValueError, KeyError: it is none.
        CalendarRefused: it is not supported.
    """
    numbers = {name: frozenset(map(int, parts[name].split(","))) for name in _BOUNDS if name in parts}
    if any(not low <= number <= high for name, (low, high) in _BOUNDS.items() for number in numbers.get(name, ())):
        raise CalendarRefused("a number of its rule is out of range")
    days = [_DAY.fullmatch(day) for day in parts["BYDAY"].split(",")] if "BYDAY" in parts else []
    rule = Rule(
        parts["FREQ"],
        int(parts.get("INTERVAL", 1)),
        int(parts["COUNT"]) if "COUNT" in parts else None,
        [(int(day[1] or 0), DAYS.index(day[2])) for day in days if day],
        numbers,
        DAYS.index(parts.get("WKST", "MO")),
    )
    if rule.frequency not in _FREQUENCIES:
        raise CalendarRefused(f"its rule has the frequency {rule.frequency[:20]}, which is not supported")
    if None in days or rule.interval < 1 or rule.count == 0 or parts.keys() - _BOUNDS.keys() - _OTHERS:
        raise CalendarRefused("a part of its rule does not exist")
    if ("BYWEEKNO" in numbers and rule.week_start) or (rule.frequency in _SECONDS and "BYSECOND" in numbers):
        raise CalendarRefused("its rule combines parts that are not supported")
    return rule


def list_starts(rule: Rule, first: datetime.datetime, budget: ReadingBudget) -> Iterator[datetime.datetime]:
    """Yield the local times at which a series begins, in order; the first counts whether or not the rule has it.

    Raises:
        CalendarRefused: it yields nothing for too long, or too often in a day.
        CorruptState: it costs more than the budget has.
    """
    yield first
    left, empty = (rule.count or 0) - 1, 0
    places = rule.numbers.get("BYSETPOS", ())
    for moments in _periods(rule, first, budget) if rule.count != 1 else ():
        empty += 1
        for at, moment in enumerate(moments):
            if places and at + 1 not in places and at - len(moments) not in places:
                continue
            if moment <= first:
                empty = 0
                continue
            if left == 0:
                return
            left, empty = left - 1, 0
            yield moment
        if empty > MAX_EMPTY_PERIODS:
            raise CalendarRefused(f"its rule yields nothing in {MAX_EMPTY_PERIODS} periods")


def _periods(rule: Rule, first: datetime.datetime, budget: ReadingBudget) -> Iterator[Sequence[datetime.datetime]]:
    """Yield the times of each period."""
    if rule.frequency in _SECONDS:
        yield from _hours(rule, first, budget)
        return
    clock = (sorted(rule.numbers.get(name, {getattr(first, name[2:].lower())})) for name in _CLOCK)
    times = [datetime.time(*parts) for parts in product(*clock)]
    if len(times) > MAX_TIMES:
        raise CalendarRefused(f"its rule has more than {MAX_TIMES} times a day")
    a_period = A_MONTH if rule.frequency in {"MONTHLY", "YEARLY"} else A_PERIOD
    a_day = A_DAY * (1 + len(rule.numbers))
    for days in _days(rule, first.date()):
        fitting = [day for day in days if fits(rule, day)]
        budget.step(a_period + a_day * len(days) + len(fitting) * len(times))
        yield [datetime.datetime.combine(day, time) for day in fitting for time in times]


def _hours(rule: Rule, first: datetime.datetime, budget: ReadingBudget) -> Iterator[Sequence[datetime.datetime]]:
    """Yield the times of each hour or minute: one, if its other parts let it through."""
    by = datetime.timedelta(seconds=_SECONDS[rule.frequency] * rule.interval)
    filters = [(name[2:].lower(), rule.numbers[name]) for name in _CLOCK if name in rule.numbers]
    if rule.frequency == "HOURLY" and "BYMINUTE" in rule.numbers:
        raise CalendarRefused("its rule combines parts that are not supported")
    moment = first
    while moment <= datetime.datetime.max - by:  # noqa: DTZ901 - a local time
        moment += by
        budget.step(A_PERIOD + A_DAY)
        in_time = all(getattr(moment, name) in numbers for name, numbers in filters)
        yield [moment] if in_time and fits(rule, moment.date()) else []


def _days(rule: Rule, first: datetime.date) -> Iterator[Sequence[datetime.date]]:
    """Yield the days of each period that its month, day of the month or weekday may let through."""
    step, last = rule.interval, datetime.date.max.toordinal()
    date = datetime.date.fromordinal
    if rule.frequency == "DAILY":
        yield from ([date(day)] for day in range(first.toordinal(), last + 1, step))
    elif rule.frequency == "WEEKLY":
        weekdays = sorted((day - rule.week_start) % 7 for day in {day for _, day in rule.days} or {first.weekday()})
        begin = first.toordinal() - (first.weekday() - rule.week_start) % 7
        for week in range(begin, last - 6, 7 * step):
            yield [date(week + day) for day in weekdays if week + day > 0]
    elif rule.frequency == "MONTHLY":
        for number in range(first.year * 12 + first.month - 1, datetime.MAXYEAR * 12 + 12, step):
            yield list(_days_of_month(rule, first, number // 12, number % 12 + 1))
    else:
        for year in range(first.year, datetime.MAXYEAR + 1, step):
            yield list(days_of_year(rule, first, year))


def days_of_year(rule: Rule, first: datetime.date, year: int) -> Iterator[datetime.date]:
    """Yield the days of a year that the months and days of the month of a yearly rule let through."""
    months: Iterable[int] = sorted(rule.numbers.get("BYMONTH", ()))
    if not months:
        months = range(1, 13) if rule.days or any(name in rule.numbers for name in _DATES) else [first.month]
    for month in months:
        yield from _days_of_month(rule, first, year, month)


def _days_of_month(rule: Rule, first: datetime.date, year: int, month: int) -> Iterator[datetime.date]:
    length = calendar.monthrange(year, month)[1]
    days: Iterable[int] = range(1, length + 1)
    if "BYMONTHDAY" in rule.numbers:
        days = sorted({day if day > 0 else length + 1 + day for day in rule.numbers["BYMONTHDAY"]})
    elif not rule.days and not any(name in rule.numbers for name in _DATES):
        days = [first.day]
    return (datetime.date(year, month, day) for day in days if 1 <= day <= length)


def fits(rule: Rule, day: datetime.date) -> bool:
    """Say whether the parts of a rule that are about days let a day through."""
    numbers = rule.numbers
    if rule.days and not any(day.weekday() == weekday and _is_at(rule, day, place) for place, weekday in rule.days):
        return False
    if not numbers:
        return True
    if "BYMONTH" in numbers and day.month not in numbers["BYMONTH"]:
        return False
    for name, (number, length) in _NUMBERED.items():
        if name in numbers and not {number(day), number(day) - length(day) - 1} & numbers[name]:
            return False
    return True


def _is_at(rule: Rule, day: datetime.date, place: int) -> bool:
    """Say whether a day is the weekday's n-th of its year or month, from the start or the end."""
    if not place or rule.frequency not in {"YEARLY", "MONTHLY"}:
        return True
    of_year = rule.frequency == "YEARLY" and "BYMONTH" not in rule.numbers
    number, length = _NUMBERED["BYYEARDAY" if of_year else "BYMONTHDAY"]
    return place in {(number(day) - 1) // 7 + 1, -((length(day) - number(day)) // 7 + 1)}


_NUMBERED: Mapping[str, tuple[Callable[[datetime.date], int], Callable[[datetime.date], int]]] = {
    "BYMONTHDAY": (lambda day: day.day, lambda day: calendar.monthrange(day.year, day.month)[1]),
    "BYYEARDAY": (lambda day: day.timetuple().tm_yday, lambda day: 365 + calendar.isleap(day.year)),
    "BYWEEKNO": (
        lambda day: day.isocalendar().week,
        lambda day: datetime.date(day.isocalendar().year, 12, 28).isocalendar().week,
    ),
}
"""Part of a rule to what numbers a day by it, and what says how many there are."""
