"""Detector runner: runs all tests of every rotation from 2 on and corrects their p-values. Pure.

In rotation 1 there is nothing to compare results with; only `echo`, which needs no past, can be run there (`judged`).

Each rotation is tested on the results of the last six (`LOOKBACK`) as they were then, so that removing later results
changes no line, and a test costs the same in any later month. A new detector also needs its kind in
`rotation.findings.store.TESTED` and its texts in `quarterturn.pages.drawing.words`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rotation.detection.detectors.broken_task import task
from rotation.detection.detectors.copying import copying
from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.detectors.echoes import echo
from rotation.detection.detectors.leaked_family import family
from rotation.detection.detectors.leaked_group import KIND as GROUP
from rotation.detection.detectors.leaked_group import group
from rotation.detection.detectors.leaked_tasks import leak
from rotation.detection.statistics.correction import benjamini_hochberg, holm
from rotation.detection.statistics.table import ResultTable
from rotation.detection.statistics.tails import MIN_P_VALUE

Detector = Callable[[ResultTable, int], Sequence[DetectorResult]]
DETECTORS: tuple[Detector, ...] = (leak, copying, family, task, echo, group)
WITHOUT_PAST: tuple[Detector, ...] = (echo,)
FIRST = 2


@dataclass(frozen=True)
class CorrectedResult:
    """A test result with its corrected p-values.

    Attributes:
        rotation: the rotation that was tested.
        tested: the test as the detector gave it.
        p_value: its p-value, rounded to six significant digits.
        holm: the p-value adjusted within rotation and kind.
        discovery: the p-value adjusted over all kinds of the rotation (Benjamini and Hochberg).
    """

    rotation: int
    tested: DetectorResult
    p_value: float
    holm: float
    discovery: float

    def line(self, case: str) -> dict[str, Any]:
        """Return it as a line of the flags file."""
        return {
            "case": case,
            "rotation": self.rotation,
            "kind": self.tested.kind,
            "subject": self.tested.subject,
            "p_value": self.p_value,
            "p_adj": self.holm,
        } | ({"detail": self.tested.detail} if self.tested.kind == GROUP else {})


def scan(table: ResultTable, detectors: Sequence[Detector] = DETECTORS) -> Iterator[CorrectedResult]:
    """Run all tests of all rotations, in the order of rotation, kind and subject."""
    for rotation in rotations(table):
        yield from judged(table, rotation, detectors)


def rotations(table: ResultTable) -> range:
    """Return the rotations that are tested."""
    return range(FIRST, table.last + 1)


def judged(table: ResultTable, rotation: int, detectors: Sequence[Detector] = DETECTORS) -> list[CorrectedResult]:
    """Run all tests of one rotation, on its own results and those of the five rotations before it."""
    now = table.recent(rotation)
    if now.last < rotation:
        return []
    made = [detector for detector in detectors if rotation >= FIRST or detector in WITHOUT_PAST]
    groups = [sorted(detector(now, rotation), key=lambda result: result.subject.encode()) for detector in made]
    p_values = [np.array([_rounded(test.p_value) for test in group]) for group in groups]
    tests, flat = [test for group in groups for test in group], np.concatenate([*p_values, np.empty(0)])
    adjusted, rates = np.concatenate([*map(holm, p_values), np.empty(0)]), benjamini_hochberg(flat)
    return [
        CorrectedResult(rotation, test, float(p), _rounded(float(adjusted_p)), _rounded(float(rate)))
        for test, p, adjusted_p, rate in zip(tests, flat, adjusted, rates, strict=True)
    ]


def _rounded(p_value: float) -> float:
    """Keep six significant digits, so that every correction can be computed again from what is written."""
    return float(f"{min(max(p_value, MIN_P_VALUE), 1.0):.6g}")
