"""Detection scan: runs the anomaly detectors over the finished runs and stores findings; it changes no score.

    1. read      the sealed figures of the runs of the last six rotations are opened, as one entry in the access log
    2. expose    each result is marked as exposed if the submitter could have known the task before the run
       (`rotation.detection.sealed_results`); what runs said is held against what was served to whom, as another entry
       (`rotation.detection.served_choices`)
    3. scan      the detectors test the newest month, and each month whose results have changed since its last scan; for
                 a month they see nothing that came later
    4. count     tasks over an exposure limit, and submitters with unsettled runs, become findings too
    5. keep      all findings are stored in one transaction; `rotation.findings.store` says what a stored row may change

The detectors are imported only if there is a finished run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rotation.calendar import Month
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS
from rotation.detection.sealed_results import SealedResults
from rotation.detection.statistics.lookback import LOOKBACK
from rotation.exposure.store import ExposureLimits, Exposures, Proposal, proposals
from rotation.findings.store import WATCHING, Findings, NewFinding, ScanRecord
from rotation.month.store import MonthStore, Unsettled
from sandbox.runs.store import RunRecord

if TYPE_CHECKING:
    from rotation.detection.detectors.scan import CorrectedResult
    from rotation.detection.statistics.table import ResultTable

DIGITS = 6  # of the shares and effects that are stored


class Scanner:
    """Scans the results of one home and stores findings."""

    def __init__(
        self,
        results: SealedResults,
        months: MonthStore,
        exposures: Exposures,
        findings: Findings,
        *,
        limits: ExposureLimits,
        clock: Callable[[], datetime],
    ) -> None:
        self._results, self._months, self._exposures = results, months, exposures
        self._findings, self._limits, self._clock = findings, limits, clock

    def run(self, why: str) -> None:
        """Scan the results and store the findings (steps 1 to 5); `why` goes into the access log."""
        runs = self._results.runs()
        findings: list[NewFinding] = [*self._proposed(), *self._unsettled(runs)]
        smallest: dict[Month, float | None] = {}
        if months := self._due(runs):
            from rotation.detection.detectors.scan import FIRST, judged  # noqa: PLC0415 - slow to load, and seldom needed

            table, start = self._results.table(why, _read(runs, months), said=True), self._results.start()
            for month in months:
                rotation = month.since(start) + 1
                results = [*judged(table, rotation)]
                leaks = {result.tested.subject: result.p_value for result in results if result.tested.kind == "leak"}
                findings += [tested(result, month, leaks.get(result.tested.subject)) for result in results]
                smallest[month] = _smallest(table, rotation) if rotation >= FIRST else None
        self._findings.keep([*self._records(runs, findings, smallest)], findings)

    def _due(self, runs: Sequence[RunRecord]) -> list[Month]:
        """Return the months to test: the newest, and those with other runs than at their last successful scan."""
        if not runs:
            return []
        counts = Counter(Month.parse(run.month) for run in runs)
        scanned = {scan.month: scan.runs for scan in self._findings.scans() if scan.failed is None}
        return [month for month in sorted(counts) if month == max(counts) or scanned.get(month) != counts[month]]

    def _proposed(self) -> list[NewFinding]:
        """Propose tasks over a limit for withdrawal, except in the cohort that retires at the next turn."""
        live = self._months.cohorts("live")
        staying = {task for cohort in live[1:] for task in cohort.tasks}
        proposed = proposals(self._exposures.of_same_skeletons(staying), self._limits, staying)
        return [_exposure(proposal) for proposal in proposed]

    def _unsettled(self, runs: Sequence[RunRecord]) -> list[NewFinding]:
        months = {run.number: Month.parse(run.month) for run in runs}
        left = [unsettled for unsettled in self._months.unsettled() if unsettled.runs[-1] in months]
        return [_left(unsettled, months[unsettled.runs[-1]]) for unsettled in left]

    def _records(
        self, runs: Sequence[RunRecord], findings: Sequence[NewFinding], smallest: Mapping[Month, float | None]
    ) -> Iterator[ScanRecord]:
        """Summarise the scan of each month that has runs or findings; `smallest` has the months that were tested."""
        for month in sorted({Month.parse(run.month) for run in runs} | {finding.month for finding in findings}):
            of_month = [run for run in runs if run.month == str(month)]
            submitters = len({run.submitter for run in of_month})
            yield ScanRecord(
                month, self._clock(), len(of_month), submitters, None, smallest.get(month), month in smallest
            )


def _read(runs: Sequence[RunRecord], months: Sequence[Month]) -> list[RunRecord]:
    """Choose the runs that the tests of these months read."""
    read = {str(month.plus(-ago)) for month in months for ago in range(LOOKBACK)}
    return [run for run in runs if run.month in read]


def tested(result: CorrectedResult, month: Month, leak: float | None) -> NewFinding:
    """Return a test's result as the finding stored of it; `leak` is the p-value of its subject's `leak`, if any.

    An `echo` that is not clean is shown with the tasks that speak most clearly, and with both p-values combined, which
    is no test of its own.
    """
    from rotation.detection.statistics.correction import fisher  # noqa: PLC0415 - likewise

    test, (low, high) = result.tested, result.tested.interval or (None, None)
    effect, low, high = (None if figure is None else round(figure, DIGITS) for figure in (test.effect, low, high))
    figures = (result.p_value, result.holm, result.discovery, effect, low, high)
    parts = [test.detail] if test.detail else []
    if test.kind == "echo" and result.holm <= WATCHING:
        parts += [f"look at {', '.join(test.tasks)}"] if test.tasks else []
        parts += [f"with leak: p {fisher(result.p_value, leak):.2g}"] if leak is not None else []
    return NewFinding(test.kind, test.subject, month, *figures, detail="; ".join(parts))


def _smallest(table: ResultTable, rotation: int) -> float | None:
    """Return the smallest leak that could be detected in a rotation with too few submitters for a verdict."""
    from rotation.detection.detectors.leaked_tasks import smallest  # noqa: PLC0415 - likewise

    if len(set(table.submitter[table.rotation == rotation])) >= MIN_SUBMITTERS:
        return None
    shares = (share for share in smallest(table, rotation).values() if share is not None)
    return min((round(share, DIGITS) for share in shares), default=None)


def _exposure(proposal: Proposal) -> NewFinding:
    return NewFinding("exposure", proposal.task, Month.parse(proposal.month), detail=f"{proposal.why}: withdraw it?")


def _left(unsettled: Unsettled, month: Month) -> NewFinding:
    return NewFinding(
        unsettled.kind, unsettled.submitter, month, detail=f"in runs {', '.join(map(str, unsettled.runs))}"[:200]
    )
