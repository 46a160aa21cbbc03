"""Wall clock of an open home, and the time from which the next turn is due."""

from __future__ import annotations

from datetime import UTC, datetime

from quarterturn.settings import Settings
from rotation.calendar import Month
from rotation.month.store import MonthStore


def now() -> datetime:
    """Give the current time in UTC, to the second: finer time says more than a record needs."""
    return datetime.now(UTC).replace(microsecond=0)


def next_turn(months: MonthStore, settings: Settings) -> tuple[Month, datetime]:
    """Give the month whose turn comes next, and from when on it is due; opens no key ring."""
    month = months.next_turn(Month.parse(settings.benchmark.first_month))
    return month, month.due(settings.clock.day, settings.clock.hour)
