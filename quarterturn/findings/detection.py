"""Detection in a home: the detectors run after each run and each turn.

A detector run that fails does not affect the run or the turn before it: the failure is recorded, and shown to
maintainers (`turn status`, `watch list`). Submitters are shown nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from rotation.calendar import Month
from rotation.detection.scan_results import Scanner
from rotation.findings.store import Findings


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
                self._findings.failed(Month.of(self._clock()), error)
