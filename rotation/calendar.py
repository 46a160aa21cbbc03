"""The `Month` value: parsing, arithmetic, and the names that derive from a month.

A month is written `YYYY-MM` everywhere: on the command line, in the ledger and in the name of a release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from rotation.errors import Malformed

PATTERN = "2[0-9]{3}-(0[1-9]|1[0-2])"
"""The one form of a month in names from outside, for places that take a pattern."""

_MONTH = re.compile(PATTERN)
_RELEASE = re.compile(f"Historical-{PATTERN}")


@dataclass(frozen=True, order=True, slots=True)
class Month:
    """One month of the benchmark; months are ordered by time."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Month:
        """Read `YYYY-MM`.

        Raises:
            Malformed: the text is not such a month.
        """
        if not is_month(text):
            raise Malformed(f"'{text}' is not a month: write it as YYYY-MM from 2000-01 on, such as 2026-12")
        return cls(int(text[:4]), int(text[5:]))

    @classmethod
    def of(cls, moment: datetime) -> Month:
        """Return the month that `moment` lies in."""
        return cls(moment.year, moment.month)

    def plus(self, months: int) -> Month:
        """Return the month that lies `months` later."""
        years, rest = divmod(self.year * 12 + self.number - 1 + months, 12)
        return Month(years, rest + 1)

    def since(self, earlier: Month) -> int:
        """Count the months from `earlier` to this one."""
        return (self.year - earlier.year) * 12 + self.number - earlier.number

    def due(self, day: int, hour: int) -> datetime:
        """Return the time from which this month's turn is due: on that day of the next month, at that hour, UTC."""
        after = self.plus(1)
        return datetime(after.year, after.number, day, hour, tzinfo=UTC)

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"

    @property
    def cohort(self) -> str:
        """Name the cohort that retires at this month's turn; exactly one does."""
        return f"cohort-{self}"

    @property
    def release(self) -> str:
        """Name the release that this month's turn publishes."""
        return f"Historical-{self}"


def is_month(text: str) -> bool:
    """Say whether a text is a month."""
    return _MONTH.fullmatch(text) is not None


def is_release(name: str) -> bool:
    """Say whether a text is the name of a month's release."""
    return _RELEASE.fullmatch(name) is not None
