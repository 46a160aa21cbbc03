"""Detection scan: runs the anomaly detectors over all finished runs and stores findings; it changes no score.

    1. read      the sealed figures of every finished run are opened, as one entry in the access log
    2. expose    each result is marked as exposed if the submitter could have known the task before the run
    3. scan      the detectors test the newest month, and each month whose results have changed since its last scan; for
                 a month they see nothing that came later
    4. count     tasks over an exposure limit, and submitters with unsettled runs, become findings too
    5. keep      all findings are stored in one transaction; `rotation.findings.store` says what a stored row may change

A submitter could have known a task if it was live in an earlier month; if its skeleton was published, or served to
somebody who reads it, in an earlier month; or if this submitter's own endpoint was sent a task of its skeleton before
this run. A result whose verdict is unknown is left out.

Rotation 1 is the month with which the first cohorts entered. The detectors are imported only if there is a rotation
with an earlier one to compare it with.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rotation.calendar import Month
from rotation.exposure.store import ExposureLimits, Proposal, proposals, read_before
from rotation.findings.store import NewFinding, ScanRecord
from rotation.month.store import Unsettled
from rotation.runs.books import Books
from rotation.runs.withdrawal import entered
from sandbox.runs.store import RunRecord, RunState
from vault.store.tasks import TaskRecord

if TYPE_CHECKING:
    from rotation.detection.statistics.outcomes import TaskOutcome
    from rotation.detection.statistics.table import ResultTable

WHO = "watch"
"""Name of the scan in the access log, whose entries each month's `set` statement commits to."""

COMPARED_FROM = 2  # the first rotation with one before it
Item = Mapping[str, Any]


