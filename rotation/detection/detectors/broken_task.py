"""Broken-task detector: tasks that suddenly pass for everyone (broken verifier) or for no one (broken task). Pure.

The statistic is the log likelihood ratio of "everybody passes with 97 %" (or 3 %) against the prediction from earlier
months (past.py). Its tail is exact given the task's difficulty, and averaged over the uncertainty of the difficulty and
over honest changes of tasks, by Gauss-Hermite quadrature; difficulties taken as known would flag honest tasks. A side
on which not even all passes (or none) would be significant is not tested, which depends on no result of the task; if
both sides are tested, the smaller p-value is doubled. Subject: the task's id. Effect: the share of passes above the
expected share.

Source: tests of item parameter drift, W. Veerkamp and C. Glas, *J. Educ. Behav. Statist.* 25, 2000, 373-389; leaving
out what cannot tell, R. Tarone, *Biometrics* 46, 1990, 515-522.

Not detected: a task in its first month; a task that nearly everybody passed (or failed) before; a verifier that was
broken from the first day; a task that fewer than three submitters ran.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.detectors.prediction import Expected, expected
from rotation.detection.statistics.sums import reach
from rotation.detection.statistics.table import Floats, ResultTable

KIND = "task"
BROKEN = (0.97, 0.03)
MIN_RESULTS_PER_TASK = 3
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(11)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
LEVEL = 0.01  # a side is tested if its most extreme result has at most this probability, divided by the tasks


def task(table: ResultTable, rotation: int) -> list[DetectorResult]:
    """Test every task of a rotation that has a past and on which a result could be significant."""
    month = expected(table, rotation)
    above = month.passed - month.usual
    old = np.flatnonzero(~month.fresh & (month.taken.sum(axis=0) >= MIN_RESULTS_PER_TASK))
    tests = []
    for place in map(int, old):
        sides = _sides(month, place, LEVEL / len(old))
        if sides:
            p_value = min(len(sides) * min(sides), 1.0)
            effect = float(above[month.taken[:, place], place].mean())
            tests.append(
                DetectorResult(KIND, table.tasks[month.tasks[place]], p_value, float(-ndtri(p_value / 2)), effect)
            )
    return tests


def _sides(month: Expected, place: int, most: float) -> list[float]:
    """Return the p-values of "all pass" and "none passes", leaving out a side that could not be significant."""
    taken = month.taken[:, place]
    easier, weights = _easier(month, place)
    chances, usual = month.chances(place, easier)[:, taken], month.usual[taken, place]
    sides = []
    for share, probability in zip(BROKEN, (chances, 1 - chances), strict=True):
        if weights @ probability.prod(axis=1) <= most:
            gain = np.log(share / (1 - share)) - np.log(usual / (1 - usual))
            sides.append(float(weights @ reach(gain, chances, month.passed[taken, place])))
    return sides


def _easier(month: Expected, place: int) -> tuple[Floats, Floats]:
    """Return quadrature points (K,) of how much easier a task may be than expected, and their weights."""
    points = [NODES * np.sqrt(month.unknown[place] + variance) for _, variance in month.changes()]
    return np.concatenate(points), np.concatenate([share * WEIGHTS for share, _ in month.changes()])
