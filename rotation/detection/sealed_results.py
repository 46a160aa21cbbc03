"""Results of finished runs, opened for the detectors (steps 1 and 2 of `rotation.detection.scan_results`).

A submitter could have known a task if it was live in an earlier month; if its skeleton was published, or served to
somebody who reads it, in an earlier month; or if this submitter's own endpoint was sent a task of its skeleton before
this run. A result whose verdict is unknown is left out. What a run said of a task that could be read outside the
sandbox before it is left out too: it was said for a reason that is known.

Rotation 1 is the month with which the first cohorts entered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rotation.calendar import Month
from rotation.detection.served_choices import ServedChoices, rotation_of
from rotation.errors import NotFound
from rotation.exposure.store import Exposures
from rotation.month.store import MonthStore
from rotation.runs.withdrawal import Withdrawals
from sandbox.results.said import SaidChoices
from sandbox.runs.store import RunRecord, Runs, RunState
from vault.store.task_record import TaskRecord
from vault.store.tasks import Vault

if TYPE_CHECKING:
    from rotation.detection.statistics.outcomes import TaskOutcome
    from rotation.detection.statistics.served_values import SaidValues
    from rotation.detection.statistics.table import ResultTable

WHO = "watch"
"""Name of the scan in the access log, whose entries each month's `set` statement commits to."""


class _OpenedResult(NamedTuple):
    """A result of a run as its closing record holds it, and whether its task could have been read before the run."""

    run: RunRecord
    task: TaskRecord
    item: Mapping[str, Any]
    known: bool


class SealedResults:
    """Service that opens the results of finished runs."""

    def __init__(
        self, vault: Vault, months: MonthStore, runs: Runs, exposures: Exposures, withdrawals: Withdrawals
    ) -> None:
        self._vault, self._months, self._runs = vault, months, runs
        self._exposures, self._withdrawals = exposures, withdrawals

    def table(
        self, why: str, runs: Collection[RunRecord], without: Collection[str] = (), *, said: bool = False
    ) -> ResultTable:
        """Return the results of finished runs as a table for the detectors, `without` some tasks.

        Args:
            why: the reason, for the access log.
            runs: the finished runs whose results are opened.
            without: the ids of tasks to leave out.
            said: whether what the runs said is held against what was served, for the `echo` detector.
        """
        from rotation.detection.statistics.outcomes import table_of  # noqa: PLC0415 - numpy is slow to load, and seldom needed

        opened = list(self._opened(why, runs))
        table = table_of([outcome for outcome in self._outcomes(opened) if outcome.task not in without])
        return replace(table, said=self._said(opened, why)) if said else table

    def runs(self, until: Month | None = None) -> Sequence[RunRecord]:
        """List the finished runs, those `until` the end of a month or all."""
        runs = self._runs.list(state=RunState.DONE)
        return [run for run in runs if until is None or Month.parse(run.month) <= until]

    def start(self) -> Month:
        """Return the month of rotation 1.

        Raises:
            NotFound: no cohort ever went live.
        """
        if (first := self._months.first()) is None:
            raise NotFound("there is no month yet: the first turn begins one")
        return first

    def _opened(self, why: str, runs: Collection[RunRecord]) -> Iterator[_OpenedResult]:
        """Open the results of runs, as one entry in the access log."""
        numbers = [str(run.number) for run in runs]
        sealed = self._vault.open_blobs("closing/", who=WHO, why=why, only=numbers)
        known, tasks = self._known(), {record.id: record for record in self._vault.records()}
        for run in runs:
            for item in json.loads(sealed[str(run.number)])["results"]:
                task = tasks[item["result"]["task"]]
                yield _OpenedResult(run, task, item, known=known(run, task))

    def _outcomes(self, opened: Sequence[_OpenedResult]) -> Iterator[TaskOutcome]:
        from rotation.detection.statistics.outcomes import TaskOutcome  # noqa: PLC0415 - likewise

        start = self.start()
        first = {task: month.since(start) + 1 for task, month in self._withdrawals.entered().items()}
        for run, task, item, known in opened:
            result, rotation = item["result"], rotation_of(run.month, start)
            if result["verdict"] != "unknown":
                yield TaskOutcome(
                    rotation=rotation,
                    submitter=run.submitter,
                    run=f"{run.number:09d}",
                    task=task.id,
                    family=task.template_tag,
                    server=task.server,
                    first=first[task.id],
                    cap=result["max_steps"],
                    passed=result["passed"],
                    calls=result["calls"],
                    tools=tuple(item["tools"]),
                    exposed=first[task.id] < rotation or known,
                )

    def _said(self, opened: Sequence[_OpenedResult], why: str) -> tuple[SaidValues, ...]:
        said = [
            (run, task.id, [SaidChoices.from_json(one) for one in item.get("said", ())])
            for run, task, item, known in opened
            if task.traceable and not known
        ]
        return ServedChoices(self._vault, self._exposures).rows(said, self.start(), who=WHO, why=why)

    def _known(self) -> Callable[[RunRecord, TaskRecord], bool]:
        """Return a function that says whether a run's submitter could have known a task's skeleton."""
        seen, read = self._months.seen_since(), self._exposures.read_before()

        def known(run: RunRecord, task: TaskRecord) -> bool:
            since, sent = seen.get(task.skeleton_tag), read.get(run.submitter, {}).get(task.skeleton_tag)
            return (since is not None and since < Month.parse(run.month)) or (sent is not None and sent < run.number)

        return known