class _Tested(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def subject(self) -> str: ...


class _Judged(Protocol):
    """A test with its corrections (`rotation.detection.detectors.scan.CorrectedResult`)."""

    @property
    def rotation(self) -> int: ...
    @property
    def tested(self) -> _Tested: ...
    @property
    def p_value(self) -> float: ...
    @property
    def holm(self) -> float: ...
    @property
    def discovery(self) -> float: ...


Scan = Callable[["ResultTable", int], Iterable[_Judged]]
Visible = Callable[["ResultTable", int], float | None]


@dataclass(frozen=True)
class Scanner:
    """Scans the results of one home and stores findings.

    Attributes:
        books: the stores and services of the home.
        limits: the exposure limits.
        scan: runs the detectors on one rotation of a table; None to make only the counts of step 4.
        visible: for a rotation with too few submitters, gives the smallest detectable leak (`ScanRecord.smallest`).
    """

    books: Books
    limits: ExposureLimits
    scan: Scan | None = None
    visible: Visible | None = None

    def run(self, why: str) -> None:
        """Scan all results and store the findings (steps 1 to 5); `why` goes into the access log."""
        runs = [run for run in self.books.runs.list() if run.state is RunState.DONE]
        findings, smallest = [*self._proposed(), *self._unsettled(runs)], {}
        rotations = self._due(runs) if self.scan else []
        if self.scan and rotations:
            table = self.table(why)
            for rotation in rotations:
                findings += [self._judged(result) for result in self.scan(table, rotation)]
                smallest[self._month(rotation)] = self.visible(table, rotation) if self.visible else None
        self.books.findings.keep([*self._records(runs, findings, smallest)], findings, self.books.clock())

    def table(self, why: str, without: Collection[str] = ()) -> ResultTable:
        """Give the results of every finished run as a table for the detectors (steps 1 and 2), `without` some tasks."""
        from rotation.detection.statistics.outcomes import table_of  # noqa: PLC0415 - numpy is slow to load, and seldom needed

        return table_of([outcome for outcome in self._outcomes(why) if outcome.task not in without])

    def start(self) -> Month:
        """Give the month of rotation 1."""
        return min(cohort.entered for cohort in self.books.months.cohorts())

    def _due(self, runs: Sequence[RunRecord]) -> list[int]:
        """Give the rotations to test: the newest, and those with other runs than at their last successful scan."""
        if not runs:
            return []
        start = self.start()
        counts = Counter(_rotation(run, start) for run in runs)
        scanned = {scan.month: scan.runs for scan in self.books.findings.scans() if scan.failed is None}
        return [
            rotation
            for rotation in sorted(counts)
            if rotation >= COMPARED_FROM
            and (rotation == max(counts) or scanned.get(self._month(rotation)) != counts[rotation])
        ]

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _outcomes(self, why: str) -> Iterator[TaskOutcome]:
        from rotation.detection.statistics.outcomes import TaskOutcome  # noqa: PLC0415 - likewise

        runs = self.books.runs.list(state=RunState.DONE)  # first: runs that end from here on are for the next scan
        sealed = self.books.vault.open_blobs("closing/", who=WHO, why=why)
        known, first, start = self._known(), self._first(), self.start()
        tasks = {record.id: record for record in self.books.vault.records()}
        for run in runs:
            rotation = _rotation(run, start)
            for item, tools in _figures(sealed[str(run.number)]):
                task = tasks[item["task"]]
                yield TaskOutcome(
                    rotation=rotation,
                    submitter=run.submitter,
                    run=f"{run.number:09d}",
                    task=task.id,
                    family=task.template_tag,
                    first=first[task.id],
                    cap=item["max_steps"],
                    passed=item["passed"],
                    calls=item["calls"],
                    tools=tools,
                    exposed=first[task.id] < rotation or known(run, task),
                )

    def _known(self) -> Callable[[RunRecord, TaskRecord], bool]:
        """Give a function that says whether a run's submitter could have known a task's skeleton."""
        seen, read = self.books.months.seen_since(), read_before(self.books.exposures.servings())

        def known(run: RunRecord, task: TaskRecord) -> bool:
            since, sent = seen.get(task.skeleton_tag), read.get(run.submitter, {}).get(task.skeleton_tag)
            return (since is not None and since < Month.parse(run.month)) or (sent is not None and sent < run.number)

        return known

    def _first(self) -> dict[str, int]:
        start = self.start()
        return {task: month.since(start) + 1 for task, month in entered(self.books).items()}

    def _month(self, rotation: int) -> Month:
        return self.start().plus(rotation - 1)

    def _judged(self, result: _Judged) -> NewFinding:
        return NewFinding(
            result.tested.kind,
            result.tested.subject,
            self._month(result.rotation),
            result.p_value,
            result.holm,
            result.discovery,
        )

    def _proposed(self) -> list[NewFinding]:
        """Propose tasks over a limit for withdrawal, except in the cohort that retires at the next turn."""
        live = self.books.months.cohorts("live")
        staying = {task for cohort in live[1:] for task in cohort.tasks}
        proposed = proposals(self.books.exposures.servings(), self.limits, staying)
        return [_exposure(proposal) for proposal in proposed]

    def _unsettled(self, runs: Sequence[RunRecord]) -> list[NewFinding]:
        months = {run.number: Month.parse(run.month) for run in runs}
        left = [unsettled for unsettled in self.books.months.unsettled() if unsettled.runs[-1] in months]
        return [_left(unsettled, months[unsettled.runs[-1]]) for unsettled in left]

    def _records(
        self, runs: Sequence[RunRecord], findings: Sequence[NewFinding], smallest: Mapping[Month, float | None]
    ) -> Iterator[ScanRecord]:
        """Summarise the scan of each month that has runs or findings; `smallest` has the months that were tested."""
        for month in sorted({Month.parse(run.month) for run in runs} | {finding.month for finding in findings}):
            of_month = [run for run in runs if run.month == str(month)]
            submitters = len({run.submitter for run in of_month})
            yield ScanRecord(
                month, self.books.clock(), len(of_month), submitters, None, smallest.get(month), month in smallest
            )


def _rotation(run: RunRecord, start: Month) -> int:
    return Month.parse(run.month).since(start) + 1


def _figures(closing: bytes) -> Iterator[tuple[Item, tuple[str, ...]]]:
    """Give each known result of a run, as its `score` leaf binds it, with the tools that were called."""
    for item in json.loads(closing)["results"]:
        if item["result"]["verdict"] != "unknown":
            yield item["result"], tuple(item["tools"])


def _exposure(proposal: Proposal) -> NewFinding:
    return NewFinding("exposure", proposal.task, Month.parse(proposal.month), detail=f"{proposal.why}: withdraw it?")


def _left(unsettled: Unsettled, month: Month) -> NewFinding:
    return NewFinding(
        unsettled.kind, unsettled.submitter, month, detail=f"in runs {', '.join(map(str, unsettled.runs))}"[:200]
    )
