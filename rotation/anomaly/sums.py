"""The tail of a sum of independent discrete variables, for many sets of chances at once, and z-scores set right. Pure.

Of up to a hundred variables the sum's distribution is built up exactly, on a grid; of more, tails.py's saddlepoint.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from rotation.anomaly.table import Floats
from rotation.anomaly.tails import upper

GRID = 256
FEW = 100
UPPER = 0.9
NORMAL_UPPER = 1.2815515655446004
BELIEF = 50.0  # so many z-scores say as much of their spread as is known beforehand


def fewer(submitters: int, few: int, many: int) -> int:
    """Give the size of a quadrature: many submitters leave little to integrate over, and cost more."""
    return few if submitters > FEW else many


def reach(values: Floats, chances: Floats, seen: Floats) -> Floats:
    """Give the chance (K,) that the sum is at least what was seen.

    Args:
        values: (S, O) what variable s is worth at its outcome o, rounded to a grid here.
        chances: (K, S, O) the outcomes' chances; they add up to 1.
        seen: (S, O) 1 at the outcome that was seen, 0 elsewhere; all 0 for a variable that does not count.
    """
    counted = seen.any(axis=1)
    values, chances, seen = values[counted], chances[:, counted], seen[counted]
    if not len(values):
        return np.ones(len(chances))
    values = values - values.min(axis=1, keepdims=True)
    if len(values) > FEW:
        total = float((values * seen).sum())
        return np.array([1 - float(ndtr(upper(values, row, total))) for row in chances])
    step = max(float(values.max(axis=1).sum()) / GRID, 1e-12)
    places = np.rint(values / step).astype(np.int64)
    width = int(places.max(axis=1).sum()) + 1
    masses = np.zeros((len(chances), width))
    masses[:, 0] = 1
    for variable, place in enumerate(places):
        moved = np.zeros_like(masses)
        for outcome, by in enumerate(place):
            moved[:, by:] += chances[:, variable, outcome, None] * masses[:, : width - by]
        masses = moved
    tail: Floats = np.clip(masses[:, int((places * seen).sum()) :].sum(axis=1), 1e-15, 1)
    return tail


def set_right(z: Floats) -> Floats:
    """Take out of the z-scores (N,) of one rotation what all of them share: a shift up and a spread above 1.

    A few of them say little of their spread, so their own is believed in part; no z grows by it.
    """
    if not len(z):
        return z
    trust = len(z) / (len(z) + BELIEF)
    middle = float(np.median(z))
    spread = (float(np.quantile(z, UPPER)) - middle) / NORMAL_UPPER
    right: Floats = (z - trust * max(middle, 0.0)) / (1 + trust * max(spread - 1, 0.0))
    return np.minimum(right, z)
