"""Services of the benchmark as it stands: its composition, cohorts, turns, exposures, findings and withdrawals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quarterturn.composition.home import OpenHome
from quarterturn.composition.log import LogServices
from quarterturn.home.benchmark_set import of_home
from quarterturn.month.turn_calendar import TurnCalendar
from rotation.calendar import Month
from rotation.findings.store import Findings
from rotation.month.sets import SetSpec
from rotation.month.store import MonthStore

if TYPE_CHECKING:
    from rotation.exposure.store import Exposures
    from rotation.runs.withdrawal import Withdrawals


@dataclass
class BenchmarkServices:
    """The set of a home, and what the rows say of its months."""

    home: OpenHome
    log: LogServices

    @cached_property
    def spec(self) -> SetSpec:
        """The set's composition."""
        return of_home(self.home.places, self.home.settings.benchmark.set)

    @cached_property
    def months(self) -> MonthStore:
        """Cohorts and turns."""
        return MonthStore(self.home.engine, self.home.now)

    @cached_property
    def calendar(self) -> TurnCalendar:
        """Which turn comes next, and when."""
        first = Month.parse(self.home.settings.benchmark.first_month)
        return TurnCalendar(self.months, first, self.home.settings.clock, self.home.now)

    @cached_property
    def exposures(self) -> Exposures:
        """The record of who was served which task."""
        from rotation.exposure.store import Exposures

        return Exposures(self.home.engine, self.home.now)

    @cached_property
    def findings(self) -> Findings:
        """Detection results and their reviews."""
        return Findings(self.home.engine, self.home.now)

    @cached_property
    def withdrawals(self) -> Withdrawals:
        """Withdrawn tasks and their replacements."""
        from rotation.runs.withdrawal import Withdrawals

        return Withdrawals(self.home.vault, self.log.ledger, self.months, self.findings)
