"""Exact tail probabilities of sums of independent scores, by convolution on a lattice. Pure.

A score is a logarithm (in nats) that is rounded to a lattice of an eighth and kept between 0 and 50. Rounding changes
the statistic and not its distribution: the tail is that of the rounded sum. Only products and sums of positive numbers
are made, so a tail of 1e-15 is as exact as one of a half.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from scipy.stats import hypergeom

from rotation.detection.statistics.table import Floats

PER_NAT = 8
MAX_SCORE = 50 * PER_NAT
"""Of a part and of a sum; a larger sum counts as this one."""

Scores = Mapping[int, float]
"""Score on the lattice -> its probability."""


def lattice(nats: float) -> int:
    """Return the score of a logarithm on the lattice."""
    return min(max(math.floor(nats * PER_NAT + 0.5), 0), MAX_SCORE)


def tails(parts: Iterable[tuple[Scores, int]]) -> Floats:
    """Return the probability (MAX_SCORE + 1,) that a sum of independent scores reaches each value.

    Args:
        parts: distributions of scores, each with the number of scores that have it.
    """
    total = np.ones(1)
    for scores, often in parts:
        total = _added(total, _power(_dense(scores), often))
    density = np.zeros(MAX_SCORE + 1)
    density[: len(total)] = total
    return np.minimum(np.cumsum(density[::-1])[::-1], 1.0)


@lru_cache(maxsize=1 << 14)
def hypergeometric(population: int, marked: int, drawn: int, weight: int) -> Scores:
    """Return the distribution of `weight` times the number of marked ones among those drawn without replacement."""
    hits = np.arange(max(0, drawn + marked - population), min(marked, drawn) + 1)
    scores: dict[int, float] = {}
    for count, probability in zip(hits.tolist(), hypergeom.pmf(hits, population, marked, drawn).tolist(), strict=True):
        score = min(count * weight, MAX_SCORE)
        scores[score] = scores.get(score, 0.0) + probability
    return scores


def _dense(scores: Scores) -> Floats:
    density = np.zeros(max(scores) + 1)
    for score, probability in scores.items():
        density[score] += probability
    return density


def _power(density: Floats, often: int) -> Floats:
    power = np.ones(1)
    while often:
        if often & 1:
            power = _added(power, density)
        often >>= 1
        if often:
            density = _added(density, density)
    return power


def _added(left: Floats, right: Floats) -> Floats:
    """Return the distribution of the sum of two scores; what exceeds MAX_SCORE is put there."""
    both = np.convolve(left, right)
    if len(both) > MAX_SCORE + 1:
        both[MAX_SCORE] += both[MAX_SCORE + 1 :].sum()
        both = both[: MAX_SCORE + 1]
    return both
