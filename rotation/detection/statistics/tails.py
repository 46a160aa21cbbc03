"""Tail probabilities of sums of independent discrete variables by the saddlepoint formula, and combined p-values. Pure.

Sources. The saddlepoint formula r*: O. E. Barndorff-Nielsen, *Biometrika* 73, 1986, 307-322; its use for tails of sums:
R. Lugannani and S. Rice, *Adv. Appl. Probab.* 12, 1980, 475-490. Combining p-values that depend on each other: Y. Liu
and J. Xie, *J. Amer. Statist. Assoc.* 115, 2020, 393-402.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rotation.detection.statistics.table import Floats

ROUNDS = 40
NEAR = 0.02  # tilt below which r* would divide zero by zero
MIN_P_VALUE, MAX_P_VALUE = 1e-15, 0.9  # a p-value near 1 would drown all others
CLOSE = 1e-7
MIN_VARIANCE = 1e-16  # of a sum that tells anything; below it is the rounding of equal terms, as of who passes all


def upper(values: Floats, chances: Floats, seen: float, extra: float = 0.0) -> float:
    """Return the z-score of `seen`: a standard normal exceeds it with the probability that the sum reaches `seen`.

    Args:
        values: (I, O) the value of variable i at its outcome o.
        chances: (I, O) the probability of that outcome; each row adds up to 1.
        seen: the observed sum.
        extra: the variance of a normal variable of mean 0 that is added to the sum.
    """
    mean = (chances * values).sum(axis=1, keepdims=True)
    centred, seen = values - mean, seen - float(mean.sum())
    variance = float((chances * centred**2).sum()) + extra
    if variance <= MIN_VARIANCE:
        return 0.0
    scale = math.sqrt(variance)
    centred, seen, extra = centred / scale, seen / scale, extra / variance
    tilt = _tilt(centred, chances, seen, extra)
    if abs(tilt) < NEAR:
        skewness = float((chances * centred**3).sum())
        return seen - skewness / 6 * (seen**2 - 1)  # Cornish and Fisher's first term
    log_mean, _, curvature = _cumulants(centred, chances, tilt, extra)
    root = math.copysign(math.sqrt(max(2 * (tilt * seen - log_mean), 1e-12)), tilt)
    return root + math.log(tilt * math.sqrt(curvature) / root) / root


def _tilt(values: Floats, chances: Floats, seen: float, extra: float) -> float:
    """Find the tilt at which the sum has the mean `seen`, by Newton's method with limited steps."""
    tilt = min(max(seen, -6.0), 12.0)
    for _ in range(ROUNDS):
        _, slope, curvature = _cumulants(values, chances, tilt, extra)
        step = min(max((seen - slope) / max(curvature, 1e-9), -2.0), 2.0)
        tilt = min(max(tilt + step, -40.0), 60.0)
        if abs(step) < CLOSE:
            break
    return tilt


def _cumulants(values: Floats, chances: Floats, tilt: float, extra: float) -> tuple[float, float, float]:
    """Return the cumulant generating function of the sum, its slope and its curvature."""
    weights = chances * np.exp(np.clip(tilt * values, -600, 600))
    totals = weights.sum(axis=1)
    slopes = (weights * values).sum(axis=1) / totals
    curvatures = (weights * values**2).sum(axis=1) / totals - slopes**2
    return (
        float(np.log(totals).sum()) + extra * tilt**2 / 2,
        float(slopes.sum()) + extra * tilt,
        float(curvatures.sum()) + extra,
    )


def combined(p_values: Sequence[float], weights: Sequence[float]) -> float:
    """Combine p-values of one hypothesis that may depend on each other in any way (truncated Cauchy combination)."""
    pairs = list(zip(weights, p_values, strict=True))
    tangents = sum(weight * math.tan((0.5 - min(max(p, MIN_P_VALUE), MAX_P_VALUE)) * math.pi) for weight, p in pairs)
    return 0.5 - math.atan(tangents / sum(weights)) / math.pi
