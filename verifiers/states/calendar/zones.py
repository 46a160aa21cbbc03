"""Time zones that an iCalendar file defines itself (VTIMEZONE, RFC 5545, 3.6.5), as mail programs of offices do.

A zone is a list of observances (standard and daylight time). Each begins once, at listed moments, or once a year.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MAX_OBSERVANCES = 100
"""Of a file; one for each change of a zone's law since 1900 needs fewer."""

_OFFSET = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?")
_DAY = re.compile(r"([+-]?\d)?(MO|TU|WE|TH|FR|SA|SU)")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_PARTS = {"FREQ", "BYMONTH", "BYDAY", "BYMONTHDAY", "UNTIL", "INTERVAL", "WKST"}


@dataclass(frozen=True, slots=True)
class Observance:
    """A part of a zone's year with an offset of its own.

    Attributes:
        first: its first onset, in the local time before it.
        before: the offset before it.
        offset: its offset.
        others: further onsets that are listed.
        rule: the parts of its yearly rule; empty where it has none.
        until: the last moment at which its rule lets it begin, in UTC, or None.
    """

    first: datetime.datetime
    before: datetime.timedelta
    offset: datetime.timedelta
    others: Sequence[datetime.datetime]
    rule: Mapping[str, str]
    until: datetime.datetime | None

    def __post_init__(self) -> None:
        """Refuse a rule that is no yearly one.

        Raises:
            ValueError: it is not.
        """
        rule = self.rule
        once = rule.get("FREQ") == "YEARLY" and rule.get("INTERVAL", "1") == "1" and "," not in rule.get("BYMONTH", "")
        if rule and (not once or rule.keys() - _PARTS or _DAY.fullmatch(rule.get("BYDAY", "MO")) is None):
            raise ValueError(rule)

    def onsets(self, year: int) -> Iterator[datetime.datetime]:
        """Yield its onsets up to the end of a year; of those by the rule, the last two years' are enough."""
        yield self.first
        yield from self.others
        for one in (year - 1, year) if self.rule else ():
            onset = self._onset(one)
            if onset and onset > self.first and (self.until is None or onset - self.before <= self.until):
                yield onset

    def _onset(self, year: int) -> datetime.datetime | None:
        month = int(self.rule.get("BYMONTH", self.first.month))
        length = calendar.monthrange(year, month)[1]
        days = [int(day) for day in self.rule.get("BYMONTHDAY", "").split(",") if day]
        fitting = [day for day in range(1, length + 1) if not days or day in days or day - length - 1 in days]
        if "BYDAY" in self.rule:
            place, weekday = _DAY.fullmatch(self.rule["BYDAY"]).groups()  # type: ignore[union-attr]  # was looked at
            first = datetime.date(year, month, 1).weekday()
            fitting = [day for day in fitting if (first + day - 1) % 7 == _DAYS.index(weekday)]
            at = int(place or 1)
            fitting = fitting[at - 1 if at > 0 else at :][:1]
        elif not days:
            fitting = [day for day in fitting if day == self.first.day]
        return datetime.datetime.combine(datetime.date(year, month, fitting[0]), self.first.time()) if fitting else None


def read_offset(text: str) -> datetime.timedelta:
    """Read an offset from UTC, as in `+0100`.

    Raises:
        ValueError: it is none.
    """
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise ValueError(text)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    length = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -length if match[1] == "-" else length


def utc_of(zone: Sequence[Observance], local: datetime.datetime) -> datetime.datetime:
    """Return the instant of a local time in a zone.

    A time that a change skips counts by the offset before it, one that occurs twice is the first (RFC 5545, 3.3.5).

    Raises:
        ValueError: the zone has no observance.
    """
    nothing = datetime.timedelta(0)
    begun = [
        (onset, observance.offset)
        for observance in zone
        for onset in observance.onsets(local.year)
        if onset + max(nothing, observance.offset - observance.before) <= local
    ]
    offset = max(begun)[1] if begun else min(zone, key=lambda observance: observance.first).before
    return (local - offset).replace(tzinfo=datetime.UTC)
