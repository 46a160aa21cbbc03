"""What live tasks are, where that makes them worth less; `doctor` says it, and no key is needed.

Which cohorts were drawn from public grammars: anybody can draw from those too, so a score on them says less. It is said
wherever their scores are shown; in the log the `set` statement says it. And how many tasks cannot be traced.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterturn.composition.wiring import House
from rotation.calendar import Month
from vault.store.tasks import from_public_grammars, served_plain


def public_cohorts(house: House, month: Month | None = None) -> list[str]:
    """Name the cohorts of a month (of now) that hold a task of a public grammar, the next to retire first."""
    public = from_public_grammars(house.engine)
    there = [
        cohort
        for cohort in house.months.cohorts()
        if (cohort.state == "live" if month is None else cohort.entered <= month <= cohort.retires)
    ]
    return [cohort.id for cohort in there if public & set(cohort.tasks)]


def untraceable(house: House) -> list[str]:
    """Say how many live tasks are not traceable; nothing where there is none."""
    live = {task for cohort in house.months.cohorts("live") for task in cohort.tasks}
    plain = len(live & served_plain(house.engine))
    return [f"not traceable: {plain} of {len(live)} live tasks, a leaked text of theirs names no run"] if plain else []


def lines(cohorts: Sequence[str]) -> list[str]:
    """Say it for people; nothing where there is nothing to say."""
    return [f"public grammar: anybody can draw tasks like those of {', '.join(cohorts)}"] if cohorts else []
