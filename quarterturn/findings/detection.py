"""Detection in a home: the detectors run after each run and each turn.

A detector run that fails does not affect the run or the turn before it: the failure is recorded, and shown to
maintainers (`turn status`, `watch list`). Submitters are shown nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from quarterturn.findings.finding_list import FEWEST
from rotation.calendar import Month
from rotation.detection.scan_results import Scanner
from rotation.findings.store import Findings

if TYPE_CHECKING:
    from rotation.detection.detectors.scan import CorrectedResult
    from rotation.detection.statistics.table import ResultTable


class Detection:
    """The detector runs of one home.

    Args:
        scanner: reads the results, and stores what the detectors find.
        findings: where a failure is recorded.
        clock: the present moment, with its time zone.
    """

    def __init__(self, scanner: Scanner, findings: Findings, clock: Callable[[], datetime]) -> None:
        self._scanner, self._findings, self._clock = scanner, findings, clock

    def run(self, why: str) -> None:
        """Run the detectors; an error is recorded, and stops nothing."""
        try:
            self._scanner.run(why)
        except Exception as error:
            with suppress(Exception):
                self._findings.failed(Month.of(self._clock()), error, self._clock())


def scan(table: ResultTable, rotation: int) -> Iterable[CorrectedResult]:
    """Run the detectors on one rotation of a table."""
    from rotation.detection.detectors.scan import judged  # noqa: PLC0415 - slow to load, and not needed in a first month

    return judged(table, rotation)


def smallest_visible_leak(table: ResultTable, rotation: int) -> float | None:
    """Give the smallest leak that could be seen, where there are too few submitters for a verdict."""
    from rotation.detection.report.report import visible  # noqa: PLC0415 - likewise

    if len(set(table.submitter[table.rotation == rotation])) >= FEWEST:
        return None
    return min((share for share in visible(table, rotation).values() if share is not None), default=None)
