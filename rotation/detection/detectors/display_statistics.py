"""Display-only statistics (score jump, person fit, best of k): shown in reports, never turned into findings. Pure.

- **jump**: the score change between two months. A better model jumps too, so as a test it would flag nearly every
  honest big improvement.
- **person fit**: low for a run that passes hard tasks and fails easy ones, with or without a leak; it does not know
  which tasks were fresh.
- **best of k**: the gain from showing only the best of many submissions. That is no fraud; the mean says more.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import logit, ndtr

from rotation.detection.statistics.table import Bools, Floats

STEPS = 4001
REACH = 9.0  # standard deviations, beyond which a normal's density adds nothing
CERTAIN = 1e-9


def jump_z(passed: tuple[int, int], taken: tuple[int, int]) -> float | None:
    """Return the z-score of the change between two shares; above 0 if the later one is larger, None if undefined.

    This is the two-proportion z-test with a pooled variance, the usual score-jump test. It assumes independent, equal
    tasks and two equally hard sets.

    Args:
        passed: how many tasks were passed, then and now.
        taken: of how many.
    """
    if not min(taken):
        return None
    pooled = sum(passed) / sum(taken)
    variance = pooled * (1 - pooled) * (1 / taken[0] + 1 / taken[1])
    if variance <= 0:
        return None
    return float((passed[1] / taken[1] - passed[0] / taken[0]) / np.sqrt(variance))


def person_fit(passed: Bools, chance: Floats, taken: Bools, slope: Floats) -> Floats:
    """Return lz* of each run, (P,): standard normal if the run fits, far below 0 if it does not; nan if undefined.

    T. A. B. Snijders, *Psychometrika* 66, 2001, 331-342, applied to the log-likelihood statistic, whose weights are
    w = logit(p): the likelihood's part that the estimated ability had already explained is projected out, and
    the variance is that of what is left. With W = sum (x - p) w, r the weights of the ability's own estimating equation
    (here the slopes) and c = sum p' w / sum p' r, lz* = sum (x - p)(w - c r) / sqrt(sum (w - c r)^2 p (1 - p)); this
    is his (W + c r_0) / (sqrt(n) tau), r_0 being what a prior adds to the equation. Difficulties are taken as given:
    give those that the run itself had no part in, or everybody fits too well.

    Args:
        passed: (P, T).
        chance: (P, T) of a pass, at the ability that was estimated from these results.
        taken: (P, T) which tasks count.
        slope: (P, T) how steeply a task's chance grows with ability; 1 in a Rasch model with known difficulties.
    """
    p = np.clip(chance, CERTAIN, 1 - CERTAIN)
    spread = p * (1 - p) * taken
    weight = logit(p)
    information = (spread * slope**2).sum(axis=1)
    explained = np.divide(
        (spread * weight * slope).sum(axis=1), information, out=np.zeros(len(p)), where=information > 0
    )
    left = weight - explained[:, None] * slope
    noise = np.sqrt((left**2 * spread).sum(axis=1))
    signal = ((passed - p) * left * taken).sum(axis=1)
    fit: Floats = np.divide(signal, noise, out=np.full(len(p), np.nan), where=noise > CERTAIN)
    return fit


def best_of(chance: Floats, k: int) -> float:
    """Return by how much the best of k submissions of one ability is expected to stand above their mean, as a share.

    The mean of the largest of k standard normals (H. A. David and H. N. Nagaraja, *Order Statistics*, 3rd ed., 2003,
    section 3.2) in standard deviations of a score: the root of sum p (1 - p) over the number of tasks.

    Args:
        chance: (T,) the chance of a pass, for each task of the set.
        k: how many submissions.
    """
    if k < 1 or not len(chance):
        return 0.0
    return largest(k) * float(np.sqrt((chance * (1 - chance)).sum())) / len(chance)


@lru_cache(maxsize=256)
def largest(k: int) -> float:
    """Return the mean of the largest of k standard normals, by the trapezoidal rule; 0 for one, .564 for two."""
    x = np.linspace(-REACH, REACH, STEPS)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return float(np.trapezoid(x * k * density * ndtr(x) ** (k - 1), x))
