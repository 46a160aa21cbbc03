"""Steps 1 to 3 of a turn: the month is closed, and a sample of its results is judged again."""

from __future__ import annotations

from rotation.errors import NotAllowed
from rotation.month.store import MonthStore, Turn
from rotation.runs.official import OfficialRuns
from rotation.runs.withdrawal import Withdrawals
from rotation.turn.spot_check import SpotChecks


class ClosingSteps:
    """Closes a month: no run of it is open any more, and no result can be added."""

    def __init__(
        self, months: MonthStore, withdrawals: Withdrawals, official: OfficialRuns, spot_checks: SpotChecks
    ) -> None:
        self._months, self._withdrawals = months, withdrawals
        self._official, self._spot_checks = official, spot_checks

    def stop(self, turn: Turn) -> None:
        """Complete the withdrawals (step 1); the turn's row itself blocks new runs and withdrawals, which check it."""
        self._withdrawals.settle()
        self._months.note_step(turn.month, "stop")

    def close(self, turn: Turn) -> None:
        """Fail the unfinished tasks of each open run, and abort a run that was served nothing (step 2)."""
        self._official.end_open(turn.month, "turn")
        self._months.note_step(turn.month, "close")

    def check(self, turn: Turn) -> None:
        """Judge each chosen result again, once, even if the process is killed between two of them (step 3).

        Raises:
            NotAllowed: another process has done the step.
        """
        if "check" in self._months.turn(turn.month).done:
            raise NotAllowed(f"the turn of {turn.month} is run by another process, which has done 'check' already")
        check = self._spot_checks.judge(turn.month)
        self._spot_checks.drop_states(check)
        with self._months.transaction() as session:
            facts = self._spot_checks.conclude(session, check) if check else {}
            self._months.step_done(session, turn.month, "check", facts)
