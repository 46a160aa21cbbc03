"""Caveats on private scores: public grammar, untraceable tasks.

Anybody can draw tasks from a public grammar, so a score on a cohort drawn from one says less. This is shown beside
every such score; in the log the `set` statement says it. `doctor` shows both caveats; no key is needed.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Engine

from rotation.calendar import Month
from rotation.month.store import MonthStore
from vault.store.tasks import from_public_grammars, served_plain


class Untraceable(NamedTuple):
    """Count of the tasks whose leak could not be traced, among the private tasks."""

    tasks: int
    among: int


class Caveats:
    """Looks up what makes a score say less.

    Args:
        engine: the database with the tasks' rows.
        months: the cohorts.
    """

    def __init__(self, engine: Engine, months: MonthStore) -> None:
        self._engine, self._months = engine, months

    def public_cohorts(self, month: Month | None = None) -> list[str]:
        """Name the cohorts of a month (of now) that hold a task of a public grammar, the next to retire first."""
        public = from_public_grammars(self._engine)
        cohorts = [
            cohort
            for cohort in self._months.cohorts()
            if (cohort.state == "live" if month is None else cohort.entered <= month <= cohort.retires)
        ]
        return [cohort.id for cohort in cohorts if public & set(cohort.tasks)]

    def all_public_cohorts(self) -> set[str]:
        """Name every cohort that ever held a task of a public grammar."""
        public = from_public_grammars(self._engine)
        return {cohort.id for cohort in self._months.cohorts() if public & set(cohort.tasks)}

    def untraceable(self) -> Untraceable:
        """Count the private tasks whose leak could not be traced."""
        live = {task for cohort in self._months.cohorts("live") for task in cohort.tasks}
        return Untraceable(len(live & served_plain(self._engine)), len(live))
