"""Which cohorts were drawn from public grammars: anybody can draw from those too, so a score on them says less.

It is said wherever their scores are shown, and by `doctor`; in the log the `set` statement says it. No key is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterturn.wiring import House
from rotation.calendar import Month
from vault.store import from_public_grammars


def public_cohorts(house: House, month: Month | None = None) -> list[str]:
    """Name the cohorts of a month (of now) that hold a task of a public grammar, the next to retire first."""
    public = from_public_grammars(house.engine)
    there = [
        cohort
        for cohort in house.months.cohorts()
        if (cohort.state == "live" if month is None else cohort.entered <= month <= cohort.retires)
    ]
    return [cohort.id for cohort in there if public & set(cohort.tasks)]


def lines(cohorts: Sequence[str]) -> list[str]:
    """Say it for people; nothing where there is nothing to say."""
    return [f"public grammar: anybody can draw tasks like those of {', '.join(cohorts)}"] if cohorts else []
