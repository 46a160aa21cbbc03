"""Time zones that an iCalendar file defines itself (VTIMEZONE, RFC 5545, 3.6.5), as mail programs of offices do.

A zone is a list of observances (standard and daylight time). Each begins once, at listed moments, or once a year.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from verifiers.budget import ReadingBudget
from verifiers.states.calendar.rules import CalendarRefused, Rule, days_of_year, fits, read_rule

MAX_OBSERVANCES = 100
"""Of a file; one for each change of a zone's law since 1900 needs fewer."""
AN_OBSERVANCE = 150
"""Steps for the days of two years of an observance."""

_OFFSET = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?")
_PARTS = {"FREQ", "BYMONTH", "BYDAY", "BYMONTHDAY", "UNTIL", "INTERVAL", "WKST"}


@dataclass(frozen=True, slots=True)
class Observance:
    """A part of a zone's year with an offset of its own.

    Attributes:
        first: its first onset, in the local time before it.
        before: the offset before it.
        offset: its offset.
        others: further onsets that are listed.
        rule: its yearly rule, or None.
        until: the last moment at which its rule lets it begin, in UTC, or None.
    """

    first: datetime.datetime
    before: datetime.timedelta
    offset: datetime.timedelta
    others: Sequence[datetime.datetime]
    rule: Rule | None
    until: datetime.datetime | None

    def onsets(self, year: int) -> Iterator[datetime.datetime]:
        """Yield its onsets up to the end of a year; of those by the rule, the last two years' are enough."""
        yield self.first
        yield from self.others
        if (rule := self.rule) is None:
            return
        for day in (day for of in (max(year - 1, 1), year) for day in days_of_year(rule, self.first.date(), of)):
            onset = datetime.datetime.combine(day, self.first.time())
            if fits(rule, day) and onset > self.first and not (self.until and onset - self.before > self.until):
                yield onset


def read_yearly(parts: Mapping[str, str]) -> Rule | None:
    """Read an observance's rule, or None where it has none.

    Raises:
        CalendarRefused: it is no yearly one.
    """
    if not parts:
        return None
    if parts["FREQ"] != "YEARLY" or parts.get("INTERVAL", "1") != "1" or parts.keys() - _PARTS:
        raise CalendarRefused("the rule of a time zone is no yearly one")
    return read_rule(parts)


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


class FileZone(datetime.tzinfo):
    """A zone that a file defines, for local times that are converted to UTC.

    A time that a change skips counts by the offset before it, one that occurs twice is the first (RFC 5545, 3.3.5).
    """

    def __init__(self, observances: Sequence[Observance], budget: ReadingBudget) -> None:
        """Take the observances; each year that is asked about costs some of the budget.

        Raises:
            CalendarRefused: there are none.
        """
        if not observances:
            raise CalendarRefused("a time zone has no observances")
        self._observances, self._budget = observances, budget
        self._before = min(observances, key=lambda observance: observance.first).before
        self._years: dict[int, Sequence[tuple[datetime.datetime, datetime.datetime, datetime.timedelta]]] = {}

    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta | None:
        """Return the offset at a local time."""
        if moment is None:
            return None
        local = moment.replace(tzinfo=None)
        begun = [(onset, offset) for since, onset, offset in self._onsets(local.year) if since <= local]
        return max(begun)[1] if begun else self._before

    def dst(self, _: datetime.datetime | None) -> None:
        """Return None: nobody asks what part of the offset is daylight time."""

    def tzname(self, _: datetime.datetime | None) -> None:
        """Return None: nobody asks for its name."""

    def _onsets(self, year: int) -> Sequence[tuple[datetime.datetime, datetime.datetime, datetime.timedelta]]:
        """Return the onset that counts at New Year and the year's: since when each counts, it, and the offset."""
        if year not in self._years:
            self._budget.step(sum(AN_OBSERVANCE + 3 * len(observance.others) for observance in self._observances))
            nothing = datetime.timedelta(0)
            known = [
                (onset + max(nothing, observance.offset - observance.before), onset, observance.offset)
                for observance in self._observances
                for onset in observance.onsets(year)
            ]
            new_year = datetime.datetime(year, 1, 1)  # noqa: DTZ001 - of the zone
            before = [entry for entry in known if entry[0] <= new_year]
            recent = [max(before, key=lambda entry: entry[1:])] if before else []
            self._years[year] = [*recent, *(entry for entry in known if entry[0] > new_year)]
        return self._years[year]
