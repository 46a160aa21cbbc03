"""Tail probabilities of sums of independent two-valued variables, and an empirical null for z-scores. Pure.

For up to a hundred variables the sum's distribution is computed exactly, on a grid; for more, it is normal with a
correction for skewness (R. Cornish and R. Fisher, *Revue de l'Institut International de Statistique* 5, 1938, 307-320).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from rotation.detection.statistics.table import Bools, Floats
from rotation.detection.statistics.tails import MIN_P_VALUE

GRID = 256
FEW = 100
UPPER = 0.9
NORMAL_UPPER = 1.2815515655446004
SPREAD_PRIOR_WEIGHT = 50.0  # as a number of z-scores


def reach(gain: Floats, chances: Floats, seen: Bools) -> Floats:
    """Return the probabilities (K,) that the sum is at least the observed one.

    Args:
        gain: (S,) what variable s adds to the sum if it is true; rounded to a grid here.
        chances: (K, S) the probability that it is true.
        seen: (S,) the observed values.
    """
    if len(gain) > FEW:
        return _normal_reach(gain, chances, seen)
    raises = gain >= 0
    sizes = np.rint(np.abs(gain) / max(float(np.abs(gain).sum()) / GRID, 1e-12)).astype(np.int64)
    masses = np.zeros((len(chances), int(sizes.sum()) + 1))
    masses[:, 0] = 1
    end = 1
    for chance, size in zip(np.where(raises, chances, 1 - chances).T, sizes, strict=True):
        moved = masses[:, :end] * chance[:, None]
        masses[:, :end] -= moved
        masses[:, size : end + size] += moved
        end += int(size)
    tail: Floats = np.clip(masses[:, int(sizes[seen == raises].sum()) :].sum(axis=1), MIN_P_VALUE, 1)
    return tail


def _normal_reach(gain: Floats, chances: Floats, seen: Bools) -> Floats:
    spread = chances * (1 - chances)
    sd = np.sqrt(spread @ gain**2)
    far = ((seen - chances) @ gain) / sd
    skewness = (spread * (1 - 2 * chances)) @ gain**3 / sd**3
    tail: Floats = np.clip(ndtr(-(far - skewness / 6 * (far**2 - 1))), MIN_P_VALUE, 1)
    return tail


def uniform_draws(count: int, each: int) -> Floats:
    """Return uniform pseudo-random numbers (count, each) between 0 and 1, always the same: splitmix64 of indices."""
    state = np.arange(1, count * each + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return ((state >> np.uint64(11)).astype(np.float64) + 0.5).reshape(count, each) * 2.0**-53


def set_right(z: Floats) -> Floats:
    """Correct the z-scores (N,) of one rotation for what they share: a median above 0 and a spread above 1.

    With few z-scores their own median and spread count only in part; no z-score becomes larger.
    """
    if not len(z):
        return z
    trust = len(z) / (len(z) + SPREAD_PRIOR_WEIGHT)
    middle = float(np.median(z))
    spread = (float(np.quantile(z, UPPER)) - middle) / NORMAL_UPPER
    right: Floats = (z - trust * max(middle, 0.0)) / (1 + trust * max(spread - 1, 0.0))
    return np.minimum(right, z)
