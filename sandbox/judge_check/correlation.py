"""Rank correlation with average ranks for ties (C. Spearman, *Amer. J. Psychology* 15, 1904, 72-101). Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def spearman(left: Sequence[Fraction], right: Sequence[Fraction]) -> float | None:
    """Give the correlation of the ranks of two vectors of one length, -1 to 1; None where one of them is constant."""
    ranks = [_ranks(values) for values in (left, right)]
    middle = Fraction(len(left) + 1, 2)
    first, second = ([rank - middle for rank in side] for side in ranks)
    spread = sum(x * x for x in first) * sum(y * y for y in second)
    if not spread:
        return None
    return float(sum(x * y for x, y in zip(first, second, strict=True))) / math.sqrt(spread)


def _ranks(values: Sequence[Fraction]) -> list[Fraction]:
    """Rank values from 1; equal ones get the mean of their places."""
    ordered = sorted(values)
    return [Fraction(2 * ordered.index(value) + ordered.count(value) + 1, 2) for value in values]
