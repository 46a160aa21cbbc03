"""Agreement of a judge with gold scores: Spearman's rank correlation, with average ranks for ties. Pure.

The product-moment correlation of the ranks (C. Spearman, *Amer. J. Psychology* 15, 1904, 72-101; with ties: M. G.
Kendall, *Biometrika* 33, 1945, 239-251). Sums are exact, so equal orders give 1, opposite ones -1, and nothing near it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import isfinite, sqrt

MIN_SCORES = 2
"""Below, scores have no order."""


def spearman(judge: Sequence[Fraction | float], gold: Sequence[Fraction | float]) -> float:
    """Return the rank correlation of two raters' scores of the same things, from -1 to 1.

    Raises:
        ValueError: a vector is constant, so that it has no order, or shorter than two scores; the two are of unequal
            length; a score is no number.
    """
    if len(judge) != len(gold):
        raise ValueError(f"{len(judge)} scores of the judge and {len(gold)} gold scores; each thing needs both")
    if len(judge) < MIN_SCORES:
        raise ValueError(f"a rank correlation needs at least {MIN_SCORES} scores; there are {len(judge)}")
    ranks = [_doubled_ranks(scores, who) for scores, who in ((judge, "the judge"), (gold, "the gold"))]
    return _covariance(*ranks) / sqrt(_covariance(ranks[0], ranks[0]) * _covariance(ranks[1], ranks[1]))


def _doubled_ranks(scores: Sequence[Fraction | float], who: str) -> list[int]:
    """Return each score's rank from 1, twice, so that the average rank of a tie is whole too."""
    if not all(isfinite(score) for score in scores):
        raise ValueError(f"a score of {who} is no finite number")
    counts = Counter(scores)
    if len(counts) < MIN_SCORES:
        raise ValueError(f"every score of {who} is the same, so the scores have no order")
    values = sorted(counts)
    ends = accumulate(counts[value] for value in values)
    ranks = {value: 2 * end - counts[value] + 1 for value, end in zip(values, ends, strict=True)}
    return [ranks[score] for score in scores]


def _covariance(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the covariance of two rank vectors, up to a factor that cancels."""
    products = sum(one * other for one, other in zip(first, second, strict=True))
    return len(first) * products - sum(first) * sum(second)
