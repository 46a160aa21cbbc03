"""Scorekeeper: makes a run's figures and discloses them, once, in the transaction that closes the run.

1. A run's figures are made from the results in memory with which it is closed. They and their disclosure to the owner
   are rows of that transaction, so a run that is closed has both.
2. A run's results do not change; which of them count does where a task is withdrawn as broken, and the `withdraw` leaf
   says so. Once that leaf is published the figures of the runs that it concerns are made again without it, from their
   sealed closings; until then they stay as they are. This is the one case in which closings are opened again. Results
   on a task that was withdrawn because it leaked go on counting.
3. What was disclosed stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from sqlmodel import Session

from rotation.calendar import Month
from rotation.leaderboard.disclosure import ladder
from rotation.leaderboard.figures import Scores, of_results
from rotation.leaderboard.store import ScoreStore
from rotation.month.store import MonthStore
from rotation.runs.withdrawal import Withdrawals
from sandbox.results.score import Result
from sandbox.runs.store import RunRecord


class Scorekeeper:
    """Keeps the figures of closed runs.

    Args:
        store: where they are kept.
        months: the cohorts.
        withdrawals: the withdrawals that the published log has.
        party: gives the accounts that share a ladder with a submitter, the submitter's own included.
    """

    def __init__(
        self,
        store: ScoreStore,
        months: MonthStore,
        withdrawals: Withdrawals,
        party: Callable[[str], Collection[str]],
    ) -> None:
        self._store, self._months, self._withdrawals, self._party = store, months, withdrawals, party

    def close(self, session: Session, record: RunRecord, results: Sequence[Result]) -> None:
        """Keep and disclose the figures of a run, within the transaction that closes it."""
        month = Month.parse(record.month)
        broken = self._broken(month)
        scores = _scores(results, self._months.sunset(month), broken)
        self._store.keep(session, record, scores, len(broken))
        self.disclose(session, record, scores)

    def disclose(self, session: Session, record: RunRecord, scores: Scores) -> None:
        """Disclose a run's figures to its owner, as far as they differ from those that their party was shown before."""
        before = self._store.disclosed_before(session, record, self._party(record.submitter))
        self._store.disclose(session, record, ladder(before, scores))

    def recount(
        self,
        month: Month,
        closed: Iterable[RunRecord],
        opened: Callable[[RunRecord], Sequence[Result]],
    ) -> None:
        """Make the figures of a month's closed runs again that still count a broken task."""
        broken, sunset, known = self._broken(month), self._months.sunset(month), self._store.of_month(str(month))
        for record in closed:
            if record.number not in known or known[record.number].without < len(broken):
                scores = _scores(opened(record), sunset, broken)
                with self._months.transaction() as session:
                    self._store.keep(session, record, scores, len(broken))

    def _broken(self, month: Month) -> frozenset[str]:
        """Return the tasks of the month's cohorts that count in no figure, by the published log."""
        cohorts = {cohort.id for cohort in self._months.cohorts() if cohort.entered <= month <= cohort.retires}
        return frozenset(entry.task for entry in self._withdrawals.uncounted() if entry.cohort in cohorts)


def _scores(results: Iterable[Result], sunset: str, broken: Collection[str]) -> Scores:
    return of_results((result for result in results if result.task not in broken), sunset)
