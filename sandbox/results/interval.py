"""Means and proportions with 95 % confidence intervals, from clustered observations. Pure.

Observations come in clusters (tasks of one skeleton) that are alike inside, so the effective number of observations
is smaller than n. Every function takes the clusters and says nothing about what they are clusters of.

Sources. Proportions: E. B. Wilson's score interval (*J. Amer. Statist. Assoc.* 22, 1927, 209-212) on the effective
sample size of E. L. Korn and B. I. Graubard (*Survey Methodology* 24, 1998, 193-201), a form that C. Franco, R. Little,
T. Louis and E. Slud recommend in their comparison (*J. Survey Statist. Methodol.* 7, 2019, 334-364). Design effect and
ratio estimator: W. G. Cochran, *Sampling Techniques*, 3rd ed., 1977, chapters 6 and 9A. Student's t: M. Abramowitz
and I. A. Stegun, *Handbook of Mathematical Functions*, 1964, 26.7.3 and 26.7.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

LEVEL = 0.95
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
MIN_CLUSTERS = 2  # from one alone no variance can be told


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its interval; all None where n = 0.

    Attributes:
        value: between 0 and 1; a correlation or a coefficient of agreement lies between -1 and 1.
        n: what it is a mean over: tasks, or calls.
        low: the interval's lower bound.
        high: its upper bound.
    """

    value: float | None
    n: int
    low: float | None
    high: float | None


NOTHING = Figure(None, 0, None, None)


def proportion(clusters: Sequence[tuple[int, int]]) -> Figure:
    """Return the share of hits among trials, from one (hits, trials) a cluster, with Wilson's interval.

    The effective sample size is n / design effect, made smaller for few clusters by the ratio of the quantiles of
    Student's t with n - 1 and with k - 1 degrees of freedom, and it is at least 1: one independent observation.
    """
    pairs = [(hits, trials) for hits, trials in clusters if trials]
    n = sum(trials for _, trials in pairs)
    if n == 0:
        return NOTHING
    share = sum(hits for hits, _ in pairs) / n
    return Figure(share, n, *wilson(share, _effective_size(pairs, n)))


def share(hits: int | Fraction, sizes: Sequence[int]) -> Figure:
    """Return the share of hits among trials, with Wilson's interval for trials that agree wholly inside their cluster.

    The effective sample size is n^2 / sum of m^2 over the clusters' sizes m (L. Kish, *Survey Sampling*, 1965, 5.4, for
    an intraclass correlation of 1, the largest there can be). It does not depend on which trials were hits, so of two
    results over the same clusters the one with more hits has the higher bounds, both of them. A trial that is hit in
    part, such as a task's Pass@K, varies at most as much as one that is hit or not: the interval is wide enough.
    """
    n = sum(sizes)
    if n == 0:
        return NOTHING
    return Figure(float(hits / n), n, *wilson(float(hits / n), n * n / sum(size * size for size in sizes)))


def mean(clusters: Sequence[Sequence[float]]) -> Figure:
    """Return the mean of values between 0 and 1, with a t interval whose variance is between clusters.

    From one cluster alone no variance can be told: its interval is all of 0 to 1.
    """
    figure = unbounded_mean(clusters)
    if figure.low is None or figure.high is None:
        return Figure(figure.value, figure.n, 0.0, 1.0) if figure.n else NOTHING
    return Figure(figure.value, figure.n, max(0.0, figure.low), min(1.0, figure.high))


def unbounded_mean(clusters: Sequence[Sequence[float]]) -> Figure:
    """Return the mean of any values, with a t interval whose variance is between clusters; one alone gives none."""
    n, k = sum(map(len, clusters)), len(clusters)
    if n == 0:
        return NOTHING
    value = math.fsum(map(math.fsum, clusters)) / n
    if k < MIN_CLUSTERS:
        return Figure(value, n, None, None)
    spread = math.fsum((math.fsum(cluster) - len(cluster) * value) ** 2 for cluster in clusters)
    half = student(k - 1) * math.sqrt(k / (k - 1) * spread) / n
    return Figure(value, n, value - half, value + half)


def quantile(clusters: Sequence[Sequence[float]], q: float) -> Figure:
    """Return a quantile of all values, with an interval of order statistics of the clusters' means.

    The value is interpolated between the two nearest ones (R. J. Hyndman and Y. Fan, *Amer. Statist.* 50, 1996,
    361-365, definition 7). The interval lies between the means whose ranks are k q -/+ z (k q (1 - q))^.5 of k clusters
    (H. A. David and H. N. Nagaraja, *Order Statistics*, 3rd ed., 2003, section 7.1); of one cluster it is 0 to 1.
    """
    values = sorted(value for cluster in clusters for value in cluster)
    means = sorted(math.fsum(cluster) / len(cluster) for cluster in clusters if cluster)
    if not values:
        return NOTHING
    place = (len(values) - 1) * q
    below, above = values[math.floor(place)], values[math.ceil(place)]
    value = below + (above - below) * (place % 1)
    k = len(means)
    if k < MIN_CLUSTERS:
        return Figure(value, len(values), 0.0, 1.0)
    half = Z * math.sqrt(k * q * (1 - q))
    low, high = math.floor(k * q - half), math.ceil(k * q + half)
    return Figure(
        value,
        len(values),
        min(value, means[low - 1]) if low >= 1 else 0.0,
        max(value, means[high - 1]) if high <= k else 1.0,
    )


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval for a share among n observations (n need not be whole)."""
    centre = share + Z * Z / (2 * n)
    half = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    scale = 1 + Z * Z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


@lru_cache(maxsize=1024)
def student(degrees: int) -> float:
    """Return the two-sided 95 % quantile of Student's t, by bisection of its closed form for whole degrees."""
    low, high = Z, 13.0  # the quantile for one degree is 12.7
    while high - low > 1e-12:  # noqa: PLR2004
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < LEVEL else (low, middle)
    return low


def _within(t: float, degrees: int) -> float:
    """Return the probability that |T| is at most t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for factor in range(2 + odd, degrees + 1 + odd, 2):  # none at all for one degree
        total += term
        term *= cosine * cosine * (factor - 1) / factor
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _effective_size(pairs: Sequence[tuple[int, int]], n: int) -> float:
    """Return the number of independent observations that the clusters are worth.

    Where all tasks pass, or none, the data say nothing about how alike the tasks of a skeleton are, and a design effect
    taken from them alone would jump. So it is taken with two made-up skeletons of the average size, one all passed and
    one all failed: the pseudo-observations of A. Agresti and B. A. Coull (*Amer. Statist.* 52, 1998, 119-126), as
    clusters. They weigh most where the data say least, and nothing where every skeleton has one task. Less than 1 is
    taken for 1, because chance makes small samples look more alike than they are.
    """
    k = len(pairs)
    if k < MIN_CLUSTERS:
        return 1.0
    padded = [*pairs, (n / k, n / k), (0, n / k)]
    size = n + 2 * n / k
    share = sum(hits for hits, _ in padded) / size
    between = (k + 2) / (k + 1) * math.fsum((hits - trials * share) ** 2 for hits, trials in padded) / size**2
    effect = max(1.0, between / (share * (1 - share) / (size - 1)))
    return max(1.0, n / effect * (student(n - 1) / student(k - 1)) ** 2)
