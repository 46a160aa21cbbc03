"""Calendar of the turns: which comes next, from when on it is due, and which were made; opens no key ring."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from quarterturn.settings import ClockSettings
from rotation.calendar import Month
from rotation.month.store import MonthStore, Turn


class TurnCalendar:
    """The turns of one home.

    Args:
        months: the rows of the turns.
        first: the benchmark's first month.
        clock: when a turn is due, and when it is announced.
        now: the present moment, with its time zone.
    """

    def __init__(self, months: MonthStore, first: Month, clock: ClockSettings, now: Callable[[], datetime]) -> None:
        self._months, self._first, self._clock, self.now = months, first, clock, now

    def next(self) -> tuple[Month, datetime]:
        """Give the month whose turn comes next, and from when on it is due."""
        month = self._months.next_turn(self._first)
        return month, month.due(self._clock.day, self._clock.hour)

    def is_due(self) -> bool:
        """Whether the next turn can be made now."""
        return self.now() >= self.next()[1]

    def is_near(self) -> bool:
        """Whether the next turn is to be announced now."""
        return self.now() >= self.next()[1] - timedelta(days=self._clock.remind_days)

    def begun(self, month: Month) -> Turn | None:
        """Give the turn of a month, if its first step was begun."""
        return next((turn for turn in self._months.turns() if turn.month == month), None)

    def made(self) -> list[Turn]:
        """List the turns that are finished, the oldest first."""
        return [turn for turn in self._months.turns() if turn.finished]
