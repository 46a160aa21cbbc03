"""Variance of a judge: how far its scores of the same things lie apart when it is asked again. Pure.

A thing is a claim, a step or a task. The spread of a level is the mean, over its things, of the population standard
deviation between passes; of two passes a and b that is |a - b| / 2. Noise that cancels inside a task is gone in the
spread of tasks, by which alone submissions are ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import fmean, pstdev

MIN_PASSES = 2
"""Below, there is no spread."""


def spread(things: Iterable[Sequence[Fraction]]) -> float | None:
    """Return the mean population standard deviation between passes; None where nothing has two scores.

    Args:
        things: of each thing its scores from 0 to 1, one of each pass that gave one.
    """
    deviations = [pstdev(scores) for scores in things if len(scores) >= MIN_PASSES]
    return fmean(deviations) if deviations else None
