"""Services of official runs: their rows, what the log says of them, their tasks, scores and leaderboards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quarterturn.composition.auth import AuthServices
from quarterturn.composition.benchmark import BenchmarkServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.keys import KeyServices
from quarterturn.composition.log import LogServices
from rotation.calendar import Month
from sandbox.runs.store import Runs, RunState

if TYPE_CHECKING:
    from rotation.leaderboard.caveats import Caveats
    from rotation.leaderboard.leaderboard import Leaderboard
    from rotation.leaderboard.store import ScoreStore
    from rotation.runs.official import OfficialRuns
    from rotation.runs.run_ledger import RunLedger
    from rotation.runs.run_tasks import RunTasks
    from rotation.runs.scorekeeper import Scorekeeper


@dataclass
class RunServices:
    """The official runs of a home."""

    home: OpenHome
    keys: KeyServices
    auth: AuthServices
    log: LogServices
    benchmark: BenchmarkServices

    @cached_property
    def store(self) -> Runs:
        """Runs and their sealed results."""
        return Runs(self.home.engine, self.home.vault, self.home.now)

    @cached_property
    def ledger(self) -> RunLedger:
        """What the public log says of official runs."""
        from rotation.runs.run_ledger import RunLedger

        return RunLedger(self.home.vault, self.log.ledger, self.store, self.home.entropy)

    @cached_property
    def tasks(self) -> RunTasks:
        """The tasks of open runs, as they are served."""
        from rotation.runs.run_tasks import RunTasks

        months, exposures = self.benchmark.months, self.benchmark.exposures
        return RunTasks(self.home.vault, self.log.ledger, months, self.store, exposures)

    @cached_property
    def official(self) -> OfficialRuns:
        """Runs that are bound to the public log."""
        from rotation.runs.official import OfficialRuns

        return OfficialRuns(
            self.benchmark.months,
            self.store,
            self.ledger,
            self.tasks,
            self.benchmark.withdrawals,
            tracks=self.benchmark.spec.tracks,
            judge=self.keys.claim_judges.digests,
            scorekeeper=self.scorekeeper,
        )

    @cached_property
    def scores(self) -> ScoreStore:
        """The figures of closed runs, and what was disclosed of them."""
        from rotation.leaderboard.store import ScoreStore

        return ScoreStore(self.home.engine)

    @cached_property
    def scorekeeper(self) -> Scorekeeper:
        """What makes and discloses the figures of a run when it is closed."""
        from rotation.runs.scorekeeper import Scorekeeper

        return Scorekeeper(self.scores, self.benchmark.months, self.benchmark.withdrawals, self.auth.accounts.party)

    def recount(self, month: Month) -> None:
        """Make a month's figures again that still count a broken task."""
        closed = self.store.list(month=str(month), state=RunState.DONE)
        opened = lambda record: self.ledger.closed(record, why=f"figures of run {record.number}")  # noqa: E731
        self.scorekeeper.recount(month, closed, opened)

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The leaderboards."""
        from rotation.leaderboard.leaderboard import Leaderboard

        exposures, parties = self.benchmark.exposures, self.auth.accounts.parties
        return Leaderboard(self.scores, self.store, exposures, parties)

    @cached_property
    def caveats(self) -> Caveats:
        """What makes a score say less."""
        from rotation.leaderboard.caveats import Caveats

        return Caveats(self.home.engine, self.benchmark.months)
