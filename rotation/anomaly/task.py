"""Tasks that suddenly pass for everyone (a broken verifier) or for no one (a broken task). Pure.

The statistic is the log likelihood ratio of "everybody passes with 97 %" (or 3 %) against what the months before let
expect (past.py); its tail is exact given the task's difficulty and averaged over what is unknown of that by Gauss and
Hermite's quadrature, since difficulties that are taken for known flag honest tasks (J. Glas and W. Veerkamp, *J. Educ.
Behav. Statist.* 25, 2000). Subject: the task's id. Unit of the effect: the share of passes above what was expected.

What it cannot see: a task in its first month; a task that nearly everybody passed (or failed) before; a verifier that
was broken from the first day; fewer than three submitters.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from rotation.anomaly.past import Expected, expected
from rotation.anomaly.sums import fewer, reach, set_right
from rotation.anomaly.table import Floats, Table
from rotation.anomaly.tested import Tested

KIND = "task"
BROKEN = (0.97, 0.03)
FEWEST = 3


def task(table: Table, rotation: int) -> list[Tested]:
    """Test every task of a rotation that has a past."""
    month = expected(table, rotation)
    old = np.flatnonzero(~month.fresh & (month.taken.sum(axis=0) >= FEWEST))
    sides = np.array([_two_sides(month, int(place)) for place in old]).reshape(-1, 2)
    z = np.stack([set_right(-ndtri(np.clip(side, 1e-15, 1 - 1e-12))) for side in sides.T])
    p_values = np.minimum(2 * ndtr(-z.max(axis=0)), 1)
    usual = month.chances(np.zeros((1, len(month.tasks))))[0]
    tests = []
    for number, place in enumerate(old):
        there = month.taken[:, place]
        effect = float((month.passed[there, place] - usual[there, place]).mean())
        name = table.tasks[month.tasks[place]]
        tests.append(Tested(KIND, name, float(p_values[number]), float(-ndtri(p_values[number] / 2)), effect))
    return tests


def _two_sides(month: Expected, place: int) -> Floats:
    """Give the chances of results at least as much like "all pass" and like "none does"."""
    count = fewer(len(month.taken), 3, 15)
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    easier = np.zeros((count + 1, len(month.tasks)))
    easier[1:, place] = nodes * np.sqrt(month.unknown[place])
    chance = month.chances(easier)[:, :, place]
    chances = np.stack([1 - chance, chance], axis=2)
    passed = month.passed[:, place]
    seen = np.stack([~passed, passed], axis=1) * month.taken[:, place, None].astype(float)
    middle = chances[0]
    return np.array(
        [
            float(weights @ reach(np.log(np.array([1 - q, q]) / middle), chances[1:], seen) / weights.sum())
            for q in BROKEN
        ]
    )
