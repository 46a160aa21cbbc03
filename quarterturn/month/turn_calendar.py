"""Calendar of the turns: which comes next, from when on it is due, and which were made; opens no key ring."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from quarterturn.errors import NotFound, Refused
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
        """Return the month whose turn comes next, and from when on it is due."""
        month = self._months.next_turn(self._first)
        return month, month.due(self._clock.day, self._clock.hour)

    def is_due(self) -> bool:
        """Whether the next turn can be made now."""
        return self.now() >= self.next()[1]

    def is_near(self) -> bool:
        """Whether the next turn is to be announced now."""
        return self.now() >= self.next()[1] - timedelta(days=self._clock.remind_days)

    def require_over(self, month: Month) -> None:
        """Refuse to turn a live month that is not over.

        The first turn retires nothing, and one that was begun is only resumed: both may be made at any time. So may one
        that is out of order, which `rotation.turn.turn.Rotation.run` refuses.

        Raises:
            Refused: the month is not over, in UTC; the message says what the turn would publish.
        """
        ends = month.due(day=1, hour=0)
        if self.now() >= ends or not self._months.cohorts() or self.begun(month) or month != self.next()[0]:
            return
        retires = self._months.cohort_retiring(month)
        publishes = f"{len(retires.tasks)} tasks of {retires.id}, with all results on them" if retires else "no task"
        raise Refused(
            f"{month} is live until {ends:%Y-%m-%d} at {ends:%H:%M} UTC, so nothing was changed: `quarterturn turn run "
            f"--early` ends it now and for good, and publishes {publishes}"
        )

    def require_begun(self, month: Month) -> None:
        """Refuse a month of which no set was ever live.

        Raises:
            NotFound: there was none; the message has the months that there were.
        """
        months = [turn.month.plus(1) for turn in self._months.turns()]
        if months and month not in months:
            until = f" to {months[-1]}" if months[1:] else ""
            raise NotFound(f"no set was live in {month}: this home has had sets in {months[0]}{until}")

    def begun(self, month: Month) -> Turn | None:
        """Return the turn of a month, if its first step was begun."""
        return next((turn for turn in self._months.turns() if turn.month == month), None)

    def made(self) -> list[Turn]:
        """List the turns that are finished, the oldest first."""
        return [turn for turn in self._months.turns() if turn.finished]
