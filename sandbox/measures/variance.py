"""Variance of a judge: how far its scores of the same things lie apart when it is asked again. Pure.

One pass is one score for each thing: a claim, a step or a task. The spread of a level is the mean, over its things, of
the population standard deviation between passes; of two passes a and b that is |a - b| / 2. A step or a task has the
mean of its claims' scores (`means`), so noise that cancels inside it is gone. Submissions are ranked by the task level
alone, and a difference of less than `LEAST` between two claims' scores says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import fsum
from statistics import pstdev

FEWEST = 2
"""Passes without which there is no spread to see."""
LEAST = Fraction(1, 20)
"""Difference of two claims' scores below which it is noise."""


def spread(passes: Sequence[Sequence[Fraction]]) -> float | None:
    """Give the mean population standard deviation between passes; None for fewer than two passes, or of nothing.

    Args:
        passes: of each pass its scores of the same things in the same order, from 0 to 1.

    Raises:
        ValueError: two passes have different numbers of scores.
    """
    if len({len(scores) for scores in passes}) > 1:
        raise ValueError(f"passes of {', '.join(str(len(scores)) for scores in passes)} scores; each needs all of them")
    if len(passes) < FEWEST or not passes[0]:
        return None
    return fsum(pstdev(scores) for scores in zip(*passes, strict=True)) / len(passes[0])


def means(scores: Sequence[Fraction], sizes: Sequence[int]) -> list[Fraction]:
    """Give the mean score of each group of claims that follow each other: of each step, or of each task.

    Args:
        scores: one pass's scores of claims.
        sizes: how many claims each step or task has, each at least one.

    Raises:
        ValueError: the sizes do not add up to the number of scores, or one is less than 1.
    """
    if sum(sizes) != len(scores) or min(sizes, default=1) < 1:
        raise ValueError(f"groups of {', '.join(map(str, sizes))} claims do not divide {len(scores)} scores")
    ends = [0, *(sum(sizes[: place + 1]) for place in range(len(sizes)))]
    return [Fraction(sum(scores[start:end]), end - start) for start, end in pairwise(ends)]
