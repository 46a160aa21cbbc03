"""Tasks that suddenly pass for everyone (a broken verifier) or for no one (a broken task). Pure.

The statistic is the log likelihood ratio of "everybody passes with 97 %" (or 3 %) against what the months before let
expect (past.py). Its tail is exact given the task's difficulty, and averaged over what is unknown of that and over how
tasks honestly change, by Gauss and Hermite's quadrature: difficulties that are taken for known flag honest tasks. A
side on which not even all passes (or none) would tell is not tested, which depends on no result of the task; where both
sides are, the smaller p-value counts twice. Subject: the task's id. Unit of the effect: the share of passes above what
was expected.

Source: tests of item parameter drift, W. Veerkamp and C. Glas, *J. Educ. Behav. Statist.* 25, 2000, 373-389; leaving
out what cannot tell, R. Tarone, *Biometrics* 46, 1990, 515-522.

What it cannot see: a task in its first month; a task that nearly everybody passed (or failed) before; a verifier that
was broken from the first day; fewer than three submitters.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from rotation.detection.detectors.past import Expected, expected
from rotation.detection.detectors.tested import Tested
from rotation.detection.statistics.sums import reach
from rotation.detection.statistics.table import Floats, Table

KIND = "task"
BROKEN = (0.97, 0.03)
FEWEST = 3
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(11)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
LEVEL = 0.01  # a side is tested where the most that could be seen has at most this chance, shared by all tasks


def task(table: Table, rotation: int) -> list[Tested]:
    """Test every task of a rotation that has a past and of which something could be seen."""
    month = expected(table, rotation)
    above = month.passed - month.usual
    old = np.flatnonzero(~month.fresh & (month.taken.sum(axis=0) >= FEWEST))
    tests = []
    for place in map(int, old):
        sides = _sides(month, place, LEVEL / len(old))
        if sides:
            p_value = min(len(sides) * min(sides), 1.0)
            effect = float(above[month.taken[:, place], place].mean())
            tests.append(Tested(KIND, table.tasks[month.tasks[place]], p_value, float(-ndtri(p_value / 2)), effect))
    return tests


def _sides(month: Expected, place: int, most: float) -> list[float]:
    """Give the chances of results at least as much like "all pass", and like "none does", where these could tell."""
    there = month.taken[:, place]
    easier, weights = _easier(month, place)
    chances, usual = month.chances(place, easier)[:, there], month.usual[there, place]
    sides = []
    for share, each in zip(BROKEN, (chances, 1 - chances), strict=True):
        if weights @ each.prod(axis=1) <= most:
            gain = np.log(share / (1 - share)) - np.log(usual / (1 - usual))
            sides.append(float(weights @ reach(gain, chances, month.passed[there, place])))
    return sides


def _easier(month: Expected, place: int) -> tuple[Floats, Floats]:
    """Give points (K,) by which a task may be easier than expected, and their weights."""
    points = [NODES * np.sqrt(month.unknown[place] + variance) for _, variance in month.changes()]
    return np.concatenate(points), np.concatenate([share * WEIGHTS for share, _ in month.changes()])
