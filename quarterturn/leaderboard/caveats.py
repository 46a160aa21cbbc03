"""Caveats on live scores: public grammar, untraceable tasks.

Anybody can draw tasks from a public grammar, so a score on a cohort drawn from one says less. This is shown beside
every such score; in the log the `set` statement says it. `doctor` shows both caveats; no key is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rotation.calendar import Month
from vault.store.tasks import from_public_grammars, served_plain

if TYPE_CHECKING:
    from quarterturn.app import Application


def public_cohorts(house: Application, month: Month | None = None) -> list[str]:
    """Name the cohorts of a month (of now) that hold a task of a public grammar, the next to retire first."""
    public = from_public_grammars(house.engine)
    cohorts = [
        cohort
        for cohort in house.months.cohorts()
        if (cohort.state == "live" if month is None else cohort.entered <= month <= cohort.retires)
    ]
    return [cohort.id for cohort in cohorts if public & set(cohort.tasks)]


def untraceable(house: Application) -> list[str]:
    """Count the live tasks whose leak could not be traced, as a line; nothing where there is none."""
    live = {task for cohort in house.months.cohorts("live") for task in cohort.tasks}
    plain = len(live & served_plain(house.engine))
    caveat = f"not traceable: {plain} of {len(live)} live tasks; a leak of these tasks cannot be traced to a run"
    return [caveat] if plain else []


def lines(cohorts: Sequence[str]) -> list[str]:
    """Write the caveat about public grammars as a line; nothing where no cohort has one."""
    return [f"public grammar: anybody can draw tasks like those of {', '.join(cohorts)}"] if cohorts else []
